//! Softmax over an axis that is not the innermost: the same passes, across columns instead of along rows.

use super::TASK;
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::multiversion;

/// Columns done together, so that their maxima and sums stay in the first-level cache.
const TILE: usize = 256;
/// Rows whose exponentials are added up in one chain. The sums of such blocks are added with what each
/// addition loses, so that the error does not grow with the length.
const BLOCK: usize = 64;

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
            let (mut part, mut lost) = ([T::ZERO; TILE], [T::ZERO; TILE]);
            let (part, lost) = (&mut part[..columns], &mut lost[..columns]);
            for block in (0..length).step_by(BLOCK) {
                part.fill(T::ZERO);
                for row in block..length.min(block + BLOCK) {
                    if log {
                        add_exponentials(exec.level, x(row), shift, part);
                    } else {
                        write_exponentials(exec.level, x(row), shift, part, y(row));
                    }
                }
                add_block(exec.level, part, total, lost);
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
    fn add_block[I, T: (Float)](part: &[T], total: &mut [T], lost: &mut [T]) {
        for ((part, total), lost) in part.iter().zip(total).zip(lost) {
            let added = *part - *lost;
            let sum = *total + added;
            *lost = (sum - *total) - added;
            *total = sum;
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
