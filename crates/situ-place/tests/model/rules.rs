//! The algorithm `rules`, and with it the simulator, against the independent checker.

use crate::graphs::{Dice, random};
use situ_core::Rule;
use situ_place::simulate::simulate_unlimited;
use situ_place::{
    Answer, Budget, Device, PlaceError, Problem, ProblemBuilder, Requests, Schedule, check, place, simulate,
};

#[test]
fn every_answer_of_the_rules_passes_the_checker() {
    let mut answered = 0;
    for seed in 0..2000 {
        let file = random(seed, 40, 0.5);
        let (graph, machine) = file.clone().split();
        let problem = Problem::new(&graph, &machine).unwrap();
        match place("rules", &problem, &Budget::default()) {
            Ok(placement) => {
                answered += 1;
                assert_eq!(placement.reasons.len(), problem.node_count());
                if let Err(error) = check(&file, &Answer::new(&problem, &placement)) {
                    panic!("seed {seed}: {error}");
                }
            }
            Err(PlaceError::Memory(_)) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(answered > 1000, "only {answered} of 2000 had an answer");
}

#[test]
fn any_devices_in_any_order_have_times_that_pass_the_checker() {
    let (mut fits, mut delayed) = (0, 0);
    for seed in 0..3000 {
        let file = random(seed, 30, 0.8);
        let (graph, machine) = file.clone().split();
        let problem = Problem::new(&graph, &machine).unwrap();
        let mut dice = Dice::new(seed + 77);
        let mut devices = vec![usize::MAX; problem.node_count()];
        for node in 0..problem.node_count() {
            let choices: Vec<usize> = problem.allowed(node).collect();
            let device = choices[dice.below(choices.len())];
            for member in problem.colocated(node) {
                if devices[member] == usize::MAX {
                    devices[member] = device;
                }
            }
        }
        let order = random_order(&problem, &mut dice);
        let schedule = Schedule::new(&problem, &devices, &order).unwrap();
        let Ok(timeline) = simulate(&problem, &schedule) else { continue };
        fits += 1;
        let unlimited = simulate_unlimited(&problem, &schedule).unwrap();
        delayed += usize::from(unlimited.excess(&problem).is_some());
        let answer = answer_of(&problem, &devices, &timeline);
        if let Err(error) = check(&file, &answer) {
            panic!("seed {seed}: {error}");
        }
    }
    assert!(fits > 1000, "only {fits} fit");
    assert!(delayed > 20, "only {delayed} had to wait for memory");
}

fn random_order(problem: &Problem, dice: &mut Dice) -> Vec<usize> {
    let file = problem.to_file();
    let mut waiting = vec![0; problem.node_count()];
    let at = |id: i64| (0..problem.node_count()).find(|&n| problem.node_id(n) == id).unwrap();
    let edges: Vec<(usize, usize)> = file.edges.iter().map(|e| (at(e.from), at(e.to))).collect();
    for &(_, to) in &edges {
        waiting[to] += 1;
    }
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|&n| waiting[n] == 0).collect();
    let mut order = Vec::new();
    while !ready.is_empty() {
        let node = ready.swap_remove(dice.below(ready.len()));
        order.push(node);
        for &(_, to) in edges.iter().filter(|e| e.0 == node) {
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    order
}

fn answer_of(problem: &Problem, devices: &[usize], timeline: &situ_place::Timeline) -> Answer {
    let mut answer = Answer {
        makespan: timeline.makespan,
        lower_bound: 0.0,
        algorithm: "none".to_owned(),
        seconds: 0.0,
        moves: 0,
        nodes: Vec::new(),
        transfers: Vec::new(),
        peak_memory: Default::default(),
    };
    for (node, &device) in devices.iter().enumerate() {
        answer.nodes.push(situ_place::answer::AnswerNode {
            id: problem.node_id(node),
            device: problem.device(device).name.clone(),
            start: timeline.start[node],
            finish: timeline.finish[node],
            reason: situ_place::answer::AnswerReason { rule: String::new(), text: String::new() },
            delta: None,
        });
    }
    for t in &timeline.transfers {
        answer.transfers.push(situ_place::answer::AnswerTransfer {
            edge_from: problem.node_id(t.node),
            from: problem.device(t.from).name.clone(),
            to: problem.device(t.to).name.clone(),
            start: t.start,
            finish: t.finish,
        });
    }
    for (device, &bytes) in timeline.peak_memory.iter().enumerate() {
        answer.peak_memory.insert(problem.device(device).name.clone(), bytes);
    }
    answer
}

#[test]
fn a_request_that_cannot_be_met_gives_way_only_when_soft() {
    let build = |requests| {
        let mut b = ProblemBuilder::new();
        b.requests(requests);
        let cpu = b.device(Device::new("CPU:0"));
        let gpu = b.device(Device::new("GPU:0"));
        let node = b.node("f64 matmul", 8.0);
        b.cost(node, cpu, 1.0);
        b.request(node, "/GPU:0");
        let far = b.node("far", 8.0);
        b.cost(far, cpu, 1.0);
        b.cost(far, gpu, 1.0);
        b.request(far, "/GPU:7");
        b.build().unwrap()
    };
    let error = place("rules", &build(Requests::Hard), &Budget::default()).unwrap_err();
    assert!(error.to_string().contains("/GPU:0"), "{error}");
    let placement = place("rules", &build(Requests::Soft), &Budget::default()).unwrap();
    assert_eq!(placement.devices, [0, 1]);
    assert_eq!(placement.reasons[0].rule(), Rule::NoKernel);
    assert_eq!(placement.reasons[1].rule(), Rule::NoSuchDevice);
}

/// A GPU of so many bytes beside a CPU, nodes by the bytes of their output and their request, and edges.
fn graph(gpu: usize, nodes: &[(usize, &str)], edges: &[(usize, usize)]) -> situ_place::GraphFile {
    let rows = nodes.iter().enumerate().map(|(id, (bytes, device))| {
        format!(
            r#"{{"id": {id}, "name": "n{id}", "cost": {{"cpu": 1, "gpu": 1}}, "output_bytes": {bytes}, "device": "{device}"}}"#
        )
    });
    let edges = edges.iter().map(|(from, to)| format!(r#"{{"from": {from}, "to": {to}}}"#));
    let text = format!(
        r#"{{"version": 1,
        "devices": [{{"name": "CPU:0", "kind": "cpu"}}, {{"name": "GPU:0", "kind": "gpu", "memory": {gpu}}}],
        "links": [{{"from": "CPU:0", "to": "GPU:0", "bandwidth": 1e9}}, {{"from": "GPU:0", "to": "CPU:0", "bandwidth": 1e9}}],
        "nodes": [{}], "edges": [{}]}}"#,
        rows.collect::<Vec<_>>().join(","),
        edges.collect::<Vec<_>>().join(",")
    );
    situ_place::GraphFile::from_json(&text).unwrap()
}

/// Where the rules put the nodes, with the reasons.
fn placed(file: &situ_place::GraphFile) -> Vec<(usize, String)> {
    let (graph, machine) = file.clone().split();
    let problem = Problem::new(&graph, &machine).unwrap();
    let placement = place("rules", &problem, &Budget::default()).unwrap();
    check(file, &Answer::new(&problem, &placement)).unwrap();
    let text =
        |(n, &device): (usize, &usize)| (device, situ_place::reason_text(&problem, n, &placement.reasons[n]));
    placement.devices.iter().enumerate().map(text).collect()
}

#[test]
fn an_op_whose_result_does_not_fit_goes_to_the_next_device() {
    let nodes = [(60, "/GPU:0"), (100, ""), (20, ""), (10, "/GPU:0")];
    let placed = placed(&graph(150, &nodes, &[(0, 1), (1, 2), (2, 3)]));
    assert_eq!(placed.iter().map(|p| p.0).collect::<Vec<_>>(), [1, 0, 1, 1], "{placed:?}");
    assert!(placed[1].1.contains("GPU:0"), "{placed:?}");
}

#[test]
fn an_op_that_must_be_there_makes_an_earlier_result_give_way() {
    // The second is alive while the third, which has no choice, brings 100.
    let nodes = [(10, "/GPU:0"), (80, ""), (100, "/GPU:0"), (4, "/CPU:0")];
    let placed = placed(&graph(150, &nodes, &[(0, 1), (0, 2), (1, 3), (2, 3)]));
    assert_eq!(placed.iter().map(|p| p.0).collect::<Vec<_>>(), [1, 0, 1, 0], "{placed:?}");
    assert!(placed[1].1.contains("GPU:0"), "{placed:?}");
}
