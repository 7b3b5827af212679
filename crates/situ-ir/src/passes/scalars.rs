//! Arithmetic on single elements, as kernels do it: only what is exact on every device.
//!
//! Leaves to others: functions that kernels approximate (exp, pow, tanh ..), which only a kernel can give.

use crate::ops::{Binary, BinaryKind, Cast, Op, Program, Register, Step, Unary, UnaryKind};
use situ_core::{DType, Scalar};
use smallvec::SmallVec;

/// Why an element can't be computed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Not {
    /// Kernels approximate the function.
    Exact,
    /// An integer division by zero, which is an error when the op runs.
    Defined,
}

/// The elements that an elementwise op gives for elements; `None` for an op that is not elementwise.
pub(super) fn apply(op: &Op, inputs: &[Scalar]) -> Option<Result<Vec<Scalar>, Not>> {
    if let Some(steps) = op.program() {
        return Some(program(steps, inputs));
    }
    let reads: SmallVec<[Register; 3]> = (0..inputs.len()).map(|n| Register(n as u16)).collect();
    Some(step(&op.step(&reads)?, inputs).map(|value| vec![value]))
}

/// The element that a step makes of registers.
fn step(step: &Step, registers: &[Scalar]) -> Result<Scalar, Not> {
    let at = |r: Register| registers[r.index()];
    match *step {
        Step::Constant(value) => Ok(value),
        Step::Unary(op, a) => unary(op, at(a)),
        Step::Binary(op, a, b) => binary(op, at(a), at(b)),
        Step::Where(c, a, b) => Ok(select(at(c), at(a), at(b))),
        Step::Cast(op, a) => Ok(cast(op, at(a))),
    }
}

fn select(condition: Scalar, a: Scalar, b: Scalar) -> Scalar {
    if condition == Scalar::Bool(true) { a } else { b }
}

fn program(program: &Program, inputs: &[Scalar]) -> Result<Vec<Scalar>, Not> {
    let mut registers = inputs.to_vec();
    for next in program.steps() {
        registers.push(step(next, &registers)?);
    }
    Ok(program.outputs().iter().map(|r| registers[r.index()]).collect())
}

pub(super) fn cast(op: Cast, value: Scalar) -> Scalar {
    macro_rules! to {
        ($v:expr) => {
            match op.to {
                DType::F32 => Scalar::F32($v as f32),
                DType::F64 => Scalar::F64($v as f64),
                DType::I32 => Scalar::I32($v as i32),
                DType::I64 => Scalar::I64($v as i64),
                DType::U8 => Scalar::U8($v as u8),
                DType::Bool => Scalar::Bool(value.to_f64() != 0.0),
            }
        };
    }
    match value {
        Scalar::F32(v) => to!(v),
        Scalar::F64(v) => to!(v),
        Scalar::I32(v) => to!(v),
        Scalar::I64(v) => to!(v),
        Scalar::U8(v) => to!(v),
        Scalar::Bool(v) => to!(u8::from(v)),
    }
}

pub(super) fn unary(op: Unary, value: Scalar) -> Result<Scalar, Not> {
    use UnaryKind as K;
    let [low, high] = op.params.map(|p| p.0);
    macro_rules! float {
        ($variant:ident, $ty:ty, $x:expr) => {{
            let x = $x;
            let (low, high) = (low as $ty, high as $ty);
            let value = match op.kind {
                K::Neg => -x,
                K::Abs => x.abs(),
                K::Sign => match x {
                    x if x > 0.0 => 1.0,
                    x if x < 0.0 => -1.0,
                    x => x,
                },
                K::Sqrt => x.sqrt(),
                K::Square => x * x,
                K::Reciprocal => 1.0 / x,
                K::Relu => {
                    if x < 0.0 {
                        0.0
                    } else {
                        x
                    }
                }
                K::LeakyRelu => {
                    if x < 0.0 {
                        low * x
                    } else {
                        x
                    }
                }
                K::Floor => x.floor(),
                K::Ceil => x.ceil(),
                K::Round => x.round_ties_even(),
                K::Clip => {
                    let x = if x < low { low } else { x };
                    if x > high { high } else { x }
                }
                K::IsNan => return Ok(Scalar::Bool(x.is_nan())),
                // What kernels approximate, and what floats do not have.
                _ => return Err(Not::Exact),
            };
            Ok(Scalar::$variant(value))
        }};
    }
    macro_rules! integer {
        ($variant:ident, $ty:ty, $x:expr) => {{
            let x: $ty = $x;
            let zero: $ty = 0;
            let value = match op.kind {
                K::Neg => zero.wrapping_sub(x),
                K::Abs => {
                    if x < zero {
                        zero.wrapping_sub(x)
                    } else {
                        x
                    }
                }
                K::Sign => {
                    if x < zero {
                        zero.wrapping_sub(1)
                    } else {
                        <$ty>::from(x > zero)
                    }
                }
                K::Square => x.wrapping_mul(x),
                K::Relu => x.max(zero),
                K::Clip => {
                    // The bounds round inwards, as in the kernels.
                    let (low, high) = (low.ceil() as $ty, high.floor() as $ty);
                    let x = if x < low { low } else { x };
                    if x > high { high } else { x }
                }
                _ => return Err(Not::Exact),
            };
            Ok(Scalar::$variant(value))
        }};
    }
    match value {
        Scalar::F32(x) => float!(F32, f32, x),
        Scalar::F64(x) => float!(F64, f64, x),
        Scalar::I32(x) => integer!(I32, i32, x),
        Scalar::I64(x) => integer!(I64, i64, x),
        #[allow(unused_comparisons, clippy::absurd_extreme_comparisons, reason = "one rule for all integers")]
        Scalar::U8(x) => integer!(U8, u8, x),
        Scalar::Bool(x) if op.kind == K::Not => Ok(Scalar::Bool(!x)),
        Scalar::Bool(_) => Err(Not::Exact),
    }
}

pub(super) fn binary(op: Binary, a: Scalar, b: Scalar) -> Result<Scalar, Not> {
    use BinaryKind as K;
    macro_rules! compared {
        ($a:expr, $b:expr) => {
            match op.kind {
                K::Equal => Some($a == $b),
                K::NotEqual => Some($a != $b),
                K::Less => Some($a < $b),
                K::LessEqual => Some($a <= $b),
                K::Greater => Some($a > $b),
                K::GreaterEqual => Some($a >= $b),
                _ => None,
            }
        };
    }
    macro_rules! float {
        ($variant:ident, $a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            if let Some(truth) = compared!(a, b) {
                return Ok(Scalar::Bool(truth));
            }
            Ok(Scalar::$variant(match op.kind {
                K::Add => a + b,
                K::Sub => a - b,
                K::Mul => a * b,
                K::Div => a / b,
                K::Rem => a % b,
                K::Maximum => {
                    if a > b || a.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                K::Minimum => {
                    if a < b || a.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                _ => return Err(Not::Exact),
            }))
        }};
    }
    macro_rules! integer {
        ($variant:ident, $a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            if let Some(truth) = compared!(a, b) {
                return Ok(Scalar::Bool(truth));
            }
            Ok(Scalar::$variant(match op.kind {
                K::Add => a.wrapping_add(b),
                K::Sub => a.wrapping_sub(b),
                K::Mul => a.wrapping_mul(b),
                K::Div | K::Rem if b == 0 => return Err(Not::Defined),
                K::Div => a.wrapping_div(b),
                K::Rem => a.wrapping_rem(b),
                K::Maximum => a.max(b),
                K::Minimum => a.min(b),
                _ => return Err(Not::Exact),
            }))
        }};
    }
    match (a, b) {
        (Scalar::F32(a), Scalar::F32(b)) => float!(F32, a, b),
        (Scalar::F64(a), Scalar::F64(b)) => float!(F64, a, b),
        (Scalar::I32(a), Scalar::I32(b)) => integer!(I32, a, b),
        (Scalar::I64(a), Scalar::I64(b)) => integer!(I64, a, b),
        (Scalar::U8(a), Scalar::U8(b)) => integer!(U8, a, b),
        (Scalar::Bool(a), Scalar::Bool(b)) => Ok(Scalar::Bool(match op.kind {
            K::Equal => a == b,
            K::NotEqual | K::Xor => a != b,
            K::And => a && b,
            K::Or => a || b,
            _ => return Err(Not::Exact),
        })),
        _ => Err(Not::Exact),
    }
}

/// Whether it is zero; of floats, the one with this sign.
pub(super) fn is_zero(value: Scalar, negative: bool) -> bool {
    match value {
        Scalar::F32(v) => v == 0.0 && v.is_sign_negative() == negative,
        Scalar::F64(v) => v == 0.0 && v.is_sign_negative() == negative,
        Scalar::I32(_) | Scalar::I64(_) | Scalar::U8(_) => value.bits() == 0,
        Scalar::Bool(_) => false,
    }
}

/// Whether it is that number, exactly.
pub(super) fn is(value: Scalar, number: f64) -> bool {
    match value {
        Scalar::I64(v) => v == number as i64,
        Scalar::Bool(_) => false,
        Scalar::F32(_) | Scalar::F64(_) | Scalar::I32(_) | Scalar::U8(_) => value.to_f64() == number,
    }
}

/// 1/value, where value is a power of two and both are normal floats, so that dividing by one is exactly multiplying by the
/// other.
pub(super) fn exact_reciprocal(value: Scalar) -> Option<Scalar> {
    match value {
        Scalar::F32(v) => {
            let power = v.is_normal() && v.to_bits() & 0x7f_ffff == 0 && (1.0 / v).is_normal();
            power.then(|| Scalar::F32(1.0 / v))
        }
        Scalar::F64(v) => {
            let power = v.is_normal() && v.to_bits() & 0xf_ffff_ffff_ffff == 0 && (1.0 / v).is_normal();
            power.then(|| Scalar::F64(1.0 / v))
        }
        Scalar::I32(_) | Scalar::I64(_) | Scalar::U8(_) | Scalar::Bool(_) => None,
    }
}
