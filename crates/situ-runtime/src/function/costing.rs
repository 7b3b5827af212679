//! Costing: a graph on the devices at hand as a problem for the placer. The only way from a graph to a cost
//! graph.
//!
//! A view is no node: whoever reads it reads what it looks at. What is given from outside is a node that
//! takes no time and can only be where its tensor is. A variable's new value is read by a node that can only
//! be where the variable lives; one that may be moved has the choice, together with that node, and pays a
//! little for moving.

use super::candidates::{Candidates, input_types, is_view};
use super::measure::Measured;
use super::simplify::runs_in_parts;
use super::written_over::written_over;
use crate::able;
use crate::costs::LinkCost;
use crate::logical::{LogicalDevice, copy_seconds};
use crate::policy::Lacking;
use situ_core::{Error, Result};
use situ_device::DeviceClass;
use situ_ir::{Content, Graph, Node, Value, WorkClass};
use situ_place::{Device, NodeIndex, Problem, ProblemBuilder};
use std::sync::Arc;

/// Times that a loop is taken to go round before anybody has counted.
pub(super) const TRIPS: f64 = 10.0;

/// Calls over which the moving of a variable is spread: it is worth next to nothing in one call, and more
/// than nothing.
const CALLS_A_MOVE_LASTS: f64 = 1000.0;

/// A problem, and which of its nodes stands for each node of the graph.
pub(crate) struct Costed {
    pub(crate) problem: Problem,
    /// By node of the graph; a view has the number of what it looks at. Captured tensors that stay on their
    /// readers' devices are no nodes, and have none that exists.
    pub(crate) number: Vec<NodeIndex>,
}

impl std::fmt::Debug for Costed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Costed").field("number", &self.number).finish_non_exhaustive()
    }
}

/// What costing needs to know.
pub(crate) struct Costing<'a> {
    pub(crate) devices: &'a [Arc<LogicalDevice>],
    /// Nodes that run on one CPU at once.
    pub(crate) width: usize,
    /// Bytes free on each device, what the call is given not counted; `None`: no limit.
    pub(crate) free: &'a [Option<f64>],
    /// The devices the variables live on.
    pub(crate) variables: &'a [usize],
    /// Which of them may be moved.
    pub(crate) movable: &'a [bool],
    /// What was measured of earlier calls.
    pub(crate) measured: &'a Measured,
    /// Whether captured tensors are on every device that reads them, for good, instead of being copied at
    /// each call.
    pub(crate) keeps_captures: bool,
}

impl Costing<'_> {
    pub(crate) fn problem(&self, graph: &Graph, candidates: &[Option<Candidates>]) -> Result<Costed> {
        let mut builder = ProblemBuilder::new();
        self.machine(&mut builder, graph, candidates);
        let mut number: Vec<NodeIndex> = Vec::with_capacity(graph.nodes().len());
        let used: Vec<bool> = (0..self.devices.len()).map(|device| is_used(candidates, device)).collect();
        let over = written_over(graph);
        let mut edges: Vec<(NodeIndex, NodeIndex, f64)> = Vec::new();
        let mut kept: Vec<(usize, usize)> = Vec::new();
        let link = |edges: &mut Vec<(NodeIndex, NodeIndex, f64)>, from, to, bytes: f64| match edges
            .iter_mut()
            .rev()
            .find(|(f, t, _)| (*f, *t) == (from, to))
        {
            Some((_, _, most)) => *most = most.max(bytes),
            None => edges.push((from, to, bytes)),
        };
        for (id, node) in graph.iter() {
            let Some(candidates) = &candidates[id.index()] else {
                number.push(number[node.inputs[0].node.index()]);
                continue;
            };
            // What is written over takes no memory of its own.
            let is_over = over.iter().any(|(_, put)| *put == id);
            let bytes: usize = if is_over { 0 } else { node.types.iter().map(|t| t.bytes()).sum() };
            if matches!(node.content, Content::Capture(_)) && self.keeps(bytes, &used) {
                // No node: nobody waits for it, and it takes memory wherever it is read.
                kept.push((number.len(), builder.resident(format!("capture {}", id.0), bytes as f64)));
                number.push(NodeIndex::MAX);
                continue;
            }
            let made = builder.node(node.full_name(), bytes as f64);
            for &device in &candidates.devices {
                let measured = self.measured.seconds(id, self.devices[device].id());
                let seconds = measured.unwrap_or_else(|| self.seconds(graph, node, device));
                builder.cost(made, device, seconds);
            }
            for input in &node.inputs {
                let root = root(graph, *input);
                if let Some((_, resident)) = kept.iter().find(|(node, _)| *node == root) {
                    builder.uses(made, *resident);
                    continue;
                }
                link(&mut edges, number[input.node.index()], made, graph.type_of(*input).bytes() as f64);
            }
            number.push(made);
        }
        for (variable, value) in graph.updates() {
            if number[value.node.index()] == NodeIndex::MAX {
                continue;
            }
            let assign = builder.node("assign", 0.0);
            let held = |node: &Node| matches!(node.content, Content::Variable(n) if n == *variable);
            let source = graph.nodes().iter().position(held).filter(|_| self.movable[*variable as usize]);
            match source {
                Some(source) => {
                    for device in candidates[source].iter().flat_map(|c| &c.devices) {
                        builder.cost(assign, *device, 0.0);
                    }
                    builder.together(number[source], assign);
                }
                None => builder.cost(assign, self.variables[*variable as usize], 0.0),
            }
            link(&mut edges, number[value.node.index()], assign, graph.type_of(*value).bytes() as f64);
        }
        for (from, to, bytes) in edges {
            builder.edge_bytes(from, to, bytes);
        }
        let problem = builder.build().map_err(|error| {
            Error::argument(
                "function",
                format!("its costs make no sense: {error}"),
                "this is a defect of costing",
            )
        })?;
        Ok(Costed { problem, number })
    }

    /// Whether a captured tensor is on every device that reads it, for good.
    fn keeps(&self, bytes: usize, used: &[bool]) -> bool {
        let too_large = |d: &Arc<LogicalDevice>| matches!(able::fits(d, bytes), Err(Lacking::Size(_)));
        let mut used = self.devices.iter().zip(used).filter(|(_, used)| **used);
        self.keeps_captures && bytes > 0 && !used.any(|(d, _)| too_large(d))
    }

    fn machine(&self, builder: &mut ProblemBuilder, graph: &Graph, candidates: &[Option<Candidates>]) {
        let given = |device: usize| -> f64 {
            let here = |(id, node): &(situ_ir::NodeId, &Node)| {
                let home = candidates[id.index()].as_ref().map(|c| c.devices[0]);
                node.content.is_source() && home == Some(device)
            };
            graph.iter().filter(here).map(|(_, node)| node.types[0].bytes() as f64).sum()
        };
        for (index, logical) in self.devices.iter().enumerate() {
            let mut device = Device::new(logical.id().to_string());
            device.slots = if logical.capabilities().concurrent { self.width as u32 } else { 1 };
            // The call's own tensors are in the problem as nodes, so they are not taken off the limit as
            // well. Kernels' workspaces come and go within a node: room is left for the largest.
            device.memory = self.free[index].map(|free| {
                (free - self.largest_workspace(graph, candidates, index)).max(0.0) + given(index)
            });
            // Shaders on the host's cores and ops on the same cores take turns; so do CPUs that own no cores.
            let on_host = logical.description().class == DeviceClass::SoftwareGpu
                || (logical.is_host() && logical.cores().is_none());
            device.compute = on_host.then(|| "host".to_string());
            builder.device(device);
        }
        for (from, a) in self.devices.iter().enumerate() {
            for (to, b) in self.devices.iter().enumerate() {
                if from != to {
                    let (up, down) = (b.costs().upload, a.costs().download);
                    let link = match (a.is_host(), b.is_host()) {
                        _ if b.is_peer_of(a) => b.costs().peer(),
                        (true, _) => up,
                        (_, true) => down,
                        // One copy through the host, of which nothing else can read.
                        (false, false) => LinkCost {
                            latency: down.latency + up.latency,
                            per_byte: down.per_byte + up.per_byte,
                        },
                    };
                    builder.link(from, to, link.latency, 1.0 / link.per_byte, None);
                }
            }
        }
    }

    fn largest_workspace(&self, graph: &Graph, candidates: &[Option<Candidates>], device: usize) -> f64 {
        // One that nothing can be on is not opened to be asked.
        if !is_used(candidates, device) {
            return 0.0;
        }
        let Ok(target) = self.devices[device].device() else { return 0.0 };
        let of = |(id, node): (situ_ir::NodeId, &Node)| {
            let Content::Op(op) = &node.content else { return 0 };
            let able = candidates[id.index()].as_ref().is_some_and(|c| c.devices.contains(&device));
            let types = input_types(graph, node);
            match target.kernel(op, &types, &node.types) {
                Ok(kernel) if able => target.workspace(kernel, op, &types, &node.types),
                _ => 0,
            }
        };
        graph.iter().map(of).max().unwrap_or(0) as f64
    }

    /// Seconds a node takes on a device once its inputs are there; of a variable that may move, its share of
    /// the move.
    fn seconds(&self, graph: &Graph, node: &Node, device: usize) -> f64 {
        let logical = &self.devices[device];
        match &node.content {
            Content::Variable(n) if self.movable[*n as usize] => {
                let home = self.variables[*n as usize];
                let moving = |from: usize| copy_seconds(&self.devices[from], logical, node.types[0].bytes());
                if home == device { 0.0 } else { moving(home) / CALLS_A_MOVE_LASTS }
            }
            Content::Op(op) if node.parts.0.is_some() => {
                let types = input_types(graph, node);
                match runs_in_parts(logical, op, &types, &node.types) {
                    true => op
                        .parts(&types, &node.types)
                        .iter()
                        .map(|part| logical.seconds(&part.op.work(&part.inputs, &part.outputs)))
                        .sum(),
                    false => seconds_on(logical, graph, node),
                }
            }
            _ => seconds_on(logical, graph, node),
        }
    }
}

/// Whether anything may be on that device.
fn is_used(candidates: &[Option<Candidates>], device: usize) -> bool {
    candidates.iter().flatten().any(|c| c.devices.contains(&device))
}

/// Seconds a node takes on a device once its inputs are there, by the device's model.
pub(super) fn seconds_on(logical: &LogicalDevice, graph: &Graph, node: &Node) -> f64 {
    let launch = logical.costs().line(WorkClass::Elementwise).launch;
    let whole = |g: &Graph| -> f64 { g.nodes().iter().map(|n| seconds_on(logical, g, n)).sum() };
    match &node.content {
        Content::Op(op) if is_view(op) => 0.0,
        Content::Op(op) => logical.seconds(&op.work(&input_types(graph, node), &node.types)),
        Content::Cond(cond) => launch + whole(&cond.then).max(whole(&cond.otherwise)),
        Content::While(repeated) => TRIPS * (whole(&repeated.condition) + whole(&repeated.body)),
        Content::Input(_) | Content::Capture(_) | Content::Variable(_) => 0.0,
    }
}

/// The number of the node whose memory a value is in: through views to what they look at.
pub(super) fn root(graph: &Graph, value: Value) -> usize {
    match &graph.node(value.node).content {
        Content::Op(op) if is_view(op) => root(graph, graph.node(value.node).inputs[0]),
        _ => value.node.index(),
    }
}
