//! Bounds against the truth: every placement of tiny graphs, in every order.

use crate::graphs::random;
use situ_place::{Budget, Device, Problem, ProblemBuilder, Schedule, lower_bound, place, simulate};

/// The shortest step of all devices and orders, if there are not too many.
fn shortest(problem: &Problem) -> Option<f64> {
    let nodes = problem.node_count();
    let mut placements: Vec<Vec<usize>> = vec![Vec::new()];
    for node in 0..nodes {
        let with = |p: &Vec<usize>, d: usize| p.iter().copied().chain([d]).collect::<Vec<_>>();
        placements = placements.iter().flat_map(|p| problem.allowed(node).map(move |d| with(p, d))).collect();
        if placements.len() > 4000 {
            return None;
        }
    }
    let mut orders = Vec::new();
    all_orders(nodes, &mut Vec::new(), &mut orders);
    let mut best = f64::INFINITY;
    for order in &orders {
        for devices in &placements {
            // An order that is none, or groups on two devices, are no schedules.
            let Ok(schedule) = Schedule::new(problem, devices, order) else { continue };
            if let Ok(timeline) = simulate(problem, &schedule) {
                best = best.min(timeline.makespan);
            }
        }
    }
    Some(best)
}

fn all_orders(nodes: usize, begun: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
    if begun.len() == nodes {
        orders.push(begun.clone());
    }
    for node in 0..nodes {
        if !begun.contains(&node) {
            begun.push(node);
            all_orders(nodes, begun, orders);
            begun.pop();
        }
    }
}

/// Tiny graphs, each with the shortest step there is.
fn solved(from: u64, most: usize) -> impl Iterator<Item = (u64, Problem, f64)> {
    (from..).filter_map(move |seed| {
        let (graph, machine) = random(seed, most, 0.0).split();
        let problem = Problem::new(&graph, &machine).unwrap();
        if problem.node_count() > 5 {
            return None;
        }
        let best = shortest(&problem).filter(|b| b.is_finite())?;
        Some((seed, problem, best))
    })
}

#[test]
fn no_bound_is_above_the_shortest_step_of_all_placements_and_orders() {
    let (mut compared, mut reached) = (0, 0);
    for (seed, problem, best) in solved(5_000_000, 5).take(120) {
        let answer = place("auto", &problem, &Budget::moves(50)).unwrap();
        // What an answer says is never above its own makespan; the bound by itself may be.
        for known in [best, best * 1.01, best * 1.3, f64::INFINITY] {
            let bound = lower_bound(&problem, known);
            assert!(bound <= best * (1.0 + 1e-9), "seed {seed}: {bound} is above {best}, knowing {known}");
        }
        assert!(answer.lower_bound <= best * (1.0 + 1e-9), "seed {seed}");
        compared += 1;
        reached += u32::from(lower_bound(&problem, best) >= best * (1.0 - 1e-6));
    }
    assert!(reached * 3 > compared, "{compared} compared, {reached} bounds reached");
}

/// Twin GPUs, each linked to each: a copy takes a tenth of a second.
fn twins(count: usize) -> ProblemBuilder {
    let mut builder = ProblemBuilder::new();
    for i in 0..count {
        builder.device(Device::new(format!("GPU:{i}")));
    }
    for i in 0..count {
        for j in (0..count).filter(|&j| j != i) {
            builder.link(i, j, 0.1, 1e9, None);
        }
    }
    builder
}

#[test]
fn of_several_ways_that_leave_a_node_and_meet_again_only_one_is_spared_a_copy() {
    let mut b = twins(6);
    let mut node = |seconds: f64, inputs: &[usize]| {
        let node = b.node(String::new(), 0.0);
        (0..6).for_each(|d| b.cost(node, d, seconds));
        inputs.iter().for_each(|&input| b.edge(input, node));
        node
    };
    let begin = node(1.0, &[]);
    let ways: Vec<usize> = (0..3)
        .map(|_| {
            let pair = [node(1.0, &[begin]), node(1.0, &[begin])];
            node(2.0, &pair)
        })
        .collect();
    node(1.0, &ways);
    let problem = b.build().unwrap();
    // A pair is on two devices. One of all readers is beside the node they read, so two of the ways wait for
    // a copy there, for one between the two of their pair, and all but one for a copy to the end.
    let best = 1.0 + 0.1 + 1.0 + 0.1 + 2.0 + 0.1 + 1.0;
    let answer = place("auto", &problem, &Budget::moves(2000)).unwrap();
    assert!((answer.makespan - best).abs() < 1e-9, "{}", answer.makespan);
    assert!(answer.gap() < 1e-6, "{} is not known to be the best", answer.makespan);
}

#[test]
fn paths_and_area_together_say_more_than_each_alone() {
    // Two chains of six: a node takes 1 s on the GPU, 2 s on one of two CPU cores. A chain is done in 6 s on
    // the GPU, and both would be if the CPU took half of the nodes; but each node that it takes makes a path
    // longer.
    let mut b = ProblemBuilder::new();
    let (cpu, gpu) = (b.device(Device::new("CPU:0").slots(2)), b.device(Device::new("GPU:0")));
    b.link(cpu, gpu, 0.0, 1e9, None);
    b.link(gpu, cpu, 0.0, 1e9, None);
    for _ in 0..2 {
        let mut last = None;
        for _ in 0..6 {
            let node = b.node(String::new(), 0.0);
            b.cost(node, cpu, 2.0);
            b.cost(node, gpu, 1.0);
            last.replace(node).into_iter().for_each(|from| b.edge(from, node));
        }
    }
    let problem = b.build().unwrap();
    let answer = place("auto", &problem, &Budget::moves(20_000)).unwrap();
    assert_eq!(answer.makespan, 8.0);
    assert!(answer.lower_bound > 7.9, "{}", answer.lower_bound);
}
