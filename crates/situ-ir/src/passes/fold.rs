//! Constant folding: what is known when a function is traced is computed then, once.
//!
//! Tensors of one value (fills) are folded as single elements, without touching memory; a captured tensor of
//! one element becomes such a fill. Ops on captured tensors run through [`Evaluate`], if their results are
//! small; views of captured tensors cost nothing and stay. A condition that is known is replaced by the side
//! it takes, a loop that never runs by its state, and constants are handed into blocks. An op that would fail
//! on its constants stays, so that the failure is met where it belongs: at run time, with its line.

use super::rewrite::{Rule, Site, Values, rewrite, types_of};
use super::scalars::{self, Not};
use super::{Constant, Context, Evaluate, Report};
use crate::graph::{Content, Graph, Node, Value};
use crate::ops::{Fill, Op};
use situ_core::{Layout, Result, Scalar, TensorType};

/// Folds a graph.
pub fn run(graph: &Graph, context: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("fold");
    let limit = context.options.fold_bytes;
    let mut fold = Fold { evaluator: Some(&mut *context.evaluator), limit, known: Vec::new() };
    let graph = rewrite(graph, &mut fold, &mut report, "")?;
    Ok((graph, report))
}

struct Fold<'a> {
    /// Only at the top: blocks have no captured tensors to keep results in.
    evaluator: Option<&'a mut dyn Evaluate>,
    limit: usize,
    /// The element that fills each argument of the block, where it is known.
    known: Vec<Option<Scalar>>,
}

impl Rule for Fold<'_> {
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        let types = site.node().types.clone();
        match site.graph.node(site.id).content {
            Content::Input(n) => match self.known.get(n as usize).copied().flatten() {
                Some(value) => site.become_op(
                    Fill { shape: types[0].shape, value },
                    &[],
                    "is a constant around the block",
                ),
                None => Ok(None),
            },
            Content::Capture(n) if types[0].shape.elements() == 1 => {
                match self.evaluator.as_mut().and_then(|e| e.scalar(n)) {
                    Some(value) if value.dtype() == types[0].dtype => {
                        let fill = Fill { shape: types[0].shape, value };
                        site.become_op(fill, &[], "one captured element becomes a constant")
                    }
                    _ => Ok(None),
                }
            }
            Content::Capture(_) | Content::Variable(_) => Ok(None),
            Content::Cond(_) => side(site, inputs),
            Content::While(_) => self.repetition(site, inputs),
            Content::Op(ref op) => {
                if inputs.is_empty() || types.iter().any(|t| t.shape.elements() == 0) {
                    return Ok(None);
                }
                let op = op.clone();
                if let Some(values) = fills(site, &op, inputs)? {
                    return Ok(Some(values));
                }
                self.evaluate(site, &op, inputs, &types)
            }
        }
    }

    fn blocks(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Content> {
        let known: Vec<Option<Scalar>> = match &site.node().content {
            Content::Cond(_) => inputs[1..].iter().map(|v| site.fill(*v)).collect(),
            Content::While(repeated) => {
                let body = &repeated.body;
                // Only what every trip leaves as it is has the same value in every trip.
                (0..inputs.len()).map(|n| site.fill(inputs[n]).filter(|_| stays(body, n))).collect()
            }
            _ => Vec::new(),
        };
        let mut inner = Fold { evaluator: None, limit: self.limit, known };
        let content = site.each_block(|graph, report, within| rewrite(graph, &mut inner, report, within))?;
        Ok(content)
    }
}

/// Whether every trip of a loop leaves part n of its state as it is.
fn stays(body: &Graph, n: usize) -> bool {
    let out = body.outputs()[n];
    matches!(body.node(out.node).content, Content::Input(m) if m as usize == n)
}

/// The side that a known condition takes, in the condition's place.
fn side(site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
    let Some(Scalar::Bool(holds)) = site.fill(inputs[0]) else {
        return Ok(None);
    };
    let Content::Cond(cond) = &site.graph.node(site.id).content else {
        return Ok(None);
    };
    let taken = if holds { &cond.then } else { &cond.otherwise };
    let mut map: Vec<Values> = Vec::new();
    let now = |map: &[Values], v: &Value| map[v.node.index()][v.slot()];
    for (_, node) in taken.iter() {
        map.push(match node.content {
            Content::Input(n) => Values::from_buf([inputs[1 + n as usize]]),
            _ => {
                let reads: Vec<Value> = node.inputs.iter().map(|v| now(&map, v)).collect();
                let id = site.builder.copy(node, &reads);
                (0..node.types.len()).map(|n| Value::nth(id, n)).collect()
            }
        });
    }
    site.did(format!("the condition is always {holds}"));
    Ok(Some(taken.outputs().iter().map(|v| now(&map, v)).collect()))
}

/// Folds an op on tensors of one value.
fn fills(site: &mut Site<'_>, op: &Op, inputs: &[Value]) -> Result<Option<Values>> {
    let Some(elements) = inputs.iter().map(|v| site.fill(*v)).collect::<Option<Vec<Scalar>>>() else {
        return Ok(None);
    };
    let types = site.node().types.clone();
    let values = match (op.moved(&elements), scalars::apply(op, &elements)) {
        (Some(value), _) => vec![value],
        (None, Some(Ok(values))) => values,
        (None, Some(Err(Not::Defined))) => {
            site.nearly("kept: it divides by zero, which is an error of the run");
            return Ok(None);
        }
        (None, Some(Err(Not::Exact)) | None) => return Ok(None),
    };
    let mut made = Values::new();
    for (value, ty) in values.iter().zip(&types) {
        made.push(site.emit(Fill { shape: ty.shape, value: *value }, &[])?);
    }
    site.did(format!("is {} throughout", values[0]));
    Ok(Some(made))
}

impl Fold<'_> {
    /// A loop that never runs gives its state; what a loop leaves as it is need not be asked of it.
    fn repetition(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        let Content::While(repeated) = &site.graph.node(site.id).content else {
            return Ok(None);
        };
        let test = repeated.condition.outputs()[0];
        let test = &repeated.condition.node(test.node).content;
        if matches!(test, Content::Op(op) if op.constant() == Some(Scalar::Bool(false))) {
            site.did("the loop never runs");
            return Ok(Some(inputs.iter().copied().collect()));
        }
        let read = |n: usize| {
            let value = Value::nth(site.id, n);
            let nodes = site.graph.nodes().iter().flat_map(|node| node.inputs.iter().copied());
            nodes.chain(site.graph.results()).any(|v| v == value)
        };
        let kept = |n: &usize| stays(&repeated.body, *n) && read(*n) && site.may_become(inputs[*n]);
        let kept: Vec<usize> = (0..inputs.len()).filter(kept).collect();
        if kept.is_empty() {
            return Ok(None);
        }
        site.did(format!("leaves parts {kept:?} of its state as they are: they are read from before it"));
        let content = self.blocks(site, inputs)?;
        let node = site.graph.node(site.id);
        let id = site.builder.copy(&Node { content, ..node.clone() }, inputs);
        let value = |n: usize| if kept.contains(&n) { inputs[n] } else { Value::nth(id, n) };
        Ok(Some((0..inputs.len()).map(value).collect()))
    }

    /// Runs an op on constants.
    fn evaluate(
        &mut self,
        site: &mut Site<'_>,
        op: &Op,
        inputs: &[Value],
        outputs: &[TensorType],
    ) -> Result<Option<Values>> {
        let Some(evaluator) = self.evaluator.as_mut() else {
            return Ok(None);
        };
        let types = types_of(site.builder, inputs);
        let is_view = inputs.len() == 1 && op.view(&Layout::dense(types[0].shape), &outputs[0]).is_some();
        // A function of tensors of one value is evaluated on one element of each.
        let elements = inputs.iter().map(|v| site.fill(*v)).collect::<Option<Vec<Scalar>>>();
        let alone = elements.filter(|e| scalars::apply(op, e).is_some());
        let made: Vec<Op>;
        let mut results: Vec<TensorType> = outputs.to_vec();
        let constants: Vec<Constant<'_>> = match &alone {
            Some(elements) => {
                let scalar = |e: &Scalar| Op::from(Fill { shape: situ_core::Shape::SCALAR, value: *e });
                // What needs axes to run is exact as a function of elements, and was folded before.
                let scalar_type = |e: &Scalar| TensorType::new(e.dtype(), situ_core::Shape::SCALAR);
                if op.infer(&elements.iter().map(scalar_type).collect::<Vec<_>>()).is_err() {
                    return Ok(None);
                }
                made = elements.iter().map(scalar).collect();
                results.iter_mut().for_each(|t| t.shape = situ_core::Shape::SCALAR);
                made.iter().map(Constant::Made).collect()
            }
            None => {
                let nodes = site.builder.nodes();
                let list = inputs.iter().map(|v| match &nodes[v.node.index()].content {
                    Content::Capture(n) => Some(Constant::Capture(*n)),
                    Content::Op(op) if nodes[v.node.index()].inputs.is_empty() && op.stream().is_none() => {
                        Some(Constant::Made(op))
                    }
                    _ => None,
                });
                match list.collect() {
                    Some(list) => list,
                    None => return Ok(None),
                }
            }
        };
        if is_view {
            return Ok(None);
        }
        if site.is_placed_result() {
            site.nearly("kept: it is constant, but its scope asks for the result on a device of its own");
            return Ok(None);
        }
        let pairs = constants.iter().zip(&types);
        let held: usize = pairs.filter(|(c, _)| matches!(c, Constant::Made(_))).map(|(_, t)| t.bytes()).sum();
        let bytes =
            results.iter().map(TensorType::bytes).sum::<usize>().max(if alone.is_some() { 0 } else { held });
        if bytes > self.limit {
            site.nearly(format!("kept: folding it would hold {bytes} bytes, more than {}", self.limit));
            return Ok(None);
        }
        let first = match evaluator.evaluate(op, &constants, &results) {
            Ok(Some(first)) => first,
            Ok(None) => return Ok(None),
            Err(error) => {
                site.nearly(format!("kept: on its constants it fails ({error})"));
                return Ok(None);
            }
        };
        let mut captures = Values::new();
        for ty in &results {
            captures.push(site.builder.capture(*ty));
        }
        let expected = site.builder.nodes()[captures[0].node.index()].content.clone();
        if expected != Content::Capture(first) {
            return Err(situ_core::Error::argument(
                "fold",
                format!("the result was kept as capture {first}, not as {expected:?}"),
                "this is a defect of the evaluator",
            ));
        }
        let mut values = Values::new();
        for (n, (capture, wanted)) in captures.iter().zip(outputs).enumerate() {
            let element = if alone.is_some() { evaluator.scalar(first + n as u32) } else { None };
            values.push(match element {
                Some(value) => site.emit(Fill { shape: wanted.shape, value }, &[])?,
                None if site.builder.type_of(*capture) == *wanted => *capture,
                None => site.emit(crate::ops::Expand { shape: wanted.shape }, &[*capture])?,
            });
        }
        site.did("computed once");
        Ok(Some(values))
    }
}
