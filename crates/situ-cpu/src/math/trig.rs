//! Sine and cosine: the quarter turn is taken off in double precision, the rest is a polynomial on ±π/4.

use super::horner;
use crate::level::Isa;

/// Up to this |x| the reduction is exact enough; beyond, results are meaningless and callers use [`f64::sin`]
/// and `cos`.
pub const TRIG_LIMIT: f32 = 1_048_576.0;

const ROUND: f64 = 6_755_399_441_055_744.0;
/// π/2 with so few bits that its product with any quarter count below 2^20 is exact, and what is missing.
const QUARTER_HIGH: f64 = 1.570_796_326_734_125_6;
const QUARTER_LOW: f64 = 6.077_100_506_506_192e-11;
/// `(sin r - r) / r³` and `(cos r - 1 + r²/2) / r⁴` in r², on |r| ≤ π/4.
#[allow(clippy::excessive_precision)] // the digits of the fit
const SINE: [f32; 4] = [-0.16666667163, 0.0083333291113, -0.0001983930415, 2.7180465167e-06];
#[allow(clippy::excessive_precision)] // the digits of the fit
const COSINE: [f32; 4] = [0.041666667908, -0.0013888883404, 2.4799512175e-05, -2.7209549103e-07];

/// `sin(x + quarters · π/2)`.
#[inline(always)]
fn sine_from<I: Isa>(x: f32, quarters: u32) -> f32 {
    let wide = f64::from(x);
    let shifted = I::mul_add_f64(wide, std::f64::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let r = I::mul_add_f64(n, -QUARTER_LOW, I::mul_add_f64(n, -QUARTER_HIGH, wide)) as f32;
    let quarter = (shifted.to_bits() as u32).wrapping_add(quarters);
    let u = r * r;
    let sine = I::mul_add(r * u, horner::<I, 4>(u, SINE), r);
    let cosine = I::mul_add(u * u, horner::<I, 4>(u, COSINE), I::mul_add(u, -0.5, 1.0));
    let y = if quarter & 1 == 0 { sine } else { cosine };
    f32::from_bits(y.to_bits() ^ ((quarter & 2) << 30))
}

/// `sin x` for |x| up to [`TRIG_LIMIT`].
#[inline(always)]
pub fn sin<I: Isa>(x: f32) -> f32 {
    let y = sine_from::<I>(x, 0);
    // The polynomial loses the sign of -0.
    if x == 0.0 { x } else { y }
}

/// `cos x` for |x| up to [`TRIG_LIMIT`].
#[inline(always)]
pub fn cos<I: Isa>(x: f32) -> f32 {
    sine_from::<I>(x, 1)
}
