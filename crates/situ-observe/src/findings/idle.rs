//! Devices that take part and mostly stand still.

use super::called;
use crate::record::{Finding, FindingKind, OpRef, PlanRecord, Record};
use situ_core::reason::seconds;
use std::collections::HashMap;

/// A device that does nothing for more than this share of a call is worth a word.
const MOSTLY: f64 = 0.5;

/// Calls that must have been seen: the first ones wait for much that later ones do not.
const ENOUGH: u64 = 3;

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    let lengths = record.call_lengths();
    for (number, plan, calls) in called(record) {
        let mut used: Vec<usize> = plan.nodes.iter().filter(|n| n.runs()).map(|n| n.device).collect();
        used.sort_unstable();
        used.dedup();
        if used.len() < 2 || calls < ENOUGH {
            continue;
        }
        let mine = |call: usize| record.calls[call].plan == number;
        let together: f64 = (0..lengths.len()).filter(|&c| mine(c)).map(|c| lengths[c]).sum();
        for device in used {
            let busy: f64 = record.launches.iter().filter(|l| l.device == device).fold(0.0, |sum, launch| {
                match launch.op {
                    OpRef::Node { call, .. } if mine(call) => sum + launch.end - launch.start,
                    _ => sum,
                }
            });
            let idle = 1.0 - busy / together;
            if together <= 0.0 || idle < MOSTLY {
                continue;
            }
            let could = (plan.predicted - plan.lower_bound).max(0.0);
            // The host, which hands out work and waits for it, is as it should be, unless there is a better
            // way.
            if record.devices[device].is_host() && could <= super::WORTHWHILE * plan.predicted {
                continue;
            }
            let bound = match could {
                could if could > super::WORTHWHILE * plan.predicted => {
                    format!("another placement can save at most {} a call", seconds(could))
                }
                _ => "no placement that its scopes allow is faster: larger batches would use it better"
                    .to_string(),
            };
            let name = &record.devices[device].name;
            let text = format!(
                "{name} stands still for {:.0}% of a call{}; {bound}.",
                idle * 100.0,
                waiting(record, plan, number, device)
            );
            let nodes: Vec<usize> = (0..plan.nodes.len())
                .filter(|&n| plan.nodes[n].runs() && plan.nodes[n].device == device)
                .collect();
            let plan = Some(number);
            found.push(Finding { calls, plan, nodes, ..Finding::new(FindingKind::Idle, text) });
        }
    }
}

/// What the device mostly waits for.
fn waiting(record: &Record, plan: &PlanRecord, number: usize, device: usize) -> String {
    let mut by_node: HashMap<usize, f64> = HashMap::new();
    let mine = |call: usize| record.calls[call].plan == number;
    for wait in record.waits.iter().filter(|w| w.device == device && mine(w.call)) {
        for &node in &wait.waited_for {
            *by_node.entry(node).or_default() += wait.end - wait.start;
        }
    }
    let most = by_node.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map_or_else(String::new, |(node, _)| {
        let node = &plan.nodes[node];
        format!(", mostly waiting for {} on {}", node.full_name(), record.devices[node.device].name)
    })
}
