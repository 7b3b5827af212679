//! The exponential function: `x = n ln2 + r`, a polynomial for `e^r`, and the exponent put together from
//! bits.

use super::horner;
use crate::level::Isa;

/// Adding and subtracting 1.5 · 2^23 rounds to the nearest integer, and leaves that integer in the low bits.
pub(crate) const ROUND: f32 = 12_582_912.0;
/// ln 2 with so few bits that its product with any exponent is exact, and what is missing.
pub(crate) const LN2_HIGH: f32 = 0.693_145_75;
pub(crate) const LN2_LOW: f32 = 1.428_606_8e-6;
/// `(e^r - 1 - r) / r²` on |r| ≤ ln2 / 2, weighted so that `e^r - 1` has a relative error of 1.4e-8.
#[allow(clippy::excessive_precision)] // the digits of the fit
pub(crate) const TAIL: [f32; 5] = [0.5, 0.16666537523, 0.041666265577, 0.0083672469482, 0.0013947597472];

/// e^89 overflows and e^-104 rounds to 0: nothing changes beyond them.
pub(crate) const HIGHEST: f32 = 89.0;
pub(crate) const LOWEST: f32 = -104.0;

/// `2^n` for an `n` from -126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// The `n`, and `e^r - 1`, of `e^x = 2^n e^r`. Any integer comes back for NaN, with NaN beside it.
#[inline(always)]
fn reduce<I: Isa>(x: f32) -> (i32, f32) {
    let shifted = I::mul_add(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = I::mul_add(n, -LN2_LOW, I::mul_add(n, -LN2_HIGH, x));
    let less_one = I::mul_add(r * r, horner::<I, 5>(r, TAIL), r);
    (shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32, less_one)
}

/// `e^x`.
#[inline(always)]
pub fn exp<I: Isa>(x: f32) -> f32 {
    // Both comparisons are false for NaN, which therefore goes through.
    let x = if x > HIGHEST { HIGHEST } else { x };
    let x = if x < LOWEST { LOWEST } else { x };
    let (n, less_one) = reduce::<I>(x);
    // 2^n itself may be beyond f32 on either side where the product is not: apply it in two halves.
    let half = n >> 1;
    (1.0 + less_one) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `e^x` for `x` at most 0, with results below the smallest normal number flushed to 0: what a softmax needs.
#[inline(always)]
pub fn exp_nonpositive<I: Isa>(x: f32) -> f32 {
    const LOWEST: f32 = -87.336_54;
    let clamped = if x < LOWEST { LOWEST } else { x };
    let (n, less_one) = reduce::<I>(clamped);
    let scale = power_of_two(n);
    let y = I::mul_add(less_one, scale, scale);
    if x < LOWEST { 0.0 } else { y }
}

/// `e^x - 1`, exact near 0.
#[inline(always)]
pub fn expm1<I: Isa>(x: f32) -> f32 {
    // Below -20 the result rounds to -1.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -20.0 { -20.0 } else { x };
    let (n, less_one) = reduce::<I>(x);
    let half = n >> 1;
    let rest = n.wrapping_sub(half);
    let scale = power_of_two(half);
    I::mul_add(less_one, scale, scale - power_of_two(rest.wrapping_neg())) * power_of_two(rest)
}
