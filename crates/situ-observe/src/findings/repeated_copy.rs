//! The same bytes, copied again and again.

use super::what_if::WhatIf;
use super::{called, round_trips};
use crate::record::{Copy, CopyCause, Finding, FindingKind, NodeKind, Record};
use situ_core::reason::{bytes, seconds};
use std::cell::LazyCell;
use std::collections::BTreeMap;

/// Copies of one line outside of functions that are worth a word.
const AGAIN: usize = 3;
/// Bytes below which a copy is worth a word only if it costs time.
const SMALL: u64 = 64 << 10;

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    in_functions(record, found);
    outside(record, found);
}

fn in_functions(record: &Record, found: &mut Vec<Finding>) {
    for (number, plan, calls) in called(record).filter(|(_, _, calls)| *calls > 1) {
        let what_if = LazyCell::new(|| WhatIf::new(record, plan));
        for copy in &plan.copies {
            let Some(node) = copy.producer else { continue };
            let given = &plan.nodes[node];
            let [from, to] = [copy.from, copy.to].map(|d| record.devices[d].name.as_str());
            let remedy = match given.kind {
                NodeKind::Input => {
                    format!("keep it there with to_device(\"{to}\"), or let the dataset prefetch it to {to}")
                }
                NodeKind::Variable if round_trips::is_part(plan, copy) => continue,
                NodeKind::Variable => format!("make the variable under a scope of {to}"),
                NodeKind::Capture => format!("make the captured tensor on {to}"),
                NodeKind::Op | NodeKind::View | NodeKind::Cond | NodeKind::While => continue,
            };
            // As if it were there already: nothing to copy, nobody to wait for.
            let answer = what_if.changed(|file| {
                if let Some(entry) = file.nodes.iter_mut().find(|n| Some(n.id) == given.cost_id) {
                    entry.cost = BTreeMap::from([(to.to_string(), 0.0)]);
                }
            });
            let worthwhile = answer.as_ref().is_some_and(|answer| answer.worthwhile);
            if copy.bytes < SMALL && !worthwhile {
                continue;
            }
            let gain = answer.map_or(0.0, |answer| answer.gain.max(0.0));
            let what = match given.kind {
                NodeKind::Input => "An argument",
                NodeKind::Variable => "A variable",
                _ => "A captured tensor",
            };
            let saves = match gain {
                gain if gain > 0.0 => format!("that saves {} a call", seconds(gain)),
                _ => "the copy is hidden behind other work now".to_string(),
            };
            let text = format!(
                "{what} of {} is copied from {from} to {to} at each call, for {} ({}): {remedy}; {saves}.",
                bytes(copy.bytes as usize),
                plan.nodes[copy.consumer].full_name(),
                copy.source,
            );
            let (gain_seconds, plan, nodes) = (gain, Some(number), vec![node, copy.consumer]);
            let kind = FindingKind::RepeatedCopy;
            found.push(Finding { gain_seconds, calls, plan, nodes, ..Finding::new(kind, text) });
        }
    }
}

fn outside(record: &Record, found: &mut Vec<Finding>) {
    let mut lines: BTreeMap<(&str, usize, usize, u64), Vec<&Copy>> = BTreeMap::new();
    for copy in record.copies.iter().filter(|c| c.call.is_none() && c.cause == CopyCause::Implicit) {
        lines.entry((&copy.source, copy.from, copy.to, copy.bytes)).or_default().push(copy);
    }
    for ((source, from, to, size), copies) in lines.into_iter().filter(|(_, copies)| copies.len() >= AGAIN) {
        // A copy from a queue begins when the work before it is done: how much of its time was its own,
        // nobody can tell.
        let waits = record.devices[from].is_queued();
        let [from, to] = [from, to].map(|d| record.devices[d].name.as_str());
        let each = copies.iter().map(|c| c.end - c.start).sum::<f64>() / copies.len() as f64;
        let with = if waits { ", with the wait for the work before it" } else { "" };
        let text = format!(
            "{source} copies {} from {from} to {to} for {}, {} times: keep it there with to_device(\"{to}\"); each copy took {}{with}.",
            bytes(size as usize),
            copies[0].name,
            copies.len(),
            seconds(each),
        );
        // The first is needed.
        let (gain_seconds, calls) = (if waits { 0.0 } else { each }, copies.len() as u64 - 1);
        found.push(Finding { gain_seconds, calls, ..Finding::new(FindingKind::RepeatedCopy, text) });
    }
}
