//! A compiled graph described in full, for records: every node with its place and costs, every step with what
//! it waits for.

use super::candidates::{can_run, input_types, is_view};
use super::compiled::Blueprint;
use super::costing::seconds_on;
use super::explain::Explanation;
use super::measure::Measured;
use super::plan::{Action, Step};
use super::plan_record::{
    self, Alternative, DeviceCost, Input, NodeKind, Over, Part, PlanRecord, PlannedCopy, PlannedMemory,
    requested,
};
use crate::policy::Lacking;
use situ_core::{DType, DeviceId, TensorType};
use situ_ir::graph::Source;
use situ_ir::{Content, Node, NodeId};
use situ_place::GraphFile;
use smallvec::SmallVec;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Runs a kernel.
    Launch,
    /// Copies bytes to the step's device.
    Copy {
        /// The device that has the bytes.
        from: DeviceId,
        /// How many bytes are copied.
        bytes: usize,
        /// The node for which it is copied; the step's own node is the one that made it.
        reader: NodeId,
        /// Which of the steps that ask ahead has asked for it.
        asked: Option<usize>,
        /// Whether it goes from one queue to another, so that it is not done when the step is over.
        is_queued: bool,
    },
    /// Asks a queue for bytes that a copy will wait for; which one, by number.
    BeginDownload(usize),
    /// Runs a condition or a loop.
    Branch,
}

/// One step of the plan.
#[derive(Clone, Debug)]
pub struct StepDescription {
    /// What it does.
    pub kind: StepKind,
    /// The device that it runs on; of a copy, the one that gets the bytes.
    pub device: DeviceId,
    /// Which lane runs it.
    pub lane: usize,
    /// The node that it is for.
    pub node: NodeId,
    /// The nodes of the steps that it waits for.
    pub waits: Vec<NodeId>,
    /// Seconds that the model expects of it.
    pub seconds: f64,
    /// The line of the program.
    pub source: Source,
}

/// All there is to know of a compiled graph.
#[derive(Clone, Debug)]
pub struct PlanDescription {
    /// What records keep of it.
    pub plan: PlanRecord,
    /// The steps, by number.
    pub steps: Vec<StepDescription>,
    /// Which of the plan's copies each step is.
    pub copies: Vec<Option<usize>>,
}

/// Numbers devices: a description has their positions in a list of whoever asked for it.
pub type Numbering<'a> = &'a mut dyn FnMut(DeviceId) -> usize;

impl Blueprint {
    /// All there is to know of it. Takes milliseconds: every alternative is simulated.
    pub fn describe(&self, number: Numbering<'_>) -> PlanDescription {
        let explanation = self.explain();
        let measured = self.measured();
        let costs = self.cost_graph();
        let mut steps: Vec<(usize, StepDescription)> = Vec::new();
        for (lane, steps_of_lane) in self.plan.lanes.iter().enumerate() {
            steps.extend(steps_of_lane.steps.iter().map(|step| (step.number, self.step(lane, step))));
        }
        steps.sort_by_key(|(number, _)| *number);
        let steps: Vec<StepDescription> = steps.into_iter().map(|(_, step)| step).collect();
        let (copies, copy_of_step) = planned_copies(&steps, number);
        let memory = explanation.memory.iter().map(|memory| PlannedMemory {
            device: number(memory.device),
            peak: memory.peak as u64,
            reserved: memory.reserved as u64,
            limit: memory.limit.map(|limit| limit as u64),
        });
        let memory = memory.collect();
        let nodes = self.graph.iter();
        let mut nodes: Vec<plan_record::Node> =
            nodes.map(|(id, node)| self.node(id, node, &explanation, &measured, &costs, number)).collect();
        name_the_given(&mut nodes);
        let signature: Vec<String> = self.graph.inputs().iter().map(|ty| ty.to_string()).collect();
        let passes = self
            .reports()
            .iter()
            .flat_map(|report| report.did.iter().map(|note| format!("{}: {note}", report.pass)));
        // Why a gradient of rows was made dense: what it costs is told by a finding.
        let rows = self.reports().iter().filter(|report| report.pass == "rows");
        let dense = rows.flat_map(|report| report.nearly.iter().map(|note| format!("no rows: {note}")));
        let plan = PlanRecord {
            function: self.function.to_string(),
            signature: signature.join(", "),
            requested: requested(&self.requested),
            nodes,
            results: self.graph.results().map(|value| value.node.index()).collect(),
            copies,
            lanes: self.plan.lanes.len(),
            predicted: explanation.predicted,
            expected: self.expected(),
            lower_bound: explanation.lower_bound,
            algorithm: explanation.algorithm.clone(),
            memory,
            passes: passes.chain(dense).collect(),
            costs,
        };
        PlanDescription { plan, steps, copies: copy_of_step }
    }

    fn node(
        &self,
        id: NodeId,
        node: &Node,
        explanation: &Explanation,
        measured: &Measured,
        graph_costs: &GraphFile,
        number: Numbering<'_>,
    ) -> plan_record::Node {
        let (device, reason) = self.assignment[id.index()];
        let op = explanation.ops.iter().find(|op| op.place.node == id && op.place.inside.is_none());
        let is_view = matches!(&node.content, Content::Op(op) if is_view(op));
        let runs = !is_view && !node.content.is_source();
        let kind = match &node.content {
            Content::Input(_) => NodeKind::Input,
            Content::Capture(_) => NodeKind::Capture,
            Content::Variable(_) => NodeKind::Variable,
            Content::Op(_) if is_view => NodeKind::View,
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
            bytes: self.graph.type_of(*value).bytes() as u64,
        });
        let mut costs = Vec::new();
        let mut narrow_costs = Vec::new();
        if runs {
            // Who records wants to know of every device, and opens those that nothing has needed so far.
            for logical in self.plan.devices.iter().filter(|d| can_run(&self.graph, node, d, false).is_ok()) {
                let measured = measured.seconds(id, logical.id());
                let seconds = measured.unwrap_or_else(|| seconds_on(logical, &self.graph, node));
                costs.push(DeviceCost { device: number(logical.id()), seconds });
            }
            for (device, seconds) in self.narrow_costs(node) {
                narrow_costs.push(DeviceCost { device: number(device), seconds });
            }
        }
        let alternatives =
            op.map(|op| op.alternatives.as_slice()).unwrap_or_default().iter().map(|other| Alternative {
                device: number(other.device),
                seconds: other.seconds,
                over: other.over.map(|(id, bytes)| Over { device: number(id), bytes: bytes as u64 }),
            });
        let alternatives = alternatives.collect();
        let costed = &self.prediction.costed;
        let cost_node = costed.number[id.index()];
        let cost_node = (!is_view && cost_node < costed.problem.node_count()).then_some(cost_node);
        let first = node.types.first();
        plan_record::Node {
            kind,
            op: node.content.name().to_string(),
            name: node.request.name.to_string(),
            parts: parts.collect(),
            dtype: first.map_or_else(String::new, |ty| ty.dtype.to_string()),
            shape: first.map_or_else(Vec::new, |ty| ty.shape.dims().to_vec()),
            output_bytes: node.types.iter().map(|ty| ty.bytes() as u64).sum(),
            inputs: inputs.collect(),
            requested: op.map_or_else(String::new, |op| requested(&op.place.requested)),
            device: number(self.plan.devices[device].id()),
            reason: plan_record::Reason::from(&reason),
            start: op.map_or(0.0, |op| op.start),
            seconds: op.map_or(0.0, |op| op.seconds),
            costs,
            narrow_costs,
            alternatives,
            cost_id: cost_node.and_then(|n| Some(graph_costs.nodes.get(n)?.id)),
            source: node.source.to_string(),
        }
    }

    fn narrow_costs(&self, node: &Node) -> Vec<(DeviceId, f64)> {
        let Content::Op(op) = &node.content else { return Vec::new() };
        let types = input_types(&self.graph, node);
        if !types.iter().chain(&node.types).any(|ty| narrow(*ty) != *ty) {
            return Vec::new();
        }
        let inputs: SmallVec<[TensorType; 4]> = types.iter().map(|ty| narrow(*ty)).collect();
        // An op that names a wide dtype itself (a cast, a fill) stays as it is.
        let Ok(outputs) = op.infer(&inputs) else { return Vec::new() };
        if outputs.iter().any(|ty| narrow(*ty) != *ty) {
            return Vec::new();
        }
        let able = self.plan.devices.iter().filter(|logical| {
            let has = |device: &dyn situ_device::Device| device.kernel(op, &inputs, &outputs).is_ok();
            can_run(&self.graph, node, logical, false) == Err(Lacking::Kernel)
                && logical.device().is_ok_and(has)
        });
        able.map(|logical| (logical.id(), logical.seconds(&op.work(&inputs, &outputs)))).collect()
    }

    pub(super) fn step(&self, lane: usize, step: &Step) -> StepDescription {
        let kind = match &step.action {
            Action::Launch { .. } => StepKind::Launch,
            Action::BeginDownload { sent, .. } => StepKind::BeginDownload(*sent),
            Action::Copy { from, to, through, reader, sent, .. } => StepKind::Copy {
                from: self.plan.devices[self.plan.buffers[from.buffer].device].id(),
                bytes: from.bytes(),
                reader: *reader,
                asked: *sent,
                is_queued: through.is_none()
                    && [from, to]
                        .map(|o| &self.plan.devices[self.plan.buffers[o.buffer].device])
                        .iter()
                        .all(|d| !d.is_host()),
            },
            Action::Cond { .. } | Action::While { .. } => StepKind::Branch,
        };
        let waits = step.waits.iter().filter_map(|&(lane, steps)| {
            Some(self.plan.lanes.get(lane)?.steps.get(steps.checked_sub(1)?)?.node)
        });
        StepDescription {
            kind,
            device: self.plan.devices[step.device].id(),
            lane,
            node: step.node,
            waits: waits.collect(),
            seconds: step.seconds,
            source: step.source,
        }
    }
}

/// The copies among the steps, and which of them each step is.
fn planned_copies(
    steps: &[StepDescription],
    number: Numbering<'_>,
) -> (Vec<PlannedCopy>, Vec<Option<usize>>) {
    let mut copies: Vec<PlannedCopy> = Vec::new();
    let mut copy_of_step = Vec::with_capacity(steps.len());
    for step in steps {
        let StepKind::Copy { from, bytes, reader, .. } = step.kind else {
            copy_of_step.push(None);
            continue;
        };
        copy_of_step.push(Some(copies.len()));
        copies.push(PlannedCopy {
            producer: (step.node != reader).then_some(step.node.index()),
            consumer: reader.index(),
            from: number(from),
            to: number(step.device),
            bytes: bytes as u64,
            seconds: step.seconds,
            source: step.source.to_string(),
        });
    }
    (copies, copy_of_step)
}

/// Variables and captured tensors have no names of their own: each gets those of its first reader. A variable
/// that an op under `update/dense/kernel` changes is `dense/kernel`.
fn name_the_given(nodes: &mut [plan_record::Node]) {
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

/// The type with 64-bit elements halved.
fn narrow(ty: TensorType) -> TensorType {
    let dtype = match ty.dtype {
        DType::F64 => DType::F32,
        DType::I64 => DType::I32,
        other => other,
    };
    TensorType { dtype, ..ty }
}
