//! [`by_filter`](super::by_filter()) for few filters with channels after each other, by sums along lines.
//!
//! A task has some channels of a part of the images. Images and lines are summed in their order within a
//! part, and the parts at the end: shapes alone decide.

use super::blocks::{bounds, even};
use super::by_filter::ByFilter;
use super::dots::Dots;
use super::few;
use super::region::Region;
use super::tile::Number;
use super::windows::{Axis, Windows};
use crate::exec::Exec;
use crate::scratch::with_scratch;
use std::ops::Range;

/// Bytes of a region, at most.
const REGION_BYTES: usize = 128 << 10;
/// Products of a task, about.
const TASK: usize = 1 << 20;
/// Parts that are summed apart, at most, and numbers in all of them together, unless one alone has more.
const PARTS: usize = 8;
const MOST: usize = 8 << 20;

/// How images and filters are cut into tasks.
#[derive(Clone, Copy, Debug)]
struct Cuts {
    /// Channels, elements of windows, and places that are multiplied at a time.
    channels: usize,
    elements: [usize; 2],
    places: [usize; 2],
    /// Parts of the images, and groups of a task.
    parts: usize,
    groups: usize,
}

/// Whether this is the way for so many filters.
pub(super) fn is_few<T>(of: &ByFilter<T>) -> bool {
    of.made <= few::FEW && !of.last && of.upstream_strides[3] == 1
}

/// Numbers of memory for partial sums.
pub(super) fn partial_len<T>(of: &ByFilter<T>) -> usize {
    cuts(of).parts * sums(of)
}

fn sums<T>(of: &ByFilter<T>) -> usize {
    of.groups * of.made * of.taken * of.axes[0].window * of.axes[1].window
}

fn cuts<T>(of: &ByFilter<T>) -> Cuts {
    let all = of.axes.map(|axis| axis.places.max(1));
    let mut cuts = Cuts {
        channels: even(of.taken, 32),
        elements: of.axes.map(|axis| axis.window),
        places: all,
        parts: 1,
        groups: 1,
    };
    let too_large = |cuts: &Cuts| {
        let region =
            region::<T>(of.axes, cuts.places.map(|n| 0..n), cuts.elements.map(|n| 0..n), cuts.channels);
        region.len.saturating_mul(size_of::<T>()) > REGION_BYTES
    };
    while too_large(&cuts) {
        let Cuts { channels, elements: [down, across], places: [rows, columns], .. } = &mut cuts;
        if *rows > 8 {
            *rows = even(all[0], *rows / 2);
        } else if *channels > 1 {
            *channels = even(of.taken, *channels / 2);
        } else if *rows > 1 {
            *rows = even(all[0], *rows / 2);
        } else if *columns > 256 {
            *columns = even(all[1], *columns / 2);
        } else if let Some(longest) = [down, across].into_iter().find(|n| **n > 1) {
            *longest = longest.div_ceil(2);
        } else if *columns > 1 {
            *columns = even(all[1], *columns / 2);
        } else {
            break;
        }
    }
    let sums = sums(of);
    cuts.parts = PARTS.min(of.batch).min(MOST / sums.max(1)).max(1);
    let of_group = sums / of.groups.max(1) * all[0] * all[1] * of.batch.div_ceil(cuts.parts);
    cuts.groups = even(of.groups, TASK / of_group.max(1));
    cuts
}

fn region<T>(
    axes: [Axis; 2],
    places: [Range<usize>; 2],
    elements: [Range<usize>; 2],
    channels: usize,
) -> Region {
    let windows = [Windows { axes, filter: (0, [0; 2]), target: (0, [0; 2]) }];
    let bounds = bounds(&windows, &places, &elements);
    Region::sorted(bounds, channels, axes[1].step as usize, few::SLACK, size_of::<T>())
}

/// Ranges of `part` that make up `0..whole`.
fn ranges(whole: usize, part: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    (0..whole.div_ceil(part)).map(move |n| n * part..whole.min((n + 1) * part))
}

/// Computes it.
///
/// # Safety
/// As [`by_filter`](super::by_filter()); nothing has a size of zero.
pub(super) unsafe fn by_few_filters<T: Number>(exec: &Exec<'_>, of: &ByFilter<T>) {
    let (cuts, sums) = (cuts(of), sums(of));
    let chunks = of.groups.div_ceil(cuts.groups);
    exec.threads.run(cuts.parts * chunks, &|task| {
        let (part, chunk) = (task / chunks, task % chunks);
        let images = of.batch * part / cuts.parts..of.batch * (part + 1) / cuts.parts;
        for group in chunk * cuts.groups..of.groups.min((chunk + 1) * cuts.groups) {
            // SAFETY: the caller's promise; tasks have groups and parts of their own.
            unsafe { of_group(exec, of, &cuts, group, images.clone(), of.memory.add(part * sums)) };
        }
    });
    exec.for_ranges(sums, 16 << 10, |from, to| {
        for i in from..to {
            // SAFETY: every part has been summed; ranges do not overlap.
            unsafe {
                let mut sum = *of.memory.add(i);
                for part in 1..cuts.parts {
                    sum = sum + *of.memory.add(part * sums + i);
                }
                *of.out.add(i) = sum;
            }
        }
    });
}

/// The sums of a group's filters over some images.
///
/// # Safety
/// As [`by_few_filters`]; the sums are the caller's own.
unsafe fn of_group<T: Number>(
    exec: &Exec<'_>,
    of: &ByFilter<T>,
    cuts: &Cuts,
    group: usize,
    images: Range<usize>,
    sums: *mut T,
) {
    let window = of.axes.map(|axis| axis.window);
    let depth = of.taken * window[0] * window[1];
    let (first, [by_image, strides @ ..]) = (images.start, of.image_strides);
    let [upstream_image, by_filter, upstream_line, _] = of.upstream_strides;
    for image in images {
        let pieces = ranges(of.axes[0].places, cuts.places[0]).flat_map(|rows| {
            ranges(of.axes[1].places, cuts.places[1]).map(move |columns| [rows.clone(), columns])
        });
        for (piece, places) in pieces.enumerate() {
            let add = image > first || piece > 0;
            for channels in ranges(of.taken, cuts.channels) {
                for down in ranges(window[0], cuts.elements[0]) {
                    for across in ranges(window[1], cuts.elements[1]) {
                        let elements = [down.clone(), across];
                        let region = region::<T>(of.axes, places.clone(), elements.clone(), channels.len());
                        with_scratch::<T, _>(region.len, |memory| {
                            let copied = memory.as_mut_ptr().cast::<T>();
                            // SAFETY: the scratch memory has room for the region; channels, pixels and
                            // elements are among those there are.
                            unsafe {
                                let channel = group * of.taken + channels.start;
                                let from = of.images.add(image * by_image + channel * strides[0]);
                                region.fill(exec.level, from, of.size, strides, copied);
                                let upstream = of.upstream.add(
                                    image * upstream_image
                                        + group * of.made * by_filter
                                        + places[0].start * upstream_line
                                        + places[1].start,
                                );
                                let dots = Dots {
                                    from: copied.cast_const(),
                                    by_line: of.axes[0].step as usize * region.strides[1],
                                    table: std::ptr::null(),
                                    elements: 0,
                                    upstream,
                                    upstream_line,
                                    filters: of.made,
                                    by_filter,
                                    lines: places[0].len(),
                                    count: places[1].len(),
                                    sums: sums.add(group * of.made * depth),
                                    sums_step: depth,
                                    add,
                                };
                                multiply(
                                    exec,
                                    of,
                                    &region,
                                    [channels.clone(), elements[0].clone(), elements[1].clone()],
                                    dots,
                                );
                            }
                        });
                    }
                }
            }
        }
    }
}

/// Elements whose places in the region are told at a time.
const TABLE: usize = 72;

/// Multiplies all channels and elements of a region.
///
/// # Safety
/// As [`of_group`]; the dots lack their elements alone.
unsafe fn multiply<T: Number>(
    exec: &Exec<'_>,
    of: &ByFilter<T>,
    region: &Region,
    [channels, down, across]: [Range<usize>; 3],
    dots: Dots<T>,
) {
    let mut table = [0isize; TABLE];
    let window = of.axes.map(|axis| axis.window);
    // Elements beside each other in the result are in the same table.
    let send = |table: &[isize], at: usize| {
        // SAFETY: the caller's promise; the elements' sums are behind each other from there on.
        unsafe {
            let sums = dots.sums.add(at);
            T::dots(exec.level, &Dots { table: table.as_ptr(), elements: table.len(), sums, ..dots });
        }
    };
    let (mut filled, mut start) = (0, 0);
    for channel in channels.clone() {
        for y in down.clone() {
            for x in across.clone() {
                let at = (channel * window[0] + y) * window[1] + x;
                if filled > 0 && (filled == TABLE || at != start + filled) {
                    send(&table[..filled], start);
                    filled = 0;
                }
                if filled == 0 {
                    start = at;
                }
                let steps = [(y - down.start, 0), (x - across.start, 1)]
                    .map(|(n, axis)| n as isize * of.axes[axis].dilation);
                table[filled] =
                    ((channel - channels.start) * region.strides[0]) as isize + region.distance(steps);
                filled += 1;
            }
        }
    }
    if filled > 0 {
        send(&table[..filled], start);
    }
}
