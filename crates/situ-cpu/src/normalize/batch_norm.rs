//! Normalisation over every axis but one, with the statistics of the batch.
//!
//! Sums along a row are trees; sums over rows are made in f64, in order, in blocks of rows. So a result
//! depends on shapes alone.

use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::multiversion;

/// Elements worth a task of their own.
const GRAIN: usize = 16 << 10;
/// Channels side by side, where they are the last axis.
const BESIDE: usize = 16;
/// Rows added one after the other: a chain over all of them would cost f64 its last three digits at a million
/// rows.
const ROWS: usize = 1024;

/// A tensor of `[outer, channels, inner]` to normalise, and where results go. All are dense.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm<T> {
    /// Elements before the channels' axis.
    pub outer: usize,
    /// How many channels there are: each has a mean and a variance.
    pub channels: usize,
    /// Elements behind the channels' axis.
    pub inner: usize,
    /// Added to the variance.
    pub epsilon: f64,
    /// What is to be normalised.
    pub x: *const T,
    /// One number per channel.
    pub scale: *const T,
    /// One number per channel.
    pub shift: *const T,
    /// Where the normalised elements go.
    pub y: *mut T,
    /// The mean of each channel.
    pub mean: *mut T,
    /// The variance of each channel.
    pub variance: *mut T,
}

/// The rows in blocks.
fn blocks(rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..rows).step_by(ROWS).map(move |first| first..rows.min(first + ROWS))
}

multiversion! {
    /// Mean and variance of one channel whose elements are `rows` runs of `inner`, `stride` apart.
    fn channel[I, T: (Float)](from: *const T, rows: usize, inner: usize, stride: usize) -> [f64; 2] {
        let count = (rows * inner) as f64;
        // SAFETY: the caller of `batch_norm` promises these elements.
        let row = |n: usize| unsafe { std::slice::from_raw_parts(from.add(n * stride), inner) };
        let (mut mean, mut squares) = (0.0, 0.0);
        for block in blocks(rows) {
            mean += block.map(|n| T::sum_row::<I>(row(n)).to_f64()).sum::<f64>();
        }
        mean /= count;
        let near = T::from_f64(mean);
        for block in blocks(rows) {
            squares += block.map(|n| T::squared_distances_row::<I>(row(n), near).to_f64()).sum::<f64>();
        }
        [mean, squares / count]
    }
}

multiversion! {
    /// The same for up to [`BESIDE`] channels that are the last axis.
    fn beside[I, T: (Float)](from: *const T, rows: usize, width: usize, stride: usize) -> [[f64; BESIDE]; 2] {
        let mut mean = [0.0; BESIDE];
        let mut variance = [0.0; BESIDE];
        // SAFETY: the caller of `batch_norm` promises these elements.
        let row = |n: usize| unsafe { std::slice::from_raw_parts(from.add(n * stride), width) };
        for block in blocks(rows) {
            let mut part = [0.0; BESIDE];
            for n in block {
                part.iter_mut().zip(row(n)).for_each(|(sum, x)| *sum += x.to_f64());
            }
            mean.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        mean.iter_mut().for_each(|sum| *sum /= rows as f64);
        for block in blocks(rows) {
            let mut part = [0.0; BESIDE];
            for n in block {
                for ((sum, mean), x) in part.iter_mut().zip(&mean).zip(row(n)) {
                    let off = x.to_f64() - mean;
                    *sum += off * off;
                }
            }
            variance.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        variance.iter_mut().for_each(|sum| *sum /= rows as f64);
        [mean, variance]
    }
}

multiversion! {
    fn normalised[I, T: (Float)](x: &[T], mean: T, rate: T, shift: T, y: &mut [T]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = (*x - mean).mul_add::<I>(rate, shift);
        }
    }
}

multiversion! {
    fn normalised_beside[I, T: (Float)](x: &[T], mean: &[T], rate: &[T], shift: &[T], y: &mut [T]) {
        for ((((y, x), mean), rate), shift) in y.iter_mut().zip(x).zip(mean).zip(rate).zip(shift) {
            *y = (*x - *mean).mul_add::<I>(*rate, *shift);
        }
    }
}

/// Normalises.
///
/// # Safety
/// The pointers can be read and written for these sizes; what is written overlaps nothing.
pub unsafe fn batch_norm<T: Float>(exec: &Exec<'_>, what: &BatchNorm<T>) {
    let BatchNorm { outer, channels, inner, epsilon, .. } = *what;
    // An epsilon that the dtype can't hold is the one that it can, as on any device.
    let epsilon = T::from_f64(epsilon).to_f64();
    let count = outer * inner;
    let shared = Shared(*what);
    let keep = move |channel: usize, [mean, variance]: [f64; 2]| {
        let BatchNorm { mean: m, variance: v, .. } = shared.get();
        // SAFETY: the channel is one of them, and one task's.
        unsafe {
            *m.add(channel) = T::from_f64(mean);
            *v.add(channel) = T::from_f64(variance);
        }
    };
    if inner == 1 {
        let blocks = channels.div_ceil(BESIDE);
        exec.for_ranges(blocks, GRAIN.div_ceil((count * BESIDE).max(1)), |from, to| {
            for block in from..to {
                let first = block * BESIDE;
                let width = BESIDE.min(channels - first);
                let [mean, variance] =
                    beside(exec.level, shared.get().x.wrapping_add(first), outer, width, channels);
                (0..width).for_each(|n| keep(first + n, [mean[n], variance[n]]));
            }
        });
    } else {
        exec.for_ranges(channels, GRAIN.div_ceil(count.max(1)), |from, to| {
            for n in from..to {
                let start = shared.get().x.wrapping_add(n * inner);
                keep(n, channel(exec.level, start, outer, inner, channels * inner));
            }
        });
    }
    if count == 0 || channels == 0 {
        return;
    }
    // SAFETY: the statistics are written by now; the caller's promise.
    let (means, shifts) = unsafe {
        (
            std::slice::from_raw_parts(what.mean.cast_const(), channels),
            std::slice::from_raw_parts(what.shift, channels),
        )
    };
    let rate = |channel: usize| {
        // SAFETY: as above.
        let (variance, scale) = unsafe { (*what.variance.add(channel), *what.scale.add(channel)) };
        T::from_f64(scale.to_f64() / (variance.to_f64() + epsilon).sqrt())
    };
    let rates: Vec<T> = (0..channels).map(rate).collect();
    let run = if inner == 1 { channels } else { inner };
    exec.for_ranges(outer * channels * inner / run, GRAIN.div_ceil(run), |from, to| {
        for n in from..to {
            let BatchNorm { x, y, .. } = shared.get();
            // SAFETY: runs are within the tensor, and each is one task's.
            let (x, y) = unsafe {
                (
                    std::slice::from_raw_parts(x.add(n * run), run),
                    std::slice::from_raw_parts_mut(y.add(n * run), run),
                )
            };
            if inner == 1 {
                normalised_beside(exec.level, x, means, &rates, shifts, y);
            } else {
                let channel = n % channels;
                normalised(exec.level, x, means[channel], rates[channel], shifts[channel], y);
            }
        }
    });
}
