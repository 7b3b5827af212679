//! Small blocks transposed: rows of pixels become rows of channels, and the other way.

use crate::level::Level;
use crate::multiversion;
use std::ops::Add;

/// A block to transpose: `to[j · across + i · along] = from[i · distance + j]`
/// for `i` below `rows` and `j` below `columns`; added to what is there, with `add`.
#[derive(Debug)]
pub(super) struct TransposeBlock<T> {
    pub(super) from: *const T,
    pub(super) distance: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) to: *mut T,
    pub(super) along: usize,
    pub(super) across: usize,
    pub(super) add: bool,
}

impl<T: Copy + Add<Output = T> + 'static> TransposeBlock<T> {
    /// Turns it.
    ///
    /// # Safety
    /// What is read can be read and what is written can be written; they do not overlap.
    #[inline]
    pub(super) unsafe fn run(&self, level: Level) {
        #[cfg(target_arch = "x86_64")]
        if level.min(Level::detect()) == Level::Avx512
            && std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>()
            && self.along <= 2
        {
            // SAFETY: the processor has the level; the type is f32; the rest is the caller's promise.
            unsafe { avx512::transpose(&*std::ptr::from_ref(self).cast::<TransposeBlock<f32>>()) };
            return;
        }
        plain(level, self);
    }
}

/// Writes `count` numbers to every second element, or adds them; says whether there are instructions for it.
/// Whoever calls it is compiled for the level whose registers have `bytes` bytes.
///
/// # Safety
/// What is read can be read and what is written can be written; a whole register can be read.
#[inline(always)]
pub(super) unsafe fn spread<T: 'static>(
    bytes: usize,
    from: *const T,
    to: *mut T,
    count: usize,
    add: bool,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if bytes == 64 && std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>() {
        // SAFETY: the level is AVX-512, as no other has such registers; the type is f32; the rest is the
        // caller's promise.
        unsafe { avx512::spread(from.cast(), to.cast(), count, add) };
        return true;
    }
    let _ = (bytes, from, to, count, add);
    false
}

multiversion! {
    /// The promise of [`TransposeBlock::run`]'s caller holds: it is called from there alone.
    fn plain[I, T: (Copy + Add<Output = T>)](transpose: &TransposeBlock<T>) {
        for j in 0..transpose.columns {
            for i in 0..transpose.rows {
                // SAFETY: as promised.
                unsafe {
                    let to = transpose.to.add(j * transpose.across + i * transpose.along);
                    let value = *transpose.from.add(i * transpose.distance + j);
                    *to = if transpose.add { *to + value } else { value };
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::TransposeBlock;
    use std::arch::x86_64::*;

    /// Numbers in a register.
    const LANES: usize = 16;

    /// # Safety
    /// As [`TransposeBlock::run`]; the processor has AVX-512 F; results are one or two elements apart.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn transpose(transpose: &TransposeBlock<f32>) {
        for top in (0..transpose.rows).step_by(LANES) {
            for left in (0..transpose.columns).step_by(LANES) {
                let (rows, columns) = (LANES.min(transpose.rows - top), LANES.min(transpose.columns - left));
                // SAFETY: the square is within the block.
                unsafe {
                    let square = square(
                        transpose.from.add(top * transpose.distance + left),
                        transpose.distance,
                        rows,
                        columns,
                    );
                    let to = transpose.to.add(left * transpose.across + top * transpose.along);
                    if transpose.along == 1 {
                        store(&square, to, transpose.across, rows, columns, transpose.add);
                    } else {
                        store_apart(&square, to, transpose.across, rows, columns, transpose.add);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn first(count: usize) -> u16 {
        ((1u32 << count) - 1) as u16
    }

    /// # Safety
    /// `to` can be written for `rows` elements of each of `columns` lines.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(
        square: &[__m512; 16],
        to: *mut f32,
        across: usize,
        rows: usize,
        columns: usize,
        add: bool,
    ) {
        let mask = first(rows);
        for (j, &line) in square.iter().enumerate() {
            if j < columns {
                // SAFETY: the mask keeps to what is the line's.
                unsafe {
                    let to = to.add(j * across);
                    let line = if add { _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), line) } else { line };
                    _mm512_mask_storeu_ps(to, mask, line);
                }
            }
        }
    }

    /// [`store`] to every second element.
    ///
    /// # Safety
    /// As there.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store_apart(
        square: &[__m512; 16],
        to: *mut f32,
        across: usize,
        rows: usize,
        columns: usize,
        add: bool,
    ) {
        for (j, &line) in square.iter().enumerate() {
            if j < columns {
                // SAFETY: as promised for the line.
                unsafe { apart(line, to.add(j * across), rows, add) };
            }
        }
    }

    /// # Safety
    /// A register can be read, and `count` numbers written.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn spread(from: *const f32, to: *mut f32, count: usize, add: bool) {
        // SAFETY: the caller's promise.
        unsafe { apart(_mm512_loadu_ps(from), to, count, add) };
    }

    /// # Safety
    /// `count` numbers can be written, two elements apart.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn apart(line: __m512, to: *mut f32, rows: usize, add: bool) {
        let low = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
        let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
        for (half, index) in [low, high].into_iter().enumerate() {
            let count = rows.saturating_sub(8 * half).min(8);
            if count > 0 {
                let mask = first(2 * count) & 0x5555;
                // SAFETY: the mask keeps to what is the line's.
                unsafe {
                    let to = to.add(16 * half);
                    let line = _mm512_permutexvar_ps(index, line);
                    let line = if add { _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), line) } else { line };
                    _mm512_mask_storeu_ps(to, mask, line);
                }
            }
        }
    }

    /// Sixteen rows as sixteen columns; those beyond `rows` and `columns` are zero.
    ///
    /// # Safety
    /// The rows can be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn square(from: *const f32, distance: usize, rows: usize, columns: usize) -> [__m512; 16] {
        let mask = first(columns);
        let mut r = [_mm512_setzero_ps(); 16];
        for (i, row) in r.iter_mut().enumerate() {
            if i < rows {
                // SAFETY: the row is one of those, and the mask keeps to its columns.
                *row = unsafe { _mm512_maskz_loadu_ps(mask, from.add(i * distance)) };
            }
        }
        // Pairs of rows, then of pairs, then of fours and eights: each step doubles how much of a column is
        // together.
        let mut s = r;
        for i in (0..16).step_by(4) {
            let pairs = [
                _mm512_unpacklo_ps(r[i], r[i + 1]),
                _mm512_unpackhi_ps(r[i], r[i + 1]),
                _mm512_unpacklo_ps(r[i + 2], r[i + 3]),
                _mm512_unpackhi_ps(r[i + 2], r[i + 3]),
            ]
            .map(|v| _mm512_castps_pd(v));
            let fours = [
                _mm512_unpacklo_pd(pairs[0], pairs[2]),
                _mm512_unpackhi_pd(pairs[0], pairs[2]),
                _mm512_unpacklo_pd(pairs[1], pairs[3]),
                _mm512_unpackhi_pd(pairs[1], pairs[3]),
            ];
            for (n, v) in fours.into_iter().enumerate() {
                s[i + n] = _mm512_castpd_ps(v);
            }
        }
        // s[4 g + n]: column n of every quarter, of rows 4 g to 4 g + 3.
        let mut t = s;
        for n in 0..4 {
            let low = _mm512_shuffle_f32x4::<0x88>(s[n], s[4 + n]);
            let high = _mm512_shuffle_f32x4::<0xdd>(s[n], s[4 + n]);
            let low_after = _mm512_shuffle_f32x4::<0x88>(s[8 + n], s[12 + n]);
            let high_after = _mm512_shuffle_f32x4::<0xdd>(s[8 + n], s[12 + n]);
            t[n] = _mm512_shuffle_f32x4::<0x88>(low, low_after);
            t[8 + n] = _mm512_shuffle_f32x4::<0xdd>(low, low_after);
            t[4 + n] = _mm512_shuffle_f32x4::<0x88>(high, high_after);
            t[12 + n] = _mm512_shuffle_f32x4::<0xdd>(high, high_after);
        }
        t
    }
}
