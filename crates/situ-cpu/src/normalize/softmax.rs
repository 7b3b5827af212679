//! Softmax and log-softmax of rows.

use super::{PIECE, TASK, exponentials, unwritten};
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::scratch::with_scratch;
use crate::{multiversion, stream};

/// Rows up to this many bytes are kept in a buffer of their own when results are streamed: two of them stay in the second-level
/// cache.
const BUFFERED_BYTES: usize = 128 << 10;

/// The softmax of `rows` rows of `columns` elements, or its logarithm.
///
/// # Safety
/// `input` is readable and `output` writable for `rows · columns` elements, without overlap.
pub unsafe fn softmax<T: Float>(
    exec: &Exec<'_>,
    log: bool,
    input: *const T,
    output: *mut T,
    rows: usize,
    columns: usize,
) {
    if columns == 0 {
        return;
    }
    let (from, to) = (Shared(input), Shared(output));
    let bytes = columns * size_of::<T>();
    let streaming = rows * bytes >= exec.streaming_bytes && bytes <= BUFFERED_BYTES;
    // SAFETY: rows are within both tensors, and no two tasks write the same; one row is held at a time.
    let x = |row: usize| unsafe { std::slice::from_raw_parts(from.get().add(row * columns), columns) };
    // SAFETY: as above.
    let y = |row: usize| unsafe { std::slice::from_raw_parts_mut(to.get().add(row * columns), columns) };
    if !streaming {
        return exec.for_ranges(rows, TASK / columns, |first, last| {
            for row in first..last {
                if log {
                    log_softmax_row(exec.level, x(row), y(row));
                } else {
                    softmax_row(exec.level, x(row), y(row));
                }
            }
        });
    }
    exec.for_ranges(rows, (4 * TASK / columns).max(4), |first, last| {
        with_scratch::<T, _>(2 * columns, |buffers| {
            buffers.fill(std::mem::MaybeUninit::new(T::ZERO));
            // SAFETY: filled just now.
            let buffers = unsafe { &mut *(std::ptr::from_mut(buffers) as *mut [T]) };
            let (mut this, mut before) = buffers.split_at_mut(columns);
            for row in first..last {
                // The row before goes to memory piece by piece between the exponentials of this one, so that the stores
                // drain while there is something to compute.
                let done: &mut [T] = if row > first { y(row - 1) } else { &mut [] };
                if log {
                    log_softmax_row_streaming(exec.level, x(row), this, before, done);
                } else {
                    softmax_row_streaming(exec.level, x(row), this, before, done);
                }
                std::mem::swap(&mut this, &mut before);
            }
            // SAFETY: both are one row, apart from each other.
            unsafe { stream::copy_streaming(before.as_ptr().cast(), y(last - 1).as_mut_ptr().cast(), bytes) };
        });
        stream::fence();
    });
}

multiversion! {
    fn softmax_row[I, T: (Float)](x: &[T], y: &mut [T]) {
        let shift = T::largest_in_row::<I>(x);
        let mut total = T::ZERO;
        for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
            total = total + T::sum_row::<I>(exponentials::<I, T>(x, shift, unwritten(y)));
        }
        scale::<T>(y, T::ONE / total);
    }
}

multiversion! {
    /// [`softmax_row`] into `y`, while `before` is streamed to `done`, which is either as long or empty.
    fn softmax_row_streaming[I, T: (Float)](x: &[T], y: &mut [T], before: &[T], done: &mut [T]) {
        let shift = T::largest_in_row::<I>(x);
        let mut total = T::ZERO;
        let mut pieces = done.chunks_mut(PIECE).zip(before.chunks(PIECE));
        for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
            total = total + T::sum_row::<I>(exponentials::<I, T>(x, shift, unwritten(y)));
            send(pieces.next());
        }
        scale::<T>(y, T::ONE / total);
    }
}

multiversion! {
    fn log_softmax_row[I, T: (Float)](x: &[T], y: &mut [T]) {
        let shift = T::largest_in_row::<I>(x);
        // The exponentials pass through the result, which is in cache anyway.
        let mut total = T::ZERO;
        for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
            total = total + T::sum_row::<I>(exponentials::<I, T>(x, shift, unwritten(y)));
        }
        subtract::<T>(x, shift, total.log::<I>(), y);
    }
}

multiversion! {
    /// [`log_softmax_row`] into `y`, while `before` is streamed to `done`, which is either as long or empty.
    fn log_softmax_row_streaming[I, T: (Float)](
        x: &[T], y: &mut [T], before: &[T], done: &mut [T]
    ) {
        let shift = T::largest_in_row::<I>(x);
        let mut total = T::ZERO;
        let mut pieces = done.chunks_mut(PIECE).zip(before.chunks(PIECE));
        for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
            total = total + T::sum_row::<I>(exponentials::<I, T>(x, shift, unwritten(y)));
            send(pieces.next());
        }
        subtract::<T>(x, shift, total.log::<I>(), y);
    }
}

/// Streams one piece of a finished row, if there is one.
#[inline(always)]
fn send<T: Float>(piece: Option<(&mut [T], &[T])>) {
    if let Some((to, from)) = piece {
        // SAFETY: two pieces of equal length, apart from each other.
        unsafe {
            stream::copy_streaming(from.as_ptr().cast(), to.as_mut_ptr().cast(), std::mem::size_of_val(to))
        };
    }
}

#[inline(always)]
fn subtract<T: Float>(x: &[T], shift: T, log: T, y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = (*x - shift) - log;
    }
}

#[inline(always)]
fn scale<T: Float>(y: &mut [T], factor: T) {
    for y in y.iter_mut() {
        *y = *y * factor;
    }
}
