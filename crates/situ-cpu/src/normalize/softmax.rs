//! Softmax and log-softmax of rows.
//!
//! A row is read once for its softmax: it is cut into pieces, each of which is shifted by its own largest
//! while it is near; the factor by which a piece's exponentials are then multiplied makes up for that. A row
//! that is one piece is the common formula.

use super::{PIECE, TASK, sum_of_exponentials, unwritten};
use crate::exec::{Exec, Shared};
use crate::level::Isa;
use crate::math::Float;
use crate::scratch::with_scratch;
use crate::{multiversion, stream};

/// Rows up to this many bytes are kept in a buffer of their own when results are streamed: two of them stay
/// in the second-level cache.
const BUFFERED_BYTES: usize = 128 << 10;

/// The most pieces of a row.
const MOST_PIECES: usize = 64;

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
    // SAFETY: rows `first..last` are within both tensors, and no two tasks write the same.
    let x = |first: usize, last: usize| unsafe {
        std::slice::from_raw_parts(from.get().add(first * columns), (last - first) * columns)
    };
    // SAFETY: as above; a task holds one such slice.
    let y = |first: usize, last: usize| unsafe {
        std::slice::from_raw_parts_mut(to.get().add(first * columns), (last - first) * columns)
    };
    if log {
        return exec.for_ranges(rows, TASK / columns, |first, last| {
            log_softmax_rows(exec.level, columns, x(first, last), y(first, last), streaming);
            if streaming {
                stream::fence();
            }
        });
    }
    if !streaming {
        return exec.for_ranges(rows, TASK / columns, |first, last| {
            softmax_rows(exec.level, columns, x(first, last), y(first, last));
        });
    }
    exec.for_ranges(rows, (2 * TASK / columns).max(4), |first, last| {
        with_scratch::<T, _>(2 * columns, |buffers| {
            softmax_rows_streaming(exec.level, columns, x(first, last), y(first, last), buffers);
        });
        stream::fence();
    });
}

/// Elements in a piece of a row. Double precision has whole rows: a second shift rounds once more, and its
/// time goes to the scalar exponentials anyway.
fn piece_of<T>(columns: usize) -> usize {
    if size_of::<T>() == size_of::<f32>() {
        columns.div_ceil(MOST_PIECES).next_multiple_of(PIECE)
    } else {
        columns
    }
}

/// A row's exponentials, each piece shifted by its own largest, and what is still to be multiplied into them.
struct Pieces<T> {
    /// Elements in a piece; the last may be shorter.
    len: usize,
    /// The factor of each piece.
    factors: [T; MOST_PIECES],
}

impl<T: Float> Pieces<T> {
    fn new(columns: usize) -> Pieces<T> {
        Pieces { len: piece_of::<T>(columns), factors: [T::ZERO; MOST_PIECES] }
    }

    /// Writes the exponentials of a row to `y`, calling `after` with the number of each piece that is done.
    #[inline(always)]
    fn write<I: Isa>(&mut self, x: &[T], y: &mut [std::mem::MaybeUninit<T>], mut after: impl FnMut(usize)) {
        let mut totals = [T::ZERO; MOST_PIECES];
        let mut largest = T::NEG_INFINITY;
        let mut count = 0;
        for (x, y) in x.chunks(self.len).zip(y.chunks_mut(self.len)) {
            let shift = T::largest_in_row::<I>(x);
            // A piece of -inf alone has no largest, and may be one of many: its exponentials are 0.
            let finite = if shift == T::NEG_INFINITY { T::ZERO } else { shift };
            totals[count] = T::exponentials_row::<I>(x, finite, y, self.len);
            self.factors[count] = shift;
            largest = if shift > largest { shift } else { largest };
            after(count);
            count += 1;
        }
        let mut total = T::ZERO;
        for (factor, part) in self.factors[..count].iter_mut().zip(totals) {
            // Where all are -inf this is NaN, as it should be.
            *factor = (*factor - largest).exp_nonpositive::<I>();
            total = total + *factor * part;
        }
        let inverse = T::ONE / total;
        for factor in &mut self.factors[..count] {
            *factor = *factor * inverse;
        }
    }
}

multiversion! {
    /// The softmax of rows of `columns` elements.
    fn softmax_rows[I, T: (Float)](columns: usize, x: &[T], y: &mut [T]) {
        if columns <= PIECE {
            return softmax_short_rows::<I, T>(columns, x, y);
        }
        let mut pieces = Pieces::new(columns);
        for (x, y) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)) {
            pieces.write::<I>(x, unwritten(y), |_| ());
            for (y, factor) in y.chunks_mut(pieces.len).zip(&pieces.factors) {
                T::scale_row::<I>(y, *factor);
            }
        }
    }
}

/// [`softmax_rows`] of rows of one piece. Several rows take each step together: one's end, which is a chain
/// of dependent instructions, is then hidden behind the next one's beginning.
#[inline(always)]
fn softmax_short_rows<I: Isa, T: Float>(columns: usize, x: &[T], y: &mut [T]) {
    const TOGETHER: usize = 4;
    for (x, y) in x.chunks(TOGETHER * columns).zip(y.chunks_mut(TOGETHER * columns)) {
        let mut shifts = [T::ZERO; TOGETHER];
        for (x, shift) in x.chunks_exact(columns).zip(&mut shifts) {
            *shift = T::largest_in_row::<I>(x);
        }
        let mut factors = [T::ZERO; TOGETHER];
        for (i, (x, y)) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)).enumerate() {
            factors[i] = T::ONE / T::exponentials_row::<I>(x, shifts[i], unwritten(y), TOGETHER * columns);
        }
        for (y, factor) in y.chunks_exact_mut(columns).zip(factors) {
            T::scale_row::<I>(y, factor);
        }
    }
}

multiversion! {
    /// [`softmax_rows`], past the caches, with `buffers` for two rows.
    ///
    /// A row goes to memory piece by piece between the exponentials of the next one, so that the stores drain
    /// while there is something to compute.
    fn softmax_rows_streaming[I, T: (Float)](
        columns: usize, x: &[T], y: &mut [T], buffers: &mut [std::mem::MaybeUninit<T>]
    ) {
        let (mut this, mut before) = buffers.split_at_mut(columns);
        let mut pieces = Pieces::new(columns);
        let mut done: Option<(&mut [T], [T; MOST_PIECES])> = None;
        for (x, y) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)) {
            let len = pieces.len;
            pieces.write::<I>(x, this, |piece| {
                if let Some((to, factors)) = &mut done {
                    // SAFETY: the row before was written to `before`.
                    unsafe { send::<I, T>(before, to, piece * len, len, factors[piece]) };
                }
            });
            done = Some((y, pieces.factors));
            std::mem::swap(&mut this, &mut before);
        }
        if let Some((to, factors)) = &mut done {
            for (piece, factor) in factors[..columns.div_ceil(pieces.len)].iter().enumerate() {
                // SAFETY: the last row was written to `before`.
                unsafe { send::<I, T>(before, to, piece * pieces.len, pieces.len, *factor) };
            }
        }
    }
}

/// Multiplies the piece of `row` that begins at `first`, of at most `len` elements, and streams it to its
/// place in `to`.
///
/// # Safety
/// The piece is written; `to` is as long as `row`.
#[inline(always)]
unsafe fn send<I: Isa, T: Float>(
    row: &mut [std::mem::MaybeUninit<T>],
    to: &mut [T],
    first: usize,
    len: usize,
    factor: T,
) {
    let range = first..row.len().min(first + len);
    let (from, to) = (&mut row[range.clone()], &mut to[range]);
    // SAFETY: written, by the caller's promise.
    let from = unsafe { &mut *(std::ptr::from_mut(from) as *mut [T]) };
    T::scale_row::<I>(from, factor);
    // SAFETY: two pieces of equal length, apart from each other.
    unsafe {
        stream::copy_streaming(from.as_ptr().cast(), to.as_mut_ptr().cast(), std::mem::size_of_val(to))
    };
}

multiversion! {
    /// The logarithm of the softmax of rows of `columns` elements, past the caches if `streaming`.
    fn log_softmax_rows[I, T: (Float)](columns: usize, x: &[T], y: &mut [T], streaming: bool) {
        let mut buffer = [T::ZERO; PIECE];
        for (x, y) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)) {
            let shift = T::largest_in_row::<I>(x);
            let log = sum_of_exponentials::<I, T>(x, shift).log::<I>();
            if !streaming {
                subtract::<T>(x, shift, log, y);
                continue;
            }
            for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
                subtract::<T>(x, shift, log, &mut buffer);
                // SAFETY: the buffer is at least as long, and apart.
                unsafe {
                    stream::copy_streaming(buffer.as_ptr().cast(), y.as_mut_ptr().cast(), std::mem::size_of_val(y))
                };
            }
        }
    }
}

#[inline(always)]
fn subtract<T: Float>(x: &[T], shift: T, log: T, y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = (*x - shift) - log;
    }
}
