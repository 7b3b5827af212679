//! Iterations that end before their elements do.

use super::numbers;
use situ_data::Dataset;
use situ_tensor::Tensor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A pipeline with every sort of thread, and a count of the closures' owners: it falls to 1 once no thread
/// has them any more.
fn busy(alive: &Arc<()>) -> Dataset<Tensor> {
    let held = alive.clone();
    numbers(1000)
        .repeat(None)
        .shuffle(100, 1)
        .map_parallel(3, move |x| {
            let _held = &held;
            Ok(x)
        })
        .batch(4)
        .prefetch(2)
        .map_unordered(2, Ok)
        .prefetch_to_device("/CPU:0")
}

#[test]
fn dropping_an_iterator_early_ends_every_thread() {
    let alive = Arc::new(());
    for taken in [0, 1, 5] {
        let dataset = busy(&alive);
        let mut iter = dataset.iter();
        for _ in 0..taken {
            iter.next().unwrap().unwrap();
        }
        let start = Instant::now();
        drop(iter);
        drop(dataset);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(Arc::strong_count(&alive), 1, "after {taken} elements a thread still has the closure");
    }
}

#[test]
fn the_end_of_an_epoch_ends_its_threads_before_the_iterator_is_dropped() {
    let alive = Arc::new(());
    let held = alive.clone();
    let dataset = numbers(10).map_parallel(2, move |x| {
        let _held = &held;
        Ok(x)
    });
    let mut iter = dataset.prefetch(2).iter();
    drop(dataset);
    assert_eq!(iter.by_ref().count(), 10);
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(iter.next().is_none());
}

#[test]
fn a_handle_ends_a_wait_from_another_thread() {
    let release = Arc::new(AtomicBool::new(false));
    let wait = release.clone();
    let slow = numbers(4).map_parallel(1, move |x| {
        while !wait.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(x)
    });
    let mut iter = slow.iter();
    let handle = iter.stop_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        handle.stop();
        // A closure is never torn off: the thread that runs it is waited for.
        std::thread::sleep(Duration::from_millis(30));
        release.store(true, SeqCst);
    });
    assert!(iter.next().is_none());
    assert!(iter.stop_handle().is_stopped());
    stopper.join().unwrap();
}

#[test]
fn an_endless_filter_can_be_dropped_and_stopped() {
    let none = numbers(10).repeat(None).filter(|_| Ok(false)).prefetch(1);
    let iter = none.iter();
    std::thread::sleep(Duration::from_millis(10));
    drop(iter);
    let mut iter = none.iter();
    let handle = iter.stop_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        handle.stop();
    });
    assert!(iter.next().is_none());
    stopper.join().unwrap();
}

#[test]
fn workers_run_ahead_no_further_than_they_should() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let dataset = numbers(100_000)
        .map(move |x| {
            count.fetch_add(1, SeqCst);
            Ok(x)
        })
        .batch(10)
        .prefetch(2);
    let mut iter = dataset.iter();
    iter.next().unwrap().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let ahead = made.load(SeqCst);
    assert!(ahead <= 40, "one batch taken, two ready, one in hand at most: {ahead} elements");
}

/// Runs `body` on a thread; fails if it hangs.
fn ends(what: &str, body: impl FnOnce() + Send + 'static) {
    let (done, waits) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        body();
        let _ = done.send(());
    });
    if waits.recv_timeout(Duration::from_secs(60)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("{what} hangs");
    }
    assert!(thread.join().is_ok(), "{what} failed");
}

/// 0 to 4, then nines without end.
fn endless() -> Dataset<Tensor> {
    Dataset::from_generator(|| (0..5).chain(std::iter::repeat(9)).map(situ_tensor::tensor::<i32>))
}

/// The first five of [`endless`], behind a stage with threads that looks for a sixth for ever.
fn first_five() -> [(&'static str, Dataset<Tensor>); 6] {
    let few = endless().filter(|x| Ok(x.item::<i32>()? < 5));
    let repeated = numbers(5).concatenate(&endless().repeat(None)).filter(|x| Ok(x.item::<i32>()? < 5));
    [
        ("prefetch", few.prefetch(2).take(5)),
        ("prefetch_to_device", few.prefetch_to_device("/CPU:0").take(5)),
        ("map_parallel", few.map_parallel(3, Ok).take(5)),
        ("map_unordered", few.map_unordered(2, Ok).take(5)),
        ("two of them", few.prefetch(1).map_parallel(2, Ok).take(5)),
        ("on the calling thread too", repeated.take(7).prefetch(2).take(5)),
    ]
}

#[test]
fn an_epoch_ends_though_a_thread_still_looks_for_elements() {
    for (stage, five) in first_five() {
        ends(stage, move || {
            let iter = five.epoch(0);
            let handle = iter.stop_handle();
            assert_eq!(iter.count(), 5);
            assert!(!handle.is_stopped(), "its last element ended it");
        });
    }
}

#[test]
fn a_part_that_is_done_with_in_the_middle_of_an_iteration_ends_its_threads() {
    for (stage, five) in first_five() {
        let again = five.clone();
        ends(&format!("{stage} concatenated"), move || {
            assert_eq!(again.concatenate(&numbers(2)).epoch(0).count(), 7);
        });
        let again = five.clone();
        ends(&format!("{stage} repeated"), move || assert_eq!(again.repeat(3).epoch(0).count(), 15));
        let again = five.clone();
        ends(&format!("{stage} interleaved"), move || {
            let parts = numbers(3).interleave(2, 1, move |_| Ok(again.clone()));
            assert_eq!(parts.epoch(0).count(), 15);
        });
        ends(&format!("{stage} zipped"), move || {
            let pairs: Dataset<(Tensor, Tensor)> = five.zip(&numbers(3));
            assert_eq!(pairs.repeat(2).epoch(0).count(), 6);
        });
    }
}

#[test]
fn a_stage_that_gathers_without_end_can_be_dropped() {
    let from = endless();
    let gathering = [
        ("shuffle", from.shuffle(usize::MAX, 1)),
        ("batch", from.batch(usize::MAX)),
        ("batch of rows", numbers(5).repeat(None).batch(usize::MAX)),
        ("skip", from.skip(usize::MAX)),
        ("interleave", from.interleave(usize::MAX, 1, |_| Ok(numbers(1)))),
        ("interleave of nothing", from.interleave(2, 1, |_| Ok(numbers(0)))),
        ("map", from.map(Ok).batch(usize::MAX)),
        ("ignore_errors", from.map(|_| Err(situ_core::Error::argument("test", "no", ""))).ignore_errors()),
    ];
    for (stage, dataset) in gathering {
        ends(stage, move || drop(dataset.prefetch(1).epoch(0)));
    }
}

#[test]
fn no_element_is_begun_after_the_end() {
    type Make = fn(Arc<AtomicUsize>, Arc<AtomicBool>) -> Dataset<Tensor>;
    let counts: [(&str, Make); 4] = [
        ("from_generator", |begun, go| {
            Dataset::from_generator(move || {
                let (begun, go) = (begun.clone(), go.clone());
                (0..1000).map(move |n: i32| {
                    pause_at_four(&begun, &go);
                    situ_tensor::tensor(n)
                })
            })
        }),
        ("map", |begun, go| numbers(1000).map(move |x| Ok((pause_at_four(&begun, &go), x).1))),
        ("filter", |begun, go| numbers(1000).filter(move |_| Ok((pause_at_four(&begun, &go), true).1))),
        ("map_parallel", |begun, go| {
            numbers(1000).map_parallel(1, move |x| Ok((pause_at_four(&begun, &go), x).1))
        }),
    ];
    for (stage, make) in counts {
        let (begun, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let iter = make(begun.clone(), go.clone()).batch(1000).prefetch(1).epoch(0);
        while begun.load(SeqCst) < 4 {
            std::thread::yield_now();
        }
        iter.stop_handle().stop();
        go.store(true, SeqCst);
        drop(iter);
        assert_eq!(begun.load(SeqCst), 4, "{stage}");
    }
}

/// Counts an element; the fourth waits until it may go on.
fn pause_at_four(begun: &AtomicUsize, go: &AtomicBool) {
    if begun.fetch_add(1, SeqCst) == 3 {
        while !go.load(SeqCst) {
            std::thread::yield_now();
        }
    }
}
