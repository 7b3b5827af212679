//! Slices added to a tensor at indices along one axis.

use super::gather::{Index, OutOfRange, first_out_of_range};
use crate::exec::{Exec, Shared};
use crate::multiversion;
use std::sync::atomic::{AtomicBool, Ordering};

/// Additions worth a task of their own.
const TASK: usize = 32 << 10;
/// Slices longer than this may be cut.
const LONG_SLICE: usize = 1024;
/// The most tasks that go through the same indices, each for rows of its own.
const MOST_RANGES: usize = 16;

/// A number that can be added up. Integers wrap.
pub trait Summand: Copy + Send + Sync + 'static {
    /// The sum of two; integers wrap.
    fn plus(self, other: Self) -> Self;
}

macro_rules! summands {
    ($($t:ty: |$a:ident, $b:ident| $sum:expr;)*) => {$(
        impl Summand for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )*};
}

summands! {
    f32: |a, b| a + b;
    f64: |a, b| a + b;
    u8: |a, b| a.wrapping_add(b);
    u16: |a, b| a.wrapping_add(b);
    i32: |a, b| a.wrapping_add(b);
    i64: |a, b| a.wrapping_add(b);
}

/// A dense tensor seen as slices along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Places before the axis.
    pub outer: usize,
    /// The size of the axis.
    pub axis: usize,
    /// Elements of a slice.
    pub slice: usize,
}

multiversion! {
    fn add[I, T: (Summand)](to: &mut [T], from: &[T]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = to.plus(*from);
        }
    }
}

/// Adds to `to`, at each outer place, the slices of `updates` at the indices, in order of the indices. The
/// error is the first index that is out of range; nothing is added for it, but all others are.
///
/// Every element is summed by one task in the order of the indices, so the bits do not depend on the threads.
///
/// # Safety
/// `to` is readable and writable for the whole tensor; `updates` is readable for a slice for each outer place
/// and index. All are aligned, and none overlaps another.
pub unsafe fn scatter_add<T: Summand, X: Index>(
    exec: &Exec<'_>,
    to: *mut T,
    extent: Slices,
    indices: &[X],
    updates: *const T,
) -> Result<(), OutOfRange> {
    let Slices { outer, axis, slice } = extent;
    if [outer, axis, slice, indices.len()].contains(&0) {
        return first_out_of_range(indices, axis);
    }
    // A task has a range of columns of the slices, and a range of rows: it goes through all indices for those
    // that point to its rows, which is worth it only where that is little beside the additions.
    let columns = (TASK / indices.len()).max(LONG_SLICE).min(slice);
    let cuts = slice.div_ceil(columns);
    let worth = (indices.len() * columns / TASK).min(columns / 4).min(MOST_RANGES);
    let rows = axis.div_ceil(worth.max(1));
    let ranges = axis.div_ceil(rows);
    let grain = TASK / (indices.len() * slice).div_ceil(cuts * ranges);
    let faulty = AtomicBool::new(false);
    let shared = Shared((to, updates));
    exec.for_ranges(outer * cuts * ranges, grain, |first, last| {
        let (to, updates) = shared.get();
        for task in first..last {
            let place = task / (cuts * ranges);
            let column = task / ranges % cuts * columns;
            let row = task % ranges * rows;
            let mine = Rows { first: row, last: (row + rows).min(axis) };
            let width = columns.min(slice - column);
            // SAFETY: no other task has these rows and columns of this place.
            let fine = unsafe {
                let to = to.add(place * axis * slice + column);
                let updates = updates.add(place * indices.len() * slice + column);
                add_slices(exec, to, extent, mine, indices, updates, width)
            };
            if !fine {
                faulty.store(true, Ordering::Relaxed);
            }
        }
    });
    if faulty.into_inner() { first_out_of_range(indices, axis) } else { Ok(()) }
}

/// The rows of the axis that a task adds to.
#[derive(Clone, Copy, Debug)]
struct Rows {
    first: usize,
    last: usize,
}

/// Adds `width` elements of every update whose index is one of the rows; says whether every index was one of
/// the axis.
///
/// # Safety
/// As for [`scatter_add`], for these columns of one outer place.
unsafe fn add_slices<T: Summand, X: Index>(
    exec: &Exec<'_>,
    to: *mut T,
    Slices { axis, slice, .. }: Slices,
    mine: Rows,
    indices: &[X],
    updates: *const T,
    width: usize,
) -> bool {
    let mut fine = true;
    for (i, index) in indices.iter().enumerate() {
        // A negative index is a huge one without its sign.
        let index = index.value() as u64;
        fine &= index < axis as u64;
        if index < mine.first as u64 || index >= mine.last as u64 {
            continue;
        }
        // SAFETY: the index is below the axis's size.
        unsafe {
            let (to, from) = (to.add(index as usize * slice), updates.add(i * slice));
            if width == 1 {
                to.write(to.read().plus(from.read()));
            } else {
                let to = std::slice::from_raw_parts_mut(to, width);
                add(exec.level, to, std::slice::from_raw_parts(from, width));
            }
        }
    }
    fine
}
