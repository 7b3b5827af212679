//! Gradients of a graph under construction, built into the same graph.

use super::sweep::{History, Made, Recorded, ValueId, sweep};
use super::{Application, Builder, Gradients, Values, none};
use crate::graph::{Cond, Content, Graph, GraphBuilder, NodeId, Source, Value};
use crate::{Op, ops::Fill};
use situ_core::{Request, Result, Scalar, TensorType};
use std::sync::Arc;

/// Adds to a graph the gradients by `sources` of what `targets` (values with the gradients by them) say;
/// `None` where no target depends on a source. Nodes of a gradient have the scope and the source line of the
/// node that they are the gradient of.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::{DType, Shape, TensorType};
/// use situ_ir::ops::{Unary, UnaryKind};
/// use situ_ir::{GraphBuilder, gradient};
/// let mut builder = GraphBuilder::new();
/// let x = builder.input(TensorType::new(DType::F32, Shape::new(&[3])?));
/// let upstream = builder.input(TensorType::new(DType::F32, Shape::new(&[3])?));
/// let y = builder.op(Unary::new(UnaryKind::Exp), &[x])?;
/// let by_x = gradient::gradients(&mut builder, &[(y, upstream)], &[x])?;
/// let graph = builder.finish(by_x.into_iter().flatten().collect(), vec![])?;
/// assert!(graph.to_string().contains("mul(%1, %2)"), "{graph}");
/// # Ok(()) }
/// ```
pub fn gradients(
    builder: &mut GraphBuilder,
    targets: &[(Value, Value)],
    sources: &[Value],
) -> Result<Vec<Option<Value>>> {
    swept(builder, targets, sources, true)
}

fn swept(
    builder: &mut GraphBuilder,
    targets: &[(Value, Value)],
    sources: &[Value],
    strict: bool,
) -> Result<Vec<Option<Value>>> {
    let end = builder.nodes().len();
    let targets = targets.iter().map(|(value, gradient)| (id(*value), *gradient)).collect();
    let sources: Vec<ValueId> = sources.iter().map(|value| id(*value)).collect();
    let mut history = InGraph { builder, request: Request::default(), source: Source::default() };
    let found = sweep(&mut history, 0, end, targets, &sources, strict)?;
    // A value of a graph is dense.
    found.into_iter().map(|part| part.map(|part| part.dense(&mut history)).transpose()).collect()
}

fn id(value: Value) -> ValueId {
    ValueId { step: value.node.0, output: value.output }
}

struct InGraph<'a> {
    builder: &'a mut GraphBuilder,
    request: Request,
    source: Source,
}

impl Builder for InGraph<'_> {
    type Value = Value;

    fn emit(&mut self, op: Op, inputs: &[&Value]) -> Result<Value> {
        let inputs: Vec<Value> = inputs.iter().map(|v| **v).collect();
        self.builder.op_with(op, &inputs, self.request.clone(), self.source)
    }

    fn emit_all(&mut self, op: Op, inputs: &[&Value]) -> Result<Values<Value>> {
        let node = self.emit(op, inputs)?.node;
        Ok(outputs_of(self.builder, node).collect())
    }

    fn type_of(&self, value: &Value) -> TensorType {
        self.builder.type_of(*value)
    }
}

fn outputs_of(builder: &GraphBuilder, node: NodeId) -> impl Iterator<Item = Value> + use<> {
    let count = builder.nodes()[node.index()].types.len();
    (0..count).map(move |output| Value::nth(node, output))
}

impl History for InGraph<'_> {
    fn parents(&self, step: usize, each: &mut dyn FnMut(ValueId)) {
        self.builder.nodes()[step].inputs.iter().for_each(|value| each(id(*value)));
    }

    fn name(&self, step: usize) -> &'static str {
        self.builder.nodes()[step].content.name()
    }

    fn step(&mut self, step: usize) -> Recorded<Value> {
        let node = &self.builder.nodes()[step];
        let made = match &node.content {
            Content::Input(_) | Content::Capture(_) | Content::Variable(_) => Made::Given,
            Content::Op(op) => Made::Op(op.clone()),
            Content::Cond(cond) => Made::Cond(Arc::new((**cond).clone())),
            Content::While(_) => Made::While,
        };
        Recorded {
            made,
            inputs: node.inputs.clone(),
            from: node.inputs.iter().map(|value| Some(id(*value))).collect(),
            outputs: outputs_of(self.builder, NodeId(step as u32)).collect(),
        }
    }

    fn enter(&mut self, step: usize) {
        let node = &self.builder.nodes()[step];
        let name = node.request.name.gradient();
        (self.request, self.source) = (Request { name, ..node.request.clone() }, node.source);
    }

    fn cond_gradient(&mut self, cond: &Cond, at: &Application<'_, Value>) -> Result<Gradients<Value>> {
        let Some(backwards) = BackwardCond::new(cond, at)? else { return Ok(none(at.inputs.len())) };
        let arguments: Vec<Value> = backwards.arguments.iter().map(|v| **v).collect();
        let node =
            self.builder.cond(backwards.cond, at.inputs[0], &arguments, self.request.clone(), self.source)?;
        let mut results = outputs_of(self.builder, node);
        Ok(at.wanted.iter().map(|wanted| if *wanted { results.next() } else { None }).collect())
    }
}

/// The gradient of a condition, as a condition: each side computes its part again, and goes back through it.
#[derive(Debug)]
pub struct BackwardCond<'a, V> {
    /// The two sides. Their outputs are the gradients by the wanted inputs, in order.
    pub cond: Cond,
    /// What they take: the arguments of the condition, and then the gradients by its outputs.
    pub arguments: Vec<&'a V>,
}

impl<'a, V> BackwardCond<'a, V> {
    /// The gradient of `cond`; `None` if nobody wants one.
    pub fn new(cond: &Cond, at: &Application<'a, V>) -> Result<Option<BackwardCond<'a, V>>> {
        if !at.wanted.contains(&true) {
            return Ok(None);
        }
        let known: Vec<bool> = at.upstream.iter().map(Option::is_some).collect();
        let wanted = &at.wanted[1..];
        let cond = Cond {
            then: backwards(&cond.then, &known, wanted)?,
            otherwise: backwards(&cond.otherwise, &known, wanted)?,
        };
        let arguments = at.inputs[1..].iter().chain(at.upstream.iter().flatten()).collect();
        Ok(Some(BackwardCond { cond, arguments }))
    }
}

/// A graph of the arguments of `side` and of the gradients by its outputs (those that are known), which gives
/// the gradients by the arguments that are wanted.
fn backwards(side: &Graph, known: &[bool], wanted: &[bool]) -> Result<Graph> {
    let mut builder = GraphBuilder::like(side);
    for node in side.nodes() {
        let inputs = node.inputs.clone();
        builder.copy(node, &inputs);
    }
    let mut targets = Vec::new();
    for (value, _) in side.outputs().iter().zip(known).filter(|(_, known)| **known) {
        targets.push((*value, builder.input(side.type_of(*value))));
    }
    let mut sources = Vec::new();
    for (number, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        let given = side.iter().find(|(_, node)| node.content == Content::Input(number as u32));
        sources.push(given.map(|(id, _)| Value::of(id)));
    }
    let there: Vec<Value> = sources.iter().flatten().copied().collect();
    // What one side rounds or compares, the other may use as it is.
    let mut found = swept(&mut builder, &targets, &there, false)?.into_iter();
    let mut outputs = Vec::new();
    for (source, (number, _)) in sources.iter().zip(wanted.iter().enumerate().filter(|(_, w)| **w)) {
        let gradient = source.and_then(|_| found.next().flatten());
        let TensorType { dtype, shape } = side.inputs()[number];
        outputs.push(match gradient {
            Some(gradient) => gradient,
            // This side does not use the argument; the other one may.
            None => builder.op(Fill { shape, value: Scalar::of(dtype, 0.0) }, &[])?,
        });
    }
    builder.finish(outputs, Vec::new())
}
