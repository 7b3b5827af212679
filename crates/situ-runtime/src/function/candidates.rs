//! Which devices may run each node of a graph, before anybody weighs them: where what is given is, and what
//! `policy` says of the rest.

use super::costing::root;
use super::simplify::runs_in_parts;
use crate::able;
use crate::config::{Config, PlacementRule, Table};
use crate::logical::LogicalDevice;
use crate::policy::{self, Facts, Home, Lacking, PlacementQuery};
use situ_core::{DType, DeviceId, Error, Reason, Request, Result, TensorType};
use situ_ir::ops::Viewing;
use situ_ir::{Content, Graph, Node, Op};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The devices that may run a node, by their positions in the table, and what has been decided about it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Candidates {
    pub(crate) devices: SmallVec<[usize; 4]>,
    /// Why these, if a request or the node's data said so; `None`: every device with the kernels is one.
    pub(crate) reason: Option<Reason>,
}

/// What finding candidates needs to know.
pub(crate) struct CandidateContext<'a> {
    pub(crate) table: &'a Table,
    pub(crate) config: &'a Config,
    /// The scopes around the call: weaker than a node's own.
    pub(crate) call: &'a Request,
    /// Where each source node's tensor is, by node.
    pub(crate) homes: &'a [Option<usize>],
    /// Which variables may be moved.
    pub(crate) movable: &'a [bool],
    /// Which devices are asked about ops that no scope places.
    pub(crate) reach: &'a [bool],
    /// Whether an op that passes joined may be where its parts could run, and the whole could not.
    pub(crate) in_parts: bool,
}

impl CandidateContext<'_> {
    /// What is asked of a node: its own scopes, inside those around the call.
    pub(crate) fn request(&self, node: &Node) -> Request {
        Request {
            spec: self.call.spec.inside(&node.request.spec),
            fallback: node.request.fallback.or(self.call.fallback),
            copies: node.request.copies.or(self.call.copies),
            name: node.request.name.clone(),
        }
    }

    /// An error that names what was given on a device that is lost.
    fn require_homes(&self, graph: &Graph) -> Result<()> {
        let lost = |device: usize| self.table.devices[device].lost().map(|why| (device, why));
        let Some((device, why)) = self.homes.iter().flatten().find_map(|&home| lost(home)) else {
            return Ok(());
        };
        let gone = graph.iter().filter(|(id, _)| self.homes[id.index()] == Some(device)).map(|(_, node)| {
            let number = match node.content {
                Content::Input(n) | Content::Capture(n) | Content::Variable(n) => n,
                Content::Op(_) | Content::Cond(_) | Content::While(_) => 0,
            };
            format!("{} {number} ({})", node.content.name(), node.types[0])
        });
        let gone: Vec<String> = gone.collect();
        Err(Error::DeviceLost {
            device: self.table.devices[device].id(),
            why: format!("{why}; of the function, {} was there", gone.join(", ")),
        })
    }

    /// The candidates of every node; `None` for views, which are where their input is.
    pub(crate) fn candidates(&self, graph: &Graph) -> Result<Vec<Option<Candidates>>> {
        self.require_homes(graph)?;
        let mut all: Vec<Option<Candidates>> = Vec::with_capacity(graph.nodes().len());
        for (id, node) in graph.iter() {
            let found = match &node.content {
                Content::Variable(n) if self.movable[*n as usize] => {
                    let home = self.homes[id.index()].unwrap_or(0);
                    let reason = Some(Reason::Colocated { with: "its uses" });
                    Some(Candidates { devices: smallvec![home], reason })
                }
                content if content.is_source() => {
                    let home = self.homes[id.index()].unwrap_or(0);
                    let reason = Some(Reason::Colocated { with: "its data" });
                    Some(Candidates { devices: smallvec![home], reason })
                }
                Content::Op(op) if is_view(op) => None,
                _ if self.config.rule == PlacementRule::Manual && self.request(node).spec.is_empty() => {
                    Some(self.manual(graph, node, &all)?)
                }
                _ => Some(self.of(graph, node)?),
            };
            all.push(found);
        }
        self.let_variables_move(graph, &mut all);
        if self.config.rule == PlacementRule::PreferGpu {
            self.follow_updates(graph, &mut all);
        }
        Ok(all)
    }

    /// A variable that may move can go where an op of the function can be. Other devices are not even opened.
    fn let_variables_move(&self, graph: &Graph, all: &mut [Option<Candidates>]) {
        let runs = |found: &Option<Candidates>, node: &Node, device: usize| {
            !node.content.is_source() && found.as_ref().is_some_and(|c| c.devices.contains(&device))
        };
        let used: Vec<usize> = (0..self.table.devices.len())
            .filter(|&device| all.iter().zip(graph.nodes()).any(|(found, node)| runs(found, node, device)))
            .collect();
        for (found, node) in all.iter_mut().zip(graph.nodes()) {
            let (Content::Variable(n), Some(found)) = (&node.content, found) else { continue };
            if self.movable[*n as usize] {
                let home = found.devices[0];
                let holds = |d: usize| able::holds(&self.table.devices[d], node.types[0]).is_ok();
                found.devices.extend(used.iter().copied().filter(|&d| d != home && holds(d)));
            }
        }
    }

    /// Where costs are not weighed, a variable that may move goes where its new value can be made, or stays.
    fn follow_updates(&self, graph: &Graph, all: &mut [Option<Candidates>]) {
        for (id, node) in graph.iter() {
            let Content::Variable(n) = node.content else { continue };
            if !self.movable[n as usize] {
                continue;
            }
            let home = self.homes[id.index()].unwrap_or(0);
            let update = graph.updates().iter().find(|(variable, _)| *variable == n);
            let maker = update.map(|(_, value)| root(graph, *value));
            let maker = maker.filter(|&maker| !graph.nodes()[maker].content.is_source());
            let devices = maker.and_then(|maker| all[maker].as_ref()).map(|c| c.devices.clone());
            if let Some(found) = &mut all[id.index()] {
                found.devices.retain(|d| *d == home || devices.as_ref().is_some_and(|made| made.contains(d)));
            }
        }
    }

    /// Where the largest input is; an op without inputs goes with its first reader, so any device will do for
    /// now.
    fn manual(&self, graph: &Graph, node: &Node, known: &[Option<Candidates>]) -> Result<Candidates> {
        let home = |value: &situ_ir::Value| {
            let mut node = value.node;
            while let (None, Some(through)) = (&known[node.index()], graph.node(node).inputs.first()) {
                node = through.node;
            }
            // A constant that may be anywhere decides nothing.
            known[node.index()].as_ref().filter(|c| c.reason.is_some() || c.devices.len() == 1)
        };
        let largest = node.inputs.iter().rev().filter(|v| home(v).is_some());
        let largest = largest.max_by_key(|v| graph.type_of(**v).bytes()).and_then(home);
        let Some(largest) = largest else { return self.of(graph, node) };
        let device = self.table.devices[largest.devices[0]].id();
        self.decided(graph, node, Some(Home { device, with: "its largest input" }))
    }

    pub(super) fn of(&self, graph: &Graph, node: &Node) -> Result<Candidates> {
        self.decided(graph, node, None)
    }

    /// What the policy says of a node, which stays at home if it has one and no scope is around it.
    fn decided(&self, graph: &Graph, node: &Node, home: Option<Home>) -> Result<Candidates> {
        let request = self.request(node);
        let reach = request.spec.is_empty().then_some(self.reach);
        let (devices, in_parts) = (&self.table.devices, self.in_parts);
        let mut facts = NodeFacts { devices, graph, node, ends: false, reach, in_parts };
        if matches!(node.content, Content::Cond(_) | Content::While(_)) {
            if request.spec.is_empty()
                && let Some(asked) = self.all_ask_for(node)?
            {
                let reason = Some(Reason::Colocated { with: "its ops" });
                return Ok(Candidates { devices: asked.into(), reason });
            }
            // Whatever its device lacks runs elsewhere, op by op.
            facts.ends = !request.spec.is_empty() || (0..facts.count()).all(|d| facts.able(d).is_err());
        }
        let mut found =
            policy::decide(&PlacementQuery { home, ..PlacementQuery::new(&request, self.config) }, &facts)?;
        if found.reason == Some(Reason::OnlyDevice) && reach.is_some() {
            found.reason = self.in_time(graph, node, found.devices[0].0).or(found.reason);
        }
        Ok(Candidates { devices: found.devices.into_iter().map(|(d, ())| d).collect(), reason: found.reason })
    }
}

/// A node that is to be placed on one of these devices.
struct NodeFacts<'a> {
    devices: &'a [Arc<LogicalDevice>],
    graph: &'a Graph,
    node: &'a Node,
    /// Whether it is enough that a device holds what the node takes and gives.
    ends: bool,
    /// Which devices are asked; `None`: all.
    reach: Option<&'a [bool]>,
    /// Whether it may run as the ops that it was made of.
    in_parts: bool,
}

impl Facts for NodeFacts<'_> {
    type Means = ();

    fn count(&self) -> usize {
        self.devices.len()
    }

    fn id(&self, device: usize) -> DeviceId {
        self.devices[device].id()
    }

    fn what(&self) -> &'static str {
        self.node.content.name()
    }

    fn dtype(&self) -> DType {
        dtype(self.graph, self.node)
    }

    fn able(&self, device: usize) -> std::result::Result<(), Lacking> {
        if self.reach.is_some_and(|reach| !reach[device]) {
            return Err(Lacking::Kernel);
        }
        match self.ends {
            true => holds_ends(self.graph, self.node, &self.devices[device]),
            false => can_run(self.graph, self.node, &self.devices[device], self.in_parts),
        }
    }

    fn is_last_resort(&self, device: usize) -> bool {
        self.devices[device].capabilities().last_resort
    }

    fn failure(&self, device: usize) -> Option<Error> {
        self.devices[device].device().err()
    }
}

/// The dtype by which a node's kernel is registered.
pub(crate) fn dtype(graph: &Graph, node: &Node) -> DType {
    match &node.content {
        Content::Op(op) => op.kernel_dtype(&input_types(graph, node), &node.types),
        _ => node.types.first().map_or(DType::F32, |t| t.dtype),
    }
}

/// Whether a device has every kernel a node needs, for its sizes, or what it lacks; of a branch, for the ops
/// within that do not ask for a device themselves. With `in_parts`, the kernels of its parts will do.
pub(crate) fn can_run(
    graph: &Graph,
    node: &Node,
    device: &Arc<LogicalDevice>,
    in_parts: bool,
) -> std::result::Result<(), Lacking> {
    let free = |n: &&Node| n.request.spec.is_empty();
    let whole = |g: &Graph| g.nodes().iter().filter(free).try_for_each(|n| can_run(g, n, device, in_parts));
    match &node.content {
        Content::Input(_) | Content::Capture(_) | Content::Variable(_) => Ok(()),
        // Of a branch: it may have to be made dense there.
        Content::Op(op) if op.viewing() == Viewing::OfDense => able::fits(device, node.types[0].bytes()),
        Content::Op(op) if op.viewing() == Viewing::Always => Ok(()),
        Content::Op(op) => {
            let types = input_types(graph, node);
            match able::kernel(device, op, &types, &node.types) {
                Err(_) if in_parts && runs_in_parts(device, op, &types, &node.types) => Ok(()),
                found => found.map(|_| ()),
            }
        }
        Content::Cond(cond) => {
            holds_ends(graph, node, device)?;
            whole(&cond.then)?;
            whole(&cond.otherwise)
        }
        Content::While(repeated) => {
            holds_ends(graph, node, device)?;
            whole(&repeated.condition)?;
            whole(&repeated.body)
        }
    }
}

/// Whether a device can hold what a node takes and gives.
fn holds_ends(graph: &Graph, node: &Node, device: &LogicalDevice) -> std::result::Result<(), Lacking> {
    let taken = node.inputs.iter().map(|v| graph.type_of(*v));
    taken.chain(node.types.iter().copied()).try_for_each(|ty| able::holds(device, ty))
}

/// The types of a node's inputs.
pub(crate) fn input_types(graph: &Graph, node: &Node) -> SmallVec<[TensorType; 4]> {
    node.inputs.iter().map(|v| graph.type_of(*v)).collect()
}

/// Whether an op only looks at its input differently.
pub(crate) fn is_view(op: &Op) -> bool {
    op.viewing() != Viewing::Never
}
