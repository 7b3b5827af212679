//! One filter for each channel, channels side by side: a register holds channels, of pixels and of filters alike.

use crate::level::Level;
use crate::multiversion;
use crate::wide::{Tail, Wide};
use std::ops::Add;

/// Elements of windows whose sums are kept in registers at a time.
const ELEMENTS: usize = 9;

/// A line of results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pixels<T> {
    /// The first pixel's place in the region, and from one pixel to the next.
    pub(super) from: *const T,
    pub(super) step: usize,
    /// For each element of the window, how far it is from there, and from the filters' first; in elements.
    pub(super) table: *const [isize; 2],
    pub(super) elements: usize,
    /// Filters.
    pub(super) weights: *const T,
    /// Channels.
    pub(super) channels: usize,
    /// Where results go, from one pixel to the next, and how many there are.
    pub(super) out: *mut T,
    pub(super) out_step: usize,
    pub(super) count: usize,
}

/// Lines of pixels, and the gradient by the results at them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Products<T> {
    /// The first pixel's place in the region, from one line of results to the next, and from one pixel to the next.
    pub(super) from: *const T,
    pub(super) steps: [usize; 2],
    /// For each element of the window, how far it is from there, and where its sums are; in elements.
    pub(super) table: *const [isize; 2],
    pub(super) elements: usize,
    /// The gradient, and its steps.
    pub(super) upstream: *const T,
    pub(super) upstream_steps: [usize; 2],
    /// Lines, pixels of each, and channels.
    pub(super) lines: usize,
    pub(super) count: usize,
    pub(super) channels: usize,
    /// Sums; added to what is there, with `add`.
    pub(super) sums: *mut T,
    pub(super) add: bool,
}

/// A number that has both.
pub(super) trait SideBySide: Copy {
    /// Computes a line.
    ///
    /// # Safety
    /// The region, filters and results are there for all pixels, elements and channels.
    unsafe fn pixels(level: Level, of: &Pixels<Self>);
    /// Sums over lines.
    ///
    /// # Safety
    /// As above.
    unsafe fn products(level: Level, of: &Products<Self>);
}

macro_rules! side_by_side {
    ($t:ty, $pixels:ident, $products:ident) => {
        impl SideBySide for $t {
            unsafe fn pixels(level: Level, of: &Pixels<$t>) {
                $pixels(level, of);
            }
            unsafe fn products(level: Level, of: &Products<$t>) {
                $products(level, of);
            }
        }

        multiversion! {
            /// The promise of [`SideBySide::pixels`]'s caller holds: it is called from there alone.
            fn $pixels[I](of: &Pixels<$t>) {
                // SAFETY: as promised; this is compiled for the level.
                unsafe { all_pixels::<I, $t>(of) }
            }
        }

        multiversion! {
            /// The promise of [`SideBySide::products`]'s caller holds: it is called from there alone.
            fn $products[I](of: &Products<$t>) {
                // SAFETY: as promised; this is compiled for the level.
                unsafe { all_products::<I, $t>(of) }
            }
        }
    };
}
side_by_side!(f32, pixels_f32, products_f32);
side_by_side!(f64, pixels_f64, products_f64);

/// # Safety
/// As [`SideBySide::pixels`], inside the level.
#[inline(always)]
unsafe fn all_pixels<I: Tail<T>, T: Copy + Default>(of: &Pixels<T>) {
    let len = <I as Wide<T>>::LEN;
    for x in 0..of.count {
        let mut channel = 0;
        // SAFETY: the caller's promise; channels are among those there are.
        unsafe {
            while channel < of.channels {
                let left = of.channels - channel;
                channel += match left / len {
                    0 => {
                        few_channels::<I, T>(of, x, channel, left);
                        left
                    }
                    1 => some_channels::<I, T, 1>(of, x, channel),
                    2 | 3 => some_channels::<I, T, 2>(of, x, channel),
                    _ => some_channels::<I, T, 4>(of, x, channel),
                };
            }
        }
    }
}

/// `V` registers of channels of a pixel; gives how many channels that is.
///
/// # Safety
/// As [`SideBySide::pixels`], inside the level; there are so many channels from there on.
#[inline(always)]
unsafe fn some_channels<I: Tail<T>, T: Copy + Default, const V: usize>(
    of: &Pixels<T>,
    x: usize,
    channel: usize,
) -> usize {
    let len = <I as Wide<T>>::LEN;
    // SAFETY: the caller's promise.
    unsafe {
        let (from, weights) = (of.from.add(x * of.step + channel), of.weights.add(channel));
        let mut sums = [I::splat(T::default()); V];
        for k in 0..of.elements {
            let [at, weight] = *of.table.add(k);
            let (from, weights) = (from.wrapping_offset(at), weights.wrapping_offset(weight));
            for (v, sum) in sums.iter_mut().enumerate() {
                *sum = I::multiply_add(I::load(weights.add(v * len)), I::load(from.add(v * len)), *sum);
            }
        }
        for (v, sum) in sums.iter().enumerate() {
            I::store(*sum, of.out.add(x * of.out_step + channel + v * len));
        }
    }
    V * len
}

/// The last channels of a pixel, fewer than a register has.
///
/// # Safety
/// As [`SideBySide::pixels`], inside the level.
#[inline(always)]
unsafe fn few_channels<I: Tail<T>, T: Copy + Default>(
    of: &Pixels<T>,
    x: usize,
    channel: usize,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let (from, weights) = (of.from.add(x * of.step + channel), of.weights.add(channel));
        let mut sum = I::splat(T::default());
        for k in 0..of.elements {
            let [at, weight] = *of.table.add(k);
            let weight = I::load_first(weights.wrapping_offset(weight), count, T::default());
            let pixel = I::load_first(from.wrapping_offset(at), count, T::default());
            sum = I::multiply_add(weight, pixel, sum);
        }
        I::store_first(sum, of.out.add(x * of.out_step + channel), count);
    }
}

/// # Safety
/// As [`SideBySide::products`], inside the level.
#[inline(always)]
unsafe fn all_products<I: Tail<T>, T: Copy + Default + Add<Output = T>>(of: &Products<T>) {
    let len = <I as Wide<T>>::LEN;
    for channel in (0..of.channels).step_by(len) {
        for first in (0..of.elements).step_by(ELEMENTS) {
            let count = len.min(of.channels - channel);
            // SAFETY: the caller's promise; channels and elements are among those there are.
            unsafe {
                match of.elements - first {
                    1 => some_products::<I, T, 1>(of, channel, first, count),
                    2 => some_products::<I, T, 2>(of, channel, first, count),
                    3 => some_products::<I, T, 3>(of, channel, first, count),
                    4 => some_products::<I, T, 4>(of, channel, first, count),
                    5 => some_products::<I, T, 5>(of, channel, first, count),
                    6 => some_products::<I, T, 6>(of, channel, first, count),
                    7 => some_products::<I, T, 7>(of, channel, first, count),
                    8 => some_products::<I, T, 8>(of, channel, first, count),
                    _ => some_products::<I, T, 9>(of, channel, first, count),
                }
            }
        }
    }
}

/// The sums of `E` elements for at most a register of channels.
///
/// # Safety
/// As [`SideBySide::products`], inside the level; there are so many channels and elements from there on.
#[inline(always)]
unsafe fn some_products<I: Tail<T>, T: Copy + Default + Add<Output = T>, const E: usize>(
    of: &Products<T>,
    channel: usize,
    first: usize,
    count: usize,
) {
    let whole = count == <I as Wide<T>>::LEN;
    // SAFETY: the caller's promise; of a register that is not whole, only what is there is read and written.
    unsafe {
        let mut table = [[0; 2]; E];
        for (e, at) in table.iter_mut().enumerate() {
            *at = *of.table.add(first + e);
        }
        let mut sums = [I::splat(T::default()); E];
        for line in 0..of.lines {
            let mut from = of.from.add(line * of.steps[0] + channel);
            let mut upstream = of.upstream.add(line * of.upstream_steps[0] + channel);
            for _ in 0..of.count {
                if whole {
                    let by = I::load(upstream);
                    for (sum, [at, _]) in sums.iter_mut().zip(table) {
                        *sum = I::multiply_add(by, I::load(from.wrapping_offset(at)), *sum);
                    }
                } else {
                    let by = I::load_first(upstream, count, T::default());
                    for (sum, [at, _]) in sums.iter_mut().zip(table) {
                        let pixel = I::load_first(from.wrapping_offset(at), count, T::default());
                        *sum = I::multiply_add(by, pixel, *sum);
                    }
                }
                from = from.wrapping_add(of.steps[1]);
                upstream = upstream.wrapping_add(of.upstream_steps[1]);
            }
        }
        for (sum, [_, at]) in sums.into_iter().zip(table) {
            let to = of.sums.offset(at).add(channel);
            let sum = if of.add { I::add(I::load_first(to, count, T::default()), sum) } else { sum };
            I::store_first(sum, to, count);
        }
    }
}
