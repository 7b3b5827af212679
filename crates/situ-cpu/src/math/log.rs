//! The natural logarithm: `x = 2^e m` with m around 1, and a polynomial for `log m`.

use super::exp::{LN2_HIGH, LN2_LOW};
use super::horner;
use crate::level::Isa;

/// `(log(1+f) - f + f²/2) / f³` on √½ - 1 ≤ f ≤ √2 - 1, for a relative error of 7.5e-10 in `log(1+f)`.
#[allow(clippy::excessive_precision)] // the digits of the fit
const TAIL: [f32; 9] = [
    0.33333313465,
    -0.25000008941,
    0.20002119243,
    -0.16667996347,
    0.14219552279,
    -0.12405588478,
    0.11888162047,
    -0.11675652117,
    0.067466422915,
];

/// `log x`: -inf at 0, NaN below.
#[inline(always)]
pub fn log<I: Isa>(x: f32) -> f32 {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    // Denormals are scaled into the normal range first.
    let small = x < f32::MIN_POSITIVE;
    let scaled = if small { x * 16_777_216.0 } else { x };
    let bits = scaled.to_bits();
    let exponent = (bits.wrapping_sub(SQRT_HALF_BITS) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23)) - 1.0;
    let e = exponent as f32 - if small { 24.0 } else { 0.0 };
    let square = f * f;
    let mut tail = I::mul_add(e, LN2_LOW, square * f * horner::<I, 9>(f, TAIL));
    tail = I::mul_add(square, -0.5, tail);
    let y = I::mul_add(e, LN2_HIGH, f + tail);
    let y = if x == f32::INFINITY { f32::INFINITY } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f32::NAN }
}

/// `log(1 + x)`, exact near 0.
#[inline(always)]
pub fn log1p<I: Isa>(x: f32) -> f32 {
    // 1 + x loses low bits of x; `lost` is exactly those, and enters to first order.
    let u = 1.0 + x;
    let lost = x - (u - 1.0);
    let y = log::<I>(u) + lost / u;
    let y = if x == f32::INFINITY { x } else { y };
    let y = if x == 0.0 { x } else { y };
    if u == 0.0 { f32::NEG_INFINITY } else { y }
}
