//! The error function and the Gaussian activation that is made of it.

use super::{exp_nonpositive, horner};
use crate::level::Isa;

/// `erf(x)/x - 1` in x², on |x| ≤ 1.
#[allow(clippy::excessive_precision)] // the digits of the fit
const NEAR: [f32; 7] = [
    0.12837910652,
    -0.37612625957,
    0.11283585429,
    -0.026853812858,
    0.0051883277483,
    -0.00080101942876,
    7.8538636444e-05,
];

/// `(t + 4) e^(t²/2) Φ(-t)` in s = (t - 4)/(t + 4), for t from 0 to 14.6, with a relative error of 8.7e-9.
#[allow(clippy::excessive_precision)] // the digits of the fit
const FAR: [f32; 10] = [
    0.75528514385,
    -0.60789656639,
    0.38713690639,
    -0.1865234822,
    0.060403764248,
    -0.0075250035152,
    -0.0035120788962,
    0.0015695890179,
    0.00017837235646,
    -0.00013243270223,
];

/// The upper tail of the normal distribution, `Φ(-t)`, for `t` from 0 to 14.6; results that are denormal are
/// flushed to 0.
#[inline(always)]
pub fn normal_tail<I: Isa>(t: f32) -> f32 {
    // e^(-t²/2) magnifies the rounding of t²: square so that what is rounded off is known, and multiply that
    // in.
    let (square, rest) = if I::FMA {
        let square = t * t;
        (square, I::mul_add(t, t, -square))
    } else {
        let high = f32::from_bits(t.to_bits() & 0xffff_f000);
        (high * high, (t - high) * (t + high))
    };
    let half = 0.5 * rest;
    // With a fused product the rest is one rounding, and its first power is enough.
    let correction = if I::FMA {
        1.0 - half
    } else {
        I::mul_add(half, I::mul_add(half, I::mul_add(half, -1.0 / 6.0, 0.5), -1.0), 1.0)
    };
    let inverse = 1.0 / (t + 4.0);
    let s = (t - 4.0) * inverse;
    horner::<I, 10>(s, FAR) * inverse * correction * exp_nonpositive::<I>(-0.5 * square)
}

/// The error function.
#[inline(always)]
pub fn erf<I: Isa>(x: f32) -> f32 {
    let a = x.abs();
    let near = I::mul_add(x, horner::<I, 7>(x * x, NEAR), x);
    // From 4 on, erf rounds to 1.
    let t = if a > 4.0 { 4.0 } else { a } * std::f32::consts::SQRT_2;
    let far = I::mul_add(-2.0, normal_tail::<I>(t), 1.0).copysign(x);
    if a < 1.0 { near } else { far }
}

/// `x Φ(x)`, exact in the left tail too; 0 at -inf.
#[inline(always)]
pub fn gelu<I: Isa>(x: f32) -> f32 {
    // Below -14.6 the result is 0; the clamp keeps -inf · 0 from becoming NaN.
    let x = if x < -14.6 { -14.6 } else { x };
    let a = x.abs();
    let tail = normal_tail::<I>(if a > 14.6 { 14.6 } else { a });
    x * if x < 0.0 { tail } else { 1.0 - tail }
}
