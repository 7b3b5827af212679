//! What algorithms do when the time is over.

use super::*;
use crate::{Device, ProblemBuilder, check};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A thousand devices that all differ, with links from and to the first of them, and a chain with side
/// branches.
fn a_thousand_devices() -> Problem {
    let mut b = ProblemBuilder::new();
    let devices: Vec<usize> = (0..1000).map(|i| b.device(Device::new(format!("CPU:{i}")))).collect();
    for &d in &devices[1..] {
        b.link(0, d, 1e-5, 1e9 + d as f64, None);
        b.link(d, 0, 1e-5, 1e9, None);
    }
    for i in 0..60 {
        let node = b.node(format!("n{i}"), 1e5);
        devices.iter().for_each(|&d| b.cost(node, d, 1e-3 + ((i * 7919 + d * 104_729) % 1000) as f64 * 1e-6));
        if i > 0 {
            b.edge(i - 1, node);
        }
        if i > 2 && i % 2 == 0 {
            b.edge(i - 3, node);
        }
    }
    b.build().unwrap()
}

/// Steps that may be done at a stretch, between two words to the timer: some milliseconds.
const A_STRETCH: usize = 1_000_000;

#[test]
fn every_algorithm_gives_up_soon_after_the_time_is_over() {
    let problem = a_thousand_devices();
    for algorithm in CONSTRUCTIVE.iter().filter(|a| a.name() != "heft") {
        for looks in [0, 3, 10] {
            let timer = Timer::after(looks);
            let found = algorithm.schedule(&problem, 1.0, &timer);
            let steps = timer.steps();
            assert!(timer.is_over() || found.is_ok(), "{} left no trace", algorithm.name());
            assert!(
                steps <= (looks + 1) * 50_000 + A_STRETCH,
                "{} did {steps} steps after {looks} looks",
                algorithm.name()
            );
            if looks == 0 {
                let late = matches!(found, Err(PlaceError::Time { .. }));
                assert!(late, "{} had time that there was not", algorithm.name());
            }
        }
    }
}

#[test]
fn the_first_algorithm_has_an_answer_whatever_the_time() {
    let problem = a_thousand_devices();
    let hurried = Timer::after(0);
    let found = CONSTRUCTIVE[0].schedule(&problem, 1.0, &hurried).unwrap();
    found.schedule.require_valid(&problem).unwrap();
    // Of a thousand devices it looked at a few for each node.
    let all = Timer::never();
    CONSTRUCTIVE[0].schedule(&problem, 1.0, &all).unwrap();
    assert!(hurried.steps() * 50 < all.steps(), "{} of {} steps", hurried.steps(), all.steps());
}

#[test]
fn a_placement_without_time_is_valid_all_the_same() {
    let problem = a_thousand_devices();
    let stop = Arc::new(AtomicBool::new(true));
    for budget in [Budget::seconds(0.0), Budget::seconds(1e-9).threads(2), Budget::moves(100).stop_when(stop)]
    {
        for algorithm in ["auto", "sweep", "walk", "heft"] {
            let placement = place(algorithm, &problem, &budget).unwrap();
            check(&problem.to_file(), &crate::Answer::new(&problem, &placement)).unwrap();
            assert!(placement.lower_bound > 0.0 && placement.lower_bound <= placement.makespan);
        }
    }
}

#[test]
fn an_algorithm_by_name_says_that_it_was_not_done_and_what_to_do() {
    let problem = a_thousand_devices();
    let error = place("cut", &problem, &Budget::seconds(0.0)).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cut has no answer after 0 s"), "{text}");
    assert!(text.contains("more seconds") && text.contains("auto"), "{text}");
    let stop = Arc::new(AtomicBool::new(true));
    let error = place("cut", &problem, &Budget::moves(9).stop_when(stop)).unwrap_err();
    assert_eq!(error.to_string(), "cut was stopped before it had an answer");
}
