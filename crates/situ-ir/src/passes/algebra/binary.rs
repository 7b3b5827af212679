//! Arithmetic, comparisons and logic with constants, or with the same value twice.

use super::super::rewrite::{Site, Values};
use super::super::scalars::{binary, exact_reciprocal, is, is_zero};
use crate::graph::Value;
use crate::ops::{Binary, BinaryKind as K, Fill, Op, Unary, UnaryKind};
use situ_core::{Result, Scalar, Shape};

/// Two inputs, and the element that fills each, where one does.
struct Pair {
    a: Value,
    b: Value,
    left: Option<Scalar>,
    right: Option<Scalar>,
    float: bool,
}

pub(super) fn rewrite(site: &mut Site<'_>, op: Binary, [a, b]: [Value; 2]) -> Result<Option<Values>> {
    let float = site.builder.type_of(a).dtype.is_float();
    let pair = Pair { a, b, left: site.fill(a), right: site.fill(b), float };
    let found = match op.kind {
        K::Add => add(site, &pair)?,
        K::Sub => subtract(site, &pair)?,
        K::Mul => multiply(site, &pair)?,
        K::Div => divide(site, &pair)?,
        K::Rem => None,
        K::Pow => power(site, &pair)?,
        K::Maximum | K::Minimum => extreme(site, op.kind, &pair)?,
        K::Equal | K::NotEqual | K::Less | K::LessEqual | K::Greater | K::GreaterEqual => {
            compare(site, op.kind, &pair)?
        }
        K::And | K::Or | K::Xor => logic(site, op.kind, &pair)?,
    };
    match found {
        Some(values) => Ok(Some(values)),
        None => regroup(site, op, &pair),
    }
}

/// The input of the op that makes a value, if it is that function.
fn undo(site: &Site<'_>, value: Value, kind: UnaryKind) -> Option<Value> {
    match site.op(value)? {
        (Op::Unary(op), node) if op.kind == kind => Some(node.inputs[0]),
        _ => None,
    }
}

fn constant(site: &mut Site<'_>, value: Scalar, why: &str) -> Result<Option<Values>> {
    let shape = site.node().types[0].shape;
    site.become_op(Fill { shape, value }, &[], why)
}

fn nearly(site: &mut Site<'_>, why: &str) -> Result<Option<Values>> {
    site.nearly(format!("kept: {why}"));
    Ok(None)
}

fn add(site: &mut Site<'_>, p: &Pair) -> Result<Option<Values>> {
    for (x, c) in [(p.a, p.right), (p.b, p.left)] {
        match c {
            Some(c) if is_zero(c, true) => return site.become_value(x, "x + 0 is x"),
            Some(c) if is_zero(c, false) => {
                return nearly(site, "x + 0.0 is x but where x is −0.0");
            }
            _ => {}
        }
    }
    if let Some(b) = undo(site, p.b, UnaryKind::Neg) {
        return site.become_op(Binary { kind: K::Sub }, &[p.a, b], "a + (−b) is a − b");
    }
    if let Some(a) = undo(site, p.a, UnaryKind::Neg) {
        return site.become_op(Binary { kind: K::Sub }, &[p.b, a], "−a + b is b − a");
    }
    Ok(None)
}

fn subtract(site: &mut Site<'_>, p: &Pair) -> Result<Option<Values>> {
    match (p.left, p.right) {
        (_, Some(c)) if is_zero(c, false) => return site.become_value(p.a, "x − 0 is x"),
        (_, Some(c)) if is_zero(c, true) => return nearly(site, "x − (−0.0) is x but where x is −0.0"),
        (Some(c), _) if is_zero(c, true) => {
            return site
                .become_op(Unary::new(UnaryKind::Neg), &[p.b], "0 − x is −x")
                .and_then(|v| widened(site, v));
        }
        (Some(c), _) if is_zero(c, false) => return nearly(site, "0.0 − x is −x but where x is 0.0"),
        _ => {}
    }
    if let Some(b) = undo(site, p.b, UnaryKind::Neg) {
        return site.become_op(Binary { kind: K::Add }, &[p.a, b], "a − (−b) is a + b");
    }
    if p.a == p.b {
        let zero = Scalar::of(site.builder.type_of(p.a).dtype, 0.0);
        return if p.float {
            nearly(site, "x − x is 0 but where x is infinite or NaN")
        } else {
            constant(site, zero, "x − x is 0")
        };
    }
    Ok(None)
}

/// A result that is narrower than the node's, broadcast.
fn widened(site: &mut Site<'_>, values: Option<Values>) -> Result<Option<Values>> {
    let wanted = site.node().types[0];
    match values {
        Some(values) if site.builder.type_of(values[0]) != wanted => {
            let wide = site.emit(crate::ops::Expand { shape: wanted.shape }, &values)?;
            Ok(Some(Values::from_buf([wide])))
        }
        other => Ok(other),
    }
}

fn multiply(site: &mut Site<'_>, p: &Pair) -> Result<Option<Values>> {
    for (x, c) in [(p.a, p.right), (p.b, p.left)] {
        match c {
            Some(c) if is(c, 1.0) => return site.become_value(x, "x · 1 is x"),
            Some(c) if is(c, -1.0) => {
                let made = site.become_op(Unary::new(UnaryKind::Neg), &[x], "x · −1 is −x")?;
                return widened(site, made);
            }
            Some(c) if is(c, 0.0) && !p.float => return constant(site, c, "x · 0 is 0"),
            Some(c) if is(c, 0.0) => {
                return nearly(site, "x · 0.0 is 0.0 but where x is negative, infinite or NaN");
            }
            _ => {}
        }
    }
    if let (Some(a), Some(b)) = (undo(site, p.a, UnaryKind::Neg), undo(site, p.b, UnaryKind::Neg)) {
        return site.become_op(Binary { kind: K::Mul }, &[a, b], "−a · −b is a · b");
    }
    if p.a == p.b {
        return site.become_op(Unary::new(UnaryKind::Square), &[p.a], "x · x is the square of x");
    }
    Ok(None)
}

fn divide(site: &mut Site<'_>, p: &Pair) -> Result<Option<Values>> {
    match (p.left, p.right) {
        (_, Some(c)) if is(c, 1.0) => return site.become_value(p.a, "x / 1 is x"),
        (_, Some(c)) if is(c, -1.0) => {
            let made = site.become_op(Unary::new(UnaryKind::Neg), &[p.a], "x / −1 is −x")?;
            return widened(site, made);
        }
        (_, Some(c)) if p.float => {
            if let Some(value) = exact_reciprocal(c) {
                let shape = site.builder.type_of(p.b).shape;
                let factor = site.emit(Fill { shape, value }, &[])?;
                let why = "dividing by a power of two is multiplying by its reciprocal";
                return site.become_op(Binary { kind: K::Mul }, &[p.a, factor], why);
            }
            return nearly(site, "x / c is x · (1/c) but for rounding");
        }
        (Some(c), _) if p.float && is(c, 1.0) => {
            let made =
                site.become_op(Unary::new(UnaryKind::Reciprocal), &[p.b], "1 / x is the reciprocal")?;
            return widened(site, made);
        }
        _ => {}
    }
    if p.a == p.b {
        return nearly(site, "x / x is 1 but where x is zero, infinite or NaN");
    }
    Ok(None)
}

fn power(site: &mut Site<'_>, p: &Pair) -> Result<Option<Values>> {
    let Some(c) = p.right else {
        return Ok(None);
    };
    let unary = |kind| Unary::new(kind);
    let made = match c.to_f64() {
        0.0 => {
            let one = Scalar::of(site.builder.type_of(p.a).dtype, 1.0);
            return constant(site, one, "x to the power of 0 is 1, for every x");
        }
        1.0 => return site.become_value(p.a, "x to the power of 1 is x"),
        2.0 => site.become_op(unary(UnaryKind::Square), &[p.a], "x to the power of 2 is its square")?,
        -1.0 => {
            site.become_op(unary(UnaryKind::Reciprocal), &[p.a], "x to the power of −1 is its reciprocal")?
        }
        0.5 => return nearly(site, "x to the power of 0.5 is its root but where x is −0.0 or −∞"),
        _ => return Ok(None),
    };
    widened(site, made)
}

fn extreme(site: &mut Site<'_>, kind: K, p: &Pair) -> Result<Option<Values>> {
    if p.a == p.b {
        return site.become_value(p.a, "the larger or smaller of x and x is x");
    }
    let sign = if kind == K::Maximum { -1.0 } else { 1.0 };
    for (x, c) in [(p.a, p.right), (p.b, p.left)] {
        match c {
            Some(c) if p.float && is(c, sign * f64::INFINITY) => {
                return site.become_value(x, "nothing lies beyond infinity");
            }
            Some(c) if p.float && kind == K::Maximum && is(c, 0.0) => {
                return nearly(site, "the larger of x and 0 is relu(x) but for the sign of zero");
            }
            _ => {}
        }
    }
    Ok(None)
}

fn compare(site: &mut Site<'_>, kind: K, p: &Pair) -> Result<Option<Values>> {
    if p.a == p.b {
        return match kind {
            K::Less | K::Greater => {
                constant(site, Scalar::Bool(false), "x is neither less nor greater than x")
            }
            _ if p.float => nearly(site, "x equals x but where it is NaN"),
            K::NotEqual => constant(site, Scalar::Bool(false), "x equals x"),
            _ => constant(site, Scalar::Bool(true), "x equals x"),
        };
    }
    for (x, c) in [(p.a, p.right), (p.b, p.left)] {
        match (kind, c) {
            (K::Equal, Some(Scalar::Bool(true))) | (K::NotEqual, Some(Scalar::Bool(false))) => {
                return site.become_value(x, "a truth compared with true is itself");
            }
            (K::Equal, Some(Scalar::Bool(false))) | (K::NotEqual, Some(Scalar::Bool(true))) => {
                let made = site.become_op(
                    Unary::new(UnaryKind::Not),
                    &[x],
                    "a truth compared with false is its opposite",
                )?;
                return widened(site, made);
            }
            _ => {}
        }
    }
    Ok(None)
}

fn logic(site: &mut Site<'_>, kind: K, p: &Pair) -> Result<Option<Values>> {
    if p.a == p.b {
        return match kind {
            K::Xor => constant(site, Scalar::Bool(false), "x is not other than x"),
            _ => site.become_value(p.a, "x and x, or x or x, is x"),
        };
    }
    for (x, c) in [(p.a, p.right), (p.b, p.left)] {
        let Some(Scalar::Bool(c)) = c else {
            continue;
        };
        match (kind, c) {
            (K::And, true) | (K::Or | K::Xor, false) => {
                return site.become_value(x, "the constant changes nothing");
            }
            (K::And, false) | (K::Or, true) => {
                return constant(site, Scalar::Bool(c), "the constant decides alone");
            }
            _ => {
                let made = site.become_op(Unary::new(UnaryKind::Not), &[x], "other than true is not")?;
                return widened(site, made);
            }
        }
    }
    Ok(None)
}

/// `(x ∘ c) ∘ d` with constants: exact for integers, which wrap.
fn regroup(site: &mut Site<'_>, op: Binary, p: &Pair) -> Result<Option<Values>> {
    let (outer, inner) = match (p.left, p.right) {
        (None, Some(c)) => (c, p.a),
        (Some(c), None) => (c, p.b),
        _ => return Ok(None),
    };
    let Some((&Op::Binary(first), node)) = site.op(inner) else {
        return Ok(None);
    };
    if first != op || !matches!(op.kind, K::Add | K::Mul) {
        return Ok(None);
    }
    let [a, b] = [node.inputs[0], node.inputs[1]];
    let (x, c) = match (site.fill(a), site.fill(b)) {
        (None, Some(c)) => (a, c),
        (Some(c), None) => (b, c),
        _ => return Ok(None),
    };
    if p.float {
        return nearly(site, "two constants make one but for rounding");
    }
    let Ok(value) = binary(op, c, outer) else {
        return Ok(None);
    };
    let constant = site.emit(Fill { shape: Shape::SCALAR, value }, &[])?;
    let made = site.become_op(op, &[x, constant], "two constants make one")?;
    widened(site, made)
}

/// A bias of zeros.
pub(super) fn bias(site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
    match site.fill(inputs[1]) {
        Some(c) if is_zero(c, true) => site.become_value(inputs[0], "x + 0 is x"),
        Some(c) if is_zero(c, false) => nearly(site, "x + 0.0 is x but where x is −0.0"),
        _ => Ok(None),
    }
}
