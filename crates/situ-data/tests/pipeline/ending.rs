//! Iterations that end before their elements do.

use super::numbers;
use situ_data::Dataset;
use situ_tensor::Tensor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A pipeline with every sort of thread, and a count of the closures' owners: it falls to 1 once no thread has them any more.
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
