//! The commonest pooling of all: the maximum of 2×2 pixels side by side, of images with channels first. Rows
//! of windows are vectors.

use crate::level::Level;
use crate::math::Float;
use crate::multiversion;
#[cfg(target_arch = "x86_64")]
use std::any::TypeId;

/// The larger, as pooling sees it: NaN is larger than any number.
#[inline(always)]
fn is_better<T: Float>(value: T, held: T) -> bool {
    (value > held) | (value.is_nan() & !held.is_nan())
}

/// The maxima of a plane of `width` pixels a row, of which windows cover `2 · columns`; `out` has a row of
/// `columns` for each two of `x`.
#[inline]
pub(super) fn largest_of_pairs<T: Float>(level: Level, x: &[T], width: usize, columns: usize, out: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if let (true, Some(x), Some(out)) = (has_avx512(level), as_f32(x), as_f32_mut(out)) {
        // SAFETY: the processor has the level; rows of windows are within rows of the plane.
        unsafe { super::pool2d_pairs_avx512::largest(x, width, columns, out) };
        return;
    }
    largest(level, x, width, columns, out);
}

/// The gradient by that plane: each window's goes to the first of its largest pixels. `back` is all written.
#[inline]
pub(super) fn back_to_largest_of_pairs<T: Float>(
    level: Level,
    x: &[T],
    width: usize,
    columns: usize,
    upstream: &[T],
    back: &mut [T],
) {
    let covered = upstream.len() / columns.max(1) * 2 * width;
    back[covered..].iter_mut().for_each(|back| *back = T::ZERO);
    #[cfg(target_arch = "x86_64")]
    if let (true, Some(x), Some(upstream)) = (has_avx512(level), as_f32(x), as_f32(upstream))
        && let Some(back) = as_f32_mut(&mut back[..covered])
    {
        // SAFETY: the processor has the level; rows of windows are within rows of the plane.
        unsafe { super::pool2d_pairs_avx512::back_to_largest(x, width, columns, upstream, back) };
        return;
    }
    back_to_largest(level, x, width, columns, upstream, &mut back[..covered]);
}

#[cfg(target_arch = "x86_64")]
fn has_avx512(level: Level) -> bool {
    level.min(Level::detect()) == Level::Avx512
}

/// The same numbers, if they are f32.
#[cfg(target_arch = "x86_64")]
fn as_f32<T: 'static>(list: &[T]) -> Option<&[f32]> {
    // SAFETY: the type is the same.
    (TypeId::of::<T>() == TypeId::of::<f32>())
        .then(|| unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), list.len()) })
}

/// [`as_f32`], to be written.
#[cfg(target_arch = "x86_64")]
fn as_f32_mut<T: 'static>(list: &mut [T]) -> Option<&mut [f32]> {
    // SAFETY: the type is the same.
    (TypeId::of::<T>() == TypeId::of::<f32>())
        .then(|| unsafe { std::slice::from_raw_parts_mut(list.as_mut_ptr().cast(), list.len()) })
}

multiversion! {
    /// [`largest_of_pairs`] in plain loops.
    fn largest[I, T: (Float)](x: &[T], width: usize, columns: usize, out: &mut [T]) {
        for (rows, out) in x.chunks_exact(2 * width).zip(out.chunks_exact_mut(columns)) {
            let (top, bottom) = rows.split_at(width);
            let (top, bottom) = (top.as_chunks::<2>().0, bottom.as_chunks::<2>().0);
            for ((out, [a, b]), [c, d]) in out.iter_mut().zip(top).zip(bottom) {
                let mut held = *a;
                for value in [*b, *c, *d] {
                    held = if is_better(value, held) { value } else { held };
                }
                *out = held;
            }
        }
    }
}

multiversion! {
    /// [`back_to_largest_of_pairs`] in plain loops, without the rows that no window has.
    fn back_to_largest[I, T: (Float)](
        x: &[T],
        width: usize,
        columns: usize,
        upstream: &[T],
        back: &mut [T],
    ) {
        let rows = x.chunks_exact(2 * width).zip(back.chunks_exact_mut(2 * width));
        for ((x, back), upstream) in rows.zip(upstream.chunks_exact(columns)) {
            let (top, bottom) = x.split_at(width);
            let (back_top, back_bottom) = back.split_at_mut(width);
            // One pixel at most, for which nobody should be called.
            for (top, bottom) in back_top[2 * columns..].iter_mut().zip(&mut back_bottom[2 * columns..]) {
                (*top, *bottom) = (T::ZERO, T::ZERO);
            }
            for first in (0..columns).step_by(PART) {
                let count = PART.min(columns - first);
                let pixels = 2 * first..2 * (first + count);
                let parts = shares(&top[pixels.clone()], &bottom[pixels.clone()], &upstream[first..first + count]);
                interleave(&parts[0], &parts[1], &mut back_top[pixels.clone()]);
                interleave(&parts[2], &parts[3], &mut back_bottom[pixels]);
            }
        }
    }
}

/// Windows that are done at a time.
const PART: usize = 32;

/// What the four pixels of each window get. In arrays of their own: loops that read and write few places
/// become vectors.
#[inline(always)]
fn shares<T: Float>(top: &[T], bottom: &[T], upstream: &[T]) -> [[T; PART]; 4] {
    let mut shares = [[T::ZERO; PART]; 4];
    let [to_a, to_b, to_c, to_d] = &mut shares;
    let count = upstream.len().min(PART);
    let (top, bottom) = (&top[..2 * count], &bottom[..2 * count]);
    for i in 0..count {
        let [a, b, c, d] = [top[2 * i], top[2 * i + 1], bottom[2 * i], bottom[2 * i + 1]];
        let second = is_better(b, a);
        let held = if second { b } else { a };
        let third = is_better(c, held);
        let held = if third { c } else { held };
        let fourth = is_better(d, held);
        // A sum with zero, as other windows make it: a gradient of -0 is 0.
        let part = T::ZERO + upstream[i];
        to_a[i] = if second | third | fourth { T::ZERO } else { part };
        to_b[i] = if second & !(third | fourth) { part } else { T::ZERO };
        to_c[i] = if third & !fourth { part } else { T::ZERO };
        to_d[i] = if fourth { part } else { T::ZERO };
    }
    shares
}

/// One of each in turn.
#[inline(always)]
fn interleave<T: Float>(even: &[T; PART], odd: &[T; PART], to: &mut [T]) {
    for ((to, even), odd) in to.as_chunks_mut::<2>().0.iter_mut().zip(even).zip(odd) {
        *to = [*even, *odd];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first of a window's largest pixels, one by one.
    fn first_largest(x: &[f32], width: usize, row: usize, column: usize) -> usize {
        let at = 2 * row * width + 2 * column;
        [at + 1, at + width, at + width + 1].into_iter().fold(at, |held, next| {
            let better = x[next] > x[held] || (x[next].is_nan() && !x[held].is_nan());
            if better { next } else { held }
        })
    }

    #[test]
    fn every_window_gives_its_first_largest_pixel_and_its_gradient_goes_there_whatever_the_width() {
        for (height, width) in [(2, 2), (5, 7), (26, 26), (4, 33), (4, 37), (3, 64), (6, 99)] {
            let (rows, columns) = (height / 2, width / 2);
            // Few values, so that there are equals; some NaN.
            let value = |i: usize| if i % 11 == 3 { f32::NAN } else { (i * 7 % 5) as f32 - 2.0 };
            let x: Vec<f32> = (0..height * width).map(value).collect();
            let upstream: Vec<f32> = (1..=rows * columns).map(|i| i as f32).collect();
            let mut want = vec![0.0; x.len()];
            for (window, part) in upstream.iter().enumerate() {
                want[first_largest(&x, width, window / columns, window % columns)] += part;
            }
            for level in Level::available() {
                let (mut out, mut back) = (vec![9.0; rows * columns], vec![9.0; x.len()]);
                largest_of_pairs(level, &x, width, columns, &mut out);
                back_to_largest_of_pairs(level, &x, width, columns, &upstream, &mut back);
                for (window, out) in out.iter().enumerate() {
                    let largest = x[first_largest(&x, width, window / columns, window % columns)];
                    assert!(
                        *out == largest || (out.is_nan() && largest.is_nan()),
                        "{height}×{width} at {level}"
                    );
                }
                assert_eq!(back, want, "{height}×{width} at {level}");
            }
        }
    }
}
