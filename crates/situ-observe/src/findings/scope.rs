//! Scopes that cost time: what the placer would do without them.

use super::what_if::{WhatIf, allow};
use super::{called, names};
use crate::record::{Finding, FindingKind, Record};
use situ_core::Rule;
use situ_core::reason::seconds;
use std::cell::LazyCell;

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    for (number, plan, calls) in called(record) {
        let mut scopes: Vec<(&str, Vec<usize>)> = Vec::new();
        for (n, node) in plan.nodes.iter().enumerate() {
            if node.reason.rule == Rule::Requested && node.costs.len() > 1 {
                match scopes.iter_mut().find(|(scope, _)| *scope == node.requested) {
                    Some((_, members)) => members.push(n),
                    None => scopes.push((&node.requested, vec![n])),
                }
            }
        }
        let what_if = LazyCell::new(|| WhatIf::new(record, plan));
        for (scope, nodes) in scopes {
            let answer = what_if.changed(|file| {
                nodes.iter().for_each(|&n| allow(record, plan, file, n, &plan.nodes[n].costs));
            });
            let Some(answer) = answer.filter(|answer| answer.worthwhile) else {
                continue;
            };
            let moved: Vec<usize> = nodes
                .iter()
                .copied()
                .filter(|&n| {
                    let there = answer.device_of(plan, n);
                    there.is_some_and(|there| there != record.devices[plan.nodes[n].device].name)
                })
                .collect();
            let Some(&first) = moved.first() else { continue };
            let there = answer.device_of(plan, first).unwrap_or("another device");
            let text = format!(
                "The scope {scope} costs {} a call: without it, {} would run on {there}.",
                seconds(answer.gain),
                names(moved.iter().map(|n| &plan.nodes[*n])),
            );
            let (plan, gain_seconds, nodes) = (Some(number), answer.gain, moved);
            found.push(Finding {
                gain_seconds,
                calls,
                plan,
                nodes,
                ..Finding::new(FindingKind::Scope, text)
            });
        }
    }
}
