//! What an answer promises beside its times: it can be had again, it says why, and what another device would
//! change.

use crate::graphs::random;
use situ_place::{
    Budget, Device, PlaceError, Problem, ProblemBuilder, Requests, Schedule, delta, deltas, place, simulate,
};

fn problem(seed: u64, most: usize) -> Problem {
    let (graph, machine) = random(seed, most, 0.3).split();
    Problem::new(&graph, &machine).unwrap()
}

#[test]
fn the_same_seed_and_moves_give_the_same_answer_whatever_the_threads() {
    for seed in 0..4 {
        let problem = problem(seed + 40, 60);
        let budget = Budget::moves(if seed == 0 { 200_000 } else { 5_000 }).seed(seed);
        let Ok(one) = place("auto", &problem, &budget) else { continue };
        for threads in [1, 2, 3, 8] {
            let again = place("auto", &problem, &budget.clone().threads(threads)).unwrap();
            assert_eq!((&again.devices, &again.order), (&one.devices, &one.order), "{threads} threads");
            assert_eq!((&again.start, again.makespan), (&one.start, one.makespan));
            assert_eq!((again.lower_bound, again.moves), (one.lower_bound, one.moves));
            assert_eq!(again.reasons, one.reasons);
        }
    }
}

#[test]
fn delta_is_a_full_simulation_with_the_group_moved() {
    let mut compared = 0;
    for seed in 0..300 {
        let problem = problem(seed, 40);
        let Ok(placement) = place("auto", &problem, &Budget::moves(200)) else { continue };
        let all = deltas(&problem, &placement);
        for (node, quick) in all.iter().enumerate() {
            for device in problem.allowed(node).collect::<Vec<_>>() {
                let quick = quick.iter().find(|(d, _)| *d == device).map(|(_, delta)| *delta);
                let mut devices = placement.devices.clone();
                problem.colocated(node).for_each(|n| devices[n] = device);
                let moved = Schedule::new(&problem, &devices, &placement.order).unwrap();
                let Ok(delta) = delta(&problem, &placement, node, device) else {
                    assert!(simulate(&problem, &moved).is_err());
                    assert!(quick.is_none());
                    continue;
                };
                if device != placement.devices[node] {
                    assert_eq!(quick, Some(delta), "seed {seed}");
                }
                match simulate(&problem, &moved) {
                    Ok(timeline) => {
                        assert_eq!(delta.seconds, timeline.makespan - placement.makespan, "seed {seed}");
                        assert!(delta.over.is_none());
                    }
                    Err(PlaceError::Memory(_)) => {
                        assert!(delta.over.is_some_and(|(_, bytes)| bytes > 0.0), "seed {seed}");
                    }
                    Err(error) => panic!("seed {seed}: {error}"),
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 5_000, "only {compared}");
}

#[test]
fn an_answer_is_never_worse_than_the_placement_it_begins_from() {
    for seed in 0..100 {
        let mut problem = problem(seed, 60);
        let Ok(first) = place("auto", &problem, &Budget::moves(500)) else { continue };
        for node in (0..problem.node_count()).step_by(7) {
            for device in 0..problem.device_count() {
                if let Some(cost) = problem.cost(node, device) {
                    assert!(problem.set_cost(node, device, cost * 1.5));
                }
            }
        }
        let Ok(kept) = simulate(&problem, &first.schedule()) else { continue };
        let again = place("auto", &problem, &Budget::moves(100).starting_from(&first)).unwrap();
        assert!(again.makespan <= kept.makespan, "seed {seed}");
    }
}

/// Two nodes of 600 bytes each, and GPUs with these limits.
fn tight(limits: &[f64], gpu_only: bool) -> Problem {
    let mut b = ProblemBuilder::new();
    b.requests(Requests::Hard);
    let cpu = b.device(Device::new("CPU:0").memory(100.0));
    let gpus: Vec<_> = limits
        .iter()
        .enumerate()
        .map(|(i, &m)| b.device(Device::new(format!("GPU:{i}")).memory(m)))
        .collect();
    for name in ["weights", "more"] {
        let node = b.node(name, 0.0);
        gpus.iter().for_each(|&g| b.cost(node, g, 1.0));
        if !gpu_only {
            b.cost(node, cpu, 10.0);
        }
        b.memory(node, 600.0);
    }
    b.build().unwrap()
}

#[test]
fn an_infeasible_problem_names_the_tightest_constraint_and_what_is_missing() {
    assert!(place("auto", &tight(&[600.0, 700.0], true), &Budget::default()).is_ok());
    for algorithm in ["auto", "heft", "rules"] {
        let error = place(algorithm, &tight(&[600.0, 500.0], true), &Budget::default()).unwrap_err();
        let PlaceError::Memory(short) = &error else { panic!("{algorithm}: {error}") };
        assert_eq!(short.missing(), 100.0, "{algorithm}: {error}");
        assert!(short.devices.contains(&"GPU:1".to_owned()), "{algorithm}: {error}");
        assert!(error.to_string().contains("100 B"), "{algorithm}: {error}");
    }
}

#[test]
fn what_no_placement_can_hold_is_named_with_all_its_devices() {
    // Each node fits somewhere; three of them do not fit both GPUs together.
    let mut b = ProblemBuilder::new();
    let gpus = [b.device(Device::new("GPU:0").memory(1000.0)), b.device(Device::new("GPU:1").memory(900.0))];
    for _ in 0..3 {
        let node = b.node("weights", 0.0);
        gpus.iter().for_each(|&g| b.cost(node, g, 1.0));
        b.memory(node, 700.0);
    }
    let error = place("auto", &b.build().unwrap(), &Budget::default()).unwrap_err();
    let PlaceError::Memory(short) = &error else { panic!("{error}") };
    assert_eq!((short.missing(), short.devices.len()), (200.0, 2), "{error}");
}

#[test]
fn a_copy_that_is_larger_than_the_output_counts_where_it_goes() {
    let mut b = ProblemBuilder::new();
    let cpu = b.device(Device::new("CPU:0"));
    let gpu = b.device(Device::new("GPU:0").memory(254.0));
    b.link(cpu, gpu, 0.0, 1e3, None);
    b.link(gpu, cpu, 0.0, 1e3, None);
    let from = b.node("from", 0.0);
    b.cost(from, cpu, 1.0);
    let to = b.node("to", 72.0);
    b.cost(to, cpu, 8.0);
    b.cost(to, gpu, 1.0);
    b.edge_bytes(from, to, 204.0);
    let problem = b.build().unwrap();
    for name in ["walk", "sweep", "auto"] {
        let placement = place(name, &problem, &Budget::moves(200)).unwrap();
        assert_eq!(placement.device_of(to), cpu, "{name}: 204 and 72 bytes do not fit");
    }
}
