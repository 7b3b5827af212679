//! Ops that did not run where they were asked to.

use super::what_if::{WhatIf, allow};
use super::{called, names};
use crate::record::{Finding, FindingKind, Record, full_name};
use situ_core::Rule;
use situ_core::reason::seconds;

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    for (number, plan, calls) in called(record) {
        let fell = |n: &usize| plan.nodes[*n].fell_back();
        let nodes: Vec<usize> = (0..plan.nodes.len()).filter(fell).collect();
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for n in nodes {
            let wanted = plan.nodes[n].reason.wanted.clone().unwrap_or_default();
            match groups.iter_mut().find(|(device, _)| *device == wanted) {
                Some((_, members)) => members.push(n),
                None => groups.push((wanted, vec![n])),
            }
        }
        for (wanted, nodes) in groups {
            let (text, gain_seconds) = advice(record, number, &wanted, &nodes);
            let plan = Some(number);
            found.push(Finding {
                gain_seconds,
                calls,
                plan,
                nodes,
                ..Finding::new(FindingKind::Fallback, text)
            });
        }
    }
    for (number, op) in record.eager.iter().enumerate() {
        let Some(wanted) = op.reason.wanted.as_ref().filter(|_| op.fell_back()) else { continue };
        let (name, device) = (full_name(&op.name, &op.op), &record.devices[op.device].name);
        let text = format!(
            "{name} runs on {device}, {} was asked for: {} ({}). {}",
            wanted,
            op.reason.text,
            op.source,
            remedy(op.reason.rule, &op.dtype)
        );
        let (calls, eager) = (op.count, vec![number]);
        found.push(Finding { calls, eager, ..Finding::new(FindingKind::Fallback, text) });
    }
}

fn remedy(rule: Rule, dtype: &str) -> String {
    let narrow = match dtype {
        "f64" => Some("f32"),
        "i64" => Some("i32"),
        _ => None,
    };
    match (rule, narrow) {
        (Rule::NoKernel, Some(narrow)) => format!("Cast to {narrow}, or leave the scope out."),
        (Rule::NoKernel, None) => {
            "Leave the scope out, or write it with ops that the device has.".to_string()
        }
        (Rule::TooLarge, _) => {
            "Split it into smaller parts (a smaller batch), or leave the scope out.".to_string()
        }
        (Rule::Unopened, _) => {
            "Raise its memory limit, or look at its driver with `situ doctor`.".to_string()
        }
        (Rule::DeviceLost, _) => "The device was lost: look at its driver.".to_string(),
        _ => "Name a device that exists (`situ devices` lists them), or leave the scope out.".to_string(),
    }
}

fn advice(record: &Record, number: usize, wanted: &str, nodes: &[usize]) -> (String, f64) {
    let plan = &record.plans[number];
    let first = &plan.nodes[nodes[0]];
    let device = &record.devices[first.device].name;
    let what = names(nodes.iter().map(|n| &plan.nodes[*n]));
    let begin = format!("{what} runs on {device}: {}.", first.reason.text);
    let narrowed: Vec<usize> =
        nodes.iter().copied().filter(|n| !plan.nodes[*n].narrow_costs.is_empty()).collect();
    let rest = remedy(first.reason.rule, &first.dtype);
    if narrowed.is_empty() {
        return (format!("{begin} {rest}"), 0.0);
    }
    let answer = WhatIf::new(record, plan).changed(|file| {
        for &n in &narrowed {
            allow(record, plan, file, n, &plan.nodes[n].narrow_costs);
            // Half as wide is half the bytes.
            if let Some(entry) = file.nodes.iter_mut().find(|e| Some(e.id) == plan.nodes[n].cost_id) {
                entry.output_bytes /= 2.0;
            }
            for edge in file.edges.iter_mut().filter(|e| Some(e.from) == plan.nodes[n].cost_id) {
                edge.bytes = edge.bytes.map(|bytes| bytes / 2.0);
            }
        }
    });
    match answer {
        Some(answer) if answer.worthwhile => {
            let narrow = if first.dtype == "i64" { "i32" } else { "f32" };
            let text =
                format!("{begin} Cast to {narrow}: on {wanted} it saves {} a call.", seconds(answer.gain));
            (text, answer.gain)
        }
        _ => (format!("{begin} {rest} Nothing would be gained on {wanted}, by the costs there are."), 0.0),
    }
}
