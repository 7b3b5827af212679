//! The plans of a record: each described once, however often it was called.

use super::devices::Devices;
use super::spec;
use crate::record::{
    Alternative, DeviceCost, Input, Node, NodeKind, Over, Part, PlanRecord, PlannedCopy, PlannedMemory,
};
use situ_core::DeviceId;
use situ_ir::{Content, NodeId};
use situ_runtime::function::{Blueprint, NodeDescription, PlanDescription, StepDescription, StepKind};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Plans {
    known: Vec<Arc<Blueprint>>,
    list: Vec<PlanRecord>,
    steps: Vec<Arc<[StepDescription]>>,
    /// By plan and step, which of the plan's copies it is.
    copies: Vec<Vec<Option<usize>>>,
}

impl Plans {
    /// The position of a plan; one that was not seen before is described.
    pub(super) fn position(&mut self, blueprint: &Arc<Blueprint>, devices: &mut Devices) -> usize {
        if let Some(at) = self.known.iter().position(|known| Arc::ptr_eq(known, blueprint)) {
            return at;
        }
        let described = blueprint.describe();
        let (plan, copies) = plan(&described, devices);
        self.known.push(blueprint.clone());
        self.list.push(plan);
        self.copies.push(copies);
        self.steps.push(described.steps.into());
        self.known.len() - 1
    }

    pub(super) fn steps(&self, plan: usize) -> Arc<[StepDescription]> {
        self.steps[plan].clone()
    }

    /// The step that asks ahead for the bytes of a copy, by the number of the asking.
    pub(super) fn asking(&self, plan: usize, number: usize) -> Option<usize> {
        self.steps[plan].iter().position(|step| step.kind == StepKind::BeginDownload(number))
    }

    pub(super) fn copy(&self, plan: usize, step: usize) -> Option<usize> {
        self.copies[plan][step]
    }

    /// Seconds that a node is expected to take on a device, by what was measured where that is known.
    pub(super) fn expected(&self, plan: usize, node: usize, device: usize) -> f64 {
        let node = &self.list[plan].nodes[node];
        node.costs.iter().find(|cost| cost.device == device).map_or(node.seconds, |cost| cost.seconds)
    }

    pub(super) fn name(&self, plan: usize, node: usize) -> String {
        self.list[plan].nodes[node].full_name()
    }

    /// The nodes of a plan that fell back, and the device that was asked for.
    pub(super) fn fallbacks(&self, plan: usize) -> Vec<(usize, String)> {
        let nodes = self.list[plan].nodes.iter().enumerate().filter(|(_, node)| node.fell_back());
        nodes.filter_map(|(n, node)| Some((n, node.reason.wanted.clone()?))).collect()
    }

    /// What there is to say of one that did: op, names, device, reason, line.
    pub(super) fn fallback(&self, plan: usize, node: usize) -> (String, String, usize, String, String) {
        let node = &self.list[plan].nodes[node];
        (node.op.clone(), node.name.clone(), node.device, node.reason.text.clone(), node.source.clone())
    }

    pub(super) fn into_list(self) -> Vec<PlanRecord> {
        self.list
    }
}

fn plan(described: &PlanDescription, devices: &mut Devices) -> (PlanRecord, Vec<Option<usize>>) {
    let graph = &described.graph;
    let signature: Vec<String> = graph.inputs().iter().map(|ty| ty.to_string()).collect();
    let mut copies: Vec<PlannedCopy> = Vec::new();
    let mut copy_of_step = Vec::with_capacity(described.steps.len());
    for step in &described.steps {
        let StepKind::Copy { from, bytes, reader, .. } = step.kind else {
            copy_of_step.push(None);
            continue;
        };
        copy_of_step.push(Some(copies.len()));
        copies.push(PlannedCopy {
            producer: (step.node != reader).then_some(step.node.index()),
            consumer: reader.index(),
            from: devices.position(from),
            to: devices.position(step.device),
            bytes: bytes as u64,
            seconds: step.seconds,
            source: step.source.to_string(),
        });
    }
    let explained = &described.explanation;
    let memory = explained.memory.iter().map(|memory| PlannedMemory {
        device: devices.position(memory.device),
        peak: memory.peak as u64,
        reserved: memory.reserved as u64,
        limit: memory.limit.map(|limit| limit as u64),
    });
    let memory = memory.collect();
    let passes = described
        .reports
        .iter()
        .flat_map(|report| report.did.iter().map(|note| format!("{}: {note}", report.pass)));
    let mut nodes: Vec<Node> = graph.iter().map(|(id, _)| node(described, id, devices)).collect();
    name_the_given(&mut nodes);
    let plan = PlanRecord {
        function: described.function.to_string(),
        signature: signature.join(", "),
        requested: spec(&described.requested),
        nodes,
        results: graph.results().map(|value| value.node.index()).collect(),
        copies,
        lanes: described.lanes,
        predicted: explained.predicted,
        expected: described.expected,
        lower_bound: explained.lower_bound,
        algorithm: explained.algorithm.clone(),
        memory,
        passes: passes.collect(),
        costs: described.costs.clone(),
    };
    (plan, copy_of_step)
}

/// Variables and captured tensors have no names of their own: each gets those of its first reader. A variable
/// that an op under `update/dense/kernel` changes is `dense/kernel`.
fn name_the_given(nodes: &mut [Node]) {
    let mut names: Vec<Option<(String, Option<String>)>> = vec![None; nodes.len()];
    for reader in nodes.iter() {
        let updated = reader.name.strip_prefix("update/").and_then(|path| path.rsplit_once('/'));
        for (position, input) in reader.inputs.iter().enumerate() {
            if !matches!(nodes[input.node].kind, NodeKind::Variable | NodeKind::Capture) {
                continue;
            }
            let (name, _) = names[input.node].get_or_insert_with(|| (reader.name.clone(), None));
            if let Some((layer, weight)) = updated.filter(|_| position == 0) {
                let layer = if name.starts_with("update/") { layer.to_string() } else { name.clone() };
                names[input.node] = Some((layer, Some(weight.to_string())));
            }
        }
    }
    for (node, name) in nodes.iter_mut().zip(names) {
        let Some((name, weight)) = name else { continue };
        node.name = name;
        if let Some(weight) = weight {
            node.op = weight;
        }
    }
}

fn node(described: &PlanDescription, id: NodeId, devices: &mut Devices) -> Node {
    let (node, about) = (described.graph.node(id), &described.nodes[id.index()]);
    let kind = match &node.content {
        Content::Input(_) => NodeKind::Input,
        Content::Capture(_) => NodeKind::Capture,
        Content::Variable(_) => NodeKind::Variable,
        Content::Op(_) if about.is_view => NodeKind::View,
        Content::Op(_) => NodeKind::Op,
        Content::Cond(_) => NodeKind::Cond,
        Content::While(_) => NodeKind::While,
    };
    let parts = node.parts();
    let joined = parts.len() > 1;
    let parts = parts.into_iter().filter(|_| joined).map(|part| Part {
        op: part.op.to_string(),
        name: part.name.to_string(),
        source: part.source.to_string(),
    });
    let inputs = node.inputs.iter().map(|value| Input {
        node: value.node.index(),
        bytes: described.graph.type_of(*value).bytes() as u64,
    });
    let NodeDescription { costs, narrow_costs, alternatives, .. } = about;
    let mut cost = |list: &[(DeviceId, f64)]| -> Vec<DeviceCost> {
        list.iter().map(|&(id, seconds)| DeviceCost { device: devices.position(id), seconds }).collect()
    };
    let (costs, narrow_costs) = (cost(costs), cost(narrow_costs));
    let alternatives = alternatives.iter().map(|other| Alternative {
        device: devices.position(other.device),
        seconds: other.seconds,
        over: other.over.map(|(id, bytes)| Over { device: devices.position(id), bytes: bytes as u64 }),
    });
    let alternatives = alternatives.collect();
    let first = node.types.first();
    Node {
        kind,
        op: node.content.name().to_string(),
        name: node.request.name.to_string(),
        parts: parts.collect(),
        dtype: first.map_or_else(String::new, |ty| ty.dtype.to_string()),
        shape: first.map_or_else(Vec::new, |ty| ty.shape.dims().to_vec()),
        output_bytes: node.types.iter().map(|ty| ty.bytes() as u64).sum(),
        inputs: inputs.collect(),
        requested: spec(&about.requested),
        device: devices.position(about.device),
        reason: crate::record::Reason::from(&about.reason),
        start: about.start,
        seconds: about.seconds,
        costs,
        narrow_costs,
        alternatives,
        cost_id: about.cost_node.and_then(|n| Some(described.costs.nodes.get(n)?.id)),
        source: node.source.to_string(),
    }
}
