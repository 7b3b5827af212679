//! Uniform numbers and coin flips; see the [module](super) for the definition.

use super::philox::{Draw, Stream, run};
use crate::exec::Exec;

/// `min(low + u · span, top)`: sum and product are rounded apart, never fused, on every level.
#[derive(Clone, Copy, Debug)]
struct Bounds<T> {
    low: T,
    span: T,
    top: T,
}

impl Draw for Bounds<f32> {
    type Out = f32;
    type Block = [f32; 4];
    #[inline(always)]
    fn draw(self, words: [u32; 4]) -> [f32; 4] {
        words.map(|x| {
            // 24 bits fit an i32, which converts in one instruction.
            let u = (x >> 8) as i32 as f32 * (1.0 / 16_777_216.0);
            let y = self.low + u * self.span;
            if y < self.top { y } else { self.top }
        })
    }
}

impl Draw for Bounds<f64> {
    type Out = f64;
    type Block = [f64; 2];
    #[inline(always)]
    fn draw(self, [a, b, c, d]: [u32; 4]) -> [f64; 2] {
        [[a, b], [c, d]].map(|[a, b]| {
            let u = (f64::from((a >> 5) as i32) * 67_108_864.0 + f64::from((b >> 6) as i32))
                * (1.0 / 9_007_199_254_740_992.0);
            let y = self.low + u * self.span;
            if y < self.top { y } else { self.top }
        })
    }
}

impl Bounds<f32> {
    fn of(low: f64, high: f64) -> Bounds<f32> {
        let span = (high - low) as f32;
        let (low, high) = (low as f32, high as f32);
        Bounds { low, span, top: high.next_down().max(low) }
    }
}

impl Bounds<f64> {
    fn of(low: f64, high: f64) -> Bounds<f64> {
        Bounds { low, span: high - low, top: high.next_down().max(low) }
    }
}

/// Writes `count` numbers from `low` to below `high`.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn uniform_f32(exec: &Exec<'_>, stream: Stream, low: f64, high: f64, to: *mut f32, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { run(exec, Bounds::<f32>::of(low, high), stream, to, count) };
}

/// Writes `count` numbers from `low` to below `high`, and none above `top`.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn uniform_up_to(
    exec: &Exec<'_>,
    stream: Stream,
    low: f64,
    high: f64,
    top: f64,
    to: *mut f32,
    count: usize,
) {
    let bounds = Bounds { top: top as f32, ..Bounds::<f32>::of(low, high) };
    // SAFETY: the caller's promise.
    unsafe { run(exec, bounds, stream, to, count) };
}

/// Writes `count` numbers from `low` to below `high`.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn uniform_f64(exec: &Exec<'_>, stream: Stream, low: f64, high: f64, to: *mut f64, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { run(exec, Bounds::<f64>::of(low, high), stream, to, count) };
}

/// `low + hi(x · range)`. A range of 2^32 gives `low + x`, without a case of its own.
#[derive(Clone, Copy, Debug)]
struct Span<T> {
    low: T,
    range: u64,
}

impl<T> Span<T> {
    #[inline(always)]
    fn place(&self, x: u32) -> u32 {
        ((u64::from(x) * self.range) >> 32) as u32
    }
}

/// An integer that a draw is added to; it wraps, so that its sign makes no difference.
pub trait Whole: Copy + Send + Sync + 'static {
    /// `low + draw`, the low bits of it.
    fn from_low(low: Self, draw: u32) -> Self;
}

macro_rules! wholes {
    ($($t:ty)*) => {$(
        impl Whole for $t {
            #[inline(always)]
            fn from_low(low: $t, draw: u32) -> $t {
                low.wrapping_add(draw as $t)
            }
        }
    )*};
}
wholes! { u8 u16 i32 i64 }

impl<T: Whole> Draw for Span<T> {
    type Out = T;
    type Block = [T; 4];
    #[inline(always)]
    fn draw(self, words: [u32; 4]) -> [T; 4] {
        words.map(|x| T::from_low(self.low, self.place(x)))
    }
}

/// Writes `count` integers, from `low` on, `range` (at most 2^32) different ones.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn uniform_whole<T: Whole>(
    exec: &Exec<'_>,
    stream: Stream,
    low: T,
    range: u64,
    to: *mut T,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { run(exec, Span { low, range }, stream, to, count) };
}

/// One of two values.
#[derive(Clone, Copy, Debug)]
struct Flip<T> {
    /// Words up to this one give `one`; the case without such a word is not drawn at all.
    last: u32,
    zero: T,
    one: T,
}

impl<T: Copy + Sync> Draw for Flip<T> {
    type Out = T;
    type Block = [T; 4];
    #[inline(always)]
    fn draw(self, words: [u32; 4]) -> [T; 4] {
        words.map(|x| if x <= self.last { self.one } else { self.zero })
    }
}

/// Writes `count` values: `one` with probability `p`, else `zero`.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn bernoulli<T: Copy + Send + Sync>(
    exec: &Exec<'_>,
    stream: Stream,
    p: f64,
    [zero, one]: [T; 2],
    to: *mut T,
    count: usize,
) {
    // The product is exact, and the cast rounds down.
    let ones = (p * 4_294_967_296.0) as u64;
    let flip = match u32::try_from(ones.min(1 << 32).wrapping_sub(1)) {
        Ok(last) => Flip { last, zero, one },
        // Not even word 0 gives one.
        Err(_) => Flip { last: 0, zero, one: zero },
    };
    // SAFETY: the caller's promise.
    unsafe { run(exec, flip, stream, to, count) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_number_is_below_its_upper_bound_even_where_rounding_would_reach_it() {
        // 1 + u rounds to 2 for the largest u.
        assert_eq!(1.0 + 16_777_215.0f32 / 16_777_216.0, 2.0);
        for (low, high) in [(1.0, 2.0), (-3.0, -2.0), (1e7, 1e7 + 1.0), (0.0, 1e-45), (0.1, 0.3)] {
            for word in [0, 1, 255, 256, 1 << 31, u32::MAX - 256, u32::MAX] {
                let narrow = Bounds::<f32>::of(low, high).draw([word; 4]);
                assert!(
                    narrow.iter().all(|x| (low as f32..high as f32).contains(x)),
                    "{low} to {high}: {narrow:?}"
                );
                let wide = Bounds::<f64>::of(low, high).draw([word; 4]);
                assert!(wide.iter().all(|x| (low..high).contains(x)), "{low} to {high}: {wide:?}");
            }
        }
    }

    #[test]
    fn a_uniform_number_between_equal_bounds_is_the_bound() {
        for word in [0, u32::MAX] {
            assert_eq!(Bounds::<f32>::of(5.0, 5.0).draw([word; 4]), [5.0; 4]);
            assert_eq!(Bounds::<f64>::of(-5.0, -5.0).draw([word; 4]), [-5.0; 2]);
        }
    }
}
