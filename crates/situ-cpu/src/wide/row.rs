//! Rows of floats reduced a register at a time, as trees of fixed shape.

use super::{MOST, Tail, Wide};

/// Elements reduced lane by lane; above, blocks are combined in pairs.
const BLOCK: usize = 4096;
/// Registers of running results, so that additions overlap.
const REGISTERS: usize = 4;

/// A reduction of floats, a register at a time.
///
/// # Safety of its methods
/// As for [`Wide`].
#[allow(clippy::missing_safety_doc)] // as above
pub(crate) trait Combine<T> {
    /// The result of no elements.
    const NEUTRAL: T;
    /// Two registers of partial results as one.
    unsafe fn combine_wide<I: Wide<T>>(a: I::V, b: I::V) -> I::V;
    /// Two partial results as one.
    fn combine_one(a: T, b: T) -> T;
}

/// What is done to elements before they are reduced.
///
/// # Safety of its methods
/// As for [`Wide`].
#[allow(clippy::missing_safety_doc)] // as above
pub(crate) trait Map<T>: Copy {
    /// An element that maps to the reduction's neutral one.
    fn pad(self) -> T;
    /// A register of elements.
    unsafe fn map<I: Wide<T>>(self, x: I::V) -> I::V;
}

/// Elements as they are; the field is the neutral one.
#[derive(Clone, Copy)]
pub(crate) struct AsIs<T>(pub(crate) T);

impl<T: Copy> Map<T> for AsIs<T> {
    #[inline(always)]
    fn pad(self) -> T {
        self.0
    }
    #[inline(always)]
    unsafe fn map<I: Wide<T>>(self, x: I::V) -> I::V {
        x
    }
}

/// `(x - mean)²`, for sums.
#[derive(Clone, Copy)]
pub(crate) struct SquaredDistance<T>(pub(crate) T);

impl<T: Copy> Map<T> for SquaredDistance<T> {
    #[inline(always)]
    fn pad(self) -> T {
        self.0
    }
    #[inline(always)]
    unsafe fn map<I: Wide<T>>(self, x: I::V) -> I::V {
        // SAFETY: the caller is inside the level.
        unsafe {
            let d = I::sub(x, I::splat(self.0));
            I::mul(d, d)
        }
    }
}

/// The reduction of a row of floats.
///
/// Blocks are combined in pairs: after the n-th block, as many times as n has trailing zero bits, as carrying
/// does when counting.
///
/// # Safety
/// The caller is inside the level.
#[inline(always)]
pub(crate) unsafe fn reduce_wide<I: Tail<T>, T: Copy, R: Combine<T>, M: Map<T>>(row: &[T], map: M) -> T {
    if row.len() <= BLOCK {
        // SAFETY: as for this function.
        return unsafe { block::<I, T, R, M>(row, map) };
    }
    let mut stack = [R::NEUTRAL; usize::BITS as usize];
    let mut depth = 0;
    for (n, part) in row.chunks(BLOCK).enumerate() {
        // SAFETY: as for this function.
        let mut sum = unsafe { block::<I, T, R, M>(part, map) };
        for _ in 0..(n + 1).trailing_zeros() {
            depth -= 1;
            sum = R::combine_one(stack[depth], sum);
        }
        stack[depth] = sum;
        depth += 1;
    }
    let mut sum = stack[depth - 1];
    for left in stack[..depth - 1].iter().rev() {
        sum = R::combine_one(*left, sum);
    }
    sum
}

/// At most [`BLOCK`] elements. The last few are a padded register: one by one they would cost as much as
/// hundreds together.
///
/// # Safety
/// The caller is inside the level.
#[inline(always)]
unsafe fn block<I: Tail<T>, T: Copy, R: Combine<T>, M: Map<T>>(row: &[T], map: M) -> T {
    let (start, len) = (row.as_ptr(), row.len());
    // SAFETY: every load is of elements `at..at + I::LEN` with `at + I::LEN <= len`, or of the `len - at`
    // that are left.
    unsafe {
        let mut lanes = [I::splat(R::NEUTRAL); REGISTERS];
        let mut at = 0;
        while at + REGISTERS * I::LEN <= len {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane = R::combine_wide::<I>(*lane, map.map::<I>(I::load(start.add(at + i * I::LEN))));
            }
            at += REGISTERS * I::LEN;
        }
        while at + I::LEN <= len {
            lanes[0] = R::combine_wide::<I>(lanes[0], map.map::<I>(I::load(start.add(at))));
            at += I::LEN;
        }
        if at < len {
            lanes[1] = R::combine_wide::<I>(
                lanes[1],
                map.map::<I>(I::load_first(start.add(at), len - at, map.pad())),
            );
        }
        let low = R::combine_wide::<I>(lanes[0], lanes[1]);
        let high = R::combine_wide::<I>(lanes[2], lanes[3]);
        across::<I, T, R>(R::combine_wide::<I>(low, high))
    }
}

/// Multiplies every element of a row.
///
/// # Safety
/// The caller is inside the level.
#[inline(always)]
pub(crate) unsafe fn scale_wide<I: Tail<T>, T: Copy>(row: &mut [T], factor: T, pad: T) {
    let (start, len) = (row.as_mut_ptr(), row.len());
    // SAFETY: whole registers are at `at..at + I::LEN` with `at + I::LEN <= len`, the last one ends at `len`.
    unsafe {
        let factor = I::splat(factor);
        let mut at = 0;
        while at + REGISTERS * I::LEN <= len {
            for i in 0..REGISTERS {
                let to = start.add(at + i * I::LEN);
                I::store(I::mul(I::load(to), factor), to);
            }
            at += REGISTERS * I::LEN;
        }
        while at + I::LEN <= len {
            let to = start.add(at);
            I::store(I::mul(I::load(to), factor), to);
            at += I::LEN;
        }
        if at < len {
            let to = start.add(at);
            I::store_first(I::mul(I::load_first(to, len - at, pad), factor), to, len - at);
        }
    }
}

/// The lanes of a register of running results as one.
///
/// # Safety
/// The caller is inside the level.
#[inline(always)]
pub(super) unsafe fn across<I: Wide<T>, T: Copy, R: Combine<T>>(lanes: I::V) -> T {
    let mut results = [R::NEUTRAL; MOST];
    // SAFETY: the caller is inside the level, and no register is longer than the array.
    unsafe { I::store(lanes, results.as_mut_ptr()) };
    let mut width = I::LEN;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            results[i] = R::combine_one(results[i], results[i + width]);
        }
    }
    results[0]
}

/// The reductions, each by its formula on registers and on single numbers.
macro_rules! combinations {
    ($($(#[$doc:meta])* $name:ident, $neutral:expr, |$isa:ident, $a:ident, $b:ident| $wide:expr, |$c:ident, $d:ident| $one:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        combinations!(@impl $name, f32, $neutral, |$isa, $a, $b| $wide, |$c, $d| $one);
        combinations!(@impl $name, f64, $neutral, |$isa, $a, $b| $wide, |$c, $d| $one);
    )*};
    (@impl $name:ident, $t:ty, $neutral:expr, |$isa:ident, $a:ident, $b:ident| $wide:expr, |$c:ident, $d:ident| $one:expr) => {
        impl Combine<$t> for $name {
            const NEUTRAL: $t = $neutral as $t;
            #[inline(always)]
            unsafe fn combine_wide<$isa: Wide<$t>>($a: $isa::V, $b: $isa::V) -> $isa::V {
                // SAFETY: the caller is inside the level.
                unsafe { $wide }
            }
            #[inline(always)]
            fn combine_one($c: $t, $d: $t) -> $t {
                $one
            }
        }
    };
}

combinations! {
    /// The sum.
    Plus, 0.0, |W, a, b| W::add(a, b), |a, b| a + b;
    /// The product.
    Times, 1.0, |W, a, b| W::mul(a, b), |a, b| a * b;
    /// The largest; NaN if any is.
    Maximum, f64::NEG_INFINITY, |W, a, b| W::nan_or(a, W::max(a, b)), |a, b| if (a > b) | a.is_nan() { a } else { b };
    /// The smallest; NaN if any is.
    Minimum, f64::INFINITY, |W, a, b| W::nan_or(a, W::min(a, b)), |a, b| if (a < b) | a.is_nan() { a } else { b };
    /// The largest, where NaN need not come through.
    Largest, f64::NEG_INFINITY, |W, a, b| W::max(a, b), |a, b| if a > b { a } else { b };
}
