//! Powers: `2^(y log2 x)` in double precision, so that the f32 result is right to about half a unit.

use super::horner_f64;
use crate::level::Isa;

/// `log2 m` is `s · LOG2(s²)` with s = (m - 1)/(m + 1) and m from √½ to √2.
const LOG2: [f64; 6] = [
    2.8853900817778495,
    0.9617966941142595,
    0.5770779420747112,
    0.4122092838790569,
    0.31990432211929476,
    0.28292090520790547,
];
/// `2^r` on |r| ≤ ½, relative error 4e-11.
#[allow(clippy::approx_constant)] // the second coefficient is near ln 2, and is not it
const EXP2: [f64; 8] = [
    0.9999999999613761,
    0.6931471807297513,
    0.24022651201167255,
    0.05550410350464427,
    0.009618026846609853,
    0.0013333923960020565,
    0.00015469422584199458,
    1.5201832072751694e-05,
];
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `log2` of a positive f32 in double precision; -inf at 0, inf at inf.
#[inline(always)]
fn log2<I: Isa>(x: f32) -> f64 {
    const SQRT_HALF_BITS: i64 = 0x3fe6_a09e_667f_3bcd;
    // Every positive f32, denormals too, is a normal f64.
    let bits = f64::from(x).to_bits() as i64;
    let exponent = bits.wrapping_sub(SQRT_HALF_BITS) >> 52;
    let m = f64::from_bits(bits.wrapping_sub(exponent << 52) as u64);
    let s = (m - 1.0) / (m + 1.0);
    // The exponent of an f32 fits an i32, which vectors convert where they cannot an i64.
    let y = I::mul_add_f64(s, horner_f64::<I, 6>(s * s, LOG2), f64::from(exponent as i32));
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x == f32::INFINITY { f64::INFINITY } else { y }
}

/// `2^x`, rounded to f32.
#[inline(always)]
fn exp2<I: Isa>(x: f64) -> f32 {
    // 2^±200 is beyond f32 on either side, and far within f64.
    let x = if x > 200.0 { 200.0 } else { x };
    let x = if x < -200.0 { -200.0 } else { x };
    let shifted = x + ROUND;
    let r = x - (shifted - ROUND);
    let scale = f64::from_bits((shifted.to_bits().wrapping_add(1023)) << 52);
    (horner_f64::<I, 8>(r, EXP2) * scale) as f32
}

/// `x^y` by IEEE 754: `x^0` and `1^y` are 1 even for NaN; a negative base needs an integer exponent, else
/// NaN.
#[inline(always)]
pub fn pow<I: Isa>(x: f32, y: f32) -> f32 {
    let a = x.abs();
    let r = exp2::<I>(f64::from(y) * log2::<I>(a));
    // 0 · inf in the exponent is NaN; by the limit it is 1.
    let r = if (a == 1.0) & !y.is_nan() { 1.0 } else { r };
    let half = y * 0.5;
    let integer = super::floor::<I>(y) == y;
    let odd = integer & (super::floor::<I>(half) != half);
    let r = if odd { r.copysign(x) } else { r };
    let r = if (x < 0.0) & !integer & (a != f32::INFINITY) { f32::NAN } else { r };
    let r = if x.is_nan() | y.is_nan() { f32::NAN } else { r };
    // Correctly rounded, as the square and the reciprocal are: compilers of functions make one of the other.
    let r = if y == 2.0 { x * x } else { r };
    let r = if y == -1.0 { 1.0 / x } else { r };
    if (y == 0.0) | (x == 1.0) { 1.0 } else { r }
}
