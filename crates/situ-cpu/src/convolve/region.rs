//! A part of an image with the zeros around it, copied to where it is read from.

use crate::level::Level;
use crate::multiversion;

/// Some channels of a part of an image, in memory of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    /// The position of its first pixel in the image.
    pub(super) origin: [isize; 2],
    /// Its height and width.
    pub(super) extent: [usize; 2],
    /// How many channels it has.
    pub(super) channels: usize,
    /// From one channel, row and column to the next.
    pub(super) strides: [usize; 3],
    /// Columns of one residue lie together, and those of the next behind them: how many residues there are.
    /// One, but for few filters.
    pub(super) residues: usize,
    /// Elements that it takes, and how many of them are zeros at its end.
    pub(super) len: usize,
    slack: usize,
}

impl Region {
    /// A region between two positions on each axis; `last` where channels are next to each other.
    pub(super) fn new(bounds: [[isize; 2]; 2], channels: usize, last: bool, size: usize) -> Region {
        let extent = bounds.map(|[low, high]| (high + 1 - low).max(0) as usize);
        let [height, width] = extent;
        let (strides, len) = if last {
            ([1, width * channels, channels], height * width * channels)
        } else {
            let plane = plane(height * width, size);
            ([plane, width, 1], plane * channels)
        };
        Region { origin: bounds.map(|[low, _]| low), extent, channels, strides, residues: 1, len, slack: 0 }
    }

    /// A region of lines whose columns are sorted by their residue, with some elements behind it that are
    /// zero.
    pub(super) fn sorted(
        bounds: [[isize; 2]; 2],
        channels: usize,
        residues: usize,
        slack: usize,
        size: usize,
    ) -> Region {
        let region = Region::new(bounds, channels, false, size);
        let [height, width] = region.extent;
        let line = width.next_multiple_of(residues);
        let plane = plane(height * line, size);
        Region { strides: [plane, line, 1], residues, len: plane * channels + slack, slack, ..region }
    }

    /// Whether all of it is within an image of that size.
    pub(super) fn is_within(&self, size: [usize; 2]) -> bool {
        (0..2).all(|n| self.origin[n] >= 0 && self.origin[n] as usize + self.extent[n] <= size[n])
    }

    /// The image itself, by its strides, for what is within it.
    pub(super) fn in_place(&self, strides: [usize; 3]) -> Region {
        Region { origin: [0; 2], strides, residues: 1, len: 0, slack: 0, ..*self }
    }

    /// Where a position is, in elements from the region's start; anywhere at all where it is outside. Of
    /// several residues it is the first.
    #[inline(always)]
    pub(super) fn at(&self, [y, x]: [isize; 2]) -> isize {
        let across = (x - self.origin[1]) / self.residues as isize;
        (y - self.origin[0]) * self.strides[1] as isize + across * self.strides[2] as isize
    }

    /// How far it is from the first position to one that is so much further down and across.
    #[inline(always)]
    pub(super) fn distance(&self, [y, x]: [isize; 2]) -> isize {
        let [_, by_row, by_column] = self.strides.map(|s| s as isize);
        if self.residues == 1 {
            return y * by_row + x * by_column;
        }
        let residues = self.residues as isize;
        y * by_row + x % residues * (by_row / residues) + x / residues
    }

    /// Copies the region of an image of that size, whose strides are by channel, row and column; outside of
    /// it are zeros.
    ///
    /// # Safety
    /// The image can be read for the region's channels, and `to` written for its length.
    pub(super) unsafe fn fill<T: Copy + Default>(
        &self,
        level: Level,
        image: *const T,
        size: [usize; 2],
        strides: [usize; 3],
        to: *mut T,
    ) {
        // SAFETY: the caller's promise.
        (self.len - self.slack..self.len).for_each(|i| unsafe { *to.add(i) = T::default() });
        if self.residues > 1 {
            fill_sorted(level, self, image, size, strides, to);
        } else if self.strides[2] == 1 {
            fill_planes(level, self, image, size, strides, to);
        } else {
            fill_pixels(level, self, image, size, strides, to);
        }
    }

    /// Columns before the image, within it and after it.
    #[inline(always)]
    fn across(&self, size: usize) -> [usize; 3] {
        let (origin, width) = (self.origin[1], self.extent[1]);
        let before = ((-origin).max(0) as usize).min(width);
        let inside = (size as isize - origin).clamp(before as isize, width as isize) as usize - before;
        [before, inside, width - before - inside]
    }
}

/// Elements from one channel to the next: planes a multiple of 4 KiB apart would share few lines of a cache.
fn plane(area: usize, size: usize) -> usize {
    let line = 64 / size;
    let area = area.next_multiple_of(line).max(line);
    if (area * size).is_multiple_of(1024) { area + line } else { area }
}

multiversion! {
    /// Channels one after the other. The promise of [`Region::fill`]'s caller holds: it is called from there
    /// alone.
    fn fill_planes[I, T: (Copy + Default)](region: &Region, image: *const T, size: [usize; 2], strides: [usize; 3], to: *mut T) {
        let ([before, inside, after], [height, width]) = (region.across(size[1]), region.extent);
        for channel in 0..region.channels {
            for row in 0..height {
                let y = region.origin[0] + row as isize;
                // SAFETY: rows and columns that are read are within the image, those written within the
                // region.
                unsafe {
                    let to = to.add(channel * region.strides[0] + row * region.strides[1]);
                    if y < 0 || y as usize >= size[0] || inside == 0 {
                        zero(to, width);
                        continue;
                    }
                    let x = (region.origin[1] + before as isize) as usize;
                    let from = image.add(channel * strides[0] + y as usize * strides[1] + x * strides[2]);
                    zero(to, before);
                    if strides[2] == 1 {
                        copy(from, to.add(before), inside);
                    } else {
                        (0..inside).for_each(|i| *to.add(before + i) = *from.add(i * strides[2]));
                    }
                    zero(to.add(before + inside), after);
                }
            }
        }
    }
}

multiversion! {
    /// Channels beside each other in both. The promise of [`Region::fill`]'s caller holds: it is called from
    /// there alone.
    fn fill_pixels[I, T: (Copy + Default)](region: &Region, image: *const T, size: [usize; 2], strides: [usize; 3], to: *mut T) {
        let ([before, inside, after], [height, width]) = (region.across(size[1]), region.extent);
        let channels = region.channels;
        for row in 0..height {
            let y = region.origin[0] + row as isize;
            // SAFETY: rows and columns that are read are within the image, those written within the region.
            unsafe {
                let to = to.add(row * region.strides[1]);
                if y < 0 || y as usize >= size[0] || inside == 0 {
                    zero(to, width * channels);
                    continue;
                }
                let x = (region.origin[1] + before as isize) as usize;
                let from = image.add(y as usize * strides[1] + x * strides[2]);
                zero(to, before * channels);
                let within = to.add(before * channels);
                if strides[2] == channels {
                    copy(from, within, inside * channels);
                } else {
                    (0..inside).for_each(|i| copy(from.add(i * strides[2]), within.add(i * channels), channels));
                }
                zero(within.add(inside * channels), after * channels);
            }
        }
    }
}

multiversion! {
    /// Channels one after the other, columns by residue. The promise of [`Region::fill`]'s caller holds: it
    /// is called from there alone.
    fn fill_sorted[I, T: (Copy + Default)](region: &Region, image: *const T, size: [usize; 2], strides: [usize; 3], to: *mut T) {
        let ([before, inside, _], residues) = (region.across(size[1]), region.residues);
        let (line, each) = (region.strides[1], region.strides[1] / residues);
        for channel in 0..region.channels {
            for row in 0..region.extent[0] {
                let y = region.origin[0] + row as isize;
                // SAFETY: rows and columns that are read are within the image, those written within the
                // region.
                unsafe {
                    let to = to.add(channel * region.strides[0] + row * line);
                    if y < 0 || y as usize >= size[0] || inside == 0 {
                        zero(to, line);
                        continue;
                    }
                    let from = image.add(channel * strides[0] + y as usize * strides[1]);
                    if residues == 2 && strides[2] == 1 {
                        let x = (region.origin[1] + before as isize) as usize;
                        part_pairs(from.add(x), to, [before, inside, each]);
                        continue;
                    }
                    for residue in 0..residues {
                        // Of the columns residue, residue + residues, .. those from `first` to before `end`
                        // are within the image.
                        let of = |column: usize| column.saturating_sub(residue).div_ceil(residues).min(each);
                        let (first, end, to) = (of(before), of(before + inside), to.add(residue * each));
                        zero(to, first);
                        let x = region.origin[1] + (residue + first * residues) as isize;
                        let apart = residues * strides[2];
                        let from = from.wrapping_offset(x * strides[2] as isize);
                        (0..end - first).for_each(|i| *to.add(first + i) = *from.add(apart * i));
                        zero(to.add(end), each - end);
                    }
                }
            }
        }
    }
}

/// Elements that are moved at a time.
const GROUP: usize = 16;

/// A line whose even columns go to one half of `to` and the others to the other, each half of `each` columns:
/// `before` of the line are zero, then `inside` are read, and the rest is zero.
///
/// # Safety
/// `from` can be read for `inside` elements and `to` written for both halves, which have room for them.
#[inline(always)]
unsafe fn part_pairs<T: Copy + Default>(from: *const T, to: *mut T, [before, inside, each]: [usize; 3]) {
    // SAFETY: the caller's promise.
    unsafe {
        let put = |column: usize, value: T| *to.add(column % 2 * each + column / 2) = value;
        (0..before).for_each(|column| put(column, T::default()));
        let mut done = before % 2;
        if done == 1 && inside > 0 {
            put(before, *from);
        }
        while done + 2 * GROUP <= inside {
            let pairs = from.add(done).cast::<[[T; 2]; GROUP]>().read_unaligned();
            let (mut even, mut odd) = ([T::default(); GROUP], [T::default(); GROUP]);
            for (i, [a, b]) in pairs.into_iter().enumerate() {
                (even[i], odd[i]) = (a, b);
            }
            let to = to.add((before + done) / 2);
            to.cast::<[T; GROUP]>().write_unaligned(even);
            to.add(each).cast::<[T; GROUP]>().write_unaligned(odd);
            done += 2 * GROUP;
        }
        (done..inside).for_each(|i| put(before + i, *from.add(i)));
        (before + inside..2 * each).for_each(|column| put(column, T::default()));
    }
}

/// # Safety
/// `to` can be written for `count` elements.
#[inline(always)]
unsafe fn zero<T: Copy + Default>(to: *mut T, count: usize) {
    // SAFETY: the caller's promise. Around most windows it is none, one or two: no reason to call anybody.
    unsafe {
        match count {
            0 => (),
            1 => *to = T::default(),
            2 => [to, to.add(1)].into_iter().for_each(|to| *to = T::default()),
            _ => (0..count).for_each(|i| *to.add(i) = T::default()),
        }
    }
}

/// Copies a run; lines of small images are so short that a call would take longer than the copy.
///
/// # Safety
/// `from` can be read and `to` written for `count` elements; they do not overlap.
#[inline(always)]
unsafe fn copy<T: Copy>(from: *const T, to: *mut T, count: usize) {
    // SAFETY: every group is within the run.
    unsafe {
        if count < GROUP {
            for i in 0..count {
                *to.add(i) = *from.add(i);
            }
            return;
        }
        let group = |at: usize| {
            to.add(at)
                .cast::<[T; GROUP]>()
                .write_unaligned(from.add(at).cast::<[T; GROUP]>().read_unaligned());
        };
        let mut at = 0;
        while at + GROUP <= count {
            group(at);
            at += GROUP;
        }
        // The last group overlaps the one before.
        group(count - GROUP);
    }
}
