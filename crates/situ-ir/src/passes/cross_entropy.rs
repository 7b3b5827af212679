//! Softmax and cross-entropy as one op: `Σ labels · log_softmax(logits)` over the last axis is
//! `−softmax_cross_entropy`, which never holds the probabilities.
//!
//! The result is the same but for rounding, and but for a label of 0 beside a logit of −∞: that is 0 · −∞ =
//! NaN in the sum, and nothing in the fused op. So it is no part of what a function does unless asked for.

use super::rewrite::{Rule, Site, Values, rewrite};
use super::{Context, Report};
use crate::graph::{Content, Graph, NodeId, Value};
use crate::ops::{BinaryKind, CrossEntropy, Op, Reduce, ReduceKind, Reshape, Unary, UnaryKind};
use situ_core::{Axes, Result, Shape};

/// Finds cross-entropies that are written op by op, and makes one op of each.
pub fn run(graph: &Graph, _: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("cross_entropy");
    let graph = rewrite(graph, &mut Find, &mut report, "")?;
    Ok((graph, report))
}

struct Find;

impl Rule for Find {
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        match site.graph.node(site.id).content {
            Content::Op(Op::Reduce(reduce)) if reduce.kind == ReduceKind::Sum => sum(site, reduce),
            Content::Op(Op::Unary(op)) if op.kind == UnaryKind::Neg => turned(site, inputs[0]),
            _ => Ok(None),
        }
    }
}

/// The pattern, as far down as it was found.
struct Found {
    logits: Value,
    labels: Value,
    /// Whether the sum is of the negated products.
    negated: bool,
    /// The nodes that become one, besides the sum.
    nodes: Vec<NodeId>,
}

/// What is under a negation, if a value is one.
fn under_neg(site: &Site<'_>, value: Value, found: &mut Found) -> Value {
    match site.old_op(value) {
        Some((Op::Unary(op), node)) if op.kind == UnaryKind::Neg => {
            found.negated = !found.negated;
            found.nodes.push(value.node);
            node.inputs[0]
        }
        _ => value,
    }
}

fn sum(site: &mut Site<'_>, reduce: Reduce) -> Result<Option<Values>> {
    let summed = site.node().inputs[0];
    let ty = site.graph.type_of(summed);
    let rank = ty.shape.rank();
    if rank == 0 || !reduce.axes.contains(rank - 1) || !ty.dtype.is_float() {
        return Ok(None);
    }
    let mut found = Found { logits: summed, labels: summed, negated: false, nodes: Vec::new() };
    let product = under_neg(site, summed, &mut found);
    let Some((Op::Binary(op), node)) = site.old_op(product) else {
        return Ok(None);
    };
    if op.kind != BinaryKind::Mul {
        return Ok(None);
    }
    let [a, b] = [node.inputs[0], node.inputs[1]];
    found.nodes.push(product.node);
    let mut matched = false;
    for (side, labels) in [(b, a), (a, b)] {
        let nodes = found.nodes.len();
        let negated = found.negated;
        let log = under_neg(site, side, &mut found);
        match site.old_op(log) {
            Some((Op::Softmax(op), node)) if op.log && usize::from(op.axis) == rank - 1 => {
                found.nodes.push(log.node);
                found.logits = node.inputs[0];
                found.labels = labels;
                matched = true;
                break;
            }
            Some((Op::Unary(op), node)) if op.kind == UnaryKind::Log => {
                if matches!(site.old_op(node.inputs[0]), Some((Op::Softmax(op), _)) if !op.log) {
                    site.nearly(
                        "kept: log(softmax(x)) is −∞ where a probability is too small for a float, and log_softmax(x) is \
                         not; call log_softmax to have it fused",
                    );
                }
            }
            _ => {}
        }
        found.nodes.truncate(nodes);
        found.negated = negated;
    }
    if !matched {
        return Ok(None);
    }
    if let Some(why) = hindrance(site, &found) {
        site.nearly(format!("kept as a sum: {why}"));
        return Ok(None);
    }
    if matches!(site.old_op(found.labels), Some((Op::OneHot(_), _))) {
        site.nearly(
            "sparse_softmax_cross_entropy would need no one-hot labels, but it refuses a label out of range, for which one_hot \
             gives zeros",
        );
    }
    joined(site, reduce, &found)
}

/// Why the pattern is not one op.
fn hindrance(site: &Site<'_>, found: &Found) -> Option<String> {
    let [logits, labels] = [found.logits, found.labels].map(|v| site.graph.type_of(v));
    if logits != labels {
        return Some(format!("the labels are {labels} and the logits {logits}: one of them is broadcast"));
    }
    for id in &found.nodes {
        let node = site.graph.node(*id);
        if !site.used_once(Value::of(*id)) {
            return Some(format!("the result of {} is read elsewhere too", node.content.name()));
        }
        if node.request != site.node().request {
            return Some(format!("{} stands under another scope", node.content.name()));
        }
    }
    None
}

fn joined(site: &mut Site<'_>, reduce: Reduce, found: &Found) -> Result<Option<Values>> {
    let wanted = site.node().types[0];
    let last = site.graph.type_of(found.logits).shape.rank() - 1;
    let mut nodes = found.nodes.clone();
    nodes.push(site.id);
    nodes.sort();
    let inputs = [site.now(found.logits), site.now(found.labels)];
    let mut value = site.emit(CrossEntropy, &inputs)?;
    let parts = site.parts_of(&nodes);
    site.builder.set_parts(value.node, parts);
    let rest: Vec<isize> = reduce.axes.iter().filter(|a| *a != last).map(|a| a as isize).collect();
    if !rest.is_empty() {
        let axes = Axes::of("sum", &Shape::new(&vec![1; last])?, &rest)?;
        value = site.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dims: false }, &[value])?;
    }
    if site.builder.type_of(value) != wanted {
        value = site.emit(Reshape { shape: wanted.shape }, &[value])?;
    }
    if !found.negated {
        value = site.emit(Unary::new(UnaryKind::Neg), &[value])?;
    }
    site.did(format!("{} ops become one cross-entropy", nodes.len()));
    Ok(Some(Values::from_buf([value])))
}

/// `−mean(−loss)` is `mean(loss)`: the negation that the pattern leaves, taken away by the one that follows
/// the mean.
fn turned(site: &mut Site<'_>, reduced: Value) -> Result<Option<Values>> {
    let Some((&Op::Reduce(reduce), node)) = site.op(reduced) else {
        return Ok(None);
    };
    if !matches!(reduce.kind, ReduceKind::Sum | ReduceKind::Mean) || !site.used_once(site.node().inputs[0]) {
        return Ok(None);
    }
    let losses = match site.op(node.inputs[0]) {
        Some((Op::Unary(op), node)) if op.kind == UnaryKind::Neg => node.inputs[0],
        _ => return Ok(None),
    };
    let is_loss = |value: Value| matches!(site.op(value), Some((Op::CrossEntropy(_), _)));
    let mut below = losses;
    while let Some((Op::Reshape(_) | Op::Reduce(_), node)) = site.op(below) {
        below = node.inputs[0];
    }
    if !is_loss(below) {
        return Ok(None);
    }
    site.become_op(reduce, &[losses], "the mean of the negated losses, negated, is that of the losses")
}
