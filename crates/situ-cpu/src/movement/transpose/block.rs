//! Square blocks turned over in registers.

use crate::level::Level;

/// Turns a source of `columns` rows and `rows` columns over, as far as whole blocks go: unit `(i, j)` of the
/// destination is unit `(j, i)` of the source. Returns how many rows and columns of the destination it did.
///
/// # Safety
/// `from` is readable for `columns` runs of `rows` units that are `from_row` bytes apart, and `to` writable
/// for `rows` runs of `columns` units that are `to_row` bytes apart, without overlap.
pub(super) unsafe fn turn(
    level: Level,
    size: usize,
    from: *const u8,
    from_row: isize,
    to: *mut u8,
    to_row: isize,
    rows: usize,
    columns: usize,
) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = level.min(Level::detect()) >= Level::Avx2;
        let block: (usize, x86::Block) = match size {
            1 if avx2 => (16, x86::bytes_16_avx2),
            1 => (16, x86::bytes_16),
            4 if avx2 => (8, x86::words_8),
            4 => (4, x86::words_4),
            8 if avx2 => (4, x86::longs_4),
            8 => (2, x86::longs_2),
            _ => return (0, 0),
        };
        let (side, block) = block;
        let (rows, columns) = (rows / side * side, columns / side * side);
        for j in (0..columns).step_by(side) {
            for i in (0..rows).step_by(side) {
                // SAFETY: the block is within both; the processor has the instructions of the function
                // chosen.
                unsafe {
                    let from = from.offset(j as isize * from_row).add(i * size);
                    let to = to.offset(i as isize * to_row).add(j * size);
                    block(from, from_row, to, to_row);
                }
            }
        }
        (rows, columns)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (level, size, from, from_row, to, to_row, rows, columns);
        (0, 0)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Turns one block over.
    ///
    /// # Safety
    /// Every row of the block is readable at `from` and writable at `to`, and the processor has the
    /// function's instructions.
    pub(super) type Block = unsafe fn(from: *const u8, from_row: isize, to: *mut u8, to_row: isize);

    /// 4 by 4 units of 4 bytes.
    pub(super) unsafe fn words_4(from: *const u8, from_row: isize, to: *mut u8, to_row: isize) {
        // SAFETY: as for `Block`; SSE2 is in the baseline.
        unsafe {
            let row = |i: isize| _mm_loadu_ps(from.offset(i * from_row).cast());
            let (mut a, mut b, mut c, mut d) = (row(0), row(1), row(2), row(3));
            _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
            for (i, row) in [a, b, c, d].into_iter().enumerate() {
                _mm_storeu_ps(to.offset(i as isize * to_row).cast(), row);
            }
        }
    }

    /// 8 by 8 units of 4 bytes.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn words_8(from: *const u8, from_row: isize, to: *mut u8, to_row: isize) {
        // SAFETY: as for `Block`.
        unsafe {
            // Halves of rows i and i + 4 side by side, so that the rest stays within halves.
            let halves = |i: isize, half: isize| {
                let low = _mm_loadu_ps(from.offset(i * from_row + half * 16).cast());
                let high = _mm_loadu_ps(from.offset((i + 4) * from_row + half * 16).cast());
                _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
            };
            for half in 0..2 {
                let (a, b, c, d) = (halves(0, half), halves(1, half), halves(2, half), halves(3, half));
                let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                let rows = [
                    _mm256_shuffle_ps::<0x44>(ab_low, cd_low),
                    _mm256_shuffle_ps::<0xee>(ab_low, cd_low),
                    _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
                    _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
                ];
                for (i, row) in rows.into_iter().enumerate() {
                    _mm256_storeu_ps(to.offset((half * 4 + i as isize) * to_row).cast(), row);
                }
            }
        }
    }

    /// 2 by 2 units of 8 bytes.
    pub(super) unsafe fn longs_2(from: *const u8, from_row: isize, to: *mut u8, to_row: isize) {
        // SAFETY: as for `Block`; SSE2 is in the baseline.
        unsafe {
            let (a, b) = (_mm_loadu_pd(from.cast()), _mm_loadu_pd(from.offset(from_row).cast()));
            _mm_storeu_pd(to.cast(), _mm_unpacklo_pd(a, b));
            _mm_storeu_pd(to.offset(to_row).cast(), _mm_unpackhi_pd(a, b));
        }
    }

    /// 4 by 4 units of 8 bytes.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn longs_4(from: *const u8, from_row: isize, to: *mut u8, to_row: isize) {
        // SAFETY: as for `Block`.
        unsafe {
            let halves = |i: isize, half: isize| {
                let low = _mm_loadu_pd(from.offset(i * from_row + half * 16).cast());
                let high = _mm_loadu_pd(from.offset((i + 2) * from_row + half * 16).cast());
                _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high)
            };
            for half in 0..2 {
                let (a, b) = (halves(0, half), halves(1, half));
                _mm256_storeu_pd(to.offset(half * 2 * to_row).cast(), _mm256_unpacklo_pd(a, b));
                _mm256_storeu_pd(to.offset((half * 2 + 1) * to_row).cast(), _mm256_unpackhi_pd(a, b));
            }
        }
    }

    /// 16 by 16 single bytes.
    pub(super) unsafe fn bytes_16(from: *const u8, from_row: isize, to: *mut u8, to_row: isize) {
        // SAFETY: as for `Block`.
        unsafe { turn_bytes(from, from_row, to, to_row) };
    }

    /// [`bytes_16`] with instructions of three operands.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn bytes_16_avx2(from: *const u8, from_row: isize, to: *mut u8, to_row: isize) {
        // SAFETY: as for `Block`.
        unsafe { turn_bytes(from, from_row, to, to_row) };
    }

    /// # Safety
    /// As for [`Block`].
    #[inline(always)]
    unsafe fn turn_bytes(from: *const u8, from_row: isize, to: *mut u8, to_row: isize) {
        // SAFETY: as for `Block`; SSE2 is in the baseline.
        unsafe {
            let load = |i: usize| _mm_loadu_si128(from.offset(i as isize * from_row).cast());
            // Each round interleaves row i with row i + 8; after four rounds rows have become columns.
            let mut rows: [__m128i; 16] = std::array::from_fn(load);
            rows = interleave(rows);
            rows = interleave(rows);
            rows = interleave(rows);
            rows = interleave(rows);
            for (i, row) in rows.into_iter().enumerate() {
                _mm_storeu_si128(to.offset(i as isize * to_row).cast(), row);
            }
        }
    }

    #[inline(always)]
    fn interleave(rows: [__m128i; 16]) -> [__m128i; 16] {
        std::array::from_fn(|i| {
            let (a, b) = (rows[i / 2], rows[i / 2 + 8]);
            // SAFETY: SSE2 is in the baseline.
            unsafe { if i % 2 == 0 { _mm_unpacklo_epi8(a, b) } else { _mm_unpackhi_epi8(a, b) } }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_the_transpose_on_every_level() {
        for level in Level::available() {
            for (size, rows, columns) in
                [(1, 16, 16), (1, 35, 20), (4, 8, 8), (4, 19, 26), (8, 4, 4), (8, 9, 14)]
            {
                let source: Vec<u8> = (0..rows * columns * size).map(|i| (i * 7 + i / 251) as u8).collect();
                let mut to = vec![0u8; source.len()];
                // SAFETY: the vectors have that many rows and columns.
                let (did_rows, did_columns) = unsafe {
                    let (from_row, to_row) = ((rows * size) as isize, (columns * size) as isize);
                    turn(level, size, source.as_ptr(), from_row, to.as_mut_ptr(), to_row, rows, columns)
                };
                assert!(did_rows <= rows && did_columns <= columns);
                for i in 0..did_rows {
                    for j in 0..did_columns {
                        let (at, from) = ((i * columns + j) * size, (j * rows + i) * size);
                        assert_eq!(to[at..at + size], source[from..from + size], "{level} {size}: {i}, {j}");
                    }
                }
                #[cfg(target_arch = "x86_64")]
                assert!(did_rows > 0 && did_columns > 0);
            }
        }
    }
}
