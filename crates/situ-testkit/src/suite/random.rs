//! Random numbers, against the definition in `situ_cpu::random`, written once more from its words alone.

use super::case::{Bound, Case, Expected, Tolerance};
use crate::array::{Array, rounded};
use situ_core::{DType, Real, Shape};
use situ_ir::ops::{Distribution, Random};

/// Seeds and streams with bits in both halves.
const SOURCES: [(u64, u64); 3] = [(0, 0), (42, 7), (0xdead_beef_0123_4567, 0x89ab_cdef_0000_0001)];

pub(super) fn cases(list: &mut Vec<Case>) {
    let uniform = |low: f64, high: f64| Distribution::Uniform { low: Real(low), high: Real(high) };
    for (seed, stream) in SOURCES {
        let mut push = |distribution: Distribution, dtype: DType, dims: &[usize]| {
            let shape = Shape::new(dims).expect("a valid shape");
            let op = Random { distribution, seed, stream, shape, dtype };
            let label = format!("{distribution:?} {dtype}{shape} of {seed:x}:{stream:x}");
            list.push(Case::new(&label, op, vec![], tolerance(op), move |_| draw(op)));
        };
        for dims in [&[7][..], &[3, 5], &[], &[0, 2], &[70_001]] {
            for dtype in crate::numbers::floats() {
                push(uniform(0.0, 1.0), dtype, dims);
                push(Distribution::Normal { mean: Real(0.0), deviation: Real(1.0) }, dtype, dims);
            }
            for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
                push(if dtype.is_unsigned() { uniform(3.0, 200.0) } else { uniform(-5.0, 5.0) }, dtype, dims);
            }
            for dtype in DType::ALL {
                push(Distribution::Bernoulli { p: Real(0.3) }, dtype, dims);
            }
        }
        for dtype in crate::numbers::floats() {
            push(uniform(-3.0, -2.0), dtype, &[1000]);
            if dtype != DType::F16 {
                push(uniform(1e6, 1e6 + 1.0), dtype, &[1000]);
            }
            push(uniform(2.0, 2.0), dtype, &[9]);
            push(Distribution::Normal { mean: Real(-4.0), deviation: Real(0.25) }, dtype, &[1000]);
        }
        push(uniform(f64::from(i32::MIN), f64::from(i32::MAX) + 1.0), DType::I32, &[1000]);
        push(uniform(1e12, 1e12 + 4_294_967_296.0), DType::I64, &[1000]);
        for p in [0.0, 1.0, 1e-12] {
            push(Distribution::Bernoulli { p: Real(p) }, DType::Bool, &[1000]);
        }
        for dtype in [DType::I32, DType::I64] {
            for n in [0, 1, 2, 17, 256, 257, 1000, 5003] {
                push(Distribution::Permutation, dtype, &[n]);
            }
        }
    }
}

fn tolerance(op: Random) -> Tolerance {
    match op.distribution {
        Distribution::Normal { deviation: Real(deviation), .. } => {
            // Rounded to 16 bits besides, where the dtype has no more.
            let relative = if op.dtype.is_half() { 2f64.powi(-8) } else { 0.0 };
            let near = |absolute: f64| Bound::Near { relative, absolute: absolute * deviation };
            let wide = op.dtype == DType::F64;
            Tolerance { cpu: near(if wide { 1e-13 } else { 2e-6 }), gpu: near(1e-5) }
        }
        // Bit for bit on every device.
        _ => Tolerance { cpu: Bound::Bits, gpu: Bound::Bits },
    }
}

/// Philox 4×32-10: the words of one block.
pub(super) fn philox(seed: u64, stream: u64, block: u64) -> [u32; 4] {
    let low = |x: u64| x as u32;
    let high = |x: u64| (x >> 32) as u32;
    let mut key = [low(seed), high(seed)];
    let mut c = [low(block), high(block), low(stream), high(stream)];
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
        }
        let first = 0xd251_1f53 * u64::from(c[0]);
        let second = 0xcd9e_8d57 * u64::from(c[2]);
        c = [high(second) ^ c[1] ^ key[0], low(second), high(first) ^ c[3] ^ key[1], low(first)];
    }
    c
}

fn draw(op: Random) -> Expected {
    let dims = op.shape.dims();
    let count = op.shape.elements();
    let word = |i: usize| philox(op.seed, op.stream, i as u64 / 4)[i % 4];
    let reals = |f: &dyn Fn(usize) -> f64| Array::unrounded(op.dtype, dims, (0..count).map(f).collect());
    let wholes = |f: &dyn Fn(usize) -> i128| Array::whole(op.dtype, dims, (0..count).map(f).collect());
    match op.distribution {
        Distribution::Uniform { low: Real(low), high: Real(high) } => match op.dtype {
            DType::F32 => reals(&|i| f64::from(uniform_f32(word(i), low, high, (high as f32).next_down()))),
            // Drawn as f32, no higher than the last number before the upper bound, then rounded.
            dtype if dtype.is_half() => reals(&|i| {
                let (low, high) = (rounded(dtype, low), rounded(dtype, high));
                let last = before(dtype, high) as f32;
                rounded(dtype, f64::from(uniform_f32(word(i), low, high, last)))
            }),
            DType::F64 => reals(&|i| {
                let w = philox(op.seed, op.stream, i as u64 / 2);
                let (a, b) = (w[2 * (i % 2)], w[2 * (i % 2) + 1]);
                let u = (f64::from(a >> 5) * 67_108_864.0 + f64::from(b >> 6)) / 9_007_199_254_740_992.0;
                (low + u * (high - low)).min(high.next_down().max(low))
            }),
            _ => {
                let range = (high - low) as u64;
                wholes(&|i| low as i128 + ((u128::from(word(i)) * u128::from(range)) >> 32) as i128)
            }
        },
        Distribution::Bernoulli { p: Real(p) } => {
            let holds = |i: usize| f64::from(word(i)) < (p * 4_294_967_296.0).floor();
            if op.dtype.is_float() {
                reals(&|i| f64::from(u8::from(holds(i))))
            } else {
                wholes(&|i| i128::from(holds(i)))
            }
        }
        Distribution::Normal { mean: Real(mean), deviation: Real(deviation) } => reals(&|i| {
            mean + deviation * if op.dtype == DType::F64 { normal_f64(op, i) } else { normal_f32(op, i) }
        }),
        Distribution::Permutation => wholes(&|i| permuted(op, i, count)),
    }
    .into()
}

/// The number of a dtype of 16 bits before this one of it: a step of its magnitude below, or half of one at a
/// power of two.
fn before(dtype: DType, number: f64) -> f64 {
    let step = 2f64.powi(-(dtype.significand_bits().expect("a float") as i32));
    let near = rounded(dtype, number - number.abs() * step);
    if near < number { near } else { rounded(dtype, number - 2.0 * number.abs() * step) }
}

fn uniform_f32(word: u32, low: f64, high: f64, last: f32) -> f32 {
    let u = (word >> 8) as f32 / 16_777_216.0;
    let (first, span) = (low as f32, (high - low) as f32);
    let top = last.max(first);
    let y = first + u * span;
    if y < top { y } else { top }
}

/// Box and Muller's transform of a point, in f64: which of the pair is by parity.
fn box_muller(u: f64, quarters: f64, i: usize) -> f64 {
    let r = (-2.0 * u.ln()).sqrt();
    let angle = quarters * std::f64::consts::FRAC_PI_2;
    r * if i.is_multiple_of(2) { angle.cos() } else { angle.sin() }
}

fn normal_f32(op: Random, i: usize) -> f64 {
    let w = philox(op.seed, op.stream, i as u64 / 4);
    let (x, y) = if i % 4 < 2 { (w[0], w[1]) } else { (w[2], w[3]) };
    let n = x.max(1);
    // Its highest 24 significant bits.
    let extra = 8u32.saturating_sub(n.leading_zeros());
    let n = n >> extra << extra;
    let t = (f64::from((y >> 6) & 0xff_ffff) - 8_388_608.0 + 0.5) / 16_777_216.0;
    box_muller(f64::from(n) / 4_294_967_296.0, f64::from(y >> 30) + t, i)
}

fn normal_f64(op: Random, i: usize) -> f64 {
    let w = philox(op.seed, op.stream, i as u64 / 2);
    let two_52 = 4_503_599_627_370_496.0;
    let u = (f64::from(w[0] >> 6) * 67_108_864.0 + f64::from(w[1] >> 6) + 0.5) / two_52;
    let t = (f64::from((w[2] & 0x3fff_ffff) >> 4) * 67_108_864.0 + f64::from(w[3] >> 6) - two_52 / 2.0 + 0.5)
        / two_52;
    // The quarter turns apart from the rest, or the angle would lose bits.
    let (sin, cos) = (t * std::f64::consts::FRAC_PI_2).sin_cos();
    let r = (-2.0 * if u > 0.5 { (u - 1.0).ln_1p() } else { u.ln() }).sqrt();
    let (cos, sin) = match w[2] >> 30 {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    };
    r * if i.is_multiple_of(2) { cos } else { sin }
}

/// Element `i` of a permutation of `n`: a keyed network over the next power of four, walked until it is below
/// n.
pub(super) fn permuted(op: Random, i: usize, n: usize) -> i128 {
    let half = (4..).find(|h| n <= 1usize << (2 * h)).expect("n is finite");
    let keys = [philox(op.seed, op.stream, 0), philox(op.seed, op.stream, 1)].concat();
    let mut number = i as u32;
    loop {
        let (mut left, mut right) = (number >> half, number & ((1 << half) - 1));
        for key in &keys {
            let t = (right ^ key).wrapping_mul(0xd251_1f53);
            let t = (t ^ (t >> 15)).wrapping_mul(0xcd9e_8d57);
            (left, right) = (right, left ^ (t >> (32 - half)));
        }
        number = left << half | right;
        if (number as usize) < n {
            return i128::from(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_its_published_words() {
        // Known answers of Random123 for philox4x32 with 10 rounds.
        assert_eq!(philox(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox(u64::MAX, u64::MAX, u64::MAX),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let shape = Shape::new(&[1000]).unwrap();
        let op =
            Random { distribution: Distribution::Permutation, seed: 3, stream: 4, shape, dtype: DType::I32 };
        let mut drawn = draw(op).array.wholes().to_vec();
        assert!(!drawn.is_sorted());
        drawn.sort_unstable();
        assert_eq!(drawn, (0..1000).collect::<Vec<i128>>());
    }
}
