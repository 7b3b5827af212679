//! Arithmetic on single elements, as kernels do it: only what is exact on every device.
//!
//! Leaves to others: functions that kernels approximate (exp, pow, tanh ..), which only a kernel can give.

use crate::ops::{Binary, BinaryKind, Op, Program, Register, Step, Unary, UnaryKind};
use situ_core::{DType, Element, Scalar, with_float, with_integer};
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
        Step::Cast(op, a) => Ok(at(a).cast(op.to)),
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

/// The element of a scalar whose dtype is that of `T`.
fn element<T: Element>(value: Scalar) -> T {
    T::from_bits(value.bits())
}

/// A result that was computed in f32, as an element of a dtype of 16 bits; truth stays truth.
fn rounded(value: Scalar, dtype: DType) -> Scalar {
    if value.dtype() == DType::Bool { value } else { value.cast(dtype) }
}

pub(super) fn unary(op: Unary, value: Scalar) -> Result<Scalar, Not> {
    use UnaryKind as K;
    let [low, high] = op.params.map(|p| p.0);
    macro_rules! float {
        ($ty:ty, $x:expr) => {{
            let x: $ty = $x;
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
            Ok(value.to_scalar())
        }};
    }
    macro_rules! integer {
        ($ty:ty, $x:expr) => {{
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
            Ok(value.to_scalar())
        }};
    }
    let dtype = value.dtype();
    match value {
        Scalar::Bool(x) if op.kind == K::Not => Ok(Scalar::Bool(!x)),
        Scalar::Bool(_) => Err(Not::Exact),
        _ if dtype.is_half() => unary(op, value.cast(DType::F32)).map(|v| rounded(v, dtype)),
        #[allow(unused_comparisons, clippy::absurd_extreme_comparisons, reason = "one rule for all integers")]
        _ => with_float!(dtype, T => float!(T, element::<T>(value)),
            else with_integer!(dtype, T => integer!(T, element::<T>(value)), else Err(Not::Exact))),
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
        ($ty:ty) => {{
            let (a, b): ($ty, $ty) = (element(a), element(b));
            if let Some(truth) = compared!(a, b) {
                return Ok(Scalar::Bool(truth));
            }
            let value = match op.kind {
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
            };
            Ok(value.to_scalar())
        }};
    }
    macro_rules! integer {
        ($ty:ty) => {{
            let (a, b): ($ty, $ty) = (element(a), element(b));
            if let Some(truth) = compared!(a, b) {
                return Ok(Scalar::Bool(truth));
            }
            let value = match op.kind {
                K::Add => a.wrapping_add(b),
                K::Sub => a.wrapping_sub(b),
                K::Mul => a.wrapping_mul(b),
                K::Div | K::Rem if b == 0 => return Err(Not::Defined),
                K::Div => a.wrapping_div(b),
                K::Rem => a.wrapping_rem(b),
                K::Maximum => a.max(b),
                K::Minimum => a.min(b),
                _ => return Err(Not::Exact),
            };
            Ok(value.to_scalar())
        }};
    }
    let dtype = a.dtype();
    match (a, b) {
        _ if b.dtype() != dtype => Err(Not::Exact),
        (Scalar::Bool(a), Scalar::Bool(b)) => Ok(Scalar::Bool(match op.kind {
            K::Equal => a == b,
            K::NotEqual | K::Xor => a != b,
            K::And => a && b,
            K::Or => a || b,
            _ => return Err(Not::Exact),
        })),
        _ if dtype.is_half() => binary(op, a.cast(DType::F32), b.cast(DType::F32)).map(|v| rounded(v, dtype)),
        _ => with_float!(dtype, T => float!(T),
            else with_integer!(dtype, T => integer!(T), else Err(Not::Exact))),
    }
}

/// Whether it is zero; of floats, the one with this sign.
pub(super) fn is_zero(value: Scalar, negative: bool) -> bool {
    let dtype = value.dtype();
    match dtype.is_float() {
        true => value == Scalar::of(dtype, if negative { -0.0 } else { 0.0 }),
        false => dtype.is_integer() && value.bits() == 0,
    }
}

/// Whether it is that number, exactly.
pub(super) fn is(value: Scalar, number: f64) -> bool {
    match value.to_whole() {
        _ if value.dtype() == DType::Bool => false,
        Some(whole) => whole as f64 == number && whole == number as i128,
        None => value.to_f64() == number,
    }
}

/// 1/value, where value is a power of two and both are normal floats, so that dividing by one is exactly
/// multiplying by the other.
pub(super) fn exact_reciprocal(value: Scalar) -> Option<Scalar> {
    let (dtype, number) = (value.dtype(), value.to_f64());
    let least_normal = dtype.least_normal()?;
    let power = number.is_normal() && number.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1;
    let reciprocal = Scalar::of(dtype, 1.0 / number);
    let normal = |v: f64| v.is_finite() && v.abs() >= least_normal;
    (power && normal(number) && normal(reciprocal.to_f64())).then_some(reciprocal)
}
