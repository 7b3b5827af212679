//! What each of the less simple algorithms is for, on the smallest graph that shows it.

use situ_place::{Budget, Device, Placement, Problem, ProblemBuilder, check, place};

/// A CPU with one slot and a GPU, and a link each way that takes so many seconds.
fn pair(copy: f64) -> ProblemBuilder {
    let mut b = ProblemBuilder::new();
    let cpu = b.device(Device::new("CPU:0"));
    let gpu = b.device(Device::new("GPU:0"));
    b.link(cpu, gpu, copy, 1e9, None);
    b.link(gpu, cpu, copy, 1e9, None);
    b
}

fn node(b: &mut ProblemBuilder, name: &str, seconds: &[f64]) -> usize {
    let node = b.node(name, 0.0);
    seconds.iter().enumerate().for_each(|(device, &s)| b.cost(node, device, s));
    node
}

fn placed(name: &str, problem: &Problem) -> Placement {
    let placement = place(name, problem, &Budget::moves(0)).unwrap();
    let answer = situ_place::Answer::new(problem, &placement);
    check(&problem.to_file(), &answer).unwrap();
    placement
}

#[test]
fn affinity_takes_over_what_a_slow_device_has_begun() {
    let mut b = pair(0.0);
    node(&mut b, "a", &[10.0, 1.0]);
    let late = node(&mut b, "b", &[10.0, 1.1]);
    let problem = b.build().unwrap();
    let placement = placed("affinity", &problem);
    assert_eq!(placement.device_of(late), 1);
    assert!((placement.makespan - 2.1).abs() < 1e-9, "{}", placement.makespan);
}

#[test]
fn affinity_gives_each_device_what_it_is_best_at() {
    let mut b = pair(0.0);
    // Equally urgent: only the ratios differ.
    let mixed: Vec<usize> = (0..4).map(|i| node(&mut b, "mixed", &[2.0, [1.0, 2.0][i % 2]])).collect();
    let problem = b.build().unwrap();
    let placement = placed("affinity", &problem);
    assert_eq!(mixed.iter().map(|&n| placement.device_of(n)).collect::<Vec<_>>(), [1, 0, 1, 0]);
}

#[test]
fn hoft_waits_for_the_fast_device_where_leaving_it_costs_the_readers_more() {
    let mut b = pair(4.0);
    let x = node(&mut b, "x", &[50.0, 2.0]);
    let tail = node(&mut b, "tail", &[50.0, 2.5]);
    b.edge(x, tail);
    let a = node(&mut b, "a", &[2.0, 1.0]);
    let reader = node(&mut b, "reader", &[10.0, 1.0]);
    b.edge(a, reader);
    let problem = b.build().unwrap();
    let placement = placed("hoft", &problem);
    assert_eq!(placement.device_of(a), 1);
    assert!(placement.makespan <= placed("heft", &problem).makespan);
}

#[test]
fn blocks_keep_what_a_fork_leads_to_together() {
    let mut b = ProblemBuilder::new();
    for i in 0..4 {
        b.device(Device::new(format!("GPU:{i}")));
    }
    for (from, to) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        b.link(from, to, 1.0, 1e9, None);
    }
    let fork = node(&mut b, "fork", &[1.0; 4]);
    let join = node(&mut b, "join", &[1.0; 4]);
    let mut heads = Vec::new();
    for _ in 0..4 {
        let [q, k, scores, mix] = ["q", "k", "scores", "mix"].map(|name| node(&mut b, name, &[0.6; 4]));
        for (from, to) in [(fork, q), (fork, k), (q, scores), (k, scores), (scores, mix), (mix, join)] {
            b.edge(from, to);
        }
        heads.push([q, k, scores, mix]);
    }
    let problem = b.build().unwrap();
    let placement = placed("blocks", &problem);
    for head in heads {
        assert!(head.iter().all(|&n| placement.device_of(n) == placement.device_of(head[0])));
    }
    assert!(placement.makespan < placed("heft", &problem).makespan);
}
