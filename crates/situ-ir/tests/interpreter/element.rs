//! Functions of single elements.

use super::rounded;
use situ_core::{DType, Scalar};
use situ_ir::ops::{BinaryKind, Unary, UnaryKind};

/// The integer of a scalar that is one, or 0 and 1 of a truth.
fn integer(value: Scalar) -> i128 {
    value.to_whole().expect("no float")
}

/// An integer that wraps to its dtype.
fn wrapped(dtype: DType, value: i128) -> Scalar {
    // The number among those of the dtype that is as many steps of its whole range away.
    let range = dtype.whole_range().expect("an integer");
    let count = range.end() - range.start() + 1;
    let held = range.start() + (value - range.start()).rem_euclid(count);
    Scalar::from_bits(dtype, held as u64 & (u64::MAX >> (64 - 8 * dtype.size())))
}

pub fn unary(op: Unary, value: Scalar) -> Scalar {
    let dtype = value.dtype();
    match dtype {
        DType::Bool => Scalar::Bool(value != Scalar::Bool(true)),
        _ if dtype.is_float() => {
            let x = value.to_f64();
            if op.kind == UnaryKind::IsNan {
                return Scalar::Bool(x.is_nan());
            }
            let [a, b] = op.params.map(|p| rounded(dtype, p.0).to_f64());
            let value = float(op.kind, x, a, b);
            if x.is_nan() { value_of_nan(dtype) } else { rounded(dtype, value) }
        }
        _ => {
            let x = integer(value);
            let [a, b] = op.params.map(|p| p.0);
            wrapped(
                dtype,
                match op.kind {
                    UnaryKind::Neg => -x,
                    UnaryKind::Abs => x.abs(),
                    UnaryKind::Sign => x.signum(),
                    UnaryKind::Square => x.wrapping_mul(x),
                    UnaryKind::Relu => x.max(0),
                    UnaryKind::Clip => {
                        let bound = |v: f64| integer(Scalar::of(dtype, v));
                        x.max(bound(a.ceil())).min(bound(b.floor()))
                    }
                    other => unreachable!("{} of an integer", other.name()),
                },
            )
        }
    }
}

fn value_of_nan(dtype: DType) -> Scalar {
    Scalar::of(dtype, f64::NAN)
}

fn float(kind: UnaryKind, x: f64, a: f64, b: f64) -> f64 {
    match kind {
        UnaryKind::Neg => -x,
        UnaryKind::Abs => x.abs(),
        UnaryKind::Sign => {
            if x == 0.0 {
                x
            } else {
                x.signum()
            }
        }
        UnaryKind::Exp => x.exp(),
        UnaryKind::Log => x.ln(),
        UnaryKind::Log1p => x.ln_1p(),
        UnaryKind::Sqrt => x.sqrt(),
        UnaryKind::Rsqrt => 1.0 / x.sqrt(),
        UnaryKind::Square => x * x,
        UnaryKind::Reciprocal => 1.0 / x,
        UnaryKind::Sin => x.sin(),
        UnaryKind::Cos => x.cos(),
        UnaryKind::Tanh => x.tanh(),
        UnaryKind::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        UnaryKind::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        UnaryKind::LeakyRelu => {
            if x < 0.0 {
                a * x
            } else {
                x
            }
        }
        UnaryKind::Elu => {
            if x < 0.0 {
                a * x.exp_m1()
            } else {
                x
            }
        }
        // Not the function itself: any smooth one that is the same before and after serves here.
        UnaryKind::Gelu => x * (1.0 / (1.0 + (-1.702 * x).exp())),
        UnaryKind::Silu => x / (1.0 + (-x).exp()),
        UnaryKind::Softplus => x.exp().ln_1p(),
        UnaryKind::Erf => (1.2 * x).tanh(),
        UnaryKind::Floor => x.floor(),
        UnaryKind::Ceil => x.ceil(),
        UnaryKind::Round => x.round_ties_even(),
        UnaryKind::Clip => {
            if x < a {
                a
            } else if x > b {
                b
            } else {
                x
            }
        }
        UnaryKind::Not | UnaryKind::IsNan => unreachable!("{} gives no float", kind.name()),
        // As for gelu: a function that no pass knows is as good as any other.
        other => (0.7 * x + f64::from(other as u8)).sin(),
    }
}

pub fn binary(kind: BinaryKind, a: Scalar, b: Scalar) -> Scalar {
    let dtype = a.dtype();
    if dtype == DType::Bool {
        let (a, b) = (a == Scalar::Bool(true), b == Scalar::Bool(true));
        return Scalar::Bool(match kind {
            BinaryKind::And => a && b,
            BinaryKind::Or => a || b,
            BinaryKind::Xor | BinaryKind::NotEqual => a != b,
            BinaryKind::Equal => a == b,
            other => unreachable!("{} of truths", other.name()),
        });
    }
    if dtype.is_float() {
        let (x, y) = (a.to_f64(), b.to_f64());
        if let Some(truth) = compared(kind, x.partial_cmp(&y)) {
            return Scalar::Bool(truth);
        }
        let nan = x.is_nan() || y.is_nan();
        return rounded(
            dtype,
            match kind {
                BinaryKind::Add => x + y,
                BinaryKind::Sub => x - y,
                BinaryKind::Mul => x * y,
                BinaryKind::Div => x / y,
                BinaryKind::Rem => x % y,
                BinaryKind::Pow => x.powf(y),
                BinaryKind::Maximum | BinaryKind::Minimum if nan => f64::NAN,
                // Of two zeros, the second.
                BinaryKind::Maximum => {
                    if x > y {
                        x
                    } else {
                        y
                    }
                }
                BinaryKind::Minimum => {
                    if x < y {
                        x
                    } else {
                        y
                    }
                }
                other => unreachable!("{} of floats", other.name()),
            },
        );
    }
    let (x, y) = (integer(a), integer(b));
    if let Some(truth) = compared(kind, Some(x.cmp(&y))) {
        return Scalar::Bool(truth);
    }
    wrapped(
        dtype,
        match kind {
            BinaryKind::Add => x + y,
            BinaryKind::Sub => x - y,
            BinaryKind::Mul => x.wrapping_mul(y),
            // An error at run time; here any fixed answer, which folding must not come to by itself.
            BinaryKind::Div | BinaryKind::Rem if y == 0 => 77,
            BinaryKind::Div => x / y,
            BinaryKind::Rem => x % y,
            BinaryKind::Maximum => x.max(y),
            BinaryKind::Minimum => x.min(y),
            other => unreachable!("{} of integers", other.name()),
        },
    )
}

fn compared(kind: BinaryKind, order: Option<std::cmp::Ordering>) -> Option<bool> {
    Some(match kind {
        BinaryKind::Equal => order.is_some_and(|o| o.is_eq()),
        BinaryKind::NotEqual => order.is_none_or(|o| o.is_ne()),
        BinaryKind::Less => order.is_some_and(|o| o.is_lt()),
        BinaryKind::LessEqual => order.is_some_and(|o| o.is_le()),
        BinaryKind::Greater => order.is_some_and(|o| o.is_gt()),
        BinaryKind::GreaterEqual => order.is_some_and(|o| o.is_ge()),
        _ => return None,
    })
}

pub fn cast(to: DType, value: Scalar) -> Scalar {
    let from = value.dtype();
    match to {
        DType::Bool if from.is_float() => Scalar::Bool(value.to_f64() != 0.0),
        DType::Bool => Scalar::Bool(integer(value) != 0),
        DType::F32 if !from.is_float() => Scalar::F32(integer(value) as f32),
        _ if to.is_float() => rounded(to, value.to_f64()),
        // Floats saturate, integers wrap.
        _ if from.is_float() => Scalar::of(to, value.to_f64().trunc()),
        _ => wrapped(to, integer(value)),
    }
}
