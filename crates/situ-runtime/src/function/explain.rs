//! Why every op is where it is: the placement of a compiled graph as data, and as tables for people.

use super::blocks::each_block;
use super::candidates::CandidateContext;
use super::compiled::Blueprint;
use super::place::Placed;
use super::plan::{DeviceIndex, ExecutionPlan};
use crate::config::Table;
use crate::ledger::Route;
use situ_core::reason::{bytes, seconds};
use situ_core::{DeviceId, DeviceSpec, Reason, ScopeName};
use situ_ir::graph::{Part, Source};
use situ_ir::passes::{Note, SPLIT};
use situ_ir::{Graph, NodeId};
use std::collections::HashMap;
use std::fmt;

/// Where an op runs, and why.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NodePlace {
    /// The node that does it, in the graph that runs; of an op inside a condition or a loop, its number in
    /// that block.
    pub node: NodeId,
    /// The outermost condition or loop that it is inside of, and the block that it is in: `then`, `else`,
    /// `while` or `do`.
    pub inside: Option<(NodeId, &'static str)>,
    /// The op, as it was traced.
    pub name: &'static str,
    /// The names around its call.
    pub scope: ScopeName,
    /// What the scopes around it asked for.
    pub requested: DeviceSpec,
    /// Where it runs.
    pub device: DeviceId,
    /// Why it runs there.
    pub reason: Reason,
    /// The line of the program.
    pub source: Source,
    /// Whether it is one of several ops that run as one kernel: those of the same node.
    pub fused: bool,
}

impl NodePlace {
    /// The op's name behind the names around its call: `encoder/dense/matmul`.
    pub fn full_name(&self) -> String {
        self.scope.of(self.name)
    }
}

/// The places of a graph's ops, in the order in which they run; ops that passes joined are listed one by one,
/// and those inside a condition or a loop behind it.
pub(super) fn places(
    graph: &Graph,
    table: &Table,
    context: &CandidateContext<'_>,
    placed: &Placed,
    plan: &ExecutionPlan,
) -> Vec<NodePlace> {
    let mut inner: HashMap<NodeId, Vec<NodePlace>> = HashMap::new();
    each_block(graph, plan, &mut |block| {
        let list = inner.entry(block.node).or_default();
        for (id, _) in block.graph.iter() {
            let at = block.nested.assignment[id.index()];
            list.extend(places_of(block.graph, id, table, context, at, Some((block.node, block.name))));
        }
    });
    let mut all = Vec::new();
    for &id in &placed.order {
        all.extend(places_of(graph, id, table, context, placed.assignment[id.index()], None));
        all.extend(inner.remove(&id).unwrap_or_default());
    }
    all
}

/// The places of the ops that a node is made of; none of what is given.
fn places_of(
    graph: &Graph,
    id: NodeId,
    table: &Table,
    context: &CandidateContext<'_>,
    (device, reason): (DeviceIndex, Reason),
    inside: Option<(NodeId, &'static str)>,
) -> Vec<NodePlace> {
    let node = graph.node(id);
    if node.content.is_source() {
        return Vec::new();
    }
    let (device, requested) = (table.devices[device].id(), context.request(node).spec);
    let parts = node.parts();
    let fused = parts.len() > 1;
    let place = |part: Part| NodePlace {
        node: id,
        inside,
        name: part.op,
        scope: part.name,
        requested: requested.clone(),
        device,
        reason,
        source: part.source,
        fused,
    };
    parts.into_iter().map(place).collect()
}

/// What another device would change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Alternative {
    /// The device that could run it instead.
    pub device: DeviceId,
    /// The change of the whole function's time, in seconds, with this op there and all else as it is.
    pub seconds: f64,
    /// The device that would then exceed its memory the most, and by how many bytes.
    pub over: Option<(DeviceId, f64)>,
}

/// One op of an explanation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedOp {
    /// Where it runs, and why.
    pub place: NodePlace,
    /// When its kernel is expected to start, in seconds from the call.
    pub start: f64,
    /// How long its kernel is expected to take. What is inside a condition or a loop is part of that one's
    /// time, and has none of its own.
    pub seconds: f64,
    /// The other devices that could run it.
    pub alternatives: Vec<Alternative>,
}

/// One copy of an explanation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedCopy {
    /// The op whose result it is.
    pub of: &'static str,
    /// The device that has the value.
    pub from: DeviceId,
    /// The device that needs it.
    pub to: DeviceId,
    /// Which way the bytes go.
    pub route: Route,
    /// How many bytes are copied.
    pub bytes: usize,
    /// When it is expected to start, in seconds from the call.
    pub start: f64,
    /// How long it is expected to take.
    pub seconds: f64,
    /// The line of the program.
    pub source: Source,
}

/// The memory of one device.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedMemory {
    /// The device whose memory it is.
    pub device: DeviceId,
    /// The most it is expected to hold, arguments and variables included.
    pub peak: usize,
    /// What a call reserves there: the arena, and the results.
    pub reserved: usize,
    /// The most that it may hold, if there is a limit.
    pub limit: Option<usize>,
}

/// Why a compiled graph runs where it does. Displays as tables.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// Its ops, in the order in which they run.
    pub ops: Vec<ExplainedOp>,
    /// Its copies, by start.
    pub copies: Vec<ExplainedCopy>,
    /// The memory of the devices that it uses.
    pub memory: Vec<ExplainedMemory>,
    /// Ops that passes joined and that run in parts all the same, because their device has these and not the
    /// whole.
    pub apart: Vec<Note>,
    /// Seconds a call was expected to take when it was placed: by the costs that all times here are of.
    pub predicted: f64,
    /// Seconds a call is expected to take now, by what was measured since: what the plan's summary says.
    pub expected: f64,
    /// Seconds that no placement can beat, by the same costs.
    pub lower_bound: f64,
    /// The algorithm that placed it.
    pub algorithm: String,
}

impl Blueprint {
    /// Why every op is where it is, and what the alternatives would cost.
    pub fn explain(&self) -> Explanation {
        let (problem, placement) = (&self.prediction.costed.problem, &self.prediction.placement);
        let number = |node: NodeId| self.prediction.costed.number[node.index()];
        let id = |device: usize| self.plan.devices[device].id();
        let ops = self.places.iter().map(|place| {
            if place.reason == Reason::View || place.inside.is_some() {
                return ExplainedOp {
                    place: place.clone(),
                    start: 0.0,
                    seconds: 0.0,
                    alternatives: Vec::new(),
                };
            }
            let n = number(place.node);
            let others = problem.allowed(n).filter(|d| *d != placement.devices[n]);
            // Where the op can't go, because its tensors can't get there, there is no alternative.
            let alternatives = others.filter_map(|device| {
                let delta = situ_place::delta(problem, placement, n, device).ok()?;
                let over = delta.over.map(|(device, bytes)| (id(device), bytes));
                Some(Alternative { device: id(device), seconds: delta.seconds, over })
            });
            ExplainedOp {
                place: place.clone(),
                start: placement.start[n],
                seconds: placement.finish[n] - placement.start[n],
                alternatives: alternatives.collect(),
            }
        });
        let copies = placement.transfers.iter().map(|copy| {
            let found = self.graph.iter().find(|(node, _)| number(*node) == copy.node);
            ExplainedCopy {
                of: found.map_or("assign", |(_, node)| node.content.name()),
                from: id(copy.from),
                to: id(copy.to),
                route: self.route(copy.from, copy.to),
                bytes: copy.bytes as usize,
                start: copy.start,
                seconds: copy.finish - copy.start,
                source: found.map(|(_, node)| node.source).unwrap_or_default(),
            }
        });
        let reserved = self.plan.bytes_by_device();
        let memory = self.plan.devices.iter().enumerate().map(|(d, device)| ExplainedMemory {
            device: device.id(),
            peak: placement.peak_memory[d] as usize,
            reserved: reserved[d],
            limit: device.memory_info().limit,
        });
        let apart = self.reports.iter().filter(|r| r.pass == SPLIT).flat_map(|r| &r.did);
        Explanation {
            ops: ops.collect(),
            copies: copies.collect(),
            memory: memory.filter(|m| m.peak > 0 || m.reserved > 0).collect(),
            apart: apart.cloned().collect(),
            predicted: placement.makespan,
            expected: self.expected(),
            // One that was found quickly has a weaker bound than who asks now may have.
            lower_bound: match self.prediction.is_quick {
                true => situ_place::lower_bound(problem, placement.makespan).max(placement.lower_bound),
                false => placement.lower_bound,
            },
            algorithm: placement.algorithm.clone(),
        }
    }
}

impl Blueprint {
    /// Which way bytes go between two devices of its table.
    fn route(&self, from: DeviceIndex, to: DeviceIndex) -> Route {
        let [from, to] = [from, to].map(|d| &self.plan.devices[d]);
        match from.is_host() || to.is_host() {
            true => Route::Link,
            false if to.is_peer_of(from) => Route::Peer,
            false => Route::ThroughHost,
        }
    }

    /// The costs that it was placed by, as a file of the placer's: its machine, its nodes and what each would
    /// take on each device.
    pub fn cost_graph(&self) -> situ_place::GraphFile {
        self.prediction.costed.problem.to_file()
    }
}

impl Explanation {
    /// How far the expected time may be from the best possible, as a share of it; zero: it is the best.
    pub fn gap(&self) -> f64 {
        if self.predicted <= self.lower_bound { 0.0 } else { self.predicted / self.lower_bound - 1.0 }
    }
}

impl Explanation {
    /// Of each op, whether it runs in the kernel of the one before it.
    fn joined(&self) -> impl Iterator<Item = bool> + '_ {
        let kernel = |op: &ExplainedOp| Some((op.place.inside, op.place.node));
        let before = std::iter::once(None).chain(self.ops.iter().map(kernel));
        self.ops.iter().zip(before).map(move |(op, before)| op.place.fused && before == kernel(op))
    }
}

/// The name of an op, what was asked for, and its device. Ops that run as one kernel stand under the first of
/// them.
fn columns((op, joined): (&ExplainedOp, bool)) -> [String; 3] {
    let place = &op.place;
    let asked = if place.requested.is_empty() { "-".to_string() } else { place.requested.to_string() };
    let mark = match (joined, place.inside) {
        (true, _) => "  +".to_string(),
        (false, Some((_, block))) => format!("  {block}: "),
        (false, None) => String::new(),
    };
    [format!("{mark}{}", place.full_name()), asked, place.device.to_string()]
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = match self.gap() {
            gap if gap <= 1e-9 => "no placement is sooner done".to_string(),
            gap => format!("no placement is more than {:.1}% sooner done", gap / (1.0 + gap) * 100.0),
        };
        let (predicted, expected) = (seconds(self.predicted), seconds(self.expected));
        match predicted == expected {
            true => writeln!(f, "expected: {predicted} a call ({}); {bound}", self.algorithm)?,
            false => writeln!(
                f,
                "expected: {expected} a call, by what was measured; {predicted} when it was placed ({}), by the costs below; by \
                 these {bound}",
                self.algorithm
            )?,
        }
        let columns: Vec<[String; 3]> = self.ops.iter().zip(self.joined()).map(columns).collect();
        let width = |n: usize, least: usize| {
            columns.iter().map(|columns| columns[n].chars().count()).fold(least, usize::max)
        };
        let (names, asks, devices) = (width(0, 18), width(1, 14), width(2, 6));
        for ((op, joined), [name, asked, device]) in self.ops.iter().zip(self.joined()).zip(&columns) {
            let place = &op.place;
            write!(f, "  {name:<names$} {asked:<asks$} {device:<devices$}")?;
            if joined {
                writeln!(f, " in the same kernel  {}", place.source)?;
                continue;
            }
            let took = if place.inside.is_some() { "-".to_string() } else { seconds(op.seconds) };
            write!(f, " {took:>9}  {}", place.reason)?;
            for other in &op.alternatives {
                let sign = if other.seconds < 0.0 { "-" } else { "+" };
                write!(f, "; on {} {sign}{}", other.device, seconds(other.seconds.abs()))?;
                if let Some((full, missing)) = other.over {
                    write!(f, ", {} too much on {full}", bytes(missing as usize))?;
                }
            }
            writeln!(f, "  {}", place.source)?;
        }
        for copy in &self.copies {
            let (size, time) = (bytes(copy.bytes), seconds(copy.seconds));
            let route = copy.route.phrase();
            writeln!(f, "  copy {} -> {}{route}: {size} of {}, {time}", copy.from, copy.to, copy.of)?;
        }
        for note in &self.apart {
            writeln!(f, "  {note}")?;
        }
        for memory in &self.memory {
            let limit = memory.limit.map_or("no limit".to_string(), |l| format!("limit {}", bytes(l)));
            let (peak, reserved) = (bytes(memory.peak), bytes(memory.reserved));
            writeln!(
                f,
                "  memory of {}: at most {peak}, {reserved} reserved by a call, {limit}",
                memory.device
            )?;
        }
        Ok(())
    }
}
