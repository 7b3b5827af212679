//! Graphs: a traced program as plain data.
//!
//! Promises: nodes stand in an order in which each comes after what it reads; a graph is pure (variables
//! enter as values and leave as updates, so nothing in between is hidden); [`Graph::verify`] says what is
//! wrong with one that is not so. Leaves to others: which device runs a node (`situ-place`, `situ-runtime`).

mod build;
mod dot;
mod parse;
mod resize;
mod rows;
mod text;
mod verify;

pub use build::GraphBuilder;
pub use resize::Sizes;
pub use rows::rows_apart;

use crate::ops::{Op, Outputs};
use situ_core::{Location, Request, ScopeName, TensorType};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// The number of a node in its graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// One output of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// The node that gives it.
    pub node: NodeId,
    /// Which of its outputs. A condition may have any number of them.
    pub output: u32,
}

impl Value {
    /// The first output of a node.
    pub fn of(node: NodeId) -> Value {
        Value { node, output: 0 }
    }

    /// Output number `output` of a node. A node has fewer outputs than a `u32` counts: their types are in
    /// memory.
    #[inline]
    pub fn nth(node: NodeId, output: usize) -> Value {
        Value { node, output: output as u32 }
    }

    /// Which of the node's outputs, as an index.
    #[inline]
    pub fn slot(self) -> usize {
        self.output as usize
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.output {
            0 => write!(f, "%{}", self.node.0),
            n => write!(f, "%{}.{n}", self.node.0),
        }
    }
}
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a node is.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every node is an op, so boxing it would only add a step"
)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Content {
    /// Argument number n of the function.
    Input(u32),
    /// Tensor number n that the function's closure captured.
    Capture(u32),
    /// The value of variable number n when the call begins.
    Variable(u32),
    /// An op on the node's inputs.
    Op(Op),
    /// One of two graphs, by the node's first input (a scalar bool); the others are the arguments of either.
    Cond(Box<Cond>),
    /// A graph repeated while another says so, on the node's inputs as the state.
    While(Box<While>),
}

impl Content {
    /// A name for messages and profiles.
    pub fn name(&self) -> &'static str {
        match self {
            Content::Input(_) => "input",
            Content::Capture(_) => "capture",
            Content::Variable(_) => "variable",
            Content::Op(op) => op.name(),
            Content::Cond(_) => "cond",
            Content::While(_) => "while_loop",
        }
    }

    /// Whether it is given from outside rather than computed.
    pub fn is_source(&self) -> bool {
        matches!(self, Content::Input(_) | Content::Capture(_) | Content::Variable(_))
    }
}

/// The two sides of a condition. Both take the same arguments and give the same types.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cond {
    /// Run where the condition holds.
    pub then: Graph,
    /// Run where it does not.
    pub otherwise: Graph,
}

/// A loop. Both graphs take the state; the body gives the next state, of the same types.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct While {
    /// Gives one scalar bool: whether to go on.
    pub condition: Graph,
    /// Gives the next state.
    pub body: Graph,
}

/// The line of the program that made a node. Never part of what a node means.
#[derive(Clone, Copy, Default, Debug)]
pub struct Source(pub Option<Location>);

impl PartialEq for Source {
    fn eq(&self, _: &Source) -> bool {
        true
    }
}
impl Eq for Source {}
impl std::hash::Hash for Source {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(at) => write!(f, "{at}"),
            None => f.write_str("unknown"),
        }
    }
}

/// One op of the traced program, as it was before a pass joined it with others.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the op.
    pub op: &'static str,
    /// The type of its first output.
    pub ty: TensorType,
    /// The names around its call.
    pub name: ScopeName,
    /// Where it was called.
    pub source: Source,
}

/// The ops of the traced program that a pass joined into one node, in their order; none where no pass did.
/// Never part of what a node means.
#[derive(Clone, Default, Debug)]
pub struct Parts(pub Option<Arc<[Part]>>);

impl PartialEq for Parts {
    fn eq(&self, _: &Parts) -> bool {
        true
    }
}
impl Eq for Parts {}
impl std::hash::Hash for Parts {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// One step of a graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// What it is.
    pub content: Content,
    /// What it reads, made before it.
    pub inputs: SmallVec<[Value; 3]>,
    /// The types of its outputs.
    pub types: Outputs,
    /// What the scopes around its call asked for.
    pub request: Request,
    /// Where it was called.
    pub source: Source,
    /// What it was before passes joined ops.
    pub parts: Parts,
}

impl Node {
    /// What people call it: its ops behind the names around their calls, such as
    /// `dense/matmul + dense/bias_add`.
    pub fn full_name(&self) -> String {
        let names: Vec<String> = self.parts().iter().map(|part| part.name.of(part.op)).collect();
        if names.is_empty() { self.content.name().to_string() } else { names.join(" + ") }
    }

    /// The ops of the traced program that it does: itself, unless a pass joined several.
    pub fn parts(&self) -> Vec<Part> {
        match &self.parts.0 {
            Some(parts) => parts.to_vec(),
            None => {
                let (op, name, source) = (self.content.name(), self.request.name.clone(), self.source);
                let own = |ty| Part { op, ty, name, source };
                self.types.first().map(|ty| own(*ty)).into_iter().collect()
            }
        }
    }
}

/// A traced program. The types of captures and variables are those of the nodes that stand for them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<TensorType>,
    pub(crate) captures: Vec<TensorType>,
    pub(crate) variables: Vec<TensorType>,
    pub(crate) outputs: Vec<Value>,
    pub(crate) updates: Vec<(u32, Value)>,
}

impl Graph {
    /// The nodes, each after what it reads.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes with their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    /// A node, by its number.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The type of a value.
    pub fn type_of(&self, value: Value) -> TensorType {
        self.nodes[value.node.index()].types[value.slot()]
    }

    /// The types of the arguments.
    pub fn inputs(&self) -> &[TensorType] {
        &self.inputs
    }

    /// The types of the captured tensors.
    pub fn captures(&self) -> &[TensorType] {
        &self.captures
    }

    /// The types of the variables it reads or writes.
    pub fn variables(&self) -> &[TensorType] {
        &self.variables
    }

    /// What it returns.
    pub fn outputs(&self) -> &[Value] {
        &self.outputs
    }

    /// The new values of variables, each at most once.
    pub fn updates(&self) -> &[(u32, Value)] {
        &self.updates
    }

    /// Everything that must be computed: outputs, then updates.
    pub fn results(&self) -> impl Iterator<Item = Value> + '_ {
        self.outputs.iter().copied().chain(self.updates.iter().map(|(_, value)| *value))
    }

    /// How many nodes read each value of each node (results count as readers), by node.
    pub fn readers(&self) -> Vec<Vec<NodeId>> {
        let mut readers = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.iter() {
            for input in &node.inputs {
                readers[input.node.index()].push(id);
            }
        }
        readers
    }

    /// Whether it draws random numbers, in its blocks too.
    pub fn is_random(&self) -> bool {
        self.nodes.iter().any(|node| match &node.content {
            Content::Op(op) => matches!(op, Op::Random(_) | Op::Dropout(_)),
            Content::Cond(cond) => cond.then.is_random() || cond.otherwise.is_random(),
            Content::While(repeated) => repeated.condition.is_random() || repeated.body.is_random(),
            Content::Input(_) | Content::Capture(_) | Content::Variable(_) => false,
        })
    }

    /// How many nodes and results use each node.
    pub fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        for value in self.nodes.iter().flat_map(|n| n.inputs.iter().copied()).chain(self.results()) {
            uses[value.node.index()] += 1;
        }
        uses
    }
}
