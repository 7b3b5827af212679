//! [`pool2d_pairs`](super::pool2d_pairs) of f32 in registers of AVX-512: sixteen windows at a time. The
//! compiler takes pixels of a row apart through memory; here they are taken apart in registers.

use std::arch::x86_64::*;

/// Windows at a time.
const LANES: usize = 16;

/// A mask of the first `count` lanes of a register, and of those behind them in the next.
#[inline(always)]
fn first(count: usize) -> [u16; 2] {
    let bits = |n: usize| ((1u32 << n.min(LANES)) - 1) as u16;
    [bits(count), bits(count.saturating_sub(LANES))]
}

/// The four pixels of sixteen windows: left and right of the row above, and of the one below.
type Pixels = [__m512; 4];

/// Left and right pixels of two registers that hold pairs.
#[inline]
#[target_feature(enable = "avx512f")]
fn apart(low: __m512, high: __m512) -> [__m512; 2] {
    let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    [_mm512_permutex2var_ps(low, even, high), _mm512_permutex2var_ps(low, odd, high)]
}

/// Pairs of left and right pixels, in two registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn together(left: __m512, right: __m512) -> [__m512; 2] {
    let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    [_mm512_permutex2var_ps(left, low, right), _mm512_permutex2var_ps(left, high, right)]
}

/// Where a value takes the place of the one that is held: it is larger, or the first NaN.
#[inline]
#[target_feature(enable = "avx512f")]
fn better(value: __m512, held: __m512) -> u16 {
    _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(value, held) & _mm512_cmp_ps_mask::<_CMP_ORD_Q>(held, held)
}

/// # Safety
/// Both rows can be read for `count` windows.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load(top: *const f32, bottom: *const f32, count: usize) -> Pixels {
    let [low, high] = first(2 * count);
    // SAFETY: the masks keep to pixels of the windows.
    let [[a, b], [c, d]] = [top, bottom].map(|row| unsafe {
        apart(_mm512_maskz_loadu_ps(low, row), _mm512_maskz_loadu_ps(high, row.wrapping_add(LANES)))
    });
    [a, b, c, d]
}

/// The maxima of a plane.
///
/// # Safety
/// The processor has AVX-512 F. `x` has two rows of `width` pixels for each row of `columns` results, and as
/// many pixels of a row are there.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn largest(x: &[f32], width: usize, columns: usize, out: &mut [f32]) {
    for (rows, out) in x.chunks_exact(2 * width).zip(out.chunks_exact_mut(columns)) {
        for at in (0..columns).step_by(LANES) {
            let count = LANES.min(columns - at);
            // SAFETY: the windows are within the rows.
            unsafe {
                let top = rows.as_ptr().add(2 * at);
                let [a, b, c, d] = load(top, top.add(width), count);
                let mut held = a;
                for value in [b, c, d] {
                    held = _mm512_mask_mov_ps(held, better(value, held), value);
                }
                _mm512_mask_storeu_ps(out.as_mut_ptr().add(at), first(count)[0], held);
            }
        }
    }
}

/// The gradient by a plane; rows below the last window are left as they are.
///
/// # Safety
/// As [`largest`]; `back` is as `x`.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn back_to_largest(
    x: &[f32],
    width: usize,
    columns: usize,
    upstream: &[f32],
    back: &mut [f32],
) {
    let rows = x.chunks_exact(2 * width).zip(back.chunks_exact_mut(2 * width));
    for ((x, back), upstream) in rows.zip(upstream.chunks_exact(columns)) {
        for at in (0..columns).step_by(LANES) {
            let count = LANES.min(columns - at);
            let last = at + count == columns;
            // Pixels of a row that no window has are zero: they go with the last windows, as far as there are
            // lanes.
            let pixels = if last { (width - 2 * at).min(2 * LANES) } else { 2 * count };
            // SAFETY: the windows are within the rows; lanes beyond them have no gradient, so that what is
            // written there is zero.
            unsafe {
                let top = x.as_ptr().add(2 * at);
                let [a, b, c, d] = load(top, top.add(width), count);
                let second = better(b, a);
                let held = _mm512_mask_mov_ps(a, second, b);
                let third = better(c, held);
                let held = _mm512_mask_mov_ps(held, third, c);
                let fourth = better(d, held);
                let part = _mm512_maskz_loadu_ps(first(count)[0], upstream.as_ptr().add(at));
                // A sum with zero, as other windows make it: a gradient of -0 is 0.
                let part = _mm512_add_ps(part, _mm512_setzero_ps());
                let share = |mask: u16| _mm512_maskz_mov_ps(mask, part);
                let above = together(share(!(second | third | fourth)), share(second & !(third | fourth)));
                let below = together(share(third & !fourth), share(fourth));
                let to = back.as_mut_ptr().add(2 * at);
                for (to, row) in [(to, above), (to.add(width), below)] {
                    let [low, high] = first(pixels);
                    _mm512_mask_storeu_ps(to, low, row[0]);
                    if high != 0 {
                        _mm512_mask_storeu_ps(to.add(LANES), high, row[1]);
                    }
                }
            }
            let done = 2 * at + pixels;
            if last && done < width {
                for i in done..width {
                    back[i] = 0.0;
                    back[width + i] = 0.0;
                }
            }
        }
    }
}
