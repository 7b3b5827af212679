//! Elementary functions as branch-free code that the compiler vectorises inside
//! [`multiversion!`](crate::multiversion).
//!
//! Promises, for f32 (held by tests that sweep the whole range against f64): within 2 to 4 units in the last
//! place (gelu: 6), right at ±0, ±inf, NaN, denormals and the ends of the range: `exp(-inf)` is 0, `exp(NaN)`
//! is NaN, `log(0)` is -inf. f64 uses the standard library's scalar functions.
//!
//! Every function is `#[inline(always)]` and generic over an [`Isa`], because it must be compiled inside the
//! function that enables the instructions. The coefficients are minimax fits of our own (Remez exchange, 50
//! digits), rounded to the precision they are used in.

mod erf;
pub(crate) mod exp;
mod float;
mod log;
mod pow;
mod round;
mod trig;

pub use erf::{erf, gelu, normal_tail};
pub use exp::{exp, exp_nonpositive, expm1};
pub use float::Float;
pub use log::{log, log1p};
pub use pow::pow;
pub use round::{ceil, floor, round};
pub use trig::{TRIG_LIMIT, cos, sin};

use crate::level::Isa;

/// A polynomial by Horner's rule; coefficients from the constant term up.
#[inline(always)]
pub(crate) fn horner<I: Isa, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = I::mul_add(sum, x, coefficients[i]);
    }
    sum
}

/// [`horner`] in double precision.
#[inline(always)]
pub(crate) fn horner_f64<I: Isa, const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = I::mul_add_f64(sum, x, coefficients[i]);
    }
    sum
}

/// `tanh x`.
#[inline(always)]
pub fn tanh<I: Isa>(x: f32) -> f32 {
    // From 9.1 on, tanh rounds to 1; the comparison is false for NaN, which therefore goes through.
    let a = x.abs();
    let a = if a > 9.1 { 9.1 } else { a };
    let e = expm1::<I>(a + a);
    (e / (e + 2.0)).copysign(x)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid<I: Isa>(x: f32) -> f32 {
    // e^-|x| never overflows, so the left tail keeps its precision down to denormals.
    let e = exp::<I>(-x.abs());
    let top = if x < 0.0 { e } else { 1.0 };
    top / (1.0 + e)
}

/// `x · sigmoid(x)`; 0 at -inf.
#[inline(always)]
pub fn silu<I: Isa>(x: f32) -> f32 {
    // Below -110 the result is 0; the clamp keeps -inf · 0 from becoming NaN.
    let x = if x < -110.0 { -110.0 } else { x };
    x * sigmoid::<I>(x)
}

/// `log(1 + e^x)`.
#[inline(always)]
pub fn softplus<I: Isa>(x: f32) -> f32 {
    let positive = if x > 0.0 { x } else { 0.0 };
    positive + log1p::<I>(exp::<I>(-x.abs()))
}

/// `x`, or `alpha · (e^x - 1)` below 0.
#[inline(always)]
pub fn elu<I: Isa>(x: f32, alpha: f32) -> f32 {
    if x > 0.0 { x } else { alpha * expm1::<I>(x) }
}

#[cfg(test)]
mod tests;
