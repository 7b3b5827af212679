//! A compiled graph described in full, for records: every node with its place and costs, every step with what
//! it waits for.

use super::candidates::{can_run, input_types, is_view};
use super::compiled::Blueprint;
use super::costing::seconds_on;
use super::explain::{Alternative, Explanation};
use super::measure::Measured;
use super::plan::{Action, Step};
use crate::logical::LogicalDevice;
use crate::policy::Lacking;
use situ_core::{DType, DeviceId, DeviceSpec, Reason, TensorType};
use situ_ir::graph::Source;
use situ_ir::passes::Report;
use situ_ir::{Content, Graph, Node, NodeId};
use situ_place::GraphFile;
use smallvec::SmallVec;
use std::sync::Arc;

/// A node's place, and what it takes.
#[derive(Clone, Debug)]
pub struct NodeDescription {
    /// Where it runs, or where what it stands for is.
    pub device: DeviceId,
    /// Why there.
    pub reason: Reason,
    /// What the scopes around it asked for.
    pub requested: DeviceSpec,
    /// When it is expected to start, in seconds from the call.
    pub start: f64,
    /// How long it is expected to take.
    pub seconds: f64,
    /// The other devices that may run it, and what they would change.
    pub alternatives: Vec<Alternative>,
    /// Seconds on every device that has the kernel, whatever was asked for.
    pub costs: Vec<(DeviceId, f64)>,
    /// Seconds with 64-bit types halved, on devices that have that kernel and not its own.
    pub narrow_costs: Vec<(DeviceId, f64)>,
    /// The node's position among those of the cost graph, if it is one of them.
    pub cost_node: Option<usize>,
    /// Whether nothing runs for it.
    pub is_view: bool,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Runs a kernel.
    Launch,
    /// Copies bytes to the step's device.
    Copy {
        /// From where.
        from: DeviceId,
        /// How much.
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
    /// Where.
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
    /// The function: its name, or the line that made it.
    pub function: Arc<str>,
    /// What the scopes around the call asked for.
    pub requested: DeviceSpec,
    /// The graph that runs: after the passes.
    pub graph: Graph,
    /// Its nodes.
    pub nodes: Vec<NodeDescription>,
    /// The steps, by number.
    pub steps: Vec<StepDescription>,
    /// How many lanes there are.
    pub lanes: usize,
    /// Copies, memory and what was expected.
    pub explanation: Explanation,
    /// Seconds a call is expected to take by now.
    pub expected: f64,
    /// The costs that it was placed by.
    pub costs: GraphFile,
    /// What the passes did.
    pub reports: Vec<Report>,
}

impl Blueprint {
    /// All there is to know of it. Takes milliseconds: every alternative is simulated.
    pub fn describe(&self) -> PlanDescription {
        let explanation = self.explain();
        let measured = self.measured();
        let nodes =
            self.graph.iter().map(|(id, node)| self.node(id, node, &explanation, &measured)).collect();
        let mut steps: Vec<(usize, StepDescription)> = Vec::new();
        for (lane, steps_of_lane) in self.plan.lanes.iter().enumerate() {
            steps.extend(steps_of_lane.steps.iter().map(|step| (step.number, self.step(lane, step))));
        }
        steps.sort_by_key(|(number, _)| *number);
        PlanDescription {
            function: self.function.clone(),
            requested: self.requested.clone(),
            graph: self.graph.clone(),
            nodes,
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            lanes: self.plan.lanes.len(),
            explanation,
            expected: self.expected(),
            costs: self.cost_graph(),
            reports: self.reports().to_vec(),
        }
    }

    fn node(
        &self,
        id: NodeId,
        node: &Node,
        explanation: &Explanation,
        measured: &Measured,
    ) -> NodeDescription {
        let (device, reason) = self.assignment[id.index()];
        let op = explanation.ops.iter().find(|op| op.place.node == id && op.place.inside.is_none());
        let is_view = matches!(&node.content, Content::Op(op) if is_view(op));
        let runs = !is_view && !node.content.is_source();
        let costs = || {
            // Who records wants to know of every device, and opens those that nothing has needed so far.
            let able = |d: &&Arc<LogicalDevice>| can_run(&self.graph, node, d, false).is_ok();
            self.plan.devices.iter().filter(able).map(|logical| {
                let measured = measured.seconds(id, logical.id());
                (logical.id(), measured.unwrap_or_else(|| seconds_on(logical, &self.graph, node)))
            })
        };
        let number = self.prediction.costed.number[id.index()];
        NodeDescription {
            device: self.plan.devices[device].id(),
            reason,
            requested: op.map_or_else(DeviceSpec::default, |op| op.place.requested.clone()),
            start: op.map_or(0.0, |op| op.start),
            seconds: op.map_or(0.0, |op| op.seconds),
            alternatives: op.map_or_else(Vec::new, |op| op.alternatives.clone()),
            costs: if runs { costs().collect() } else { Vec::new() },
            narrow_costs: if runs { self.narrow_costs(node) } else { Vec::new() },
            cost_node: (!is_view && number < self.prediction.costed.problem.node_count()).then_some(number),
            is_view,
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

/// The type with 64-bit elements halved.
fn narrow(ty: TensorType) -> TensorType {
    let dtype = match ty.dtype {
        DType::F64 => DType::F32,
        DType::I64 => DType::I32,
        other => other,
    };
    TensorType { dtype, ..ty }
}
