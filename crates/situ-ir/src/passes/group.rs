//! Which elementwise ops become one: chains and small graphs of ops of the same result shape under the same
//! scope.
//!
//! A group grows along edges, readers first, so that by the time a producer is asked most of its readers are
//! in the group. Joining two groups always saves reading what one makes and the other reads; an intermediate
//! that is read elsewhere too becomes one more output, which costs what writing it costs anyway. So what
//! stops a group is never bytes: it is a cycle, the number of tensors a kernel can bind, the number of steps,
//! or a device that would not run it.

use super::{Report, Supports};
use crate::graph::{Content, Graph, Node, NodeId, Value};
use crate::ops::{Program, Register};
use situ_core::{Request, Shape};
use std::collections::HashSet;
use std::fmt;

use super::fuse::{Joined, join};

/// Why two groups stay two.
#[derive(Clone, Debug)]
pub(super) enum Why {
    Shapes(Box<[Shape; 2]>),
    Scopes,
    Cycle,
    Bindings(usize),
    Steps(usize),
    Kernel,
    Broken(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Shapes(shapes) => write!(f, "their results have the shapes {} and {}", shapes[0], shapes[1]),
            Why::Scopes => f.write_str("they stand under different scopes"),
            Why::Cycle => f.write_str(
                "an op between them can't join, and would have to run in the middle of the kernel",
            ),
            Why::Bindings(n) => {
                write!(
                    f,
                    "together they read and write {n} tensors, and a kernel binds {}",
                    Program::MAX_BINDINGS
                )
            }
            Why::Steps(n) => write!(f, "together they have {n} steps"),
            Why::Kernel => f.write_str("no device at hand would run them as one"),
            Why::Broken(why) => f.write_str(why),
        }
    }
}

/// The groups of a graph, as they grow.
pub(super) struct Groups<'a> {
    graph: &'a Graph,
    supports: &'a Supports<'a>,
    max_steps: usize,
    pub(super) readers: Vec<Vec<NodeId>>,
    pub(super) results: HashSet<Value>,
    /// The group of each node; alone at first.
    of: Vec<usize>,
    /// The nodes of each group, in order.
    members: Vec<Vec<NodeId>>,
    /// The groups in an order in which each comes after what it reads; joining leaves gaps.
    line: Vec<Option<usize>>,
    /// Where each group stands in the line.
    rank: Vec<usize>,
    /// Marks of the search for cycles, so that it starts without clearing.
    mark: Vec<usize>,
    search: usize,
}

impl<'a> Groups<'a> {
    pub(super) fn new(graph: &'a Graph, supports: &'a Supports<'a>, max_steps: usize) -> Groups<'a> {
        let count = graph.nodes().len();
        Groups {
            graph,
            supports,
            max_steps,
            readers: graph.readers(),
            results: graph.results().collect(),
            of: (0..count).collect(),
            members: (0..count).map(|n| vec![NodeId(n as u32)]).collect(),
            line: (0..count).map(Some).collect(),
            rank: (0..count).collect(),
            mark: vec![0; count],
            search: 0,
        }
    }

    /// Joins whatever can be joined, and reports what could not.
    pub(super) fn grow(&mut self, report: &mut Report, within: &str) {
        let fusible: Vec<bool> = self.graph.nodes().iter().map(is_fusible).collect();
        // One sweep finds nearly all; what it joined may make room for more.
        for _ in 0..4 {
            let mut joined = false;
            for (reader, producer) in self.edges(&fusible) {
                let (a, b) = (self.of[producer.index()], self.of[reader.index()]);
                if a != b && self.joined(a, b).is_ok() {
                    self.merge(a, b);
                    joined = true;
                }
            }
            if !joined {
                break;
            }
        }
        let mut said = HashSet::new();
        for (reader, producer) in self.edges(&fusible) {
            let (a, b) = (self.of[producer.index()], self.of[reader.index()]);
            if a == b || !said.insert((a, b)) {
                continue;
            }
            if let Err(why) = self.joined(a, b) {
                let other = self.graph.node(producer).content.name();
                let text = format!("not fused with %{} ({other}): {why}", producer.0);
                report.nearly.push(Report::note(within, reader, self.graph.node(reader), text));
            }
        }
        for (id, node) in self.graph.iter().filter(|(id, _)| !fusible[id.index()]) {
            let beside = |n: &NodeId| fusible[n.index()];
            let neighbours =
                node.inputs.iter().map(|v| v.node).chain(self.readers[id.index()].iter().copied());
            if let (Some(why), true) = (hindrance(node), neighbours.collect::<Vec<_>>().iter().any(beside)) {
                report.nearly.push(Report::note(within, id, node, format!("not fused: {why}")));
            }
        }
    }

    /// Readers and what they read, the last readers first, where both are elementwise.
    fn edges(&self, fusible: &[bool]) -> Vec<(NodeId, NodeId)> {
        let nodes: Vec<(NodeId, &Node)> = self.graph.iter().filter(|(id, _)| fusible[id.index()]).collect();
        let inputs = |(id, node): &(NodeId, &'a Node)| {
            let id = *id;
            let read = node.inputs.iter().map(move |v| (id, v.node)).collect::<Vec<_>>();
            read.into_iter().filter(|(_, producer)| fusible[producer.index()])
        };
        nodes.iter().rev().flat_map(inputs).collect()
    }

    /// The groups of more than one node.
    pub(super) fn several(&self) -> impl Iterator<Item = &[NodeId]> {
        self.members.iter().map(Vec::as_slice).filter(|members| members.len() > 1)
    }

    /// The number of the group of a node.
    pub(super) fn of(&self, id: NodeId) -> usize {
        self.of[id.index()]
    }

    /// Two groups as one op, where the second reads the first; or why not.
    fn joined(&mut self, producer: usize, reader: usize) -> Result<Joined, Why> {
        let [(shape, request), (other, asked)] = [producer, reader].map(|g| self.key(g));
        if shape != other {
            return Err(Why::Shapes(Box::new([shape, other])));
        }
        if request != asked {
            return Err(Why::Scopes);
        }
        let mut members: Vec<NodeId> = [&self.members[producer][..], &self.members[reader][..]].concat();
        members.sort();
        let joined = join(self.graph, &members, &self.readers, &self.results)?;
        let bindings = joined.inputs.len() + joined.outputs.len();
        if bindings > Program::MAX_BINDINGS {
            return Err(Why::Bindings(bindings));
        }
        if joined.steps > self.max_steps {
            return Err(Why::Steps(joined.steps));
        }
        let op = joined.op.as_ref().map_err(|error| Why::Broken(error.to_string()))?;
        let inputs: Vec<_> = joined.inputs.iter().map(|v| self.graph.type_of(*v)).collect();
        let outputs: Vec<_> = joined.outputs.iter().map(|v| self.graph.type_of(*v)).collect();
        if !(self.supports)(op, &inputs, &outputs, &request) {
            return Err(Why::Kernel);
        }
        // Last, because joining goes by the marks that it leaves.
        if self.has_detour(producer, reader) {
            return Err(Why::Cycle);
        }
        Ok(joined)
    }

    fn key(&self, group: usize) -> (Shape, Request) {
        let node = self.graph.node(self.members[group][0]);
        (node.types[0].shape, node.request.clone())
    }

    /// Whether the second group reads the first through something outside both: joined, they would wait for
    /// themselves. Leaves a mark on whatever stands between them and is read, through whatever, by the
    /// second.
    fn has_detour(&mut self, producer: usize, reader: usize) -> bool {
        self.search += 1;
        let mut open = vec![reader];
        while let Some(group) = open.pop() {
            for member in &self.members[group] {
                for input in &self.graph.node(*member).inputs {
                    let read = self.of[input.node.index()];
                    if read == producer && group != reader {
                        return true;
                    }
                    // What stands before the first group can't depend on it.
                    let between = self.rank[read] > self.rank[producer] && read != reader;
                    if between && self.mark[read] != self.search {
                        self.mark[read] = self.search;
                        open.push(read);
                    }
                }
            }
        }
        false
    }

    /// Makes one group of two between which there is no detour, right after the search for one.
    fn merge(&mut self, producer: usize, reader: usize) {
        let moved = std::mem::take(&mut self.members[producer]);
        moved.iter().for_each(|id| self.of[id.index()] = reader);
        self.members[reader].extend(moved);
        self.members[reader].sort();
        // What the second reads comes before the whole; the rest of what stood between may read the first,
        // and comes after.
        let places = self.rank[producer]..=self.rank[reader];
        let stood: Vec<usize> = self.line[places.clone()].iter().flatten().copied().collect();
        let read = |group: &&usize| self.mark[**group] == self.search && **group != reader;
        let rest = |group: &&usize| !read(group) && ![producer, reader].contains(group);
        let before = stood.iter().filter(read);
        let line: Vec<usize> = before.chain([&reader]).chain(stood.iter().filter(rest)).copied().collect();
        for (n, place) in places.enumerate() {
            self.line[place] = line.get(n).copied();
            if let Some(group) = self.line[place] {
                self.rank[group] = place;
            }
        }
    }

    /// The first node of each group, in an order in which each group comes after what it reads.
    pub(super) fn order(&self) -> impl Iterator<Item = NodeId> {
        self.line.iter().flatten().map(|group| self.members[*group][0])
    }
}

/// Whether a node can be a step, or steps, of a fused op.
fn is_fusible(node: &Node) -> bool {
    let Content::Op(op) = &node.content else { return false };
    let read = vec![Register(0); node.inputs.len()];
    let is_steps = op.program().is_some() || op.step(&read).is_some();
    // What needs no inputs becomes a constant of whoever reads it.
    is_steps && !node.inputs.is_empty() && hindrance(node).is_none()
}

/// Why an op that computes element by element is never fused.
fn hindrance(node: &Node) -> Option<&'static str> {
    match &node.content {
        Content::Op(op) => op.stays_alone(&node.types),
        _ => None,
    }
}
