//! A plan as the page needs it: every node with its place and reason, what was expected of it and what was
//! measured.

use super::layout::{self, Group, type_of};
use super::numbers::{median, nanoseconds};
use crate::record::{Node, NodeKind, OpRef, Part, PlanRecord, PlannedMemory, Record};
use serde::Serialize;
use std::collections::HashMap;

#[derive(Serialize)]
pub(super) struct PlanData<'a> {
    function: &'a str,
    signature: &'a str,
    requested: &'a str,
    predicted: i64,
    expected: i64,
    best: i64,
    algorithm: &'a str,
    lanes: usize,
    passes: &'a [String],
    memory: &'a [PlannedMemory],
    results: &'a [usize],
    calls: usize,
    /// The median, least and most of its calls.
    took: Option<[i64; 3]>,
    /// Producer, consumer, from, to, bytes, ns.
    copies: Vec<(Option<usize>, usize, usize, usize, u64, i64)>,
    nodes: Vec<NodeData<'a>>,
    groups: Vec<Group>,
}

/// Device, change in ns, and the device and bytes of memory that would be missing.
type Alternative = (usize, i64, Option<(usize, u64)>);

#[derive(Serialize)]
struct NodeData<'a> {
    kind: NodeKind,
    op: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "<[Part]>::is_empty")]
    parts: &'a [Part],
    #[serde(rename = "type")]
    of_type: String,
    bytes: u64,
    /// Node and bytes.
    inputs: Vec<(usize, u64)>,
    #[serde(skip_serializing_if = "str::is_empty")]
    requested: &'a str,
    device: usize,
    rule: &'a str,
    why: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<&'a str>,
    predicted: i64,
    /// The median, and how many launches it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<(i64, usize)>,
    /// Device and ns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    costs: Vec<(usize, i64)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<Alternative>,
    source: &'a str,
}

/// Every plan of a record.
pub(super) fn plans(record: &Record) -> Vec<PlanData<'_>> {
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

fn plan_data<'a>(
    plan: &'a PlanRecord,
    calls: &mut [f64],
    mut measured: impl FnMut(usize) -> Option<(i64, usize)>,
) -> PlanData<'a> {
    let middle = median(calls);
    let took = middle.map(|middle| [middle, calls[0], calls[calls.len() - 1]].map(nanoseconds));
    PlanData {
        function: &plan.function,
        signature: &plan.signature,
        requested: &plan.requested,
        predicted: nanoseconds(plan.predicted),
        expected: nanoseconds(plan.expected),
        best: nanoseconds(plan.lower_bound),
        algorithm: &plan.algorithm,
        lanes: plan.lanes,
        passes: &plan.passes,
        memory: &plan.memory,
        results: &plan.results,
        calls: calls.len(),
        took,
        copies: plan
            .copies
            .iter()
            .map(|c| (c.producer, c.consumer, c.from, c.to, c.bytes, nanoseconds(c.seconds)))
            .collect(),
        nodes: plan.nodes.iter().enumerate().map(|(n, node)| node_data(node, measured(n))).collect(),
        groups: layout::groups(plan),
    }
}

fn node_data(node: &Node, measured: Option<(i64, usize)>) -> NodeData<'_> {
    NodeData {
        kind: node.kind,
        op: node.label(),
        name: &node.name,
        parts: &node.parts,
        of_type: type_of(node),
        bytes: node.output_bytes,
        inputs: node.inputs.iter().map(|input| (input.node, input.bytes)).collect(),
        requested: &node.requested,
        device: node.device,
        rule: node.reason.rule.name(),
        why: &node.reason.text,
        wanted: node.reason.wanted.as_deref(),
        predicted: nanoseconds(node.seconds),
        measured,
        costs: node.costs.iter().map(|cost| (cost.device, nanoseconds(cost.seconds))).collect(),
        alternatives: node
            .alternatives
            .iter()
            .map(|a| (a.device, nanoseconds(a.seconds), a.over.as_ref().map(|o| (o.device, o.bytes))))
            .collect(),
        source: &node.source,
    }
}
