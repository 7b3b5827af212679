//! Normal numbers by Box and Muller's transform; which words they are made of is in the [module](super).
//!
//! The functions are short series whose coefficients anyone can write down, in single operations that are
//! never fused, so that every level gives the same bits and other devices can follow:
//! - **log u** for `u = x · 2^-32` (f32; x exact): `e = (bits(x) − 0x3F3504F3) >> 23` (arithmetic),
//!   `m = float(bits(x) − (e << 23))`, so that m is between √½ and √2; `f = m − 1`,
//!   `s = f / (f + 2)`, `z = s · s`, and the logarithm is `f32(e − 32) · ln 2 + (s + s) · (1 + z·(1/3
//!   + z·(1/5 + z·(1/7 + z·(1/9 + z·(1/11))))))`.
//! - **sine and cosine** of t quarter turns: `a = t · (π/2)`, `z = a · a`, `sin = a + (a·z) · (−1/6 +
//!   z·(1/120 + z·(−1/5040 + z/362880)))`, `cos = 1 + z·(−1/2 + z·(1/24 + z·(−1/720 + z/40320)))`.
//!
//! f64 has the same series, longer: 13 terms of the logarithm, up to a^17 of the sine and a^18 of the cosine.
//! (There the argument of the logarithm is u itself, and the constant of the exponent is that of √½ in f64.)

use super::philox::{Draw, Stream, run};
use crate::exec::Exec;

/// `c[0] + z·(c[1] + z·(…))`, product and sum rounded apart.
macro_rules! series {
    ($name:ident, $t:ty) => {
        #[inline(always)]
        fn $name<const N: usize>(z: $t, c: [$t; N]) -> $t {
            let mut sum = c[N - 1];
            let mut i = N - 1;
            while i > 0 {
                i -= 1;
                sum = sum * z + c[i];
            }
            sum
        }
    };
}
series!(series_f32, f32);
series!(series_f64, f64);

/// `1 / n!` with alternating signs, beginning with −, for n = `first`, `first + 2`, …
const fn factorials<const N: usize>(first: usize) -> [f64; N] {
    let mut held = [0.0; N];
    let mut i = 0;
    while i < N {
        let n = first + 2 * i;
        let mut product = 1.0;
        let mut k = 2;
        while k <= n {
            product *= k as f64;
            k += 1;
        }
        held[i] = if i % 2 == 0 { -1.0 / product } else { 1.0 / product };
        i += 1;
    }
    held
}

/// `1, 1/3, 1/5, …`
const fn odd_fractions<const N: usize>() -> [f64; N] {
    let mut held = [0.0; N];
    let mut i = 0;
    while i < N {
        held[i] = 1.0 / (2 * i + 1) as f64;
        i += 1;
    }
    held
}

const fn narrow<const N: usize>(wide: [f64; N]) -> [f32; N] {
    let mut held = [0.0; N];
    let mut i = 0;
    while i < N {
        held[i] = wide[i] as f32;
        i += 1;
    }
    held
}

const LOG_F64: [f64; 13] = odd_fractions();
const SIN_F64: [f64; 8] = factorials(3);
const COS_F64: [f64; 9] = factorials(2);
const LOG_F32: [f32; 6] = narrow(odd_fractions());
const SIN_F32: [f32; 4] = narrow(factorials(3));
const COS_F32: [f32; 4] = narrow(factorials(2));

/// Negates where `flip` is set.
#[inline(always)]
fn signed_f32(x: f32, flip: bool) -> f32 {
    f32::from_bits(x.to_bits() ^ (u32::from(flip) << 31))
}

#[inline(always)]
fn signed_f64(x: f64, flip: bool) -> f64 {
    f64::from_bits(x.to_bits() ^ (u64::from(flip) << 63))
}

/// A standard normal pair from a pair of words.
#[inline(always)]
fn pair_f32(x: u32, y: u32) -> [f32; 2] {
    let n = if x > 1 { x } else { 1 };
    let s = n >> 24;
    let s = s | (s >> 1);
    let s = s | (s >> 2);
    let s = s | (s >> 4);
    // Two halves of 16 bits, because no level below AVX-512 converts unsigned words; every step is exact.
    let n = n & !s;
    let n = (n >> 16) as i32 as f32 * 65536.0 + (n & 0xffff) as i32 as f32;
    let bits = n.to_bits();
    let e = (bits.wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((e as u32) << 23)) - 1.0;
    let s = f / (f + 2.0);
    let log = (e - 32) as f32 * std::f32::consts::LN_2 + (s + s) * series_f32(s * s, LOG_F32);
    let r = (-2.0 * log).sqrt();

    let t = ((((y >> 6) & 0xff_ffff) as i32 - (1 << 23)) as f32 + 0.5) * (1.0 / 16_777_216.0);
    let a = t * std::f32::consts::FRAC_PI_2;
    let z = a * a;
    let sin = a + a * z * series_f32(z, SIN_F32);
    let cos = 1.0 + z * series_f32(z, COS_F32);
    let q = y >> 30;
    let (even, odd) = if q & 1 == 0 { (cos, sin) } else { (sin, cos) };
    [r * signed_f32(even, q == 1 || q == 2), r * signed_f32(odd, q >= 2)]
}

/// A standard normal pair from a block.
#[inline(always)]
fn pair_f64([w0, w1, w2, w3]: [u32; 4]) -> [f64; 2] {
    const SCALE: f64 = 1.0 / 4_503_599_627_370_496.0;
    let bits_52 = |a: u32, b: u32| f64::from(a as i32) * 67_108_864.0 + f64::from((b >> 6) as i32);
    let u = (bits_52(w0 >> 6, w1) + 0.5) * SCALE;
    let bits = u.to_bits();
    let e = (bits.wrapping_sub(0x3fe6_a09e_667f_3bcd) as i64) >> 52;
    let f = f64::from_bits(bits.wrapping_sub((e as u64) << 52)) - 1.0;
    let s = f / (f + 2.0);
    let log = f64::from(e as i32) * std::f64::consts::LN_2 + (s + s) * series_f64(s * s, LOG_F64);
    let r = (-2.0 * log).sqrt();

    let t = (bits_52((w2 & 0x3fff_ffff) >> 4, w3) - 2_251_799_813_685_248.0 + 0.5) * SCALE;
    let a = t * std::f64::consts::FRAC_PI_2;
    let z = a * a;
    let sin = a + a * z * series_f64(z, SIN_F64);
    let cos = 1.0 + z * series_f64(z, COS_F64);
    let q = w2 >> 30;
    let (even, odd) = if q & 1 == 0 { (cos, sin) } else { (sin, cos) };
    [r * signed_f64(even, q == 1 || q == 2), r * signed_f64(odd, q >= 2)]
}

#[derive(Clone, Copy, Debug)]
struct NormalDraw<T> {
    mean: T,
    deviation: T,
}

impl Draw for NormalDraw<f32> {
    type Out = f32;
    type Block = [f32; 4];
    #[inline(always)]
    fn draw(self, [w0, w1, w2, w3]: [u32; 4]) -> [f32; 4] {
        let ([a, b], [c, d]) = (pair_f32(w0, w1), pair_f32(w2, w3));
        [a, b, c, d].map(|z| self.mean + z * self.deviation)
    }
}

impl Draw for NormalDraw<f64> {
    type Out = f64;
    type Block = [f64; 2];
    #[inline(always)]
    fn draw(self, words: [u32; 4]) -> [f64; 2] {
        pair_f64(words).map(|z| self.mean + z * self.deviation)
    }
}

/// Writes `count` normal numbers.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn normal_f32(
    exec: &Exec<'_>,
    stream: Stream,
    mean: f64,
    deviation: f64,
    to: *mut f32,
    count: usize,
) {
    let draw = NormalDraw { mean: mean as f32, deviation: deviation as f32 };
    // SAFETY: the caller's promise.
    unsafe { run(exec, draw, stream, to, count) };
}

/// Writes `count` normal numbers.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn normal_f64(
    exec: &Exec<'_>,
    stream: Stream,
    mean: f64,
    deviation: f64,
    to: *mut f64,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { run(exec, NormalDraw { mean, deviation }, stream, to, count) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair with the standard library's functions in f64.
    fn reference(u: f64, turn: f64) -> [f64; 2] {
        let r = (-2.0 * u.ln()).sqrt();
        let angle = turn * std::f64::consts::TAU;
        [r * angle.cos(), r * angle.sin()]
    }

    /// Words at the ends, at powers of two, and scattered.
    fn words() -> impl Iterator<Item = u32> + Clone {
        let ends = [0, 1, 2, 3, u32::MAX, u32::MAX - 1, u32::MAX - 255, u32::MAX - 256, u32::MAX - 512];
        let powers = (0..32).flat_map(|k| [(1u32 << k) - 1, 1 << k, (1 << k) + 1]);
        let scattered = (0..2000u32).map(|i| i.wrapping_mul(2_654_435_761));
        ends.into_iter().chain(powers).chain(scattered)
    }

    #[test]
    fn f32_pairs_are_within_a_millionth_of_the_exact_transform_of_their_words() {
        for x in words() {
            for y in words().step_by(37) {
                let n = x.max(1);
                let kept =
                    if n >= 1 << 24 { n >> (8 - n.leading_zeros()) << (8 - n.leading_zeros()) } else { n };
                let t = (f64::from((y >> 6) & 0xff_ffff) - 8_388_608.0 + 0.5) / 16_777_216.0;
                let want = reference(f64::from(kept) / 4_294_967_296.0, (f64::from(y >> 30) + t) / 4.0);
                for (got, want) in pair_f32(x, y).into_iter().zip(want) {
                    assert!((f64::from(got) - want).abs() < 1e-6, "{x:#x} {y:#x}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn f64_pairs_are_within_1e_14_of_the_exact_transform_of_their_words() {
        for (x, y) in words().zip(words().skip(7).cycle()) {
            for (z, w) in words().zip(words().skip(11).cycle()).step_by(53) {
                let k = u64::from(x >> 6) << 26 | u64::from(y >> 6);
                // Near u = 1 the logarithm is that of the small 1 - u, which is exact too.
                let u = (k as f64 + 0.5) / 2f64.powi(52);
                let r = (-2.0 * if u > 0.5 { (u - 1.0).ln_1p() } else { u.ln() }).sqrt();
                let k = u64::from((z & 0x3fff_ffff) >> 4) << 26 | u64::from(w >> 6);
                let t = (k as f64 - 2f64.powi(51) + 0.5) / 2f64.powi(52);
                let (sin, cos) = (t * std::f64::consts::FRAC_PI_2).sin_cos();
                let (cos, sin) = [(cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos)][(z >> 30) as usize];
                for (got, want) in pair_f64([x, y, z, w]).into_iter().zip([r * cos, r * sin]) {
                    assert!((got - want).abs() < 1e-14, "{x:#x} {y:#x} {z:#x} {w:#x}: {got} {want}");
                }
            }
        }
    }
}
