//! Floats of 16 bits: to f32 and back.
//!
//! One rule for every path, bit for bit: to f32 exactly; back to the nearest, ties to even, subnormals kept,
//! what is beyond the largest becomes infinite; a NaN keeps its sign and the leading bits of its payload, and
//! is quiet. That is what x86's F16C and AVX-512 do for f16 and what the crate `half` does in software.
//! AVX512_BF16 takes subnormals for zeros, so bf16 is converted by integer arithmetic (and multiplied by it
//! only where none are met: `matmul/bf16.rs`).

use crate::level::Level;
use crate::multiversion;
use situ_core::{Element, bf16, f16};
use std::mem::MaybeUninit;

/// A float of 16 bits.
pub trait Half: Element {
    /// Writes each element as f32; both are of one length.
    fn widen(level: Level, from: &[Self], to: &mut [MaybeUninit<f32>]);
    /// Writes each f32 rounded; both are of one length.
    fn narrow(level: Level, from: &[f32], to: &mut [MaybeUninit<Self>]);
}

multiversion! {
    fn widen_bf16[I](from: &[bf16], to: &mut [MaybeUninit<f32>]) {
        for (to, from) in to.iter_mut().zip(from) {
            let bits = from.to_bits();
            let quiet = if bits & 0x7fff > 0x7f80 { 0x40 } else { 0 };
            to.write(f32::from_bits(u32::from(bits | quiet) << 16));
        }
    }
}

multiversion! {
    fn narrow_bf16[I](from: &[f32], to: &mut [MaybeUninit<bf16>]) {
        for (to, from) in to.iter_mut().zip(from) {
            let bits = from.to_bits();
            // Half of the last place, less one where the kept part is even: ties go there.
            let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
            let nan = bits >> 16 | 0x40;
            let kept = if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded };
            to.write(bf16::from_bits(kept as u16));
        }
    }
}

impl Half for bf16 {
    fn widen(level: Level, from: &[bf16], to: &mut [MaybeUninit<f32>]) {
        widen_bf16(level, from, to);
    }
    fn narrow(level: Level, from: &[f32], to: &mut [MaybeUninit<bf16>]) {
        narrow_bf16(level, from, to);
    }
}

impl Half for f16 {
    fn widen(level: Level, from: &[f16], to: &mut [MaybeUninit<f32>]) {
        let done = x86::widen(level, from, to);
        for (to, from) in to[done..].iter_mut().zip(&from[done..]) {
            to.write(from.to_f32_const());
        }
    }
    fn narrow(level: Level, from: &[f32], to: &mut [MaybeUninit<f16>]) {
        let done = x86::narrow(level, from, to);
        for (to, from) in to[done..].iter_mut().zip(&from[done..]) {
            to.write(f16::from_f32_const(*from));
        }
    }
}

/// As many elements as there are instructions for; the rest is done in software.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Level, MaybeUninit, f16};
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::{
        __m128i, __m256i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128,
        _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_storeu_ps,
        _mm256_storeu_si256, _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_loadu_ps, _mm512_storeu_ps,
    };

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

    /// How many of them are done by vectors of so many.
    fn whole(count: usize, lanes: usize) -> usize {
        count / lanes * lanes
    }

    pub(super) fn widen(level: Level, from: &[f16], to: &mut [MaybeUninit<f32>]) -> usize {
        debug_assert_eq!(from.len(), to.len());
        match level.min(Level::detect()) {
            // SAFETY: `detect` found AVX-512 F.
            Level::Avx512 => unsafe { widen_16(from, to) },
            // SAFETY: AVX2 is there by the level, F16C by asking.
            Level::Avx2 if is_x86_feature_detected!("f16c") => unsafe { widen_8(from, to) },
            Level::Avx2 | Level::Portable => 0,
        }
    }

    pub(super) fn narrow(level: Level, from: &[f32], to: &mut [MaybeUninit<f16>]) -> usize {
        debug_assert_eq!(from.len(), to.len());
        match level.min(Level::detect()) {
            // SAFETY: `detect` found AVX-512 F.
            Level::Avx512 => unsafe { narrow_16(from, to) },
            // SAFETY: AVX2 is there by the level, F16C by asking.
            Level::Avx2 if is_x86_feature_detected!("f16c") => unsafe { narrow_8(from, to) },
            Level::Avx2 | Level::Portable => 0,
        }
    }

    #[target_feature(enable = "avx512f")]
    fn widen_16(from: &[f16], to: &mut [MaybeUninit<f32>]) -> usize {
        let count = whole(from.len().min(to.len()), 16);
        for at in (0..count).step_by(16) {
            // SAFETY: both have 16 elements from there on.
            unsafe {
                let half = _mm256_loadu_si256(from.as_ptr().add(at).cast::<__m256i>());
                _mm512_storeu_ps(to.as_mut_ptr().add(at).cast(), _mm512_cvtph_ps(half));
            }
        }
        count
    }

    #[target_feature(enable = "avx512f")]
    fn narrow_16(from: &[f32], to: &mut [MaybeUninit<f16>]) -> usize {
        let count = whole(from.len().min(to.len()), 16);
        for at in (0..count).step_by(16) {
            // SAFETY: both have 16 elements from there on.
            unsafe {
                let half = _mm512_cvtps_ph::<NEAREST>(_mm512_loadu_ps(from.as_ptr().add(at)));
                _mm256_storeu_si256(to.as_mut_ptr().add(at).cast::<__m256i>(), half);
            }
        }
        count
    }

    #[target_feature(enable = "avx2,f16c")]
    fn widen_8(from: &[f16], to: &mut [MaybeUninit<f32>]) -> usize {
        let count = whole(from.len().min(to.len()), 8);
        for at in (0..count).step_by(8) {
            // SAFETY: both have 8 elements from there on.
            unsafe {
                let half = _mm_loadu_si128(from.as_ptr().add(at).cast::<__m128i>());
                _mm256_storeu_ps(to.as_mut_ptr().add(at).cast(), _mm256_cvtph_ps(half));
            }
        }
        count
    }

    #[target_feature(enable = "avx2,f16c")]
    fn narrow_8(from: &[f32], to: &mut [MaybeUninit<f16>]) -> usize {
        let count = whole(from.len().min(to.len()), 8);
        for at in (0..count).step_by(8) {
            // SAFETY: both have 8 elements from there on.
            unsafe {
                let half =
                    _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr().add(at)));
                _mm_storeu_si128(to.as_mut_ptr().add(at).cast::<__m128i>(), half);
            }
        }
        count
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod x86 {
    use super::{Level, MaybeUninit, f16};

    pub(super) fn widen(_: Level, _: &[f16], _: &mut [MaybeUninit<f32>]) -> usize {
        0
    }

    pub(super) fn narrow(_: Level, _: &[f32], _: &mut [MaybeUninit<f16>]) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a pattern by the definition of the format: bits of the exponent, and of the fraction.
    fn value(bits: u16, exponent_bits: u32) -> f64 {
        let fraction_bits = 15 - exponent_bits;
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let most = (1 << exponent_bits) - 1;
        let exponent = i32::from(bits >> fraction_bits) & most;
        let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1u32 << fraction_bits);
        let bias = most / 2;
        match exponent {
            0 => sign * fraction * 2f64.powi(1 - bias),
            e if e == most && fraction == 0.0 => sign * f64::INFINITY,
            e if e == most => f64::NAN,
            e => sign * (1.0 + fraction) * 2f64.powi(e - bias),
        }
    }

    /// Every pattern, in order.
    fn patterns<H: Half>() -> Vec<H> {
        (0..=u16::MAX).map(|bits| H::from_bits(bits.into())).collect()
    }

    fn widened<H: Half>(level: Level, from: &[H]) -> Vec<f32> {
        let mut to = vec![MaybeUninit::uninit(); from.len()];
        H::widen(level, from, &mut to);
        // SAFETY: all were written.
        to.into_iter().map(|x| unsafe { x.assume_init() }).collect()
    }

    fn narrowed<H: Half>(level: Level, from: &[f32]) -> Vec<u16> {
        let mut to = vec![MaybeUninit::<H>::uninit(); from.len()];
        H::narrow(level, from, &mut to);
        // SAFETY: all were written.
        to.into_iter().map(|x| unsafe { x.assume_init() }.bits() as u16).collect()
    }

    /// Both ways for every pattern, by every level.
    fn check_patterns<H: Half>(exponent_bits: u32) {
        let patterns = patterns::<H>();
        for level in Level::available() {
            let wide = widened(level, &patterns);
            for (pattern, wide) in patterns.iter().zip(&wide) {
                let expected = value(pattern.bits() as u16, exponent_bits);
                let same = f64::from(*wide).to_bits() == expected.to_bits();
                assert!(same || (wide.is_nan() && expected.is_nan()), "{level} {:#x}", pattern.bits());
            }
            let quiet = 1 << (14 - exponent_bits);
            for (pattern, back) in patterns.iter().zip(narrowed::<H>(level, &wide)) {
                let bits = pattern.bits() as u16;
                let expected = if pattern.to_f64().is_nan() { bits | quiet } else { bits };
                assert_eq!(back, expected, "{level} {bits:#x}");
            }
        }
    }

    #[test]
    fn every_f16_is_its_value_and_comes_back() {
        check_patterns::<f16>(5);
    }

    #[test]
    fn every_bf16_is_its_value_and_comes_back() {
        check_patterns::<bf16>(8);
    }

    /// Numbers around every pattern: itself, its neighbours among f32, the middle to the next pattern and the
    /// neighbours of that.
    fn around<H: Half>() -> Vec<f32> {
        let mut list = Vec::new();
        for bits in 0..=u16::MAX {
            let here = H::from_bits(bits.into()).to_f64();
            let next = H::from_bits(bits.wrapping_add(1).into()).to_f64();
            for number in [here, (here + next) / 2.0] {
                let number = number as f32;
                list.extend([number.next_down(), number, number.next_up()]);
            }
        }
        list
    }

    /// The nearest by searching the patterns of one sign, which are in order; ties to the even pattern.
    fn nearest(number: f32, exponent_bits: u32) -> u16 {
        let sign = ((number.to_bits() >> 31) as u16) << 15;
        let magnitude = f64::from(number).abs();
        let infinity = ((1u16 << exponent_bits) - 1) << (15 - exponent_bits);
        // What is as far beyond the largest as a step would be is infinite: one more pattern, had the format
        // one.
        let at = |bits: u16| match bits {
            _ if bits == infinity => 2.0 * value(bits - 1, exponent_bits) - value(bits - 2, exponent_bits),
            _ => value(bits, exponent_bits),
        };
        let (mut low, mut high) = (0, infinity);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if at(middle) <= magnitude { low = middle } else { high = middle - 1 }
        }
        if low == infinity {
            return sign | infinity;
        }
        let (below, above) = (magnitude - at(low), at(low + 1) - magnitude);
        sign | if below < above || (below == above && low % 2 == 0) { low } else { low + 1 }
    }

    fn check_rounding<H: Half>(exponent_bits: u32) {
        let numbers: Vec<f32> = around::<H>().into_iter().filter(|x| !x.is_nan()).collect();
        let expected: Vec<u16> = numbers.iter().map(|x| nearest(*x, exponent_bits)).collect();
        for level in Level::available() {
            for ((number, found), expected) in
                numbers.iter().zip(narrowed::<H>(level, &numbers)).zip(&expected)
            {
                assert_eq!(found, *expected, "{level} {number:e} {:#x}", number.to_bits());
            }
        }
    }

    #[test]
    fn an_f32_becomes_the_nearest_f16() {
        check_rounding::<f16>(5);
    }

    #[test]
    fn an_f32_becomes_the_nearest_bf16() {
        check_rounding::<bf16>(8);
    }

    #[test]
    fn every_level_rounds_a_dense_set_of_floats_alike_nans_among_them() {
        // Every 257th pattern: each exponent, each leading bit of fractions, every sort of NaN.
        let numbers: Vec<f32> = (0..=u32::MAX / 257).map(|n| f32::from_bits(n * 257)).collect();
        for chunk in numbers.chunks(1 << 20) {
            let f16s: Vec<u16> = chunk.iter().map(|x| f16::from_f32_const(*x).to_bits()).collect();
            let bf16s: Vec<u16> = chunk.iter().map(|x| bf16::from_f32_const(*x).to_bits()).collect();
            for level in Level::available() {
                assert!(narrowed::<f16>(level, chunk) == f16s, "{level} f16");
                assert!(narrowed::<bf16>(level, chunk) == bf16s, "{level} bf16");
            }
        }
    }
}
