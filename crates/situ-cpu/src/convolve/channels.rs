//! One filter for each channel, channels side by side: a register holds channels, of pixels and of filters
//! alike. Images are read where they are; what lies beside them is a register of zeros.

use crate::level::Level;
use crate::multiversion;
use crate::wide::{Tail, Wide};
use std::ops::Add;

/// Elements of windows that are multiplied at a time: their weights, or their sums, stay in registers.
const ELEMENTS: usize = 9;
/// Pixels of a line for which registers are loaded once.
const PIXELS: usize = 16;
/// In a table: the element lies beside the image.
pub(super) const BESIDE: isize = isize::MAX;

/// Part of a line of results whose windows lie on the image alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pixels<T> {
    /// The first pixel's place, and from one pixel to the next.
    pub(super) from: *const T,
    pub(super) step: usize,
    /// For each element of the window how far it is from there, or [`BESIDE`], and how far from the filters'
    /// first; in elements. Whether any is beside the image.
    pub(super) table: *const [isize; 2],
    pub(super) elements: usize,
    pub(super) beside: bool,
    /// The filters' elements.
    pub(super) weights: *const T,
    /// How many channels there are.
    pub(super) channels: usize,
    /// Where results go, from one pixel to the next, and how many there are.
    pub(super) out: *mut T,
    pub(super) out_step: usize,
    pub(super) count: usize,
}

/// The same of pixels, and the gradient by the results at them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Products<T> {
    /// The first pixel's place, and from one pixel to the next.
    pub(super) from: *const T,
    pub(super) step: usize,
    /// For each element of the window how far it is from there, or [`BESIDE`], and where its sums are.
    /// Whether any is beside the image.
    pub(super) table: *const [isize; 2],
    pub(super) elements: usize,
    pub(super) beside: bool,
    /// The gradient, and from one pixel to the next.
    pub(super) upstream: *const T,
    pub(super) upstream_step: usize,
    /// Pixels and channels.
    pub(super) count: usize,
    pub(super) channels: usize,
    /// Sums, to which products are added.
    pub(super) sums: *mut T,
}

/// A number that has both.
pub(super) trait SideBySide: Copy {
    /// Computes part of a line.
    ///
    /// # Safety
    /// The image, filters and results are there for all pixels, elements on the image and channels.
    unsafe fn pixels(level: Level, of: &Pixels<Self>);
    /// Adds to sums over part of a line.
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

/// Calls `$some::<I, T, E, WHOLE>` for as many elements as are left, at most [`ELEMENTS`], and a whole
/// register of channels or less.
macro_rules! by_elements {
    ($some:ident, $of:expr, $left:expr, $whole:expr, $($argument:expr),*) => {
        by_elements!(@ $some $of, $left, $whole, ($($argument),*) 1 2 3 4 5 6 7 8)
    };
    (@ $some:ident $of:expr, $left:expr, $whole:expr, $arguments:tt $($n:literal)*) => {
        match ($left, $whole) {
            $(($n, true) => by_elements!(# $some $n true $of, $arguments),)*
            $(($n, false) => by_elements!(# $some $n false $of, $arguments),)*
            (_, true) => by_elements!(# $some 9 true $of, $arguments),
            (_, false) => by_elements!(# $some 9 false $of, $arguments),
        }
    };
    (# $some:ident $n:literal $whole:literal $of:expr, ($($argument:expr),*)) => {
        $some::<I, T, $n, $whole>($of, $($argument),*)
    };
}

/// # Safety
/// As [`SideBySide::pixels`], inside the level.
#[inline(always)]
unsafe fn all_pixels<I: Tail<T>, T: Copy + Default>(of: &Pixels<T>) {
    let len = <I as Wide<T>>::LEN;
    // The register of zeros is no line of pixels.
    let most = if of.beside { 1 } else { PIXELS };
    for x in (0..of.count).step_by(most) {
        let count = most.min(of.count - x);
        for channel in (0..of.channels).step_by(len) {
            let lanes = len.min(of.channels - channel);
            for first in (0..of.elements).step_by(ELEMENTS) {
                // SAFETY: the caller's promise; pixels, channels and elements are among those there are.
                unsafe {
                    by_elements!(
                        some_pixels,
                        of,
                        of.elements - first,
                        lanes == len,
                        [x, count],
                        [channel, lanes],
                        first
                    )
                }
            }
        }
    }
}

/// # Safety
/// As [`Tail::load_first`]; with `WHOLE`, a register can be read.
#[inline(always)]
unsafe fn load<I: Tail<T>, T: Copy + Default, const WHOLE: bool>(from: *const T, lanes: usize) -> I::V {
    // SAFETY: the caller's promise.
    unsafe { if WHOLE { I::load(from) } else { I::load_first(from, lanes, T::default()) } }
}

/// # Safety
/// As [`Tail::store_first`]; with `WHOLE`, a register can be written.
#[inline(always)]
unsafe fn store<I: Tail<T>, T: Copy + Default, const WHOLE: bool>(v: I::V, to: *mut T, lanes: usize) {
    // SAFETY: the caller's promise.
    unsafe { if WHOLE { I::store(v, to) } else { I::store_first(v, to, lanes) } }
}

/// `E` elements for at most a register of channels of some pixels. Sums of elements before them are in the
/// result.
///
/// # Safety
/// As [`SideBySide::pixels`], inside the level; there are so many pixels, channels and elements from there
/// on.
#[inline(always)]
unsafe fn some_pixels<I: Tail<T>, T: Copy + Default, const E: usize, const WHOLE: bool>(
    of: &Pixels<T>,
    [x, count]: [usize; 2],
    [channel, lanes]: [usize; 2],
    first: usize,
) {
    let zeros = [T::default(); crate::wide::MOST];
    // SAFETY: the caller's promise; there are zeros for a register.
    unsafe {
        let mut weights = [I::splat(T::default()); E];
        let mut from = [zeros.as_ptr(); E];
        for e in 0..E {
            let [at, weight] = *of.table.add(first + e);
            weights[e] = load::<I, T, WHOLE>(of.weights.add(channel).wrapping_offset(weight), lanes);
            if at != BESIDE {
                from[e] = of.from.wrapping_offset(at).wrapping_add(x * of.step + channel);
            }
        }
        for i in 0..count {
            let to = of.out.add((x + i) * of.out_step + channel);
            let mut sum =
                if first == 0 { I::splat(T::default()) } else { load::<I, T, WHOLE>(to.cast_const(), lanes) };
            for e in 0..E {
                let pixel = load::<I, T, WHOLE>(from[e].wrapping_add(i * of.step), lanes);
                sum = I::multiply_add(weights[e], pixel, sum);
            }
            store::<I, T, WHOLE>(sum, to, lanes);
        }
    }
}

/// # Safety
/// As [`SideBySide::products`], inside the level.
#[inline(always)]
unsafe fn all_products<I: Tail<T>, T: Copy + Default + Add<Output = T>>(of: &Products<T>) {
    let len = <I as Wide<T>>::LEN;
    // The register of zeros is no line of pixels.
    let most = if of.beside { 1 } else { of.count.max(1) };
    for x in (0..of.count).step_by(most) {
        for channel in (0..of.channels).step_by(len) {
            let lanes = len.min(of.channels - channel);
            for first in (0..of.elements).step_by(ELEMENTS) {
                // SAFETY: the caller's promise; pixels, channels and elements are among those there are.
                unsafe {
                    by_elements!(
                        some_products,
                        of,
                        of.elements - first,
                        lanes == len,
                        [x, most],
                        [channel, lanes],
                        first
                    )
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
unsafe fn some_products<
    I: Tail<T>,
    T: Copy + Default + Add<Output = T>,
    const E: usize,
    const WHOLE: bool,
>(
    of: &Products<T>,
    [x, count]: [usize; 2],
    [channel, lanes]: [usize; 2],
    first: usize,
) {
    let zeros = [T::default(); crate::wide::MOST];
    // SAFETY: the caller's promise; there are zeros for a register.
    unsafe {
        let mut sums = [I::splat(T::default()); E];
        let mut from = [zeros.as_ptr(); E];
        for e in 0..E {
            let [at, to] = *of.table.add(first + e);
            sums[e] = load::<I, T, WHOLE>(of.sums.cast_const().offset(to).add(channel), lanes);
            if at != BESIDE {
                from[e] = of.from.wrapping_offset(at).wrapping_add(x * of.step + channel);
            }
        }
        for i in 0..count {
            let by = load::<I, T, WHOLE>(of.upstream.add((x + i) * of.upstream_step + channel), lanes);
            for e in 0..E {
                let pixel = load::<I, T, WHOLE>(from[e].wrapping_add(i * of.step), lanes);
                sums[e] = I::multiply_add(by, pixel, sums[e]);
            }
        }
        for (e, sum) in sums.into_iter().enumerate() {
            let [_, to] = *of.table.add(first + e);
            store::<I, T, WHOLE>(sum, of.sums.offset(to).add(channel), lanes);
        }
    }
}
