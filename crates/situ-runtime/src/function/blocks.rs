//! The blocks of conditions and loops: where their ops run, and walks over them.
//!
//! A block takes its arguments where its node is and gives its results there. Ops in it that a scope asks for
//! elsewhere run where they were asked for, or fall back, by the rules for any op of a function; all others
//! run where the node is. Its steps are one lane.

use super::candidates::{CandidateContext, Candidates, can_run, is_view};
use super::plan::{Action, DeviceIndex, ExecutionPlan, Nested};
use situ_core::{Reason, Result};
use situ_ir::{Content, Graph, Node, NodeId};

/// Why an op of a block is where its block is.
const WITH_ITS_BRANCH: Reason = Reason::Colocated { with: "its branch" };

/// The blocks of a node, with their names; none of what is no condition and no loop.
pub(super) fn blocks(node: &Node) -> Vec<(&'static str, &Graph)> {
    match &node.content {
        Content::Cond(cond) => vec![("then", &cond.then), ("else", &cond.otherwise)],
        Content::While(repeated) => vec![("while", &repeated.condition), ("do", &repeated.body)],
        Content::Input(_) | Content::Capture(_) | Content::Variable(_) | Content::Op(_) => Vec::new(),
    }
}

impl CandidateContext<'_> {
    /// A device for every node of a block that belongs to a node on `device`, and why.
    pub(super) fn inside(&self, graph: &Graph, device: DeviceIndex) -> Result<Vec<(DeviceIndex, Reason)>> {
        let mut all: Vec<(DeviceIndex, Reason)> = Vec::with_capacity(graph.nodes().len());
        for node in graph.nodes() {
            all.push(match &node.content {
                content if content.is_source() => (device, WITH_ITS_BRANCH),
                Content::Op(op) if is_view(op) => (all[node.inputs[0].node.index()].0, Reason::View),
                _ => self.inside_one(graph, node, device)?,
            });
        }
        Ok(all)
    }

    fn inside_one(&self, graph: &Graph, node: &Node, device: DeviceIndex) -> Result<(DeviceIndex, Reason)> {
        let asked = !self.request(node).spec.is_empty();
        if !asked && can_run(graph, node, &self.table.devices[device], self.in_parts).is_ok() {
            return Ok((device, WITH_ITS_BRANCH));
        }
        let Candidates { devices, reason } = self.of(graph, node)?;
        let chosen = match devices.contains(&device) {
            true => device,
            false if asked => devices[0],
            false => {
                let last = |d: &&usize| self.table.devices[**d].capabilities().last_resort;
                devices.iter().find(last).copied().unwrap_or(devices[0])
            }
        };
        Ok((chosen, reason.unwrap_or(Reason::OnlyDevice)))
    }

    /// The devices that every op in a node's blocks asks for, if all of them ask: there the node costs no
    /// copies inside.
    pub(super) fn all_ask_for(&self, node: &Node) -> Result<Option<Vec<DeviceIndex>>> {
        let mut common: Option<Vec<DeviceIndex>> = None;
        for (_, graph) in blocks(node) {
            for inner in graph.nodes() {
                let is_view = matches!(&inner.content, Content::Op(op) if is_view(op));
                let asked = !self.request(inner).spec.is_empty();
                // What is made of nothing goes with what reads it.
                if inner.content.is_source() || is_view || (inner.inputs.is_empty() && !asked) {
                    continue;
                }
                let devices = match asked {
                    true => self.of(graph, inner)?.devices.to_vec(),
                    false => match self.all_ask_for(inner)? {
                        Some(devices) => devices,
                        None => return Ok(None),
                    },
                };
                common = Some(match common {
                    None => devices,
                    Some(known) => known.into_iter().filter(|d| devices.contains(d)).collect(),
                });
            }
        }
        Ok(common.filter(|devices| !devices.is_empty()))
    }
}

/// A block of a plan, as a walk over all of them meets it.
pub(super) struct Visited<'p> {
    /// The node of the outermost graph that it is inside of.
    pub(super) node: NodeId,
    /// Which of its node's blocks it is.
    pub(super) name: &'static str,
    pub(super) graph: &'p Graph,
    pub(super) nested: &'p Nested,
}

/// Calls `visit` with every block of a plan, also those inside of others.
pub(super) fn each_block<'p>(graph: &'p Graph, plan: &'p ExecutionPlan, visit: &mut dyn FnMut(Visited<'p>)) {
    within(graph, plan, None, visit);
}

fn within<'p>(
    graph: &'p Graph,
    plan: &'p ExecutionPlan,
    around: Option<NodeId>,
    visit: &mut dyn FnMut(Visited<'p>),
) {
    for step in plan.lanes.iter().flat_map(|lane| &lane.steps) {
        let plans = step.action.nested();
        for ((name, graph), nested) in blocks(graph.node(step.node)).into_iter().zip(plans) {
            let node = around.unwrap_or(step.node);
            visit(Visited { node, name, graph, nested });
            within(graph, &nested.plan, Some(node), visit);
        }
    }
}

impl Action {
    /// The plans of its blocks, in the order of [`blocks`].
    pub(super) fn nested(&self) -> impl Iterator<Item = &Nested> {
        let pair = match self {
            Action::Cond { then, otherwise, .. } => Some([then, otherwise]),
            Action::While { condition, body, .. } => Some([condition, body]),
            Action::Launch { .. } | Action::BeginDownload { .. } | Action::Copy { .. } => None,
        };
        pair.into_iter().flatten().map(|nested| &**nested)
    }
}
