//! Which elements come, and in which order.

use super::{batches, epoch, numbers};
use situ_data::{Dataset, Length};
use situ_tensor::{Tensor, tensor};

#[test]
fn the_same_seed_and_epoch_give_the_same_order_and_others_give_another() {
    let shuffled = numbers(100).shuffle(20, 7);
    let first = epoch(&shuffled, 0);
    assert_eq!(first, epoch(&numbers(100).shuffle(20, 7), 0));
    assert_ne!(first, epoch(&shuffled, 1));
    assert_ne!(first, epoch(&numbers(100).shuffle(20, 8), 0));
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    // An element is drawn from the next 20.
    assert!(first.iter().enumerate().all(|(at, &x)| x < at as i32 + 20), "{first:?}");
}

#[test]
fn each_iteration_is_the_next_epoch_and_clones_count_together() {
    let shuffled = numbers(50).shuffle(50, 1);
    let read = |d: &Dataset<Tensor>| d.iter().map(|x| x.unwrap().item::<i32>().unwrap()).collect::<Vec<_>>();
    let (first, second) = (read(&shuffled), read(&shuffled.clone()));
    assert_eq!(first, epoch(&shuffled, 0));
    assert_eq!(second, epoch(&shuffled, 1));
    let once = numbers(50).shuffle_once(50, 1);
    assert_eq!(epoch(&once, 0), epoch(&once, 1));
}

#[test]
fn rows_and_elements_are_shuffled_into_the_same_order() {
    let rows = numbers(64).shuffle(10, 3);
    let elements = numbers(64).map(Ok).shuffle(10, 3);
    assert_eq!(epoch(&rows, 2), epoch(&elements, 2));
}

#[test]
fn a_full_buffer_puts_every_element_everywhere() {
    let shuffled = numbers(8).shuffle(8, 5);
    let mut seen = [[false; 8]; 8];
    for e in 0..400 {
        for (at, x) in epoch(&shuffled, e).into_iter().enumerate() {
            seen[at][x as usize] = true;
        }
    }
    assert_eq!(seen, [[true; 8]; 8]);
}

#[test]
fn an_ordered_map_gives_the_same_elements_for_any_number_of_workers() {
    let one = tensor(1).unwrap();
    let source = numbers(500).shuffle(100, 9);
    let add = move |x: Tensor| x.add(&one);
    let expected = epoch(&source.map(add.clone()), 0);
    for workers in [1, 2, 3, 8] {
        assert_eq!(epoch(&source.map_parallel(workers, add.clone()), 0), expected, "{workers} workers");
        let mut unordered = epoch(&source.map_unordered(workers, add.clone()), 0);
        unordered.sort_unstable();
        assert_eq!(unordered, (1..=500).collect::<Vec<_>>());
    }
}

#[test]
fn random_maps_depend_on_seed_epoch_and_position_and_not_on_workers() {
    let draw =
        |workers, seed| numbers(200).map_random(workers, seed, |_, rng| tensor(rng.below(1 << 30) as i32));
    let expected = epoch(&draw(1, 4), 0);
    assert_eq!(epoch(&draw(5, 4), 0), expected);
    assert_ne!(epoch(&draw(1, 4), 1), expected);
    assert_ne!(epoch(&draw(1, 5), 0), expected);
    let distinct: std::collections::HashSet<_> = expected.iter().collect();
    assert!(distinct.len() > 195, "elements have numbers of their own");
}

#[test]
fn batches_keep_or_drop_a_smaller_last_one() {
    assert_eq!(batches(&numbers(5).batch(2)), [vec![0, 1], vec![2, 3], vec![4]]);
    assert_eq!(batches(&numbers(5).batch_exact(2)), [[0, 1], [2, 3]]);
    assert_eq!(batches(&numbers(4).batch(2)), [[0, 1], [2, 3]]);
    assert_eq!(batches(&numbers(0).batch(2)), [[0; 0]; 0]);
    assert_eq!(batches(&numbers(4).batch(2).batch(2)), [[0, 1, 2, 3]]);
}

#[test]
fn take_skip_repeat_concatenate_and_filter_do_what_they_say() {
    assert_eq!(epoch(&numbers(10).skip(2).take(3), 0), [2, 3, 4]);
    assert_eq!(epoch(&numbers(3).skip(7), 0), [0; 0]);
    assert_eq!(epoch(&numbers(2).repeat(3), 0), [0, 1, 0, 1, 0, 1]);
    assert_eq!(epoch(&numbers(2).repeat(None).take(5), 0), [0, 1, 0, 1, 0]);
    assert_eq!(epoch(&numbers(0).repeat(None), 0), [0; 0], "nothing, without end, ends");
    assert_eq!(epoch(&numbers(2).concatenate(&numbers(3)), 0), [0, 1, 0, 1, 2]);
    let odd = numbers(100).filter(|x| Ok(x.item::<i32>()? % 50 == 49));
    assert_eq!(epoch(&odd, 0), [49, 99]);
}

#[test]
fn each_pass_of_a_repetition_is_shuffled_anew() {
    let passes = epoch(&numbers(30).shuffle(30, 2).repeat(2), 0);
    assert_ne!(passes[..30], passes[30..]);
}

#[test]
fn zip_puts_the_tensors_of_two_datasets_side_by_side() {
    let pairs: Dataset<(Tensor, Tensor)> = numbers(5).shuffle(5, 1).zip(&numbers(9).shuffle(9, 2).take(4));
    let (a, b) = pairs.batch(10).epoch(0).next().unwrap().unwrap();
    assert_eq!(a.to_vec::<i32>().unwrap(), epoch(&numbers(5).shuffle(5, 1), 0)[..4]);
    assert_eq!(b.to_vec::<i32>().unwrap(), epoch(&numbers(9).shuffle(9, 2), 0)[..4]);
}

#[test]
fn interleave_takes_blocks_in_turn_from_the_open_datasets() {
    let tens = |x: Tensor| {
        let ten = x.item::<i32>()? * 10;
        Dataset::from_tensors(situ_tensor::range(ten, ten + 3, 1)?)
    };
    assert_eq!(epoch(&numbers(3).interleave(2, 1, tens), 0), [0, 10, 1, 11, 2, 12, 20, 21, 22]);
    assert_eq!(epoch(&numbers(2).interleave(2, 2, tens), 0), [0, 1, 10, 11, 2, 12]);
    assert_eq!(epoch(&numbers(2).interleave(1, 1, tens), 0), [0, 1, 2, 10, 11, 12]);
}

#[test]
fn a_cache_runs_what_is_before_it_once() {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let cached = numbers(6)
        .map(move |x| {
            counted.fetch_add(1, SeqCst);
            Ok(x)
        })
        .cache();
    assert_eq!(cached.iter().take(3).count(), 3, "a pass that was given up is not kept");
    for _ in 0..3 {
        assert_eq!(epoch(&cached, 0), [0, 1, 2, 3, 4, 5]);
    }
    assert_eq!(calls.load(SeqCst), 9);
}

#[test]
fn lengths_are_known_where_they_can_be() {
    assert_eq!(numbers(10).shuffle(4, 0).batch(4).length(), Length::Known(3));
    assert_eq!(numbers(10).batch_exact(4).prefetch(2).length(), Length::Known(2));
    assert_eq!(numbers(10).repeat(None).length(), Length::Infinite);
    assert_eq!(numbers(10).repeat(None).take(7).length(), Length::Known(7));
    assert_eq!(numbers(10).filter(|_| Ok(true)).length(), Length::Unknown);
}

#[test]
fn prefetching_changes_no_element() {
    let plain = numbers(300).shuffle(40, 6).batch(7);
    for ahead in [1, 2, 9] {
        assert_eq!(batches(&plain.prefetch(ahead)), batches(&plain));
    }
    let elements = numbers(300).shuffle(40, 6);
    assert_eq!(epoch(&elements.prefetch(100), 0), epoch(&elements, 0));
}
