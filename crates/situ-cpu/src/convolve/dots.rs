//! The gradient by few filters: a register holds pixels of a line, and each element of a window has a sum of
//! its own.

use crate::level::Level;
use crate::multiversion;
use crate::wide::{Tail, Wide};
use std::ops::Add;

/// Elements of windows that are summed at a time, at most.
const ELEMENTS: usize = 9;

/// Lines of pixels, and what is to be multiplied along them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dots<T> {
    /// The first pixel's place in the region; from one line of results to the next.
    pub(super) from: *const T,
    pub(super) by_line: usize,
    /// Where elements of the window are from there, in elements, and how many there are.
    pub(super) table: *const isize,
    pub(super) elements: usize,
    /// The gradient: lines, and from one to the next; filters, and from one to the next.
    pub(super) upstream: *const T,
    pub(super) upstream_line: usize,
    pub(super) filters: usize,
    pub(super) by_filter: usize,
    /// Lines, and pixels of each.
    pub(super) lines: usize,
    pub(super) count: usize,
    /// Sums: for each filter those of all elements, `sums_step` apart; added to what is there, with `add`.
    pub(super) sums: *mut T,
    pub(super) sums_step: usize,
    pub(super) add: bool,
}

/// A number that has such sums.
pub(super) trait Sums: Copy {
    /// Computes them.
    ///
    /// # Safety
    /// The region can be read for all elements at all pixels, the gradient for all of them; sums can be
    /// written.
    unsafe fn dots(level: Level, dots: &Dots<Self>);
}

macro_rules! sums {
    ($t:ty, $name:ident) => {
        impl Sums for $t {
            unsafe fn dots(level: Level, dots: &Dots<$t>) {
                $name(level, dots);
            }
        }

        multiversion! {
            /// The promise of [`Sums::dots`]'s caller holds: it is called from there alone.
            fn $name[I](dots: &Dots<$t>) {
                // SAFETY: as promised; this is compiled for the level.
                unsafe { all::<I, $t>(dots) }
            }
        }
    };
}
sums!(f32, dots_f32);
sums!(f64, dots_f64);

/// # Safety
/// As [`Sums::dots`], inside the level.
#[inline(always)]
unsafe fn all<I: Tail<T>, T: Copy + Default + Add<Output = T>>(dots: &Dots<T>) {
    let len = <I as Wide<T>>::LEN;
    let mut filter = 0;
    // SAFETY: the caller's promise; filters and elements are among those there are.
    unsafe {
        while filter < dots.filters {
            // Two filters share what is read of the image, where there are registers for it.
            let two = dots.filters - filter >= 2;
            let most = if two && len * size_of::<T>() < 64 { 4 } else { ELEMENTS };
            let mut first = 0;
            while first < dots.elements {
                let count = most.min(dots.elements - first);
                let at = [filter, first];
                match (two, count) {
                    (false, 1) => some::<I, T, 1, 1>(dots, at),
                    (false, 2) => some::<I, T, 1, 2>(dots, at),
                    (false, 3) => some::<I, T, 1, 3>(dots, at),
                    (false, 4) => some::<I, T, 1, 4>(dots, at),
                    (false, 5) => some::<I, T, 1, 5>(dots, at),
                    (false, 6) => some::<I, T, 1, 6>(dots, at),
                    (false, 7) => some::<I, T, 1, 7>(dots, at),
                    (false, 8) => some::<I, T, 1, 8>(dots, at),
                    (false, _) => some::<I, T, 1, 9>(dots, at),
                    (true, 1) => some::<I, T, 2, 1>(dots, at),
                    (true, 2) => some::<I, T, 2, 2>(dots, at),
                    (true, 3) => some::<I, T, 2, 3>(dots, at),
                    (true, 4) => some::<I, T, 2, 4>(dots, at),
                    (true, 5) => some::<I, T, 2, 5>(dots, at),
                    (true, 6) => some::<I, T, 2, 6>(dots, at),
                    (true, 7) => some::<I, T, 2, 7>(dots, at),
                    (true, 8) => some::<I, T, 2, 8>(dots, at),
                    (true, _) => some::<I, T, 2, 9>(dots, at),
                }
                first += count;
            }
            filter += if two { 2 } else { 1 };
        }
    }
}

/// # Safety
/// As [`Sums::dots`], inside the level; there are `F` filters and `E` elements from there on.
#[inline(always)]
unsafe fn some<I: Tail<T>, T: Copy + Default + Add<Output = T>, const F: usize, const E: usize>(
    dots: &Dots<T>,
    [filter, first]: [usize; 2],
) {
    let len = <I as Wide<T>>::LEN;
    // SAFETY: the caller's promise.
    unsafe {
        let mut table = [0; E];
        for (e, at) in table.iter_mut().enumerate() {
            *at = *dots.table.add(first + e);
        }
        let mut sums = [[I::splat(T::default()); E]; F];
        for line in 0..dots.lines {
            let from = dots.from.add(line * dots.by_line);
            let upstream = dots.upstream.add(filter * dots.by_filter + line * dots.upstream_line);
            let mut x = 0;
            while x + len <= dots.count {
                let mut by = [I::splat(T::default()); F];
                for (f, by) in by.iter_mut().enumerate() {
                    *by = I::load(upstream.add(f * dots.by_filter + x));
                }
                for e in 0..E {
                    let pixels = I::load(from.offset(table[e]).add(x));
                    for f in 0..F {
                        sums[f][e] = I::multiply_add(by[f], pixels, sums[f][e]);
                    }
                }
                x += len;
            }
            // What lies beyond the line is no part of the sum, not even times zero: it might be infinite.
            let left = dots.count - x;
            if left > 0 {
                let mut by = [I::splat(T::default()); F];
                for (f, by) in by.iter_mut().enumerate() {
                    *by = I::load_first(upstream.add(f * dots.by_filter + x), left, T::default());
                }
                for e in 0..E {
                    let pixels = I::load_first(from.offset(table[e]).add(x), left, T::default());
                    for f in 0..F {
                        sums[f][e] = I::multiply_add(by[f], pixels, sums[f][e]);
                    }
                }
            }
        }
        for (f, sums) in sums.iter().enumerate() {
            for (e, sum) in sums.iter().enumerate() {
                let mut lanes = [T::default(); crate::wide::MOST];
                I::store(*sum, lanes.as_mut_ptr());
                let to = dots.sums.add((filter + f) * dots.sums_step + first + e);
                let sum = halves(&mut lanes, len);
                *to = if dots.add { *to + sum } else { sum };
            }
        }
    }
}

/// The sum of the first `len` numbers, a power of two, by halves.
#[inline(always)]
fn halves<T: Copy + Add<Output = T>>(lanes: &mut [T; crate::wide::MOST], len: usize) -> T {
    let mut half = len / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = lanes[i] + lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}
