//! Softmax and log-softmax of rows.

use super::{TASK, largest, sum_of_exponentials};
use crate::exec::{Exec, Shared};
use crate::level::Isa;
use crate::math::Float;
use crate::reduce::row::reduce_mapped;
use crate::reduce::{Reducer, Sum};
use crate::scratch::with_scratch;
use crate::{multiversion, stream};

/// Exponentials are computed and added up in pieces that stay in the first-level cache.
const PIECE: usize = 1024;
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
) where
    Sum: Reducer<T>,
{
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
                if log {
                    log_softmax_row(exec.level, x(row), this);
                    // SAFETY: both are one row, apart from each other.
                    unsafe {
                        stream::copy_streaming(this.as_ptr().cast(), y(row).as_mut_ptr().cast(), bytes)
                    };
                } else {
                    // The row before goes to memory piece by piece between the exponentials of this one, so that the
                    // stores drain while there is something to compute.
                    let done: &mut [T] = if row > first { y(row - 1) } else { &mut [] };
                    softmax_row_streaming(exec.level, x(row), this, before, done);
                    std::mem::swap(&mut this, &mut before);
                }
            }
            if !log {
                // SAFETY: as above.
                unsafe {
                    stream::copy_streaming(before.as_ptr().cast(), y(last - 1).as_mut_ptr().cast(), bytes)
                };
            }
        });
        stream::fence();
    });
}

multiversion! {
    fn softmax_row[I, T: (Float)](x: &[T], y: &mut [T]) where (Sum: Reducer<T>) {
        let shift = largest::<I, T>(x);
        let mut total = T::ZERO;
        for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
            exponentials::<I, T>(x, shift, y);
            total = total + reduce_mapped::<I, T, Sum>(y, |y| y);
        }
        scale::<T>(y, T::ONE / total);
    }
}

multiversion! {
    /// [`softmax_row`] into `y`, while `before` is streamed to `done`, which is either as long or empty.
    fn softmax_row_streaming[I, T: (Float)](x: &[T], y: &mut [T], before: &[T], done: &mut [T]) where (Sum: Reducer<T>) {
        let shift = largest::<I, T>(x);
        let mut total = T::ZERO;
        let before = &before[..done.len()];
        let mut sent = before.chunks(PIECE).zip(done.chunks_mut(PIECE));
        for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
            exponentials::<I, T>(x, shift, y);
            total = total + reduce_mapped::<I, T, Sum>(y, |y| y);
            if let Some((from, to)) = sent.next() {
                // SAFETY: two pieces of equal length, apart from each other.
                unsafe {
                    stream::copy_streaming(from.as_ptr().cast(), to.as_mut_ptr().cast(), std::mem::size_of_val(from));
                }
            }
        }
        scale::<T>(y, T::ONE / total);
    }
}

multiversion! {
    fn log_softmax_row[I, T: (Float)](x: &[T], y: &mut [T]) where (Sum: Reducer<T>) {
        let shift = largest::<I, T>(x);
        let log = sum_of_exponentials::<I, T>(x, shift).log::<I>();
        for (y, x) in y.iter_mut().zip(x) {
            *y = (*x - shift) - log;
        }
    }
}

#[inline(always)]
fn scale<T: Float>(y: &mut [T], factor: T) {
    for y in y.iter_mut() {
        *y = *y * factor;
    }
}

/// `y = e^(x - shift)`; the last few elements go through the vector loop too, padded.
#[inline(always)]
fn exponentials<I: Isa, T: Float>(x: &[T], shift: T, y: &mut [T]) {
    const PAD: usize = 16;
    #[inline(always)]
    fn each<I: Isa, T: Float>(x: &[T], shift: T, y: &mut [T]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = (*x - shift).exp_nonpositive::<I>();
        }
    }
    let whole = x.len() - x.len() % PAD;
    each::<I, T>(&x[..whole], shift, &mut y[..whole]);
    let rest = x.len() - whole;
    if rest > 0 {
        let (mut padded, mut results) = ([T::NEG_INFINITY; PAD], [T::ZERO; PAD]);
        padded[..rest].copy_from_slice(&x[whole..]);
        each::<I, T>(&padded, shift, &mut results);
        y[whole..].copy_from_slice(&results[..rest]);
    }
}
