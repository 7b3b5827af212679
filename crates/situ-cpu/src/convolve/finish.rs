//! What follows a convolution element by element, done while results are still in a near cache.

use crate::level::Level;
use crate::multiversion;
use std::ops::{Add, Range};

/// A bias, and perhaps a relu after it.
#[derive(Clone, Copy, Debug)]
pub struct Finish<T> {
    /// A number for each channel of the result.
    pub bias: *const T,
    /// Whether what is below zero becomes zero; NaN stays.
    pub relu: bool,
}

/// A part of an image of results, and where it is: from its first row, column and channel on.
#[derive(Debug)]
pub(super) struct Part<T> {
    pub(super) out: *mut T,
    /// Rows, columns and channels of it, and the first channel.
    pub(super) size: [usize; 2],
    pub(super) channels: Range<usize>,
    /// From one channel, row and column to the next.
    pub(super) strides: [usize; 3],
}

impl<T: Copy + Default + PartialOrd + Add<Output = T>> Finish<T> {
    /// Finishes a part.
    ///
    /// # Safety
    /// The part can be read and written, and the bias read for its channels.
    pub(super) unsafe fn run(&self, level: Level, part: &Part<T>) {
        let Part { out, size: [rows, columns], ref channels, strides: [by_channel, by_row, by_column] } =
            *part;
        // SAFETY: the caller's promise: runs are within the part.
        unsafe {
            if by_channel == 1 {
                for pixel in 0..rows * columns {
                    let to = out.add(pixel / columns * by_row + pixel % columns * by_column);
                    pixels(level, to, self.bias.add(channels.start), channels.len(), self.relu);
                }
                return;
            }
            // Lines that follow each other in memory are one.
            let whole = by_row == columns * by_column;
            let (lines, width) = if whole { (1, rows * columns) } else { (rows, columns) };
            for (n, channel) in channels.clone().enumerate() {
                for line in 0..lines {
                    let to = out.add(n * by_channel + line * by_row);
                    plane(level, to, [width, by_column], *self.bias.add(channel), self.relu);
                }
            }
        }
    }
}

#[inline(always)]
fn finished<T: Copy + Default + PartialOrd + Add<Output = T>>(value: T, bias: T, relu: bool) -> T {
    let sum = value + bias;
    if relu && sum < T::default() { T::default() } else { sum }
}

multiversion! {
    /// A pixel's channels. The promise of [`Finish::run`]'s caller holds: it is called from there alone.
    fn pixels[I, T: (Copy + Default + PartialOrd + Add<Output = T>)](to: *mut T, bias: *const T, count: usize, relu: bool) {
        for i in 0..count {
            // SAFETY: as promised.
            unsafe { *to.add(i) = finished(*to.add(i), *bias.add(i), relu) };
        }
    }
}

multiversion! {
    /// A channel's pixels. The promise of [`Finish::run`]'s caller holds: it is called from there alone.
    fn plane[I, T: (Copy + Default + PartialOrd + Add<Output = T>)](to: *mut T, size: [usize; 2], bias: T, relu: bool) {
        let [count, apart] = size;
        for i in 0..count {
            // SAFETY: as promised.
            unsafe {
                let to = if apart == 1 { to.add(i) } else { to.add(i * apart) };
                *to = finished(*to, bias, relu);
            }
        }
    }
}
