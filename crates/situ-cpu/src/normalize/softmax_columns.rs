//! Softmax over an axis that is not the innermost: the same passes, across columns instead of along rows.

use super::TASK;
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::multiversion;

/// Columns done together, so that their maxima and sums stay in the first-level cache.
const TILE: usize = 256;

/// The softmax, or its logarithm, over the middle of `[outer, length, inner]`.
///
/// # Safety
/// `input` is readable and `output` writable for `outer · length · inner` elements, without overlap.
pub unsafe fn softmax_columns<T: Float>(
    exec: &Exec<'_>,
    log: bool,
    input: *const T,
    output: *mut T,
    outer: usize,
    length: usize,
    inner: usize,
) {
    if length * inner == 0 {
        return;
    }
    let (from, to) = (Shared(input), Shared(output));
    let cuts = inner.div_ceil(TILE);
    exec.for_ranges(outer * cuts, TASK / (length * inner.min(TILE)), |first, last| {
        for task in first..last {
            let start = task / cuts * length * inner + task % cuts * TILE;
            let columns = TILE.min(inner - task % cuts * TILE);
            let (mut shift, mut total) = ([T::NEG_INFINITY; TILE], [T::ZERO; TILE]);
            let (shift, total) = (&mut shift[..columns], &mut total[..columns]);
            // SAFETY: these columns of every row are within both tensors, and no other task writes them.
            let x = |row: usize| unsafe {
                std::slice::from_raw_parts(from.get().add(start + row * inner), columns)
            };
            // SAFETY: as above; one row is held at a time.
            let y = |row: usize| unsafe {
                std::slice::from_raw_parts_mut(to.get().add(start + row * inner), columns)
            };
            for row in 0..length {
                raise(exec.level, x(row), shift);
            }
            for row in 0..length {
                if log {
                    add_exponentials(exec.level, x(row), shift, total);
                } else {
                    write_exponentials(exec.level, x(row), shift, total, y(row));
                }
            }
            finish_totals(exec.level, log, total);
            for row in 0..length {
                if log {
                    subtract(exec.level, x(row), shift, total, y(row));
                } else {
                    scale(exec.level, total, y(row));
                }
            }
        }
    });
}

multiversion! {
    fn raise[I, T: (Float)](x: &[T], shift: &mut [T]) {
        for (shift, x) in shift.iter_mut().zip(x) {
            *shift = if *x > *shift { *x } else { *shift };
        }
    }
}

multiversion! {
    fn write_exponentials[I, T: (Float)](x: &[T], shift: &[T], total: &mut [T], y: &mut [T]) {
        for (((y, x), shift), total) in y.iter_mut().zip(x).zip(shift).zip(total) {
            *y = (*x - *shift).exp_nonpositive::<I>();
            *total = *total + *y;
        }
    }
}

multiversion! {
    fn add_exponentials[I, T: (Float)](x: &[T], shift: &[T], total: &mut [T]) {
        for ((x, shift), total) in x.iter().zip(shift).zip(total) {
            *total = *total + (*x - *shift).exp_nonpositive::<I>();
        }
    }
}

multiversion! {
    fn finish_totals[I, T: (Float)](log: bool, total: &mut [T]) {
        for total in total.iter_mut() {
            *total = if log { total.log::<I>() } else { T::ONE / *total };
        }
    }
}

multiversion! {
    fn scale[I, T: (Float)](factor: &[T], y: &mut [T]) {
        for (y, factor) in y.iter_mut().zip(factor) {
            *y = *y * *factor;
        }
    }
}

multiversion! {
    fn subtract[I, T: (Float)](x: &[T], shift: &[T], log: &[T], y: &mut [T]) {
        for (((y, x), shift), log) in y.iter_mut().zip(x).zip(shift).zip(log) {
            *y = (*x - *shift) - *log;
        }
    }
}
