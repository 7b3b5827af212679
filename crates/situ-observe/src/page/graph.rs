//! A plan as the page has it: as the record does, with what was measured and the layout of its graph.

use super::layout::{self, type_of};
use super::numbers::{median, nanoseconds};
use crate::record::{OpRef, PlanRecord, Record};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Every plan of a record.
pub(super) fn plans(record: &Record) -> Vec<Value> {
    let mut times: HashMap<(usize, usize), Vec<f64>> = HashMap::new();
    let mut ends: Vec<f64> = record.calls.iter().map(|call| call.end).collect();
    for launch in &record.launches {
        if let OpRef::Node { call, node } = launch.op {
            if launch.is_measured(&record.devices[launch.device]) {
                times.entry((record.calls[call].plan, node)).or_default().push(launch.end - launch.start);
            }
            ends[call] = ends[call].max(launch.end);
        }
    }
    let mut calls: Vec<Vec<f64>> = vec![Vec::new(); record.plans.len()];
    for (call, end) in record.calls.iter().zip(ends) {
        calls[call.plan].push(end - call.start);
    }
    let plan = |(number, plan)| {
        let measured = |n| {
            let times = times.get_mut(&(number, n))?;
            Some((nanoseconds(median(times)?), times.len()))
        };
        plan_data(plan, &mut calls[number], measured)
    };
    record.plans.iter().enumerate().map(plan).collect()
}

/// A plan as the record has it, and beside that what the page would have to work out: of each node `label`,
/// `type` and `measured` (the median in ns, and how many launches it is of); of the plan `calls`, `took` (the
/// median, least and most of its calls, in ns) and `groups`. Its costs are for the placer alone.
fn plan_data(
    plan: &PlanRecord,
    calls: &mut [f64],
    mut measured: impl FnMut(usize) -> Option<(i64, usize)>,
) -> Value {
    let middle = median(calls);
    let took = middle.map(|middle| [middle, calls[0], calls[calls.len() - 1]].map(nanoseconds));
    let mut data = json!(plan);
    if let Some(nodes) = data["nodes"].as_array_mut() {
        for (number, (node, data)) in plan.nodes.iter().zip(nodes).enumerate() {
            data["label"] = json!(node.label());
            data["type"] = json!(type_of(node));
            data["measured"] = json!(measured(number));
        }
    }
    if let Some(data) = data.as_object_mut() {
        data.remove("costs");
    }
    data["calls"] = json!(calls.len());
    data["took"] = json!(took);
    data["groups"] = json!(layout::groups(plan));
    data
}
