//! Few filters: a register holds pixels of a line, and filters are broadcast. With channels after each other
//! lines lie in memory as they are needed, and no part of a register is left empty, as it would be where
//! filters lie side by side.

use super::transpose_block::spread;
use crate::level::Level;
use crate::multiversion;
use crate::wide::{Tail, Wide};
use std::ops::Add;

/// Filters that are few, at most.
pub(super) const FEW: usize = 8;
/// Filters of a line, at most: their sums must leave some registers.
pub(super) fn at_once(level: Level) -> usize {
    if level.min(Level::detect()) == Level::Avx512 { FEW } else { FEW / 2 }
}

/// Elements behind what is read that must be there as well: registers are read as a whole.
pub(super) const SLACK: usize = 64;

/// Lines of results for some filters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<T> {
    /// The first pixel's place in the region, and for each step how far to go from there, in bytes.
    pub(super) from: *const T,
    pub(super) table: *const isize,
    pub(super) depth: usize,
    /// For each step, the filters' elements.
    pub(super) weights: *const T,
    /// Filters, at most [`at_once`].
    pub(super) filters: usize,
    /// Where results go, how many there are, how far apart, and how far it is to the next filter's.
    pub(super) out: *mut T,
    pub(super) count: usize,
    pub(super) along: usize,
    pub(super) by_filter: usize,
    /// Whether they are added to what is there.
    pub(super) add: bool,
    /// Lines, and from one to the next in the region and in the result.
    pub(super) lines: usize,
    pub(super) by_line: [usize; 2],
}

/// A number that has lines.
pub(super) trait Lines: Copy {
    /// Computes the lines.
    ///
    /// # Safety
    /// The region can be read at every distance for the lines' pixels and [`SLACK`] more; results can be
    /// written.
    unsafe fn line(level: Level, line: &Line<Self>);
}

macro_rules! lines {
    ($t:ty, $name:ident) => {
        impl Lines for $t {
            unsafe fn line(level: Level, line: &Line<$t>) {
                $name(level, line);
            }
        }

        multiversion! {
            /// The promise of [`Lines::line`]'s caller holds: it is called from there alone.
            fn $name[I](line: &Line<$t>) {
                // SAFETY: as promised; this is compiled for the level.
                unsafe {
                    for n in 0..line.lines {
                        let from = line.from.wrapping_add(n * line.by_line[0]);
                        let out = line.out.wrapping_add(n * line.by_line[1]);
                        whole::<I, $t>(&Line { from, out, ..*line });
                    }
                }
            }
        }
    };
}
lines!(f32, line_f32);
lines!(f64, line_f64);

/// # Safety
/// As [`Lines::line`], inside the level.
#[inline(always)]
unsafe fn whole<I: Tail<T>, T: Copy + Default + Add<Output = T> + 'static>(line: &Line<T>) {
    let len = <I as Wide<T>>::LEN;
    let mut x = 0;
    // SAFETY: the caller's promise; parts are within the line.
    unsafe {
        while x < line.count {
            let left = line.count - x;
            // As many registers as there are sums for.
            let most =
                if line.filters <= 2 || line.filters <= 4 && len * size_of::<T>() == 64 { 4 } else { 2 };
            let registers = left.div_ceil(len).min(most);
            match (line.filters, registers) {
                (1, 1) => part::<I, T, 1, 1>(line, x),
                (1, 2) => part::<I, T, 1, 2>(line, x),
                (1, 3) => part::<I, T, 1, 3>(line, x),
                (1, _) => part::<I, T, 1, 4>(line, x),
                (2, 1) => part::<I, T, 2, 1>(line, x),
                (2, 2) => part::<I, T, 2, 2>(line, x),
                (2, 3) => part::<I, T, 2, 3>(line, x),
                (2, _) => part::<I, T, 2, 4>(line, x),
                (3, 1) => part::<I, T, 3, 1>(line, x),
                (3, 2) => part::<I, T, 3, 2>(line, x),
                (3, 3) => part::<I, T, 3, 3>(line, x),
                (3, _) => part::<I, T, 3, 4>(line, x),
                (4, 1) => part::<I, T, 4, 1>(line, x),
                (4, 2) => part::<I, T, 4, 2>(line, x),
                (4, 3) => part::<I, T, 4, 3>(line, x),
                (4, _) => part::<I, T, 4, 4>(line, x),
                (5, 1) => part::<I, T, 5, 1>(line, x),
                (5, _) => part::<I, T, 5, 2>(line, x),
                (6, 1) => part::<I, T, 6, 1>(line, x),
                (6, _) => part::<I, T, 6, 2>(line, x),
                (7, 1) => part::<I, T, 7, 1>(line, x),
                (7, _) => part::<I, T, 7, 2>(line, x),
                (_, 1) => part::<I, T, 8, 1>(line, x),
                (_, _) => part::<I, T, 8, 2>(line, x),
            }
            x += registers * len;
        }
    }
}

/// Some registers of the line, for all of its filters.
///
/// # Safety
/// As [`Lines::line`], inside the level; the line has `M` filters.
#[inline(always)]
unsafe fn part<I: Tail<T>, T: Copy + Default + Add<Output = T> + 'static, const M: usize, const V: usize>(
    line: &Line<T>,
    x: usize,
) {
    let len = <I as Wide<T>>::LEN;
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[I::splat(T::default()); V]; M];
        for k in 0..line.depth {
            let from = line.from.wrapping_byte_offset(*line.table.add(k)).wrapping_add(x);
            let mut pixels = [I::splat(T::default()); V];
            for (v, pixels) in pixels.iter_mut().enumerate() {
                *pixels = I::load(from.add(v * len));
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let weight = I::splat(*line.weights.add(k * M + m));
                for (sum, pixels) in sums.iter_mut().zip(pixels) {
                    *sum = I::multiply_add(weight, pixels, *sum);
                }
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let first = x + v * len;
                let count = line.count.saturating_sub(first).min(len);
                let to = line.out.wrapping_add(m * line.by_filter + first * line.along);
                put::<I, T>(*sum, to, count, line.along, line.add);
            }
        }
    }
}

/// # Safety
/// `count` results, `along` apart, can be written, and read with `add`.
#[inline(always)]
unsafe fn put<I: Tail<T>, T: Copy + Default + Add<Output = T> + 'static>(
    sum: I::V,
    to: *mut T,
    count: usize,
    along: usize,
    add: bool,
) {
    let len = <I as Wide<T>>::LEN;
    // SAFETY: the caller's promise; the array has room for any level's register.
    unsafe {
        if along == 1 {
            if count == len {
                let sum = if add { I::add(I::load(to), sum) } else { sum };
                I::store(sum, to);
            } else if count > 0 {
                let sum = if add { I::add(I::load_first(to, count, T::default()), sum) } else { sum };
                I::store_first(sum, to, count);
            }
            return;
        }
        let mut apart = [T::default(); crate::wide::MOST];
        I::store(sum, apart.as_mut_ptr());
        if along == 2 && spread(len * size_of::<T>(), apart.as_ptr(), to, count, add) {
            return;
        }
        for (i, value) in apart.iter().enumerate().take(count) {
            let to = to.add(i * along);
            *to = if add { *to + *value } else { *value };
        }
    }
}
