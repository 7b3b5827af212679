//! Reductions of dense tensors seen as `[outer, length, inner]`, over the middle: what any set of
//! neighbouring axes comes to.
//!
//! Sums are trees of fixed shape: 32 running sums within a block, and pairs of blocks above. So the error
//! grows with the logarithm of the length, and the same bits come out with any number of threads. NaN goes
//! through max and min; for argmax and argmin NaN wins over every number, and the first of equals wins.
//!
//! Axes that are not neighbours are reduced one group after the other; see [`groups`].

mod arg;
mod column;
pub mod groups;
mod kind;
mod row;

pub use arg::{ArgKind, arg_reduce};
pub use kind::{All, Any, Max, Min, Prod, Reducer, Sum};

use crate::exec::{Exec, Shared};

/// A dense tensor to be reduced over its middle axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Independent reductions, far apart in memory.
    pub outer: usize,
    /// Elements reduced to one.
    pub length: usize,
    /// Independent reductions, next to each other.
    pub inner: usize,
}

/// About how many elements are worth a task.
const TASK: usize = 1 << 16;

/// Reduces over the middle axis. Of nothing, the result is the identity.
///
/// # Safety
/// `input` is readable for `outer · length · inner` elements and `output` writable for `outer · inner`,
/// without overlap.
pub unsafe fn reduce<T: Copy + Send + Sync + 'static, R: Reducer<T>>(
    exec: &Exec<'_>,
    input: *const T,
    output: *mut T,
    extent: Extent,
) {
    let Extent { outer, length, inner } = extent;
    if outer * inner == 0 {
        return;
    }
    // The cut along the reduced axis, where it is so long that one reduction is worth several tasks.
    let rows = (TASK / inner).max(64);
    let parts = length.div_ceil(rows).max(1);
    if parts == 1 {
        // SAFETY: as for this function.
        return unsafe { reduce_whole::<T, R>(exec, input, output, extent) };
    }
    let mut partial = vec![R::IDENTITY; outer * parts * inner];
    let (from, to) = (Shared(input), Shared(partial.as_mut_ptr()));
    // Two parts a task: one by itself takes about a microsecond where it is near.
    exec.for_ranges(outer * parts, 2, |from_part, to_part| {
        for at in from_part..to_part {
            let (o, part) = (at / parts, at % parts);
            let first = part * rows;
            let count = rows.min(length - first);
            // SAFETY: rows `first..first + count` of block `o` are within the input; each part writes its own
            // partial row.
            unsafe {
                let input = from.get().add((o * length + first) * inner);
                one::<T, R>(exec, input, to.get().add(at * inner), count, inner);
            }
        }
    });
    // SAFETY: `partial` has `parts` rows for each outer index.
    unsafe { reduce::<T, R>(exec, partial.as_ptr(), output, Extent { outer, length: parts, inner }) }
}

/// [`reduce`] where no single reduction is cut along its length: tasks take several outer indices, or some
/// columns of one.
///
/// # Safety
/// As for [`reduce`].
unsafe fn reduce_whole<T: Copy + Send + Sync + 'static, R: Reducer<T>>(
    exec: &Exec<'_>,
    input: *const T,
    output: *mut T,
    Extent { outer, length, inner }: Extent,
) {
    let (from, to) = (Shared(input), Shared(output));
    let block = length * inner;
    if block <= 2 * TASK {
        return exec.for_ranges(outer, TASK / block.max(1), |first, last| {
            for o in first..last {
                // SAFETY: block `o` is within the input, and its results within the output.
                unsafe {
                    one::<T, R>(exec, from.get().add(o * block), to.get().add(o * inner), length, inner)
                };
            }
        });
    }
    // Here `inner` is large: cut the columns.
    let columns = (TASK / length.max(1)).max(column::TILE);
    let cuts = inner.div_ceil(columns);
    exec.for_ranges(outer * cuts, 1, |task, _| {
        let (o, first) = (task / cuts, task % cuts * columns);
        let count = columns.min(inner - first);
        // SAFETY: these columns of block `o` are within the input and the output, and no other task's.
        unsafe {
            let (input, output) = (from.get().add(o * block + first), to.get().add(o * inner + first));
            column::reduce_columns::<T, R>(exec.level, input, output, length, count, inner);
        }
    });
}

/// One block `[length, inner]` on the calling thread.
///
/// # Safety
/// `input` is readable for the block and `output` writable for `inner` elements.
unsafe fn one<T: Copy + 'static, R: Reducer<T>>(
    exec: &Exec<'_>,
    input: *const T,
    output: *mut T,
    length: usize,
    inner: usize,
) {
    if inner == 1 {
        // SAFETY: the block is one run of `length` elements, with one result.
        unsafe { *output = row::reduce_row::<T, R>(exec.level, std::slice::from_raw_parts(input, length)) };
    } else {
        // SAFETY: as for this function.
        unsafe { column::reduce_columns::<T, R>(exec.level, input, output, length, inner, inner) };
    }
}

#[cfg(test)]
mod tests;
