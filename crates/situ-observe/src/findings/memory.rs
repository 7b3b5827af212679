//! Memory limits that keep ops from their best device.

use super::what_if::WhatIf;
use super::{called, names};
use crate::record::{Finding, FindingKind, Record};
use situ_core::Rule;
use situ_core::reason::{bytes, seconds};

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    for (number, plan, calls) in called(record) {
        let kept = |n: &usize| plan.nodes[*n].reason.rule == Rule::MemoryLimit;
        let nodes: Vec<usize> = (0..plan.nodes.len()).filter(kept).collect();
        let Some(full) = nodes.first().and_then(|&n| plan.nodes[n].reason.wanted.clone()) else { continue };
        let answer = WhatIf::new(record, plan)
            .changed(|file| file.devices.iter_mut().for_each(|device| device.memory = None));
        let Some(answer) = answer.filter(|answer| answer.worthwhile) else {
            continue;
        };
        let at = answer.problem.devices().iter().position(|device| device.name == full);
        let needed = at.map_or(0.0, |at| answer.placement.peak_memory[at]);
        let limit = plan.costs.devices.iter().find(|device| device.name == full).and_then(|d| d.memory);
        let missing = (needed - limit.unwrap_or(needed)).max(0.0);
        let text = format!(
            "{full} has no memory for {}: with {} more there, a call would take {} less. Raise its limit, or make the batch smaller.",
            names(nodes.iter().map(|n| &plan.nodes[*n])),
            bytes(missing as usize),
            seconds(answer.gain),
        );
        let (plan, gain_seconds) = (Some(number), answer.gain);
        found.push(Finding { gain_seconds, calls, plan, nodes, ..Finding::new(FindingKind::Memory, text) });
    }
}
