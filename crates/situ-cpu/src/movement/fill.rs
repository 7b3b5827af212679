//! Tensors made from nothing: one value, a range, an identity matrix.

use super::part;
use super::{Axis, Part, TASK_BYTES};
use crate::exec::{Exec, Shared};
use crate::multiversion;
use std::mem::MaybeUninit;

/// The bytes in memory of an element of `size` bytes (1, 2, 4 or 8), given as the low bits of a word.
pub(super) fn element(bits: u64, size: usize) -> [u8; 8] {
    let mut bytes = [0; 8];
    match size {
        1 => bytes[0] = bits as u8,
        2 => bytes[..2].copy_from_slice(&(bits as u16).to_ne_bytes()),
        4 => bytes[..4].copy_from_slice(&(bits as u32).to_ne_bytes()),
        _ => bytes = bits.to_ne_bytes(),
    }
    bytes
}

/// Writes `count` elements of `size` bytes, all of this value, given by its bits.
///
/// # Safety
/// `to` is writable for that.
pub unsafe fn fill(exec: &Exec<'_>, size: usize, value: u64, to: *mut u8, count: usize) {
    let value = element(value, size);
    let axis = Axis { size: count, from: 0, to: size as isize };
    let part = Part::new(size, std::iter::once(axis), value.as_ptr(), to);
    // SAFETY: the caller's promise; the value is read from here only while this runs.
    unsafe { part::run(exec, &[part], count * size) };
}

/// Writes `rows` rows of `columns` elements of `size` bytes: `off` everywhere, but `on` in column
/// `column(row)`, if there is such a column. Values are given by their bits.
///
/// # Safety
/// `to` is writable for that, aligned.
pub(super) unsafe fn rows_with_one(
    exec: &Exec<'_>,
    size: usize,
    rows: usize,
    columns: usize,
    [on, off]: [u64; 2],
    to: *mut u8,
    column: impl Fn(usize) -> usize + Sync,
) {
    let row_bytes = columns * size;
    if row_bytes == 0 {
        return;
    }
    let (on, off) = (element(on, size), element(off, size));
    // A short row would be written past the caches and fetched again at once, for its `on`.
    let streaming = rows * row_bytes >= exec.streaming_bytes && row_bytes >= 4096;
    let to = Shared(to);
    exec.for_ranges(rows, TASK_BYTES / row_bytes, |first, last| {
        // SAFETY: the rows of a task are its own, and within `to`.
        unsafe {
            let start = to.get().add(first * row_bytes);
            super::runs::fill_run(off.as_ptr(), size, start, (last - first) * columns, streaming);
            if streaming {
                crate::stream::fence();
            }
            for row in first..last {
                let column = column(row);
                if column < columns {
                    let at = start.add((row - first) * row_bytes + column * size);
                    std::ptr::copy_nonoverlapping(on.as_ptr(), at, size);
                }
            }
        }
    });
}

/// Writes the matrix that has `one` on its diagonal and zero bits elsewhere.
///
/// # Safety
/// `to` is writable for `rows` times `columns` elements of `size` bytes.
pub unsafe fn eye(exec: &Exec<'_>, size: usize, rows: usize, columns: usize, one: u64, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { rows_with_one(exec, size, rows, columns, [one, 0], to, |row| row) };
}

/// A number that can be counted in steps.
pub trait Step: Copy + Send + Sync + 'static {
    /// `start + i · step`: for floats the number `i`, the product and the sum are each rounded, and never
    /// fused, so that any device can give the same bits; for integers all of it wraps.
    fn nth(start: Self, step: Self, i: usize) -> Self;
    /// The same for an `i` below 2^31, which is quicker to convert.
    fn nth_small(start: Self, step: Self, i: i32) -> Self;
}

macro_rules! float_steps {
    ($($t:ty)*) => {$(
        impl Step for $t {
            #[inline(always)]
            fn nth(start: $t, step: $t, i: usize) -> $t {
                start + i as $t * step
            }
            #[inline(always)]
            fn nth_small(start: $t, step: $t, i: i32) -> $t {
                start + i as $t * step
            }
        }
    )*};
}

macro_rules! integer_steps {
    ($($t:ty)*) => {$(
        impl Step for $t {
            #[inline(always)]
            fn nth(start: $t, step: $t, i: usize) -> $t {
                start.wrapping_add((i as $t).wrapping_mul(step))
            }
            #[inline(always)]
            fn nth_small(start: $t, step: $t, i: i32) -> $t {
                start.wrapping_add((i as $t).wrapping_mul(step))
            }
        }
    )*};
}

float_steps! { f32 f64 }
integer_steps! { u8 u16 i32 i64 }

multiversion! {
    fn range_run[I, T: (Step)](start: T, step: T, first: usize, out: &mut [MaybeUninit<T>]) {
        if first + out.len() <= i32::MAX as usize {
            for (i, out) in out.iter_mut().enumerate() {
                out.write(T::nth_small(start, step, (first + i) as i32));
            }
        } else {
            for (i, out) in out.iter_mut().enumerate() {
                out.write(T::nth(start, step, first + i));
            }
        }
    }
}

/// Writes `start + i · step` for `i` from 0 to below `count`; see [`Step::nth`] for the rounding.
///
/// # Safety
/// `to` is writable for `count` elements, aligned.
pub unsafe fn range<T: Step>(exec: &Exec<'_>, start: T, step: T, to: *mut T, count: usize) {
    let to = Shared(to);
    exec.for_ranges(count, TASK_BYTES / size_of::<T>(), |first, last| {
        // SAFETY: the ranges of tasks are disjoint and within `count`.
        let out = unsafe { std::slice::from_raw_parts_mut(to.get().add(first).cast(), last - first) };
        range_run(exec.level, start, step, first, out);
    });
}
