//! The position of the largest or smallest element. NaN wins over every number, and the first of equals wins.

use super::{Extent, TASK};
use crate::exec::{Exec, Shared};
use crate::multiversion;

/// Which position is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// That of the largest.
    Max,
    /// That of the smallest.
    Min,
}

/// What can be compared: NaN beats all, and nothing beats NaN.
pub trait Ranked: Copy + PartialOrd + Send + Sync + 'static {}
impl<T: Copy + PartialOrd + Send + Sync + 'static> Ranked for T {}

/// Whether `x` takes the place of the best so far.
#[inline(always)]
#[allow(clippy::eq_op)] // x != x holds for NaN alone
fn beats<T: Ranked, const MAX: bool>(x: T, best: T) -> bool {
    let better = if MAX { x > best } else { x < best };
    better | ((x != x) & (best == best))
}

/// Elements compared lane by lane before the best block is remembered.
const BLOCK: usize = 2048;
const LANES: usize = 32;
/// Columns searched together.
const TILE: usize = 512;

/// The positions along the middle axis.
///
/// # Safety
/// `input` is readable for `outer · length · inner` elements, `output` writable for `outer · inner`, and
/// `length` is from 1 to `i32::MAX`.
pub unsafe fn arg_reduce<T: Ranked>(
    exec: &Exec<'_>,
    kind: ArgKind,
    input: *const T,
    output: *mut i32,
    extent: Extent,
) {
    // SAFETY: as for this function.
    unsafe {
        match kind {
            ArgKind::Max => arg_reduce_as::<T, true>(exec, input, output, extent),
            ArgKind::Min => arg_reduce_as::<T, false>(exec, input, output, extent),
        }
    }
}

/// # Safety
/// As for [`arg_reduce`].
unsafe fn arg_reduce_as<T: Ranked, const MAX: bool>(
    exec: &Exec<'_>,
    input: *const T,
    output: *mut i32,
    Extent { outer, length, inner }: Extent,
) {
    if outer * inner == 0 || length == 0 {
        return;
    }
    let (from, to) = (Shared(input), Shared(output));
    if inner == 1 {
        return exec.for_ranges(outer, TASK / length, |first, last| {
            for row in first..last {
                // SAFETY: the row is within the input, and its result within the output.
                unsafe {
                    let x = std::slice::from_raw_parts(from.get().add(row * length), length);
                    *to.get().add(row) = arg_row::<T, Direction<MAX>>(exec.level, x) as i32;
                }
            }
        });
    }
    let cuts = inner.div_ceil(TILE);
    exec.for_ranges(outer * cuts, (TASK / (length * inner.min(TILE))).max(1), |first, last| {
        for task in first..last {
            let (o, column) = (task / cuts, task % cuts * TILE);
            let columns = TILE.min(inner - column);
            // SAFETY: the rows of these columns are within the input; the results are within the output and
            // no other task's.
            unsafe {
                let start = from.get().add(o * length * inner + column);
                let rows = (0..length).map(|row| std::slice::from_raw_parts(start.add(row * inner), columns));
                let output = std::slice::from_raw_parts_mut(to.get().add(o * inner + column), columns);
                output.fill(0);
                let mut best = [*start; TILE];
                for (row, x) in rows.enumerate() {
                    if row == 0 {
                        best[..columns].copy_from_slice(x);
                    } else {
                        arg_columns::<T, Direction<MAX>>(
                            exec.level,
                            row as i32,
                            x,
                            &mut best[..columns],
                            output,
                        );
                    }
                }
            }
        }
    });
}

/// Max or min as a type, for [`multiversion!`](crate::multiversion), whose parameters are types.
struct Direction<const MAX: bool>;

trait Beats {
    fn beats<T: Ranked>(x: T, best: T) -> bool;
}

impl<const MAX: bool> Beats for Direction<MAX> {
    #[inline(always)]
    fn beats<T: Ranked>(x: T, best: T) -> bool {
        beats::<T, MAX>(x, best)
    }
}

multiversion! {
    fn arg_columns[I, T: (Ranked), B: (Beats)](row: i32, x: &[T], best: &mut [T], position: &mut [i32]) {
        for ((x, best), position) in x.iter().zip(best).zip(position) {
            let wins = B::beats(*x, *best);
            *best = if wins { *x } else { *best };
            *position = if wins { row } else { *position };
        }
    }
}

multiversion! {
    fn arg_row[I, T: (Ranked), B: (Beats)](x: &[T]) -> usize {
        let mut best = x[0];
        let mut best_block = 0;
        for (number, block) in x.chunks(BLOCK).enumerate() {
            let value = best_of::<T, B>(block);
            if B::beats(value, best) {
                (best, best_block) = (value, number);
            }
        }
        let start = best_block * BLOCK;
        let block = &x[start..];
        #[allow(clippy::eq_op)] // NaN is looked for as what differs from itself
        let found = if best != best { block.iter().position(|x| x != x) } else { block.iter().position(|x| *x == best) };
        start + found.unwrap_or(0)
    }
}

/// The best element of a block, lane by lane.
#[inline(always)]
fn best_of<T: Ranked, B: Beats>(block: &[T]) -> T {
    let mut lanes = [block[0]; LANES];
    let (chunks, rest) = block.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = if B::beats(*x, *lane) { *x } else { *lane };
        }
    }
    for x in rest.iter().chain(&lanes.clone()) {
        lanes[0] = if B::beats(*x, lanes[0]) { *x } else { lanes[0] };
    }
    lanes[0]
}
