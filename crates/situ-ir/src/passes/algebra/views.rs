//! Ops that move elements, where they move nothing or move it twice; and reductions of nothing.

use super::super::rewrite::{Site, Values};
use crate::graph::Value;
use crate::ops::{Op, Permute, Reduce, ReduceKind, Reshape, Slice};
use situ_core::{Layout, Result};

pub(super) fn rewrite(site: &mut Site<'_>, op: &Op, inputs: &[Value]) -> Result<Option<Values>> {
    let Some(&x) = inputs.first() else { return Ok(None) };
    let before = site.builder.type_of(x).shape;
    let after = site.node().types[0].shape;
    let inner = site.op(x).map(|(op, node)| (op.clone(), node.inputs.clone()));
    let inner = inner.as_ref().map(|(op, inputs)| (op, inputs.first().copied()));
    match (op, inner) {
        (Op::Reshape(_) | Op::Expand(_), _) if before == after => site.become_value(x, "it has that shape"),
        (Op::Reshape(_), Some((Op::Reshape(_), Some(y)))) => {
            if site.builder.type_of(y).shape == after {
                return site.become_value(y, "there and back is nowhere");
            }
            site.become_op(Reshape { shape: after }, &[y], "one reshape does for two")
        }
        (Op::Expand(_), Some((Op::Expand(_), Some(y)))) => {
            site.become_op(op.clone(), &[y], "one broadcast does for two")
        }
        (Op::Permute(order), _) if order.order().enumerate().all(|(to, from)| to == from) => {
            site.become_value(x, "the axes keep their order")
        }
        (Op::Permute(second), Some((Op::Permute(first), Some(y)))) => {
            let first: Vec<usize> = first.order().collect();
            let both: Vec<usize> = second.order().map(|axis| first[axis]).collect();
            if both.iter().enumerate().all(|(to, from)| to == *from) {
                return site.become_value(y, "there and back is nowhere");
            }
            site.become_op(Permute::new(&both)?, &[y], "one transpose does for two")
        }
        (Op::Slice(slice), _) if is_whole(slice, &before) => site.become_value(x, "it takes everything"),
        (Op::Slice(second), Some((Op::Slice(first), Some(y)))) => match joined(first, second) {
            Some(both) => site.become_op(both?, &[y], "one slice does for two"),
            None => Ok(None),
        },
        (Op::Dense(_), Some((inner, read))) => {
            let is_view = read.is_some_and(|y| {
                let layout = Layout::dense(site.builder.type_of(y).shape);
                inner.view(&layout, &site.builder.type_of(x)).is_some()
            });
            if is_view { Ok(None) } else { site.become_value(x, "it is dense already") }
        }
        (Op::StopGradient(_), _) => site.become_value(x, "there is no gradient to stop any more"),
        (Op::Concat(_), _) if inputs.len() == 1 => site.become_value(x, "there is nothing to join"),
        (Op::Pad(_) | Op::Tile(_), _) if before == after => site.become_value(x, "nothing is added"),
        _ => Ok(None),
    }
}

fn is_whole(slice: &Slice, shape: &situ_core::Shape) -> bool {
    slice.sizes() == shape
        && slice.starts().iter().all(|start| *start == 0)
        // The step of an axis of one element is never taken.
        && slice.steps().iter().zip(shape.iter()).all(|(step, size)| *step == 1 || *size == 1)
}

/// The slice that takes from the whole what the second takes from the first; `None` where one is empty, or
/// numbers overflow.
fn joined(first: &Slice, second: &Slice) -> Option<Result<Slice>> {
    if second.sizes().elements() == 0 {
        return None;
    }
    let (mut starts, mut steps) = (Vec::new(), Vec::new());
    for axis in 0..second.sizes().rank() {
        let (outer, inner) = (first.steps()[axis], second.starts()[axis]);
        let start = isize::try_from(first.starts()[axis]).ok()?;
        let start = start.checked_add(outer.checked_mul(isize::try_from(inner).ok()?)?)?;
        starts.push(usize::try_from(start).ok()?);
        steps.push(outer.checked_mul(second.steps()[axis])?);
    }
    Some(Slice::new(&starts, &steps, second.sizes()))
}

pub(super) fn reduce(site: &mut Site<'_>, op: Reduce, x: Value) -> Result<Option<Values>> {
    let before = site.builder.type_of(x).shape;
    let after = site.node().types[0];
    if matches!(op.kind, ReduceKind::ArgMax | ReduceKind::ArgMin) || op.axes.iter().any(|a| before[a] != 1) {
        return Ok(None);
    }
    let sums = matches!(op.kind, ReduceKind::Sum | ReduceKind::Mean) && after.dtype.is_float();
    if op.axes.is_empty() {
        return site.become_value(x, "it reduces over no axis");
    }
    if sums {
        site.nearly("kept: the sum over axes of one element is that element but where it is −0.0");
        return Ok(None);
    }
    if before == after.shape {
        return site.become_value(x, "every group has one element");
    }
    site.become_op(Reshape { shape: after.shape }, &[x], "every group has one element")
}
