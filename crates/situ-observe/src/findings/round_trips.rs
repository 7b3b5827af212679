//! Variables that travel to the device of a step and come back at each call.

use super::called;
use super::what_if::WhatIf;
use crate::record::{Finding, FindingKind, NodeKind, PlanRecord, PlannedCopy, Record};
use situ_core::reason::{bytes, seconds};
use std::collections::BTreeMap;

/// What goes to and fro between two devices in one plan.
struct Trip<'p> {
    from: usize,
    to: usize,
    there: Vec<(usize, &'p PlannedCopy)>,
    back: Vec<&'p PlannedCopy>,
}

/// The copies of variables by which a call begins, with those of new values by which it ends.
fn trips(plan: &PlanRecord) -> Vec<Trip<'_>> {
    let mut trips: Vec<Trip<'_>> = Vec::new();
    for copy in &plan.copies {
        let Some(node) = copy.producer.filter(|n| plan.nodes[*n].kind == NodeKind::Variable) else {
            continue;
        };
        match trips.iter_mut().find(|trip| (trip.from, trip.to) == (copy.from, copy.to)) {
            Some(trip) => trip.there.push((node, copy)),
            None => {
                trips.push(Trip { from: copy.from, to: copy.to, there: vec![(node, copy)], back: Vec::new() })
            }
        }
    }
    for trip in &mut trips {
        // The copy of a new value is made for nobody but the variable.
        let is_new_value = |copy: &&PlannedCopy| {
            copy.producer.is_none()
                && plan.results.contains(&copy.consumer)
                && (copy.from, copy.to) == (trip.to, trip.from)
        };
        trip.back = plan.copies.iter().filter(is_new_value).collect();
    }
    trips.retain(|trip| !trip.back.is_empty());
    trips
}

/// Whether a copy of a variable is one half of a round trip: then it is said here.
pub(super) fn is_part(plan: &PlanRecord, copy: &PlannedCopy) -> bool {
    trips(plan).iter().any(|trip| trip.there.iter().any(|(_, there)| std::ptr::eq(*there, copy)))
}

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    for (number, plan, calls) in called(record).filter(|(_, _, calls)| *calls > 1) {
        for trip in trips(plan) {
            let [from, to] = [trip.from, trip.to].map(|d| record.devices[d].name.as_str());
            // As if the variables lived there: read and written where the call is.
            let answer = WhatIf::new(record, plan).changed(|file| {
                let moved = |id: i64| trip.there.iter().any(|(n, _)| plan.nodes[*n].cost_id == Some(id));
                for entry in &mut file.nodes {
                    // What no node stands for assigns a variable.
                    let assigns = !plan.nodes.iter().any(|node| node.cost_id == Some(entry.id))
                        && entry.cost.contains_key(from);
                    if moved(entry.id) || assigns {
                        entry.cost = BTreeMap::from([(to.to_string(), 0.0)]);
                    }
                }
            });
            let gain_seconds = answer.map_or(0.0, |answer| answer.gain.max(0.0));
            let saves = match gain_seconds {
                gain if gain > 0.0 => format!("that saves {} a call", seconds(gain)),
                _ => "the copies are hidden behind other work now".to_string(),
            };
            let sum = |copies: &mut dyn Iterator<Item = u64>| bytes(copies.sum::<u64>() as usize);
            let text = format!(
                "{} variables ({}) go from {from} to {to} at each call, and {} new values ({}) come back: make them under a \
                 scope of {to}, or let placement move them (the rules Auto and PreferGpu move what no scope has pinned); {saves}.",
                trip.there.len(),
                sum(&mut trip.there.iter().map(|(_, copy)| copy.bytes)),
                trip.back.len(),
                sum(&mut trip.back.iter().map(|copy| copy.bytes)),
            );
            let (plan, nodes) = (Some(number), trip.there.iter().map(|(n, _)| *n).collect());
            let kind = FindingKind::RepeatedCopy;
            found.push(Finding { gain_seconds, calls, plan, nodes, ..Finding::new(kind, text) });
        }
    }
}
