//! Slices added to a tensor at indices along one axis.

use super::gather::{Index, OutOfRange, first_out_of_range};
use crate::exec::{Exec, Shared};
use crate::multiversion;
use std::sync::atomic::{AtomicBool, Ordering};

/// Additions worth a task of their own.
const TASK: usize = 32 << 10;
/// Elements next to each other that tasks do not share: a line and more of any dtype, but for bytes.
const LINE: usize = 32;

/// A number that can be added up. Integers wrap.
pub trait Sum: Copy + Send + Sync + 'static {
    /// The sum.
    fn plus(self, other: Self) -> Self;
}

macro_rules! sums {
    ($($t:ty: |$a:ident, $b:ident| $sum:expr;)*) => {$(
        impl Sum for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )*};
}

sums! {
    f32: |a, b| a + b;
    f64: |a, b| a + b;
    i32: |a, b| a.wrapping_add(b);
    i64: |a, b| a.wrapping_add(b);
    u8: |a, b| a.wrapping_add(b);
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
    fn add[I, T: (Sum)](to: &mut [T], from: &[T]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = to.plus(*from);
        }
    }
}

/// Adds to `to`, at each outer place, the slices of `updates` at the indices, in order of the indices. The error is the first index that
/// is out of range; nothing is added for it, but all others are.
///
/// Every element is summed by one task in the order of the indices, so the bits do not depend on the threads.
///
/// # Safety
/// `to` is readable and writable for the whole tensor; `updates` is readable for a slice for each outer place and index. All are
/// aligned, and none overlaps another.
pub unsafe fn scatter_add<T: Sum, X: Index>(
    exec: &Exec<'_>,
    to: *mut T,
    extent: Slices,
    indices: &[X],
    updates: *const T,
) -> Result<(), OutOfRange> {
    let Slices { outer, axis, slice } = extent;
    if outer * axis * slice * indices.len() == 0 {
        return first_out_of_range(indices, axis);
    }
    // A task has some columns of the slices of one outer place, or whole outer places.
    let columns = (TASK / indices.len()).next_multiple_of(LINE).min(slice);
    let cuts = slice.div_ceil(columns);
    let grain = if cuts > 1 { 1 } else { TASK / (indices.len() * slice) };
    let faulty = AtomicBool::new(false);
    let shared = Shared((to, updates));
    exec.for_ranges(outer * cuts, grain, |first, last| {
        let (to, updates) = shared.get();
        for task in first..last {
            let (place, column) = (task / cuts, task % cuts * columns);
            let width = columns.min(slice - column);
            for (i, index) in indices.iter().enumerate() {
                let Some(index) = index.place().filter(|index| *index < axis) else {
                    faulty.store(true, Ordering::Relaxed);
                    continue;
                };
                // SAFETY: the index is below the axis's size, and no other task has these columns of this place.
                unsafe {
                    let to = to.add((place * axis + index) * slice + column);
                    let from = updates.add((place * indices.len() + i) * slice + column);
                    if width == 1 {
                        to.write(to.read().plus(from.read()));
                    } else {
                        let to = std::slice::from_raw_parts_mut(to, width);
                        add(exec.level, to, std::slice::from_raw_parts(from, width));
                    }
                }
            }
        }
    });
    if faulty.into_inner() { first_out_of_range(indices, axis) } else { Ok(()) }
}
