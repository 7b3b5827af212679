//! Choices that are made beforehand, and conversions that lose nothing.

use super::super::rewrite::{Site, Values};
use crate::graph::Value;
use crate::ops::{Cast, Op, UnaryKind, Where};
use situ_core::{DType, Result, Scalar};

pub(super) fn rewrite(site: &mut Site<'_>, [condition, a, b]: [Value; 3]) -> Result<Option<Values>> {
    match site.fill(condition) {
        Some(Scalar::Bool(true)) => return site.become_value(a, "the condition always holds"),
        Some(_) => return site.become_value(b, "the condition never holds"),
        None => {}
    }
    if a == b {
        return site.become_value(a, "both choices are the same");
    }
    if let (Some(Scalar::Bool(true)), Some(Scalar::Bool(false))) = (site.fill(a), site.fill(b)) {
        return site.become_value(condition, "the choice between true and false is the condition");
    }
    if let Some((Op::Unary(op), node)) = site.op(condition)
        && op.kind == UnaryKind::Not
    {
        let opposite = node.inputs[0];
        return site.become_op(Where, &[opposite, b, a], "the choices change places instead of the truth");
    }
    Ok(None)
}

pub(super) fn cast(site: &mut Site<'_>, op: Cast, x: Value) -> Result<Option<Values>> {
    let middle = site.builder.type_of(x).dtype;
    if middle == op.to {
        return site.become_value(x, "it has that dtype");
    }
    let Some((Op::Cast(_), node)) = site.op(x) else {
        return Ok(None);
    };
    let y = node.inputs[0];
    let from = site.builder.type_of(y).dtype;
    if !is_direct(from, middle, op.to) {
        if from == op.to {
            site.nearly(format!("kept: {from} to {middle} and back loses what {middle} can't hold"));
        }
        return Ok(None);
    }
    if from == op.to {
        return site.become_value(y, "there and back is nowhere");
    }
    site.become_op(op, &[y], "one conversion does for two")
}

/// Whether every value of `from`, converted to `middle` and then to `to`, is what the direct conversion
/// gives.
fn is_direct(from: DType, middle: DType, to: DType) -> bool {
    if !holds_all(middle, from) {
        return false;
    }
    // From here on the middle has the value unchanged; what remains is whether the last step treats it alike.
    // It does, but for integers that narrow: integers wrap, and floats saturate.
    match (from.is_integer(), middle.is_float(), to.is_integer()) {
        (true, true, true) => holds_all(to, from),
        _ => true,
    }
}

/// Whether `wide` has every value of `narrow`.
fn holds_all(wide: DType, narrow: DType) -> bool {
    match (narrow.whole_range(), wide.whole_range()) {
        _ if narrow == wide || narrow == DType::Bool => true,
        _ if wide == DType::Bool => false,
        (Some(narrow), Some(wide)) => wide.contains(narrow.start()) && wide.contains(narrow.end()),
        // A float has every whole number of as many bits as its significand; those of so few bits are far
        // from its largest.
        (Some(narrow), None) => wide
            .significand_bits()
            .is_some_and(|bits| *narrow.end() < 1 << bits && *narrow.start() >= -1 << bits),
        // f16 and bf16 have what the other lacks.
        (None, None) => wide.size() > narrow.size(),
        (None, Some(_)) => false,
    }
}
