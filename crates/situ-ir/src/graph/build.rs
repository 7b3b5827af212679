//! Making graphs, by hand, by tracing, or from another graph.

use super::{Cond, Content, Graph, Node, NodeId, Part, Parts, Source, Value, While};
use crate::ops::{Op, Outputs};
use situ_core::{DType, Error, Request, Result, TensorType};
use smallvec::SmallVec;

/// A graph under construction. Every node is checked as it is added.
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    graph: Graph,
}

impl GraphBuilder {
    /// An empty graph.
    pub fn new() -> GraphBuilder {
        GraphBuilder::default()
    }

    /// An empty graph with the arguments, captures and variables of another: for passes that write it anew.
    pub fn like(graph: &Graph) -> GraphBuilder {
        GraphBuilder {
            graph: Graph {
                inputs: graph.inputs.clone(),
                captures: graph.captures.clone(),
                variables: graph.variables.clone(),
                ..Graph::default()
            },
        }
    }

    /// The type of a value.
    pub fn type_of(&self, value: Value) -> TensorType {
        self.graph.type_of(value)
    }

    /// The types of the arguments so far.
    pub fn inputs(&self) -> &[TensorType] {
        &self.graph.inputs
    }

    /// The nodes so far.
    pub fn nodes(&self) -> &[Node] {
        &self.graph.nodes
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.graph.nodes.push(node);
        NodeId(self.graph.nodes.len() as u32 - 1)
    }

    fn source_node(&mut self, content: Content, ty: TensorType) -> Value {
        Value::of(self.push(Node {
            content,
            inputs: SmallVec::new(),
            types: Outputs::from_buf([ty]),
            request: Request::default(),
            source: Source::default(),
            parts: Parts::default(),
        }))
    }

    /// The next argument.
    pub fn input(&mut self, ty: TensorType) -> Value {
        self.graph.inputs.push(ty);
        self.source_node(Content::Input(self.graph.inputs.len() as u32 - 1), ty)
    }

    /// Other arguments than those so far: `types`, of which argument n so far is now number `places[n]`.
    pub fn set_inputs(&mut self, types: Vec<TensorType>, places: &[usize]) -> Result<()> {
        let fits = |(n, ty): (usize, &TensorType)| places.get(n).and_then(|to| types.get(*to)) == Some(ty);
        if !self.graph.inputs.iter().enumerate().all(fits) {
            return Err(Error::argument(
                "graph",
                format!(
                    "its arguments {:?} are not among {types:?} where they are said to be",
                    self.graph.inputs
                ),
                "this is a defect of what made the graph",
            ));
        }
        for node in &mut self.graph.nodes {
            if let Content::Input(n) = &mut node.content {
                *n = places[*n as usize] as u32;
            }
        }
        self.graph.inputs = types;
        Ok(())
    }

    /// The value of argument number `n`, of those that there are.
    pub fn argument(&mut self, n: usize) -> Result<Value> {
        let known = self.graph.nodes.iter().position(|node| node.content == Content::Input(n as u32));
        match (known, self.graph.inputs.get(n)) {
            (Some(known), _) => Ok(Value::of(NodeId(known as u32))),
            (None, Some(&ty)) => Ok(self.source_node(Content::Input(n as u32), ty)),
            (None, None) => Err(Error::argument(
                "graph",
                format!("there is no argument {n}"),
                "this is a defect of what made the graph",
            )),
        }
    }

    /// The next captured tensor.
    pub fn capture(&mut self, ty: TensorType) -> Value {
        self.graph.captures.push(ty);
        self.source_node(Content::Capture(self.graph.captures.len() as u32 - 1), ty)
    }

    /// The next variable, as its value when the call begins.
    pub fn variable(&mut self, ty: TensorType) -> Value {
        self.graph.variables.push(ty);
        self.source_node(Content::Variable(self.graph.variables.len() as u32 - 1), ty)
    }

    /// An op without a scope.
    pub fn op(&mut self, op: impl Into<Op>, inputs: &[Value]) -> Result<Value> {
        self.op_with(op.into(), inputs, Request::default(), Source::default())
    }

    /// An op with the scope and the line it was called under. Its inputs must fit it.
    pub fn op_with(&mut self, op: Op, inputs: &[Value], request: Request, source: Source) -> Result<Value> {
        let types: SmallVec<[TensorType; 3]> = inputs.iter().map(|v| self.type_of(*v)).collect();
        let outputs = op.infer(&types)?;
        let inputs = inputs.iter().copied().collect();
        Ok(Value::of(self.push(Node {
            content: Content::Op(op),
            inputs,
            types: outputs,
            request,
            source,
            parts: Parts::default(),
        })))
    }

    /// A condition; the first output's value. Both sides must take `arguments` and give the same types.
    pub fn cond(
        &mut self,
        cond: Cond,
        predicate: Value,
        arguments: &[Value],
        request: Request,
        source: Source,
    ) -> Result<NodeId> {
        let types: Vec<TensorType> = arguments.iter().map(|v| self.type_of(*v)).collect();
        let sides = [&cond.then, &cond.otherwise];
        let given = |g: &Graph| g.outputs.iter().map(|v| g.type_of(*v)).collect::<Vec<_>>();
        let test = self.type_of(predicate);
        if test.dtype != DType::Bool || test.shape.rank() != 0 {
            return Err(Error::operands(
                "cond",
                &[test],
                "the condition must be a scalar bool",
                "reduce it with any or all",
            ));
        }
        if let Some(side) = sides.iter().find(|g| g.inputs != types) {
            return Err(Error::operands(
                "cond",
                &types,
                format!("a side takes {:?}", side.inputs),
                "give it what it takes",
            ));
        }
        if given(&cond.then) != given(&cond.otherwise) {
            return Err(Error::operands(
                "cond",
                &types,
                format!("the sides give {:?} and {:?}", given(&cond.then), given(&cond.otherwise)),
                "let both sides give the same shapes and dtypes",
            ));
        }
        let types: Outputs = given(&cond.then).into_iter().collect();
        let inputs = std::iter::once(predicate).chain(arguments.iter().copied()).collect();
        Ok(self.push(Node {
            content: Content::Cond(Box::new(cond)),
            inputs,
            types,
            request,
            source,
            parts: Parts::default(),
        }))
    }

    /// A loop on an initial state, whose outputs are the final state.
    pub fn while_loop(
        &mut self,
        body: While,
        state: &[Value],
        request: Request,
        source: Source,
    ) -> Result<NodeId> {
        let types: Vec<TensorType> = state.iter().map(|v| self.type_of(*v)).collect();
        let given = |g: &Graph| g.outputs.iter().map(|v| g.type_of(*v)).collect::<Vec<_>>();
        let test = given(&body.condition);
        let goes_on = matches!(test.as_slice(), [t] if t.dtype == DType::Bool && t.shape.rank() == 0);
        if let Some(block) = [&body.condition, &body.body].into_iter().find(|g| g.inputs != types) {
            return Err(Error::operands(
                "while_loop",
                &types,
                format!("the condition or the body takes {:?}", block.inputs),
                "let both take the state",
            ));
        }
        if !goes_on || given(&body.body) != types {
            return Err(Error::operands(
                "while_loop",
                &types,
                format!("the condition gives {test:?} and the body {:?}", given(&body.body)),
                "the condition gives one scalar bool, and the body the shapes and dtypes of the state",
            ));
        }
        let types = types.into_iter().collect();
        let inputs = state.iter().copied().collect();
        Ok(self.push(Node {
            content: Content::While(Box::new(body)),
            inputs,
            types,
            request,
            source,
            parts: Parts::default(),
        }))
    }

    /// A copy of a node of another graph, on other inputs of the same types.
    pub fn copy(&mut self, node: &Node, inputs: &[Value]) -> NodeId {
        self.push(Node { inputs: inputs.iter().copied().collect(), ..node.clone() })
    }

    /// Says of which ops of the traced program a node was made.
    pub fn set_parts(&mut self, id: NodeId, parts: Vec<Part>) {
        self.graph.nodes[id.index()].parts = Parts(Some(parts.into()));
    }

    /// The finished graph.
    pub fn finish(mut self, outputs: Vec<Value>, updates: Vec<(u32, Value)>) -> Result<Graph> {
        self.graph.outputs = outputs;
        self.graph.updates = updates;
        self.graph.verify()?;
        Ok(self.graph)
    }
}
