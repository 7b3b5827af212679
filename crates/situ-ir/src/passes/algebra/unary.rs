//! Functions of functions.

use super::super::rewrite::{Site, Values};
use crate::graph::Value;
use crate::ops::{Op, Unary, UnaryKind as K};
use situ_core::Result;

pub(super) fn rewrite(site: &mut Site<'_>, op: Unary, x: Value) -> Result<Option<Values>> {
    let dtype = site.builder.type_of(x).dtype;
    let float = dtype.is_float();
    let (inner, y) = match site.op(x) {
        Some((Op::Unary(inner), node)) => (*inner, node.inputs[0]),
        Some((Op::Binary(inner), node)) => {
            let [a, b] = [node.inputs[0], node.inputs[1]];
            let difference = op.kind == K::Neg && inner.kind == crate::ops::BinaryKind::Sub;
            return match (difference, float) {
                (true, false) => site.become_op(*inner, &[b, a], "−(a − b) is b − a"),
                (true, true) => {
                    site.nearly("kept: −(a − b) is b − a but for the sign of zero where a = b");
                    Ok(None)
                }
                (false, _) => Ok(None),
            };
        }
        _ => return Ok(None),
    };
    // Each is true of every float, NaN and both zeros included, and of integers, which wrap: the square of −x
    // modulo 2ⁿ is that of x, and the least number is its own magnitude. Unsigned ones have no sign to take
    // away: −1 is 255, and so is its magnitude.
    match (op.kind, inner.kind) {
        (K::Neg, K::Neg) => site.become_value(y, "−(−x) is x"),
        (K::Not, K::Not) => site.become_value(y, "not not x is x"),
        (K::Abs, K::Neg) if !dtype.is_unsigned() => site.become_op(op, &[y], "|−x| is |x|"),
        (K::Square, K::Neg | K::Abs) => site.become_op(op, &[y], "the square of −x or |x| is that of x"),
        (
            K::Abs | K::Sign | K::Relu | K::Floor | K::Ceil | K::Round,
            K::Abs | K::Sign | K::Relu | K::Floor | K::Ceil | K::Round,
        ) if op.kind == inner.kind => site.become_value(x, "a second time changes nothing"),
        (K::Clip, K::Clip) if op == inner => site.become_value(x, "a second time changes nothing"),
        (K::Floor | K::Ceil | K::Round, K::Floor | K::Ceil | K::Round | K::Sign) => {
            site.become_value(x, "whole numbers stay as they are")
        }
        (K::Relu | K::Abs, K::Exp | K::Sigmoid | K::Square | K::Relu | K::Abs) if float => {
            positive(site, op, inner, x)
        }
        (K::Exp, K::Log) | (K::Log, K::Exp) | (K::Square, K::Sqrt) | (K::Sqrt, K::Square) if float => {
            site.nearly(format!(
                "kept: {} of {} is x but for rounding, range and sign",
                op.kind.name(),
                inner.kind.name()
            ));
            Ok(None)
        }
        (K::Reciprocal, K::Reciprocal) => {
            site.nearly("kept: 1/(1/x) is x but for rounding");
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// What is never below zero is its own magnitude. A zero with a sign is, to `relu`, as good as any; not to
/// `abs`.
fn positive(site: &mut Site<'_>, op: Unary, inner: Unary, x: Value) -> Result<Option<Values>> {
    match (op.kind, inner.kind) {
        (K::Abs, K::Relu) => {
            site.nearly("kept: relu(x) is its own magnitude but for the sign of −0.0");
            Ok(None)
        }
        _ => site.become_value(x, "it is never below zero"),
    }
}
