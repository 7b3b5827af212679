//! Writing a graph anew, node by node: what the rewriting passes share.

use super::Report;
use crate::graph::{Cond, Content, Graph, GraphBuilder, Node, NodeId, Part, Value, While};
use crate::ops::{Op, Viewing};
use situ_core::{Result, Scalar, TensorType};
use smallvec::SmallVec;

/// The values that stand for a node's outputs.
pub(super) type Values = SmallVec<[Value; 1]>;

/// What a pass does at one node.
pub(super) trait Rule {
    /// The values, in the new graph, that take the place of the node's outputs; `None` keeps the node.
    /// `inputs` are the node's inputs in the new graph.
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>>;

    /// The blocks of a condition or a loop, written anew. A pass that knows more about their arguments says
    /// so here.
    fn blocks(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Content> {
        let _ = inputs;
        site.each_block(|graph, report, within| rewrite(graph, self, report, within))
    }
}

/// One node that is being written anew.
pub(super) struct Site<'a> {
    /// The graph as it was.
    pub(super) graph: &'a Graph,
    /// The graph so far.
    pub(super) builder: &'a mut GraphBuilder,
    pub(super) report: &'a mut Report,
    /// The node, in the graph as it was.
    pub(super) id: NodeId,
    /// The blocks around it.
    pub(super) within: &'a str,
    map: &'a [Values],
    uses: &'a [usize],
}

impl Site<'_> {
    pub(super) fn node(&self) -> &Node {
        self.graph.node(self.id)
    }

    /// What a value of the graph as it was is in the new graph.
    pub(super) fn now(&self, old: Value) -> Value {
        self.map[old.node.index()][old.slot()]
    }

    /// The op of the old graph that makes a value, if an op does and it is the first output.
    pub(super) fn old_op(&self, old: Value) -> Option<(&Op, &Node)> {
        op_of(self.graph.nodes(), old)
    }

    /// Whether a value of the graph as it was is used once in all.
    pub(super) fn used_once(&self, old: Value) -> bool {
        self.uses[old.node.index()] == 1
    }

    /// The op of the new graph that makes a value, if an op does and it is the first output.
    pub(super) fn op(&self, value: Value) -> Option<(&Op, &Node)> {
        op_of(self.builder.nodes(), value)
    }

    /// The element that fills a value of the new graph, if it is known to be one.
    pub(super) fn fill(&self, value: Value) -> Option<Scalar> {
        match self.op(value)? {
            (op, node) if op.viewing() != Viewing::Never => self.fill(node.inputs[0]),
            (op, _) => op.constant(),
        }
    }

    pub(super) fn did(&mut self, text: impl Into<String>) {
        self.report.did.push(Report::note(self.within, self.id, self.graph.node(self.id), text));
    }

    pub(super) fn nearly(&mut self, text: impl Into<String>) {
        self.report.nearly.push(Report::note(self.within, self.id, self.graph.node(self.id), text));
    }

    /// An op in this node's place: with its scope and its line.
    pub(super) fn emit(&mut self, op: impl Into<Op>, inputs: &[Value]) -> Result<Value> {
        let node = self.graph.node(self.id);
        let value = self.builder.op_with(op.into(), inputs, node.request.clone(), node.source)?;
        if let Some(parts) = &node.parts.0 {
            self.builder.set_parts(value.node, parts.to_vec());
        }
        Ok(value)
    }

    /// Whether the node may go and let `value` stand for it: not if its result leaves the graph from a device
    /// that its scope asks for, and `value` is made without that scope.
    pub(super) fn may_become(&self, value: Value) -> bool {
        !self.is_placed_result()
            || self.builder.nodes()[value.node.index()].request.spec == self.node().request.spec
    }

    /// Whether the node's result leaves the graph, from a device that its scope asks for.
    pub(super) fn is_placed_result(&self) -> bool {
        !self.node().request.spec.is_empty() && self.graph.outputs().iter().any(|out| out.node == self.id)
    }

    /// The node goes and `value`, broadcast if need be, stands for it; or why not.
    pub(super) fn become_value(&mut self, value: Value, why: &str) -> Result<Option<Values>> {
        let wanted = self.node().types[0];
        if self.builder.type_of(value) != wanted {
            let wide = self.emit(crate::ops::Expand { shape: wanted.shape }, &[value])?;
            self.did(format!("{why}, broadcast"));
            return Ok(Some(Values::from_buf([wide])));
        }
        if !self.may_become(value) {
            let spec = format!("{:#}", self.node().request.spec);
            self.nearly(format!("kept: {why}, but its scope asks for the result on {spec}"));
            return Ok(None);
        }
        self.did(why);
        Ok(Some(Values::from_buf([value])))
    }

    /// An op stands for the node.
    pub(super) fn become_op(
        &mut self,
        op: impl Into<Op>,
        inputs: &[Value],
        why: &str,
    ) -> Result<Option<Values>> {
        let value = self.emit(op, inputs)?;
        self.did(why);
        Ok(Some(Values::from_buf([value])))
    }

    /// The parts of the nodes of the old graph that are joined into one.
    pub(super) fn parts_of(&self, nodes: &[NodeId]) -> Vec<Part> {
        nodes.iter().flat_map(|id| self.graph.node(*id).parts()).collect()
    }

    /// The node's blocks, each written anew.
    pub(super) fn each_block(
        &mut self,
        mut anew: impl FnMut(&Graph, &mut Report, &str) -> Result<Graph>,
    ) -> Result<Content> {
        let mut block = |graph: &Graph, name: &str, report: &mut Report| {
            anew(graph, report, &format!("{}%{}/{name}/", self.within, self.id.0))
        };
        Ok(match &self.graph.node(self.id).content {
            Content::Cond(cond) => Content::Cond(Box::new(Cond {
                then: block(&cond.then, "then", self.report)?,
                otherwise: block(&cond.otherwise, "else", self.report)?,
            })),
            Content::While(repeated) => Content::While(Box::new(While {
                condition: block(&repeated.condition, "while", self.report)?,
                body: block(&repeated.body, "do", self.report)?,
            })),
            other => other.clone(),
        })
    }
}

fn op_of(nodes: &[Node], value: Value) -> Option<(&Op, &Node)> {
    let node = &nodes[value.node.index()];
    match &node.content {
        Content::Op(op) if value.output == 0 => Some((op, node)),
        _ => None,
    }
}

/// The types of values of a graph under construction.
pub(super) fn types_of(builder: &GraphBuilder, values: &[Value]) -> SmallVec<[TensorType; 3]> {
    values.iter().map(|value| builder.type_of(*value)).collect()
}

/// Whether a node draws random numbers, itself or in a block.
pub(super) fn is_random(node: &Node) -> bool {
    let any = |graph: &Graph| graph.nodes().iter().any(is_random);
    match &node.content {
        Content::Op(op) => op.stream().is_some(),
        Content::Cond(cond) => any(&cond.then) || any(&cond.otherwise),
        Content::While(repeated) => any(&repeated.condition) || any(&repeated.body),
        Content::Input(_) | Content::Capture(_) | Content::Variable(_) => false,
    }
}

/// The graph with a rule applied at every node, in order, and in the blocks of every node.
pub(super) fn rewrite<R: Rule + ?Sized>(
    graph: &Graph,
    rule: &mut R,
    report: &mut Report,
    within: &str,
) -> Result<Graph> {
    let mut builder = GraphBuilder::like(graph);
    let uses = graph.uses();
    let mut map: Vec<Values> = Vec::with_capacity(graph.nodes().len());
    let now = |map: &[Values], v: &Value| map[v.node.index()][v.slot()];
    for (id, node) in graph.iter() {
        let inputs: SmallVec<[Value; 3]> = node.inputs.iter().map(|v| now(&map, v)).collect();
        let mut site =
            Site { graph, builder: &mut builder, report: &mut *report, id, within, map: &map, uses: &uses };
        let values = match rule.at(&mut site, &inputs)? {
            Some(values) => values,
            None => {
                let copied = match &node.content {
                    Content::Cond(_) | Content::While(_) => {
                        let content = rule.blocks(&mut site, &inputs)?;
                        builder.copy(&Node { content, ..node.clone() }, &inputs)
                    }
                    _ => builder.copy(node, &inputs),
                };
                let output = |n| Value::nth(copied, n);
                (0..node.types.len()).map(output).collect()
            }
        };
        map.push(values);
    }
    let outputs = graph.outputs().iter().map(|v| now(&map, v)).collect();
    let updates = graph.updates().iter().map(|(n, v)| (*n, now(&map, v))).collect();
    builder.finish(outputs, updates)
}
