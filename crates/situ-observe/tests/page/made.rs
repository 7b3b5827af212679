//! Records made by hand: a model of any size, trained for some steps on a CPU and a GPU.

use situ_core::Rule;
use situ_observe::Record;
use situ_observe::record::{
    Alternative, Call, Clock, Copy, CopyCause, Detail, Device, DeviceCost, EagerOp, Fallback, Finding,
    FindingKind, Input, Launch, MemorySample, Node, NodeKind, OpRef, Over, PlanRecord, PlannedCopy,
    PlannedMemory, Reason, Wait,
};

pub(crate) const CPU: usize = 0;
pub(crate) const GPU: usize = 1;

fn device(name: &str, kind: &str, description: &str, limit: u64) -> Device {
    Device {
        name: name.into(),
        kind: kind.into(),
        class: format!("discrete {kind}"),
        description: description.into(),
        memory_limit: Some(limit),
        memory_peak: limit / 2,
        calibrated: true,
        ..Device::default()
    }
}

/// One node of layer `layer`: products on the GPU, and each fourth layer's softmax on the CPU.
fn node(number: usize, layer: usize, within: usize) -> Node {
    let (op, on) = match (within, layer % 4) {
        (0, _) => ("matmul", GPU),
        (1, _) => ("bias_add + relu", GPU),
        (2, 3) => ("softmax", CPU),
        (2, _) => ("layer_norm", GPU),
        (_, 3) => ("sum", CPU),
        (_, _) => ("add", GPU),
    };
    let other = 1 - on;
    let back = [1, 4 + number % 5];
    let inputs = back.iter().filter(|b| **b <= number).map(|b| Input { node: number - b, bytes: 1 << 16 });
    let seconds = 2e-6 * (1 + number % 7) as f64;
    Node {
        kind: NodeKind::Op,
        op: op.into(),
        name: format!("encoder/layer {layer}/{}", if within < 2 { "dense" } else { "norm" }),
        dtype: "f32".into(),
        shape: vec![32, 365],
        output_bytes: 1 << 16,
        inputs: inputs.collect(),
        requested: if op == "softmax" { "/CPU:0".into() } else { String::new() },
        device: on,
        reason: Reason {
            rule: if op == "softmax" { Rule::Requested } else { Rule::Faster },
            text: format!("node {number} is done soonest there, copies counted"),
            wanted: None,
        },
        seconds,
        costs: vec![DeviceCost { device: on, seconds }, DeviceCost { device: other, seconds: 3.0 * seconds }],
        alternatives: vec![Alternative {
            device: other,
            seconds: 4e-6,
            over: number.is_multiple_of(3).then_some(Over { device: other, bytes: 4096 }),
        }],
        source: format!("src/model.rs:{}:9", 10 + number),
        ..Node::default()
    }
}

/// A model of about `count` nodes that was called `steps` times.
pub(crate) fn model(count: usize, steps: usize) -> Record {
    let mut nodes = vec![Node {
        kind: NodeKind::Input,
        op: "input".into(),
        dtype: "f32".into(),
        shape: vec![32, 2048],
        output_bytes: 1 << 18,
        reason: Reason { rule: Rule::Colocated, text: "it is there".into(), wanted: None },
        source: "src/main.rs:5:1".into(),
        ..Node::default()
    }];
    nodes.extend((1..count).map(|n| node(n, (n - 1) / 4, (n - 1) % 4)));
    let copies: Vec<PlannedCopy> = (1..count)
        .filter_map(|n| {
            let producer = nodes[n].inputs.first()?.node;
            let (from, to) = (nodes[producer].device, nodes[n].device);
            (from != to).then(|| PlannedCopy {
                producer: Some(producer),
                consumer: n,
                from,
                to,
                bytes: 1 << 16,
                seconds: 5e-6,
                source: nodes[n].source.clone(),
            })
        })
        .collect();
    let mut record = Record {
        version: 1,
        situ: "0.1.0".into(),
        title: "A model made for tests".into(),
        began: 1_790_000_000.0,
        detail: Detail::Device,
        devices: vec![
            device("CPU:0", "cpu", "a processor of 8 cores", 16 << 30),
            device("GPU:0", "gpu", "a graphics card", 24 << 20),
        ],
        ..Record::default()
    };
    let mut now = 20e-6;
    for step in 0..steps {
        let start = now;
        let mut free = [now, now];
        for (n, each) in nodes.iter().enumerate().skip(1) {
            let d = each.device;
            let mut ready = free[d];
            for (planned, copy) in copies.iter().enumerate().filter(|(_, c)| c.consumer == n) {
                let begin = free[copy.from];
                let end = begin + 6e-6 + 1e-7 * (step % 5) as f64;
                record.copies.push(Copy {
                    from: copy.from,
                    to: copy.to,
                    bytes: copy.bytes,
                    cause: CopyCause::Implicit,
                    call: Some(step),
                    planned: Some(planned),
                    name: each.full_name(),
                    source: each.source.clone(),
                    lane: 2,
                    start: begin,
                    end,
                });
                if end > ready {
                    record.waits.push(Wait {
                        call: step,
                        node: n,
                        waited_for: vec![n - 1],
                        device: d,
                        lane: d,
                        start: ready,
                        end,
                    });
                    ready = end;
                }
            }
            let end = ready + each.seconds * (0.8 + 0.1 * ((step + n) % 5) as f64);
            record.launches.push(Launch {
                op: OpRef::Node { call: step, node: n },
                device: d,
                lane: d,
                queued: ready - 1e-6,
                launched: ready - 0.5e-6,
                start: ready,
                end,
                clock: if d == GPU { Clock::Device } else { Clock::Host },
                pass: None,
            });
            free[d] = end;
            if n % 15 == 0 {
                let in_use = ((8 + (n / 15) % 9) as u64) << 20;
                record.memory.push(MemorySample { time: end, device: d, in_use, reserved: in_use });
            }
        }
        now = free[0].max(free[1]);
        record.calls.push(Call { plan: 0, number: step as u64, thread: 0, start, end: now });
        now += 15e-6;
    }
    record.seconds = now;
    record.memory.sort_by(|a, b| a.time.total_cmp(&b.time));
    record.launches.sort_by(|a, b| a.start.total_cmp(&b.start));
    record.copies.sort_by(|a, b| a.start.total_cmp(&b.start));
    record.eager.push(EagerOp {
        op: "mean".into(),
        name: "metrics".into(),
        dtype: "f32".into(),
        shape: vec![],
        requested: String::new(),
        device: CPU,
        reason: Reason { rule: Rule::Faster, text: "its input is there".into(), wanted: None },
        source: "src/main.rs:40:5".into(),
        count: 1,
    });
    record.fallbacks.push(Fallback {
        op: "matmul".into(),
        name: "f64".into(),
        wanted: "GPU:0".into(),
        device: CPU,
        reason: "GPU:0 has no f64 kernel".into(),
        count: 3,
        source: "src/main.rs:44:5".into(),
    });
    let softmax = nodes.iter().position(|n| n.op == "softmax");
    let text =
        "softmax runs on CPU:0 because a scope asks for it; GPU:0 would be done sooner: take the scope away.";
    record.findings.push(Finding {
        gain_seconds: 31e-6,
        calls: steps as u64,
        plan: Some(0),
        nodes: softmax.into_iter().collect(),
        ..Finding::new(FindingKind::Scope, text.into())
    });
    let last = nodes.len() - 1;
    let predicted: f64 = nodes.iter().map(|n| n.seconds).sum();
    record.plans.push(PlanRecord {
        function: "step".into(),
        signature: "f32[32, 2048]".into(),
        results: vec![last],
        nodes,
        copies,
        lanes: 3,
        predicted,
        expected: predicted * 1.1,
        lower_bound: predicted * 0.8,
        algorithm: "auto".into(),
        memory: vec![PlannedMemory { device: GPU, peak: 17 << 20, reserved: 9 << 20, limit: Some(24 << 20) }],
        passes: vec!["fuse elementwise: 12 ops in 6 kernels".into()],
        ..PlanRecord::default()
    });
    record
}
