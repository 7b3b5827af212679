//! The gradient by the filters: the sum over pixels of what was under an element of the window, times the
//! gradient by the result.
//!
//! Pixels are summed in blocks, blocks in some parts, and parts at the end, all in an order that shapes alone
//! decide.

use super::blocks::even;
use super::by_few_filters::{self, is_few};
use super::by_filter_cuts::Cuts;
use super::by_filter_part::Task;
use super::depthwise;
use super::tile::Number;
use super::transpose_block::TransposeBlock;
use super::windows::Axis;
use crate::exec::Exec;
use crate::multiversion;
use std::ops::Add;

/// Images, the gradient by the result, and where the gradient by the filters goes. Strides are in elements.
#[derive(Clone, Copy, Debug)]
pub struct ByFilter<T> {
    /// How many images there are.
    pub batch: usize,
    /// Groups of channels.
    pub groups: usize,
    /// Channels of a group that filters take, and that they make.
    pub taken: usize,
    /// Channels of a group that filters make.
    pub made: usize,
    /// How windows lie on the images.
    pub axes: [Axis; 2],
    /// Images, their height and width, and their strides by image, channel, row and column.
    pub images: *const T,
    /// Height and width of an image.
    pub size: [usize; 2],
    /// See `images`.
    pub image_strides: [usize; 4],
    /// The gradient by the result, and its strides by image, channel, row and column.
    pub upstream: *const T,
    /// See `upstream`.
    pub upstream_strides: [usize; 4],
    /// The gradient by the filters: `[filters, taken, height, width]`, or `[height, width, taken, filters]`
    /// where channels are last.
    pub out: *mut T,
    /// Whether channels are last.
    pub last: bool,
    /// Memory for [`ByFilter::partial_len`] numbers.
    pub memory: *mut T,
}

// SAFETY: it only describes a gradient; whoever follows its addresses says why tasks do not collide.
unsafe impl<T: Sync> Sync for ByFilter<T> {}

impl<T: Number> ByFilter<T> {
    pub(super) fn window(&self) -> usize {
        self.axes[0].window * self.axes[1].window
    }

    fn cuts(&self) -> Cuts {
        Cuts::new(self.axes, [self.batch, self.groups, self.taken, self.made], self.last, size_of::<T>())
    }

    /// Numbers of memory that it wants; the addresses do not matter.
    pub fn partial_len(&self) -> usize {
        if is_few(self) {
            return by_few_filters::partial_len(self);
        }
        if let Some(len) = depthwise::partial_len(self) {
            return len;
        }
        self.cuts().parts * self.sums()
    }

    /// Numbers of a part.
    pub(super) fn sums(&self) -> usize {
        self.groups * self.taken * self.window() * filled_up::<T>(self.made)
    }
}

/// Filters with those that fill up the last register of any level.
pub(super) fn filled_up<T>(made: usize) -> usize {
    made.next_multiple_of(64 / size_of::<T>())
}

/// Computes it.
///
/// # Safety
/// All can be read or written for these sizes; what is written overlaps nothing.
pub unsafe fn by_filter<T: Number>(exec: &Exec<'_>, of: &ByFilter<T>) {
    let filters = of.groups * of.made;
    let count = filters * of.taken * of.window();
    if count == 0 {
        return;
    }
    let cuts = of.cuts();
    if is_few(of) && cuts.pieces() > 0 {
        // SAFETY: the caller's promise.
        unsafe { by_few_filters::by_few_filters(exec, of) };
        return;
    }
    // SAFETY: the caller's promise.
    if cuts.pieces() > 0 && unsafe { depthwise::by_filter(exec, of) } {
        return;
    }
    if cuts.pieces() == 0 {
        // SAFETY: the caller's promise.
        (0..count).for_each(|i| unsafe { *of.out.add(i) = T::default() });
        return;
    }
    let cut = |whole: usize, part: usize| whole.div_ceil(part);
    let [down, across] = [0, 1].map(|n| cut(of.axes[n].window, cuts.elements[n]));
    let (channels, made) = (cut(of.taken, cuts.channels), cut(of.made, cuts.filters));
    let tasks = cuts.parts * of.groups * channels * made * down * across;
    exec.threads.run(tasks, &|task| {
        let mut rest = task;
        let mut next = |count: usize| {
            let n = rest % count;
            rest /= count;
            n
        };
        let range = |n: usize, part: usize, whole: usize| n * part..whole.min((n + 1) * part);
        let elements = [next(down), next(across)];
        let task = Task {
            of,
            level: exec.level,
            elements: [0, 1].map(|n| range(elements[n], cuts.elements[n], of.axes[n].window)),
            channels: range(next(channels), cuts.channels, of.taken),
            filters: range(next(made), cuts.filters, of.made),
            group: next(of.groups),
            part: next(cuts.parts),
        };
        let pieces = cuts.pieces();
        for number in pieces * task.part / cuts.parts..pieces * (task.part + 1) / cuts.parts {
            let first = number == pieces * task.part / cuts.parts;
            // SAFETY: the caller's promise; tasks have sums of their own.
            unsafe { task.add_piece(&cuts.piece(number), !first) };
        }
    });
    // SAFETY: the caller's promise; all parts are summed.
    unsafe { gather(exec, of, cuts.parts) };
}

/// Adds up the parts, and puts the sums where the gradient is.
///
/// # Safety
/// As [`by_filter`]; every part has its sums.
unsafe fn gather<T: Number>(exec: &Exec<'_>, of: &ByFilter<T>, parts: usize) {
    let (window, wide) = (of.window(), T::tiles(exec.level).columns());
    let (depth, lanes) = (of.taken * window, T::tiles(exec.level).lanes);
    let panels = of.made.div_ceil(wide);
    let rows = even(depth, 256);
    let blocks = depth.div_ceil(rows);
    exec.threads.run(of.groups * panels * blocks, &|task| {
        let (group, panel, block) = (task / blocks / panels, task / blocks % panels, task % blocks);
        let (filter, first) = (panel * wide, block * rows);
        let (made, count) = (wide.min(of.made - filter), rows.min(depth - first));
        let columns = made.next_multiple_of(lanes);
        // SAFETY: tasks have rows and filters of their own; they are within the sums and within the result.
        unsafe {
            let at = group * depth * filled_up::<T>(of.made) + depth * filter + first * columns;
            let sums = of.memory.add(at);
            for part in 1..parts {
                add_run(exec.level, of.memory.add(part * of.sums() + at), sums, count * columns);
            }
            let filters = group * of.made + filter;
            if of.last {
                for row in 0..count {
                    let (channel, element) = ((first + row) / window, (first + row) % window);
                    let to = of.out.add((element * of.taken + channel) * of.groups * of.made + filters);
                    std::ptr::copy_nonoverlapping(sums.add(row * columns), to, made);
                }
            } else {
                let transpose = TransposeBlock {
                    from: sums.cast_const(),
                    distance: columns,
                    rows: count,
                    columns: made,
                    to: of.out.add(filters * depth + first),
                    along: 1,
                    across: depth,
                    add: false,
                };
                transpose.run(exec.level);
            }
        }
    });
}

multiversion! {
    /// Adds a run of numbers to another. Safe to call where both can be read, and `to` written: [`gather`]
    /// sees to it.
    fn add_run[I, T: (Copy + Add<Output = T>)](from: *const T, to: *mut T, count: usize) {
        for i in 0..count {
            // SAFETY: as said.
            unsafe { *to.add(i) = *to.add(i) + *from.add(i) };
        }
    }
}
