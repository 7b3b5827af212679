//! Layer normalisation of rows: mean and variance in two passes over a row that stays in cache.

use super::TASK;
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::scratch::with_scratch;
use crate::{multiversion, stream};

/// Rows up to this many bytes are kept in a buffer of their own when results are streamed.
const BUFFERED_BYTES: usize = 128 << 10;

/// Elements of a row that are written at a time, while as many of the next one are asked for.
const PART: usize = 128;

/// `(x - mean) / √(variance + epsilon) · scale + shift` of each row.
///
/// # Safety
/// `input` is readable and `output` writable for `rows · columns` elements, without overlap; `scale` and
/// `shift` have `columns`.
pub unsafe fn layer_norm<T: Float>(
    exec: &Exec<'_>,
    epsilon: f64,
    input: *const T,
    scale: &[T],
    shift: &[T],
    output: *mut T,
    rows: usize,
) {
    let columns = scale.len();
    let bytes = std::mem::size_of_val(scale);
    let streaming = rows * bytes >= exec.streaming_bytes && bytes <= BUFFERED_BYTES;
    if columns == 0 {
        return;
    }
    let (from, to) = (Shared(input), Shared(output));
    // SAFETY: rows are within both tensors, and no two tasks write the same; one row is held at a time.
    let x = |row: usize| unsafe { std::slice::from_raw_parts(from.get().add(row * columns), columns) };
    // SAFETY: as above.
    let y = |row: usize| unsafe { std::slice::from_raw_parts_mut(to.get().add(row * columns), columns) };
    let epsilon = T::from_f64(epsilon);
    exec.for_ranges(rows, TASK / columns, |first, last| {
        if !streaming {
            return (first..last).for_each(|row| norm_row(exec.level, epsilon, x(row), scale, shift, y(row)));
        }
        with_scratch::<T, _>(columns, |buffer| {
            buffer.fill(std::mem::MaybeUninit::new(T::ZERO));
            // SAFETY: filled just now.
            let buffer = unsafe { &mut *(std::ptr::from_mut(buffer) as *mut [T]) };
            for row in first..last {
                norm_row(exec.level, epsilon, x(row), scale, shift, buffer);
                // SAFETY: the buffer is as long as the row, and apart from it.
                unsafe { stream::copy_streaming(buffer.as_ptr().cast(), y(row).as_mut_ptr().cast(), bytes) };
            }
        });
        stream::fence();
    });
}

multiversion! {
    fn norm_row[I, T: (Float)](epsilon: T, x: &[T], scale: &[T], shift: &[T], y: &mut [T]) {
        let count = x.len();
        let mean = T::sum_row::<I>(x) / T::from_f64(count as f64);
        let variance = T::squared_distances_row::<I>(x, mean) / T::from_f64(count as f64);
        let factor = T::ONE / (variance + epsilon).sqrt();
        let parts = x.chunks(PART).zip(scale.chunks(PART)).zip(shift.chunks(PART)).zip(y.chunks_mut(PART));
        for (((x, scale), shift), y) in parts {
            // The next row, if there is one.
            for at in (0..x.len()).step_by(stream::LINE_BYTES / size_of::<T>()) {
                stream::prefetch(x.as_ptr().wrapping_add(at + count));
            }
            for (((y, x), scale), shift) in y.iter_mut().zip(x).zip(scale).zip(shift) {
                *y = ((*x - mean) * factor).mul_add::<I>(*scale, *shift);
            }
        }
    }
}
