//! Bounds against the truth: every placement of tiny graphs, in every order.

use crate::graphs::random;
use situ_place::{Budget, Problem, Schedule, place, simulate};

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

#[test]
fn no_bound_is_above_the_shortest_step_of_all_placements_and_orders() {
    let (mut compared, mut reached) = (0, 0);
    for seed in 0..4000 {
        let (graph, machine) = random(seed + 5_000_000, 5, 0.0).split();
        let problem = Problem::new(&graph, &machine).unwrap();
        if problem.node_count() > 5 {
            continue;
        }
        let Some(best) = shortest(&problem).filter(|b| b.is_finite()) else { continue };
        let answer = place("auto", &problem, &Budget::moves(50)).unwrap();
        let bound = answer.lower_bound;
        assert!(bound <= best * (1.0 + 1e-9), "seed {seed}: {bound} is above {best}");
        compared += 1;
        reached += u32::from(bound >= best * (1.0 - 1e-6));
        if compared == 120 {
            break;
        }
    }
    assert!(compared >= 100 && reached * 3 > compared, "{compared} compared, {reached} bounds reached");
}
