//! Filters as panels: for every element of a window, in the order in which they are summed, the filters
//! beside each other.

use super::blocks::{Block, Blocks};
use super::correlate::Correlation;
use super::tile::Number;
use super::transpose_block::TransposeBlock;
use super::windows::Windows;
use crate::exec::Exec;
use crate::multiversion;
use crate::scratch::with_scratch;
use std::ops::Sub;
use std::sync::atomic::{AtomicBool, Ordering};

/// Filters of a group with those that fill up the last register of any level.
fn filled_up<T>(made: usize) -> usize {
    made.next_multiple_of(64 / size_of::<T>())
}

/// Numbers of memory for the panels of `groups` of filters with so many elements.
pub fn packed_len<T>(groups: usize, made: usize, elements: usize) -> usize {
    groups * elements * filled_up::<T>(made)
}

/// Where the panels of a block are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panels {
    /// Of the first panel, in elements from the start of all of them.
    pub(super) start: usize,
    /// Elements of windows.
    pub(super) depth: usize,
}

/// Calls `f` with each kind of windows, each group and each block, and where its panels are.
pub(super) fn each_block<T>(
    windows: &[Windows],
    blocks: &Blocks,
    [groups, taken, made]: [usize; 3],
    mut f: impl FnMut(&Windows, usize, &Block, Panels),
) {
    let mut start = 0;
    for windows in windows {
        for group in 0..groups {
            for block in blocks.list(taken, windows) {
                let depth = block.depth(windows);
                f(windows, group, &block, Panels { start, depth });
                start += depth * filled_up::<T>(made);
            }
        }
    }
}

/// Writes the panels of all filters: `wide` side by side, the last of them filled up to a multiple of
/// `lanes`. Says whether all are finite.
///
/// # Safety
/// The filters can be read, and the memory written for [`packed_len`] numbers.
pub(super) unsafe fn pack<T: Number>(
    exec: &Exec<'_>,
    of: &Correlation<'_, T>,
    windows: &[Windows],
    blocks: &Blocks,
    [lanes, wide]: [usize; 2],
) -> bool {
    let finite = AtomicBool::new(true);
    let mut list = Vec::new();
    each_block::<T>(windows, blocks, [of.groups, of.taken, of.made], |windows, group, block, panels| {
        for first in (0..of.made).step_by(wide) {
            list.push((*windows, group, block.clone(), panels, first));
        }
    });
    let [by_group, by_made, by_taken] = of.filter_strides;
    exec.threads.run(list.len(), &|task| {
        let (windows, group, block, panels, first) = &list[task];
        let count = wide.min(of.made - first);
        let columns = count.next_multiple_of(lanes);
        let (start, [y_step, x_step]) = windows.filter;
        let [down, across] = [0, 1].map(|n| block.within(windows, n));
        // SAFETY: the filters and their elements are within what the caller promises; tasks have panels of
        // their own.
        unsafe {
            let to = of.memory.add(panels.start + panels.depth * first);
            let from =
                of.filters.add(group * by_group + first * by_made + block.channels.start * by_taken + start);
            if columns > count {
                for k in 0..panels.depth {
                    (count..columns).for_each(|i| *to.add(k * columns + i) = T::default());
                }
            }
            let check = |to: *const T| {
                if !all_finite(exec.level, to, panels.depth * columns) {
                    finite.store(false, Ordering::Relaxed);
                }
            };
            // Where a filter's elements lie beside each other, blocks of them are turned round as they are,
            // and put in order then.
            let whole = down.len() * across.len();
            if x_step == 1 && y_step == across.len() && by_taken == whole && by_made > 1 {
                let from = from.add(down.start * y_step + across.start);
                let (depth, channels) = (panels.depth, block.channels.len());
                with_scratch::<T, _>(depth * columns, |turned| {
                    let turned = turned.as_mut_ptr().cast::<T>();
                    let transpose = TransposeBlock {
                        from,
                        distance: by_made,
                        rows: count,
                        columns: depth,
                        to: turned,
                        along: 1,
                        across: columns,
                        add: false,
                    };
                    transpose.run(exec.level);
                    for k in 0..depth {
                        let (channel, y, x) = (k / whole, k % whole / across.len(), k % across.len());
                        let number = (x * down.len() + y) * channels + channel;
                        std::ptr::copy_nonoverlapping(
                            turned.add(k * columns),
                            to.add(number * columns),
                            count,
                        );
                    }
                });
                check(to);
                return;
            }
            let all = to;
            let mut to = to;
            block.each(windows, |channel, [y, x]| {
                let from = from.add(channel * by_taken + y * y_step + x * x_step);
                for i in 0..count {
                    *to.add(i) = *from.add(i * by_made);
                }
                to = to.add(columns);
            });
            check(all);
        }
    });
    finite.into_inner()
}

multiversion! {
    /// Whether all of a run of numbers are finite. Safe to call where they can be read.
    pub(super) fn all_finite[I, T: (Copy + Default + PartialEq + Sub<Output = T>)](from: *const T, count: usize) -> bool {
        let mut finite = true;
        for i in 0..count {
            // SAFETY: as said.
            let [value, same] = unsafe { [*from.add(i); 2] };
            // A difference that is zero for numbers, and NaN for all else.
            finite &= value - same == T::default();
        }
        finite
    }
}
