//! The gradient of a relu before a largest-of-windows pooling: the mask is taken of the pooled images, which
//! are smaller.
//!
//! `where(y > 0, max_pool2d_by_input(y, g), 0)` is `max_pool2d_by_input(y, where(max_pool2d(y) > 0, g, 0))`:
//! a window's gradient goes to its largest pixel, which is above zero if and only if the window's result is.
//! Not a bit is different, with NaN and with windows that overlap.

use super::rewrite::{Rule, Site, Values, rewrite};
use super::{Context, Report};
use crate::graph::{Content, Graph, NodeId, Value};
use crate::ops::pool2d::PoolKind;
use crate::ops::{Binary, BinaryKind, Fill, Op, Pool2dByInput, Where};
use situ_core::{Result, Scalar, Shape};

/// Moves masks behind the pooling.
pub fn run(graph: &Graph, _: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("pool_masks");
    let graph = rewrite(graph, &mut Move, &mut report, "")?;
    Ok((graph, report))
}

struct Move;

impl Rule for Move {
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        let Content::Op(Op::Where(_)) = site.graph.node(site.id).content else { return Ok(None) };
        let Some((op, y, gradient)) = masked(site, inputs) else { return Ok(None) };
        let old = site.node().inputs[1];
        if !site.used_once(old) {
            site.nearly("kept before the pooling: the gradient that it masks is read elsewhere too");
            return Ok(None);
        }
        let pooled = site.builder.nodes().iter().position(|node| {
            matches!(node.content, Content::Op(Op::Pool2d(pool)) if pool == op.pool)
                && node.inputs[0] == y
                && node.request == site.node().request
        });
        let Some(pooled) = pooled.filter(|_| site.graph.node(old.node).request == site.node().request) else {
            site.nearly("kept before the pooling: the pooled images are not at hand under the same scope");
            return Ok(None);
        };
        let pooled = Value::of(NodeId(pooled as u32));
        let value = Scalar::of(site.node().types[0].dtype, 0.0);
        let zero = site.emit(Fill { shape: Shape::SCALAR, value }, &[])?;
        let above = site.emit(Binary { kind: BinaryKind::Greater }, &[pooled, zero])?;
        let rest = site.emit(Where, &[above, gradient, zero])?;
        site.become_op(op, &[y, rest], "masks the gradient by the pooled images, not by their pixels")
    }
}

/// The gradient of pooling that is masked by where its images are above zero: with the images, and the
/// gradient by the result.
fn masked(site: &Site<'_>, inputs: &[Value]) -> Option<(Pool2dByInput, Value, Value)> {
    let [condition, value, otherwise] = inputs else { return None };
    let is_zero = |value: Value| {
        site.fill(value).is_some_and(|fill| fill.to_f64() == 0.0 && fill.to_f64().is_sign_positive())
    };
    let (Op::Binary(Binary { kind: BinaryKind::Greater }), compared) = site.op(*condition)? else {
        return None;
    };
    let (Op::Pool2dByInput(op), pooling) = site.op(*value)? else { return None };
    let [y, gradient] = [pooling.inputs[0], pooling.inputs[1]];
    let fits = op.pool.kind == PoolKind::Max
        && compared.inputs[0] == y
        && is_zero(compared.inputs[1])
        && is_zero(*otherwise)
        && site.builder.type_of(*value) == site.node().types[0];
    fits.then_some((*op, y, gradient))
}
