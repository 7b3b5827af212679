//! One filter for each channel where channels are last: registers of channels, for all that
//! [`correlate`](super::correlate()) and [`by_filter`](super::by_filter()) do. Images are read where they
//! are, once for each element of a window: nothing is copied.

use super::by_filter::ByFilter;
use super::channels::{BESIDE, Pixels, Products};
use super::correlate::Correlation;
use super::tile::Number;
use super::windows::{Axis, Windows};
use crate::exec::Exec;
use crate::scratch::with_scratch;
use std::ops::Range;

/// Results of a task, about.
const TASK: usize = 64 << 10;
/// Channels that are summed at a time.
const CHANNELS: usize = 64;
/// Elements of a window, at most: its table is kept by each thread.
const ELEMENTS: usize = 1 << 10;
/// Parts that are summed apart, at most.
const PARTS: usize = 8;

fn range(n: usize, part: usize, whole: usize) -> Range<usize> {
    n * part..whole.min((n + 1) * part)
}

/// An image that windows of one kind lie on.
struct Lines<'a> {
    axes: &'a [Axis; 2],
    size: [usize; 2],
    /// From one row and one column of the image to the next.
    strides: [usize; 2],
}

impl Lines<'_> {
    /// The places along the line at which all of a window's columns are on the image.
    fn inner(&self) -> Range<usize> {
        let axis = &self.axes[1];
        let Some([low, high]) = axis.bounds(&(0..1), &(0..axis.window)) else { return 0..axis.places };
        let first = if low < 0 { (-low + axis.step - 1) / axis.step } else { 0 };
        let end = (self.size[1] as isize - high + axis.step - 1).max(0) / axis.step;
        let first = (first as usize).min(axis.places);
        first..(end as usize).clamp(first, axis.places)
    }

    /// Calls `f` with places of a line whose windows lie on the image alike, and where the first of them
    /// begins; `table` gets, for each element, how far it is from there, and what `second` says of it. Says
    /// whether any is beside the image.
    fn each(
        &self,
        line: usize,
        table: *mut [isize; 2],
        second: impl Fn([usize; 2]) -> isize,
        mut f: impl FnMut(Range<usize>, isize, bool),
    ) {
        let [down, across] = self.axes;
        let top = line as isize * down.step + down.offset;
        let (inner, [by_row, by_column]) = (self.inner(), self.strides.map(|s| s as isize));
        let mut run = |places: Range<usize>| {
            let left = places.start as isize * across.step + across.offset;
            let on = |at: isize, axis: usize| at >= 0 && at < self.size[axis] as isize;
            let (mut k, mut beside) = (0, false);
            for y in 0..down.window {
                let row = top + y as isize * down.dilation;
                for x in 0..across.window {
                    let (y_at, x_at) = (y as isize * down.dilation, x as isize * across.dilation);
                    let inside = on(row, 0) && on(left + x_at, 1);
                    let at = if inside { y_at * by_row + x_at * by_column } else { BESIDE };
                    // SAFETY: whoever made the table has room for every element of the window.
                    unsafe { table.add(k).write([at, second([y, x])]) };
                    (k, beside) = (k + 1, beside | !inside);
                }
            }
            f(places, top * by_row + left * by_column, beside);
        };
        (0..inner.start).for_each(|x| run(x..x + 1));
        if !inner.is_empty() {
            run(inner.clone());
        }
        (inner.end..across.places).for_each(|x| run(x..x + 1));
    }
}

/// Computes a correlation, where this is the way to do it; says whether it was.
///
/// # Safety
/// As [`correlate`](super::correlate()).
pub(super) unsafe fn correlate<T: Number>(exec: &Exec<'_>, of: &Correlation<'_, T>) -> bool {
    let [by_group, ..] = of.filter_strides;
    let elements = of.elements();
    if !of.is_last()
        || of.taken != 1
        || of.made != 1
        || of.groups == 1
        || by_group != 1
        || !(1..=ELEMENTS).contains(&elements)
    {
        return false;
    }
    let all = [0, 1].map(|n| of.windows.iter().map(|w| w.axes[n].places).max().unwrap_or(0));
    let work = of.groups * all[1] * of.windows.len();
    let rows = (TASK / work.max(1)).clamp(1, all[0].max(1));
    let cuts = all[0].div_ceil(rows);
    exec.threads.run(of.batch * cuts, &|task| {
        let lines = range(task % cuts, rows, all[0]);
        with_table(elements, |table| {
            for y in lines {
                for windows in of.windows.iter().filter(|w| y < w.axes[0].places) {
                    let places = [y..y + 1, 0..windows.axes[1].places];
                    // SAFETY: the caller's promise; tasks have results of their own.
                    unsafe {
                        line(exec, of, windows, task / cuts, y, table);
                        of.finish(exec.level, task / cuts, 0..of.groups, &places);
                    }
                }
            }
        });
    });
    true
}

/// Calls `f` with room for a table.
fn with_table(elements: usize, f: impl FnOnce(*mut [isize; 2])) {
    with_scratch::<[isize; 2], _>(elements, |table| f(table.as_mut_ptr().cast()));
}

/// A line of results of windows of one kind.
///
/// # Safety
/// As [`correlate`]; the image and the line are among those there are.
unsafe fn line<T: Number>(
    exec: &Exec<'_>,
    of: &Correlation<'_, T>,
    windows: &Windows,
    image: usize,
    y: usize,
    table: *mut [isize; 2],
) {
    let [by_image, _, strides @ ..] = of.image_strides;
    let (start, [y_step, x_step]) = windows.filter;
    let (target, [by_row, by_column]) = windows.target;
    let lines = Lines { axes: &windows.axes, size: of.size, strides };
    let out = of.out.wrapping_add(image * of.out_strides[0] + target + y * by_row);
    let images = of.images.wrapping_add(image * by_image);
    let elements = windows.elements();
    if elements == 0 {
        for x in 0..windows.axes[1].places {
            // SAFETY: the pixel's channels are among the results.
            unsafe {
                (0..of.groups).for_each(|channel| *out.add(x * by_column + channel) = T::default());
            }
        }
        return;
    }
    lines.each(
        y,
        table,
        |[y, x]| (y * y_step + x * x_step) as isize,
        |places, at, beside| {
            let pixels = Pixels {
                from: images.wrapping_offset(at),
                step: windows.axes[1].step as usize * strides[1],
                table,
                elements,
                beside,
                weights: of.filters.wrapping_add(start),
                channels: of.groups,
                out: out.wrapping_add(places.start * by_column),
                out_step: by_column,
                count: places.len(),
            };
            // SAFETY: pixels, elements and channels are within the image, the filters and the result.
            unsafe { T::pixels(exec.level, &pixels) };
        },
    );
}

/// How many parts of the images are summed apart, where this is the way to compute a gradient by the filters.
fn parts<T>(of: &ByFilter<T>) -> Option<usize> {
    let elements = of.axes[0].window * of.axes[1].window;
    let is = of.last && of.taken == 1 && of.made == 1 && of.groups > 1 && (1..=ELEMENTS).contains(&elements);
    is.then(|| PARTS.min(of.batch).max(1))
}

/// Numbers of memory for partial sums, where this is the way to do it.
pub(super) fn partial_len<T>(of: &ByFilter<T>) -> Option<usize> {
    parts(of).map(|parts| parts * of.groups * of.axes[0].window * of.axes[1].window)
}

/// Computes a gradient by the filters, where this is the way to do it; says whether it was.
///
/// # Safety
/// As [`by_filter`](super::by_filter()); nothing has a size of zero.
pub(super) unsafe fn by_filter<T: Number>(exec: &Exec<'_>, of: &ByFilter<T>) -> bool {
    let Some(parts) = parts(of) else { return false };
    let chunks = of.groups.div_ceil(CHANNELS);
    let elements = of.axes[0].window * of.axes[1].window;
    let sums = of.groups * elements;
    exec.threads.run(parts * chunks, &|task| {
        let (part, channels) = (task / chunks, range(task % chunks, CHANNELS, of.groups));
        with_table(elements, |table| {
            // SAFETY: the caller's promise; tasks have sums of their own.
            unsafe {
                let to = of.memory.add(part * sums + channels.start);
                for e in 0..elements {
                    (0..channels.len()).for_each(|i| *to.add(e * of.groups + i) = T::default());
                }
                for image in of.batch * part / parts..of.batch * (part + 1) / parts {
                    for y in 0..of.axes[0].places {
                        add_line(exec, of, [image, y], channels.clone(), table, to);
                    }
                }
            }
        });
    });
    exec.for_ranges(sums, 16 << 10, |from, to| {
        for i in from..to {
            // SAFETY: every part has been summed; ranges do not overlap.
            unsafe {
                let mut sum = *of.memory.add(i);
                for part in 1..parts {
                    sum = sum + *of.memory.add(part * sums + i);
                }
                *of.out.add(i) = sum;
            }
        }
    });
    true
}

/// Adds what a line of an image gives.
///
/// # Safety
/// As [`by_filter`]; the image, line and channels are among those there are, and the sums are the caller's
/// own.
unsafe fn add_line<T: Number>(
    exec: &Exec<'_>,
    of: &ByFilter<T>,
    [image, y]: [usize; 2],
    channels: Range<usize>,
    table: *mut [isize; 2],
    sums: *mut T,
) {
    let [by_image, _, strides @ ..] = of.image_strides;
    let [upstream_image, _, upstream_row, upstream_step] = of.upstream_strides;
    let lines = Lines { axes: &of.axes, size: of.size, strides };
    let images = of.images.wrapping_add(image * by_image + channels.start);
    let upstream = of.upstream.wrapping_add(image * upstream_image + y * upstream_row + channels.start);
    lines.each(
        y,
        table,
        |[y, x]| ((y * of.axes[1].window + x) * of.groups) as isize,
        |places, at, beside| {
            let products = Products {
                from: images.wrapping_offset(at),
                step: of.axes[1].step as usize * strides[1],
                table,
                elements: of.axes[0].window * of.axes[1].window,
                beside,
                upstream: upstream.wrapping_add(places.start * upstream_step),
                upstream_step,
                count: places.len(),
                channels: channels.len(),
                sums,
            };
            // SAFETY: pixels and channels are within the image and the gradient.
            unsafe { T::products(exec.level, &products) };
        },
    );
}
