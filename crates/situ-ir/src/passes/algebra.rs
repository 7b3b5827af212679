//! Algebraic rewrites: ops that do nothing, or that another op does with less.
//!
//! Promises: every element stays as it was, the signs of zeros, infinities and NaN included. Kernels of `pow`
//! hold to it too: with an exponent of 2 or −1 they give the bits of the square and the reciprocal. What
//! holds for real numbers and not for floats is reported as nearly done.

mod binary;
mod select;
mod unary;
mod views;

use super::rewrite::{Rule, Site, Values, rewrite, types_of};
use super::{Context, Report};
use crate::graph::{Content, Graph, Value};
use crate::ops::{Fill, Op};
use situ_core::{Result, Shape};

/// Rewrites a graph.
pub fn run(graph: &Graph, _: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("algebra");
    let graph = rewrite(graph, &mut Algebra, &mut report, "")?;
    Ok((graph, report))
}

struct Algebra;

impl Rule for Algebra {
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        let Content::Op(op) = &site.graph.node(site.id).content else {
            return Ok(None);
        };
        let found = match op {
            Op::Unary(op) => unary::rewrite(site, *op, inputs[0])?,
            Op::Binary(op) => binary::rewrite(site, *op, [inputs[0], inputs[1]])?,
            Op::BiasAdd(_) => binary::bias(site, inputs)?,
            Op::Where(_) => select::rewrite(site, [inputs[0], inputs[1], inputs[2]])?,
            Op::Cast(op) => select::cast(site, *op, inputs[0])?,
            Op::Reduce(op) => views::reduce(site, *op, inputs[0])?,
            _ => views::rewrite(site, op, inputs)?,
        };
        match found {
            Some(values) => Ok(Some(values)),
            None => narrower(site, op, inputs),
        }
    }
}

/// Ops that broadcast need no input that is broadcast for them.
fn narrower(site: &mut Site<'_>, op: &Op, inputs: &[Value]) -> Result<Option<Values>> {
    if !op.broadcasts() {
        return Ok(None);
    }
    let mut types = types_of(site.builder, inputs);
    let mut narrow = inputs.to_vec();
    let mut changed = false;
    for n in 0..inputs.len() {
        let small = match site.op(inputs[n]) {
            Some((Op::Expand(_), node)) => Some((node.inputs[0], None)),
            Some((made, node)) if node.types[0].shape.rank() > 0 => {
                made.constant().map(|value| (inputs[n], Some(value)))
            }
            _ => None,
        };
        let Some((value, filled)) = small else {
            continue;
        };
        let was = types[n];
        types[n].shape = if filled.is_some() { Shape::SCALAR } else { site.builder.type_of(value).shape };
        if op.infer(&types).is_ok_and(|types| types == site.node().types) {
            narrow[n] = match filled {
                Some(value) => site.emit(Fill { shape: Shape::SCALAR, value }, &[])?,
                None => value,
            };
            changed = true;
        } else {
            types[n] = was;
        }
    }
    if !changed {
        return Ok(None);
    }
    let first = site.emit(op.clone(), &narrow)?;
    site.did("broadcasts by itself what was broadcast for it");
    let outputs = site.node().types.len();
    Ok(Some((0..outputs).map(|n| Value::nth(first.node, n)).collect()))
}
