//! The exponentials of a row and their sum, in one pass.
//!
//! The steps are those of [`math::exp_nonpositive`](crate::math::exp_nonpositive) on registers, less what a
//! sum of exponentials can do without: see [`exp_nonpositive_wide`]. The arithmetic is what a softmax waits
//! for, so an instruction less is 7% of its time.

use super::row::{Plus, across};
use super::{Tail, Wide};
use crate::level::Level;
use crate::level::{Avx2Isa, Avx512Isa, Isa, PortableIsa};
use crate::math::exp::{self, LN2_HIGH, LN2_LOW, ROUND, TAIL};
use crate::stream;
use std::mem::MaybeUninit;

/// Registers worked on side by side. More than two leave no registers for the constants.
const SIDE_BY_SIDE: usize = 2;

/// The bits of registers as exponents.
///
/// # Safety of its methods
/// As for [`Wide`].
#[allow(clippy::missing_safety_doc)] // as above
pub trait PowersOfTwo: Wide<f32> {
    /// Whether [`Wide::multiply_add`] rounds once.
    const FUSED: bool;
    /// The low nine bits of every lane become its sign and exponent, the other bits are 0.
    unsafe fn exponent_from_low_bits(v: Self::V) -> Self::V;
}

/// Nothing but a number whose low bits are 127 more than the integer that was added to it, as the exponent of
/// a float has it.
const ROUND_BIASED: f32 = ROUND + 127.0;

/// Below this the result is 0: the rounded exponent is then -127 at most, whose bits are those of 0.
const LOWEST: f32 = -88.1;

/// `e^x` for lanes of at most 0. Results below 2^-126.5 are 0, and NaN is NaN.
///
/// Where its product is not rounded ln 2 is one number, elsewhere two as in [`math::exp`](crate::math::exp):
/// so the result is within a unit in the last place down to e^-10, and within three at the end of the range.
///
/// # Safety
/// The caller is inside the level.
#[inline(always)]
pub(crate) unsafe fn exp_nonpositive_wide<I: PowersOfTwo, const N: usize>(x: [I::V; N]) -> [I::V; N] {
    // Step by step over all registers: the compiler keeps that order, and the processor then has N
    // independent instructions at hand. SAFETY: the caller is inside the level.
    unsafe {
        // The second operand comes through where either is NaN.
        let x = x.map(|x| I::max(I::splat(LOWEST), x));
        let shifted =
            x.map(|x| I::multiply_add(x, I::splat(std::f32::consts::LOG2_E), I::splat(ROUND_BIASED)));
        let n = shifted.map(|s| I::sub(s, I::splat(ROUND_BIASED)));
        let r: [I::V; N] = std::array::from_fn(|i| {
            if I::FUSED {
                return I::multiply_add(n[i], I::splat(-std::f32::consts::LN_2), x[i]);
            }
            let r = I::multiply_add(n[i], I::splat(-LN2_HIGH), x[i]);
            I::multiply_add(n[i], I::splat(-LN2_LOW), r)
        });
        let mut tail = [I::splat(TAIL[TAIL.len() - 1]); N];
        for c in TAIL.iter().rev().skip(1) {
            tail = std::array::from_fn(|i| I::multiply_add(tail[i], r[i], I::splat(*c)));
        }
        let squares = r.map(|r| I::mul(r, r));
        let less_one: [I::V; N] = std::array::from_fn(|i| I::multiply_add(squares[i], tail[i], r[i]));
        let scale = shifted.map(|s| I::exponent_from_low_bits(s));
        std::array::from_fn(|i| I::multiply_add(less_one[i], scale[i], scale[i]))
    }
}

/// Writes `e^(x - shift)` to `y`, which is as long, and gives the sum; no `x` is above `shift`.
///
/// The sum's order depends on the length alone. Meanwhile the cache lines `ahead` elements further on are
/// asked for, whether they are the row's or not: the arithmetic takes long enough for them to arrive.
///
/// # Safety
/// The caller is inside the level.
#[inline(always)]
pub(crate) unsafe fn write_exponentials<I: PowersOfTwo + Tail<f32>>(
    x: &[f32],
    shift: f32,
    y: &mut [MaybeUninit<f32>],
    ahead: usize,
) -> f32 {
    assert_eq!(x.len(), y.len());
    let (from, to, len) = (x.as_ptr(), y.as_mut_ptr().cast::<f32>(), x.len());
    let lanes = I::LEN;
    // SAFETY: whole registers are read and written at `at..at + lanes` with `at + lanes <= len`, the last one
    // up to `len`.
    unsafe {
        let shift = I::splat(shift);
        let mut sums = [I::splat(0.0); SIDE_BY_SIDE];
        let mut at = 0;
        while at + SIDE_BY_SIDE * lanes <= len {
            let x: [_; SIDE_BY_SIDE] =
                std::array::from_fn(|i| I::sub(I::load(from.add(at + i * lanes)), shift));
            let e = exp_nonpositive_wide::<I, SIDE_BY_SIDE>(x);
            for i in 0..SIDE_BY_SIDE {
                sums[i] = I::add(sums[i], e[i]);
                I::store(e[i], to.add(at + i * lanes));
            }
            for line in (0..SIDE_BY_SIDE * lanes).step_by(stream::LINE_BYTES / size_of::<f32>()) {
                stream::prefetch(from.wrapping_add(at + line + ahead));
            }
            at += SIDE_BY_SIDE * lanes;
        }
        if at + lanes <= len {
            let [e] = exp_nonpositive_wide::<I, 1>([I::sub(I::load(from.add(at)), shift)]);
            sums[0] = I::add(sums[0], e);
            I::store(e, to.add(at));
            at += lanes;
        }
        if at < len {
            let x = I::load_first(from.add(at), len - at, f32::NEG_INFINITY);
            let [e] = exp_nonpositive_wide::<I, 1>([I::sub(x, shift)]);
            sums[1] = I::add(sums[1], e);
            I::store_first(e, to.add(at), len - at);
        }
        across::<I, f32, Plus>(I::add(sums[0], sums[1]))
    }
}

/// Writes `e^x` of the first elements to `y`, which is as long, and says how many: whole registers, or none
/// where the level has no instruction for the last step.
///
/// The bits are those of [`math::exp`](crate::math::exp): the same steps, but `2^n` is applied at once, and
/// rounded at once, where a multiplication takes two halves, of which only the second can round.
///
/// # Safety
/// The caller is inside the level.
#[inline(always)]
pub(crate) unsafe fn write_exp<I: Isa>(x: &[f32], y: &mut [MaybeUninit<f32>]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if I::LEVEL == Level::Avx512 {
        // SAFETY: the caller is inside AVX-512.
        return unsafe { write_exp_scaled::<Avx512Isa>(x, y) };
    }
    let _ = (x, y);
    0
}

/// `e^x` by `vscalefps`. A register at a time: the processor finds the next ones' instructions by itself.
///
/// # Safety
/// The caller is inside AVX-512.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn exp_scaled<I: Wide<f32, V = std::arch::x86_64::__m512>>(x: I::V) -> I::V {
    // SAFETY: the caller is inside AVX-512.
    unsafe {
        // The second operand comes through where either is NaN.
        let x = I::max(I::splat(exp::LOWEST), I::min(I::splat(exp::HIGHEST), x));
        let shifted = I::multiply_add(x, I::splat(std::f32::consts::LOG2_E), I::splat(ROUND));
        let n = I::sub(shifted, I::splat(ROUND));
        let r = I::multiply_add(n, I::splat(-LN2_LOW), I::multiply_add(n, I::splat(-LN2_HIGH), x));
        let mut tail = I::splat(TAIL[TAIL.len() - 1]);
        for c in TAIL.iter().rev().skip(1) {
            tail = I::multiply_add(tail, r, I::splat(*c));
        }
        let less_one = I::multiply_add(I::mul(r, r), tail, r);
        std::arch::x86_64::_mm512_scalef_ps(I::add(I::splat(1.0), less_one), n)
    }
}

/// [`write_exp`] by [`exp_scaled`], of all whole registers.
///
/// # Safety
/// The caller is inside AVX-512.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn write_exp_scaled<I: Wide<f32, V = std::arch::x86_64::__m512>>(
    x: &[f32],
    y: &mut [MaybeUninit<f32>],
) -> usize {
    // How far ahead lines are asked for, in elements.
    const AHEAD: usize = 512;
    assert_eq!(x.len(), y.len());
    let (from, to, lanes) = (x.as_ptr(), y.as_mut_ptr().cast::<f32>(), I::LEN);
    let mut at = 0;
    while at + lanes <= x.len() {
        stream::prefetch(from.wrapping_add(at + AHEAD));
        stream::prefetch(to.wrapping_add(at + AHEAD));
        // SAFETY: a register is read and written at `at..at + lanes`; the caller is inside AVX-512.
        unsafe { I::store(exp_scaled::<I>(I::load(from.add(at))), to.add(at)) };
        at += lanes;
    }
    at
}

impl PowersOfTwo for PortableIsa {
    const FUSED: bool = <PortableIsa as Isa>::FMA;

    #[inline(always)]
    unsafe fn exponent_from_low_bits(v: Self::V) -> Self::V {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            use std::arch::x86_64::*;
            _mm_castsi128_ps(_mm_slli_epi32::<23>(_mm_castps_si128(v)))
        }
        #[cfg(not(target_arch = "x86_64"))]
        v.map(|x| f32::from_bits(x.to_bits() << 23))
    }
}

impl PowersOfTwo for Avx2Isa {
    const FUSED: bool = <Avx2Isa as Isa>::FMA;

    #[inline(always)]
    unsafe fn exponent_from_low_bits(v: Self::V) -> Self::V {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller is inside AVX2.
        unsafe {
            use std::arch::x86_64::*;
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(v)))
        }
        #[cfg(not(target_arch = "x86_64"))]
        v.map(|x| f32::from_bits(x.to_bits() << 23))
    }
}

impl PowersOfTwo for Avx512Isa {
    const FUSED: bool = <Avx512Isa as Isa>::FMA;

    #[inline(always)]
    unsafe fn exponent_from_low_bits(v: Self::V) -> Self::V {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller is inside AVX-512.
        unsafe {
            use std::arch::x86_64::*;
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(v)))
        }
        #[cfg(not(target_arch = "x86_64"))]
        v.map(|x| f32::from_bits(x.to_bits() << 23))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;
    use crate::multiversion;

    multiversion! {
        fn all[I](x: &[f32], y: &mut [MaybeUninit<f32>]) -> f32 {
            // SAFETY: this is generic over the level it is compiled in.
            unsafe { write_exponentials::<I>(x, 0.0, y, 0) }
        }
    }

    /// The exponentials of a row and their sum, and what lies behind them.
    fn run(level: Level, x: &[f32]) -> (Vec<f32>, f32) {
        let mut y = vec![MaybeUninit::new(7.0); x.len()];
        let sum = all(level, x, &mut y);
        // SAFETY: all were written above, or before.
        (y.iter().map(|y| unsafe { y.assume_init() }).collect(), sum)
    }

    #[test]
    fn exponentials_are_within_three_ulps_and_nothing_is_left_of_what_is_too_small() {
        let x: Vec<f32> = (0..1_000_000).map(|i| -(i as f32) * 9e-5).collect();
        for level in Level::available() {
            for (x, y) in x.iter().zip(run(level, &x).0) {
                let want = f64::from(*x).exp();
                let slack = if *x > -10.0 { 1.0 } else { 3.0 } * f64::from(f32::EPSILON);
                assert!((f64::from(y) - want).abs() <= slack * want + 1.2e-38, "{level}: e^{x} = {y}");
            }
            let (y, sum) = run(level, &[f32::NEG_INFINITY, -1e30, -104.0, -88.5, 0.0, -0.0]);
            assert_eq!(y, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0], "{level}");
            assert_eq!(sum, 2.0, "{level}");
            let (y, sum) = run(level, &[-1.0, f32::NAN, 0.0]);
            assert!(y[1].is_nan() && sum.is_nan() && y[2] == 1.0, "{level}");
        }
    }

    #[test]
    fn sums_are_right_for_any_length() {
        for level in Level::available() {
            for len in (0..70).chain([365, 1000, 1023]) {
                let x: Vec<f32> = (0..len).map(|i| -(i as f32) / 100.0).collect();
                let want: f64 = x.iter().map(|x| f64::from(*x).exp()).sum();
                let (y, sum) = run(level, &x);
                assert!((f64::from(sum) - want).abs() <= 1e-6 * want, "{level} {len}");
                assert!(y.iter().all(|y| *y <= 1.0));
            }
        }
    }

    multiversion! {
        fn some[I](x: &[f32], y: &mut [MaybeUninit<f32>]) -> usize {
            // SAFETY: this is generic over the level it is compiled in.
            unsafe { write_exp::<I>(x, y) }
        }
    }

    multiversion! {
        fn each[I](x: &[f32], y: &mut [MaybeUninit<f32>]) {
            for (y, x) in y.iter_mut().zip(x) {
                y.write(math::exp::<I>(*x));
            }
        }
    }

    #[test]
    fn exponentials_at_once_have_the_bits_of_those_in_halves() {
        // Patterns of all of f32, a prime apart, and every one near where results overflow, are denormal, or
        // vanish.
        let everywhere = (0..=u32::MAX).step_by(1021).map(f32::from_bits);
        let ends = [89.0f32, 88.72284, -87.33655, -103.97208, -104.0, 0.0]
            .into_iter()
            .flat_map(|end| (end.to_bits().saturating_sub(4096)..end.to_bits() + 4096).map(f32::from_bits));
        let x: Vec<f32> = everywhere.chain(ends).collect();
        for level in Level::available() {
            for x in x.chunks(1 << 16) {
                let mut got = vec![MaybeUninit::new(7.0f32); x.len()];
                let mut want = got.clone();
                let done = some(level, x, &mut got);
                assert!(done <= x.len() && (level < Level::Avx512 || x.len() - done < 16), "{level}: {done}");
                each(level, x, &mut want);
                for i in 0..done {
                    // SAFETY: both were written above.
                    let (got, want) = unsafe { (got[i].assume_init(), want[i].assume_init()) };
                    assert!(
                        got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                        "{level}: e^{:e} is {got:e}, not {want:e}",
                        x[i]
                    );
                }
            }
        }
    }
}
