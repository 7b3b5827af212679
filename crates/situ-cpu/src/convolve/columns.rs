//! Blocks of pixels as columns: one row for each element of the window, one column for each pixel.

use crate::level::Level;
use crate::multiversion;

/// How windows lie along one axis: the element `k` of the window at place `i` is read at `i · step + offset + k · dilation`, divided by
/// `divide`; where that is no whole number, or outside of the image, it is zero.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Places.
    pub places: usize,
    /// The window's elements.
    pub window: usize,
    /// The image's size.
    pub size: usize,
    /// From one place to the next.
    pub step: isize,
    /// Where the first element of the first window is.
    pub offset: isize,
    /// From one element of the window to the next.
    pub dilation: isize,
    /// What positions are divided by.
    pub divide: usize,
}

impl Axis {
    /// Where the element of the window at that place is read, if anywhere.
    #[inline(always)]
    fn position(&self, place: usize, element: usize) -> Option<usize> {
        let at = place as isize * self.step + self.offset + element as isize * self.dilation;
        if at < 0 {
            return None;
        }
        let at = at as usize;
        if self.divide == 1 {
            return (at < self.size).then_some(at);
        }
        (at.is_multiple_of(self.divide) && at / self.divide < self.size).then(|| at / self.divide)
    }

    /// The places from the first whose element number `element` is within the image to before the first that is not any more, where
    /// positions are not divided and go forward.
    fn inside(&self, element: usize) -> (usize, usize) {
        let first = self.offset + element as isize * self.dilation;
        let from = if first >= 0 { 0 } else { (-first).unsigned_abs().div_ceil(self.step as usize) };
        let left = self.size as isize - first;
        let to = if left <= 0 { 0 } else { (left as usize).div_ceil(self.step as usize) };
        (from.min(self.places), to.min(self.places).max(from.min(self.places)))
    }
}

/// How windows lie on images, down and across.
#[derive(Clone, Copy, Debug)]
pub struct Sliding {
    /// Down.
    pub down: Axis,
    /// Across.
    pub across: Axis,
}

impl Sliding {
    /// Places on an image.
    pub fn pixels(&self) -> usize {
        self.down.places * self.across.places
    }

    /// Elements of the window.
    pub fn window(&self) -> usize {
        self.down.window * self.across.window
    }

    /// Elements of an image's channel.
    pub fn area(&self) -> usize {
        self.down.size * self.across.size
    }

    /// Lays out the pixels from `first` on as `count` columns: for each channel and each element of the window a row of `count`, filled
    /// up with zeros to `wide`.
    ///
    /// # Safety
    /// `image` can be read for `channels` channels of the image's size; `to` can be written for all rows.
    pub(super) unsafe fn lay_out<T: Copy + Default>(
        &self,
        level: Level,
        image: *const T,
        channels: usize,
        [first, count, wide]: [usize; 3],
        to: *mut T,
    ) {
        lay_out_by(level, self, image, channels, [first, count, wide], to);
    }

    /// Some of the rows of [`Sliding::lay_out`], from `rows[0]` to before `rows[1]`.
    ///
    /// # Safety
    /// `image` can be read for all channels that these rows are of; `to` can be written for these rows.
    pub(super) unsafe fn lay_out_rows<T: Copy + Default>(
        &self,
        level: Level,
        image: *const T,
        rows: [usize; 2],
        [first, count, wide]: [usize; 3],
        to: *mut T,
    ) {
        lay_some_by(level, self, image, rows, [first, count, wide], to);
    }

    /// [`Sliding::lay_out_rows`], compiled within its caller.
    #[inline(always)]
    unsafe fn lay_some<T: Copy + Default>(
        &self,
        image: *const T,
        rows: [usize; 2],
        [first, count, wide]: [usize; 3],
        to: *mut T,
    ) {
        for (n, row) in (rows[0]..rows[1]).enumerate() {
            let (channel, element) = (row / self.window(), row % self.window());
            let (y, x) = (element / self.across.window, element % self.across.window);
            // SAFETY: as promised; each row is written once.
            unsafe {
                let to = to.add(n * wide);
                self.lay_row(image.add(channel * self.area()), (y, x), first, count, to);
                zero(to.add(count), wide - count);
            }
        }
    }

    /// [`Sliding::lay_out`], compiled within its caller.
    #[inline(always)]
    unsafe fn lay_rows<T: Copy + Default>(
        &self,
        image: *const T,
        channels: usize,
        [first, count, wide]: [usize; 3],
        to: *mut T,
    ) {
        let mut row = to;
        for channel in 0..channels {
            // SAFETY: the channel is one of the image's.
            let image = unsafe { image.add(channel * self.area()) };
            for y in 0..self.down.window {
                for x in 0..self.across.window {
                    // SAFETY: as promised; each row is written once.
                    unsafe {
                        self.lay_row(image, (y, x), first, count, row);
                        zero(row.add(count), wide - count);
                        row = row.add(wide);
                    }
                }
            }
        }
    }

    /// Whether a row is the image itself, moved by some lines and columns.
    fn is_shift(&self) -> bool {
        let plain = |axis: &Axis| axis.step == 1 && axis.divide == 1;
        plain(&self.down) && plain(&self.across) && self.across.places == self.across.size
    }

    /// The image moved by `down` lines and `across` columns, from pixel `first` on: one copy, and zeros where it came from beyond the
    /// ends of a line.
    ///
    /// # Safety
    /// As [`Sliding::lay_out`].
    #[inline(always)]
    unsafe fn lay_shifted<T: Copy + Default>(
        &self,
        image: *const T,
        down: isize,
        across: isize,
        first: usize,
        count: usize,
        to: *mut T,
    ) {
        let width = self.across.size;
        let shift = down * width as isize + across;
        let (start, end) = (first as isize, (first + count) as isize);
        let low = (-shift).clamp(start, end);
        let high = (self.area() as isize - shift).clamp(low, end);
        // SAFETY: what is read is within the image, by the two lines above; what is written is within the row.
        unsafe {
            zero(to, (low - start) as usize);
            if low < high {
                let from = image.offset(low + shift);
                std::ptr::copy_nonoverlapping(from, to.offset(low - start), (high - low) as usize);
            }
            zero(to.offset(high - start), (end - high) as usize);
        }
        let beyond = across.unsigned_abs().min(width);
        if beyond == 0 {
            return;
        }
        let from = if across < 0 { 0 } else { width - beyond };
        for line in first / width..(first + count).div_ceil(width) {
            let at = (line * width + from).clamp(first, first + count);
            let end = (line * width + from + beyond).clamp(first, first + count);
            for pixel in at..end {
                // SAFETY: the pixel is within the block.
                unsafe { *to.add(pixel - first) = T::default() };
            }
        }
    }

    /// One row: the element `(y, x)` of the windows at `count` pixels.
    #[inline(always)]
    unsafe fn lay_row<T: Copy + Default>(
        &self,
        image: *const T,
        (y, x): (usize, usize),
        first: usize,
        count: usize,
        to: *mut T,
    ) {
        let width = self.across.places;
        if self.is_shift() {
            let [down, across] = [(self.down, y), (self.across, x)]
                .map(|(axis, element)| axis.offset + element as isize * axis.dilation);
            // SAFETY: as promised.
            unsafe { self.lay_shifted(image, down, across, first, count, to) };
            return;
        }
        let (mut done, mut line, mut column) = (0, first / width, first % width);
        let plain = self.across.divide == 1 && self.across.step > 0;
        let (from, end) = if plain { self.across.inside(x) } else { (0, 0) };
        while done < count {
            let run = (width - column).min(count - done);
            // SAFETY: the run is within the row.
            let to = unsafe { to.add(done) };
            match self.down.position(line, y) {
                // SAFETY: as above.
                None => unsafe { zero(to, run) },
                Some(at) => {
                    // SAFETY: the line is within the image, and positions are within the line.
                    unsafe {
                        let line = image.add(at * self.across.size);
                        if plain {
                            let (from, end) =
                                (from.clamp(column, column + run), end.clamp(column, column + run));
                            zero(to, from - column);
                            if from < end {
                                let start = from as isize * self.across.step
                                    + self.across.offset
                                    + x as isize * self.across.dilation;
                                take(
                                    line.offset(start),
                                    self.across.step as usize,
                                    to.add(from - column),
                                    end - from,
                                );
                            }
                            zero(to.add(end.max(from) - column), column + run - end.max(from));
                        } else {
                            for i in 0..run {
                                let value = match self.across.position(column + i, x) {
                                    Some(at) => *line.add(at),
                                    None => T::default(),
                                };
                                *to.add(i) = value;
                            }
                        }
                    }
                }
            }
            done += run;
            line += 1;
            column = 0;
        }
    }
}

multiversion! {
    /// [`Sliding::lay_out`], whose caller's promise this relies on: it is called from there alone.
    fn lay_out_by[I, T: (Copy + Default)](sliding: &Sliding, image: *const T, channels: usize, block: [usize; 3], to: *mut T) {
        // SAFETY: the promise of `lay_out`'s caller.
        unsafe { sliding.lay_rows(image, channels, block, to) }
    }
}

multiversion! {
    /// [`Sliding::lay_out_rows`], whose caller's promise this relies on: it is called from there alone.
    fn lay_some_by[I, T: (Copy + Default)](sliding: &Sliding, image: *const T, rows: [usize; 2], block: [usize; 3], to: *mut T) {
        // SAFETY: the promise of `lay_out_rows`'s caller.
        unsafe { sliding.lay_some(image, rows, block, to) }
    }
}

/// Elements that are moved at a time.
const GROUP: usize = 8;

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
unsafe fn copy_line<T: Copy>(from: *const T, to: *mut T, count: usize) {
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

/// Takes every `step`th element.
///
/// # Safety
/// They can be read, and `to` can be written for `count`.
#[inline(always)]
unsafe fn take<T: Copy>(from: *const T, step: usize, to: *mut T, count: usize) {
    // SAFETY: the caller's promise. The steps of most networks have loops of their own, which vectorise.
    unsafe {
        match step {
            1 => copy_line(from, to, count),
            2 => {
                for i in 0..count {
                    *to.add(i) = *from.add(2 * i);
                }
            }
            step => {
                for i in 0..count {
                    *to.add(i) = *from.add(step * i);
                }
            }
        }
    }
}
