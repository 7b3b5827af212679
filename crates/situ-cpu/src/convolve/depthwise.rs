//! One filter for each channel where channels are last: registers of channels, for all that [`correlate`](super::correlate()) and
//! [`by_filter`](super::by_filter()) do.

use super::blocks::{Blocks, bounds};
use super::by_filter::ByFilter;
use super::channels::{Pixels, Products};
use super::correlate::Correlation;
use super::region::Region;
use super::tile::Number;
use super::windows::Windows;
use crate::exec::Exec;
use crate::scratch::with_scratch;
use std::ops::Range;

/// Channels that are computed at a time.
const CHANNELS: usize = 64;
/// Elements of a window, at most: its table is kept beside the region.
const ELEMENTS: usize = 1 << 10;
/// Parts that are summed apart, at most.
const PARTS: usize = 8;

/// The cuts, if every window is taken as a whole.
fn blocks<T>(windows: &[Windows], groups: usize) -> Option<Blocks> {
    let blocks = Blocks::new(windows, [groups.min(CHANNELS), 1], true, size_of::<T>());
    let small = windows.iter().map(Windows::elements).sum::<usize>() <= ELEMENTS;
    (small && blocks.is_whole(windows)).then_some(blocks)
}

fn range(n: usize, part: usize, whole: usize) -> Range<usize> {
    n * part..whole.min((n + 1) * part)
}

/// The region that windows of all kinds read at these places.
fn region<T>(windows: &[Windows], places: &[Range<usize>; 2], channels: usize) -> Region {
    let window = [0, 1].map(|n| 0..windows.iter().map(|w| w.axes[n].window).max().unwrap_or(0));
    Region::new(bounds(windows, places, &window), channels, true, size_of::<T>())
}

/// Calls `f` with where each element of the window is in the region, from the first one's place on, and its number down and across.
fn each_element(windows: &Windows, region: &Region, mut f: impl FnMut(isize, [usize; 2])) {
    for y in 0..windows.axes[0].window {
        for x in 0..windows.axes[1].window {
            let [down, across] = [(y, 0), (x, 1)].map(|(k, n)| k as isize * windows.axes[n].dilation);
            f(region.distance([down, across]), [y, x]);
        }
    }
}

/// Computes a correlation, where this is the way to do it; says whether it was.
///
/// # Safety
/// As [`correlate`](super::correlate()).
pub(super) unsafe fn correlate<T: Number>(exec: &Exec<'_>, of: &Correlation<'_, T>) -> bool {
    let [by_group, ..] = of.filter_strides;
    if !of.is_last() || of.taken != 1 || of.made != 1 || of.groups == 1 || by_group != 1 {
        return false;
    }
    let windows = of.windows;
    let Some(blocks) = blocks::<T>(windows, of.groups) else { return false };
    let all = [0, 1].map(|n| windows.iter().map(|w| w.axes[n].places).max().unwrap_or(0));
    let cuts = [0, 1].map(|n| all[n].div_ceil(blocks.places[n]));
    let chunks = of.groups.div_ceil(blocks.channels);
    exec.threads.run(of.batch * chunks * cuts[0] * cuts[1], &|task| {
        let (number, cut) = (task / (cuts[0] * cuts[1]), task % (cuts[0] * cuts[1]));
        let cut = [cut / cuts[1], cut % cuts[1]];
        let places = [0, 1].map(|n| range(cut[n], blocks.places[n], all[n]));
        let (image, channels) = (number / chunks, range(number % chunks, blocks.channels, of.groups));
        // SAFETY: the caller's promise; tasks have results of their own.
        unsafe { part(exec, of, image, channels, places) };
    });
    true
}

/// # Safety
/// As [`correlate`]; the image, channels and places are among those there are.
unsafe fn part<T: Number>(
    exec: &Exec<'_>,
    of: &Correlation<'_, T>,
    image: usize,
    channels: Range<usize>,
    places: [Range<usize>; 2],
) {
    let region = region::<T>(of.windows, &places, channels.len());
    let [by_image, strides @ ..] = of.image_strides;
    let most = of.windows.iter().map(Windows::elements).max().unwrap_or(0);
    let table_len =
        (most * size_of::<[isize; 2]>()).div_ceil(size_of::<T>()).next_multiple_of(64 / size_of::<T>());
    with_scratch::<T, _>(table_len + region.len, |memory| {
        let table = memory.as_mut_ptr().cast::<[isize; 2]>();
        // SAFETY: both parts are within the scratch memory; lines and channels are within the image, the filters and the result.
        unsafe {
            let copied = memory.as_mut_ptr().cast::<T>().add(table_len);
            let from = of.images.add(image * by_image + channels.start);
            region.fill(exec.level, from, of.size, strides, copied);
            for windows in of.windows {
                let (start, [y_step, x_step]) = windows.filter;
                let mut elements = 0;
                each_element(windows, &region, |at, [y, x]| {
                    table.add(elements).write([at, (y * y_step + x * x_step) as isize]);
                    elements += 1;
                });
                let [down, across] = windows.axes;
                let (target, [by_row, by_column]) = windows.target;
                let columns = places[1].start..places[1].end.min(across.places);
                for y in places[0].start..places[0].end.min(down.places) {
                    let x = columns.start as isize;
                    let position = [y as isize * down.step + down.offset, x * across.step + across.offset];
                    let at = image * of.out_strides[0] + channels.start + target;
                    let pixels = Pixels {
                        from: copied.cast_const().wrapping_offset(region.at(position)),
                        step: across.step as usize * region.strides[2],
                        table,
                        elements,
                        weights: of.filters.add(channels.start + start),
                        channels: channels.len(),
                        out: of.out.wrapping_add(at + y * by_row + columns.start * by_column),
                        out_step: by_column,
                        count: columns.len(),
                    };
                    T::pixels(exec.level, &pixels);
                }
            }
        }
    });
}

/// The cuts of a gradient by the filters, where this is the way to do it, and how many parts of the images are summed apart.
fn cuts<T>(of: &ByFilter<T>) -> Option<(Blocks, usize)> {
    if !of.last || of.taken != 1 || of.made != 1 || of.groups == 1 {
        return None;
    }
    let windows = [Windows { axes: of.axes, filter: (0, [0; 2]), target: (0, [0; 2]) }];
    let blocks = blocks::<T>(&windows, of.groups)?;
    Some((blocks, PARTS.min(of.batch).max(1)))
}

/// Numbers of memory for partial sums, where this is the way to do it.
pub(super) fn partial_len<T>(of: &ByFilter<T>) -> Option<usize> {
    cuts(of).map(|(_, parts)| parts * of.groups * of.axes[0].window * of.axes[1].window)
}

/// Computes a gradient by the filters, where this is the way to do it; says whether it was.
///
/// # Safety
/// As [`by_filter`](super::by_filter()); nothing has a size of zero.
pub(super) unsafe fn by_filter<T: Number>(exec: &Exec<'_>, of: &ByFilter<T>) -> bool {
    let Some((blocks, parts)) = cuts(of) else { return false };
    let chunks = of.groups.div_ceil(blocks.channels);
    let sums = of.groups * of.axes[0].window * of.axes[1].window;
    exec.threads.run(parts * chunks, &|task| {
        let (part, channels) = (task / chunks, range(task % chunks, blocks.channels, of.groups));
        let mut add = false;
        for image in of.batch * part / parts..of.batch * (part + 1) / parts {
            for y in 0..of.axes[0].places.div_ceil(blocks.places[0]) {
                for x in 0..of.axes[1].places.div_ceil(blocks.places[1]) {
                    let places =
                        [(y, 0), (x, 1)].map(|(n, axis)| range(n, blocks.places[axis], of.axes[axis].places));
                    // SAFETY: the caller's promise; tasks have sums of their own.
                    unsafe {
                        add_part(exec, of, image, channels.clone(), places, of.memory.add(part * sums), add)
                    };
                    add = true;
                }
            }
        }
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

/// # Safety
/// As [`by_filter`]; the image, channels and places are among those there are, and the sums are the caller's own.
unsafe fn add_part<T: Number>(
    exec: &Exec<'_>,
    of: &ByFilter<T>,
    image: usize,
    channels: Range<usize>,
    places: [Range<usize>; 2],
    sums: *mut T,
    add: bool,
) {
    let windows = Windows { axes: of.axes, filter: (0, [0; 2]), target: (0, [0; 2]) };
    let region = region::<T>(&[windows], &places, channels.len());
    let [by_image, strides @ ..] = of.image_strides;
    let [upstream_image, _, upstream_steps @ ..] = of.upstream_strides;
    let bytes = windows.elements() * size_of::<[isize; 2]>();
    let table_len = bytes.div_ceil(size_of::<T>()).next_multiple_of(64 / size_of::<T>());
    with_scratch::<T, _>(table_len + region.len, |memory| {
        let table = memory.as_mut_ptr().cast::<[isize; 2]>();
        // SAFETY: both parts are within the scratch memory; pixels and channels are within the image and the gradient.
        unsafe {
            let copied = memory.as_mut_ptr().cast::<T>().add(table_len);
            let from = of.images.add(image * by_image + channels.start);
            region.fill(exec.level, from, of.size, strides, copied);
            let mut elements = 0;
            each_element(&windows, &region, |at, _| {
                table.add(elements).write([at, (elements * of.groups) as isize]);
                elements += 1;
            });
            let at = places[0].start * upstream_steps[0] + places[1].start * upstream_steps[1];
            let products = Products {
                from: copied.cast_const(),
                steps: [0, 1].map(|n| of.axes[n].step as usize * region.strides[1 + n]),
                table,
                elements,
                upstream: of.upstream.add(image * upstream_image + channels.start + at),
                upstream_steps,
                lines: places[0].len(),
                count: places[1].len(),
                channels: channels.len(),
                sums: sums.add(channels.start),
                add,
            };
            T::products(exec.level, &products);
        }
    });
}
