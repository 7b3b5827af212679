//! The kernels for AVX2 and FMA: 16 registers, of which a tile of 6 rows by 2 registers uses 12 for sums, 2
//! for B and 1 for A.
//!
//! Two multiply-adds start per cycle and each takes four, so any tile of at least 8 sums keeps the units
//! busy.

use super::avx2_loop;
use super::tile::{self, Tile};
use super::vector::{Transpose, Vector, compile_level};
use std::arch::x86_64::*;

/// Eight `f32`.
#[derive(Clone, Copy)]
pub(super) struct F32x8(__m256);

/// Four `f64`.
#[derive(Clone, Copy)]
pub(super) struct F64x4(__m256d);

/// Ones followed by zeros: the mask of the first `count` lanes starts `lanes - count` words in.
static MASK_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
static MASK_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

// Each method below forwards to intrinsics that need AVX2 and FMA, which the trait's contract gives; the
// pointers are the caller's promise, and the mask loads stay inside the tables because `count <= LANES`.
impl Vector for F32x8 {
    type Elem = f32;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see the impl.
        unsafe { F32x8(_mm256_setzero_ps()) }
    }
    #[inline(always)]
    unsafe fn splat(p: *const f32) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x8(_mm256_set1_ps(*p)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x8(_mm256_loadu_ps(p)) }
    }
    #[inline(always)]
    unsafe fn load_first(p: *const f32, count: usize) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x8(_mm256_maskload_ps(p, mask_32(count))) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: see the impl.
        unsafe { _mm256_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut f32, count: usize) {
        // SAFETY: see the impl.
        unsafe { _mm256_maskstore_ps(p, mask_32(count), self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x8(_mm256_fmadd_ps(a.0, b.0, c.0)) }
    }
    #[inline(always)]
    unsafe fn add(a: Self, b: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x8(_mm256_add_ps(a.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // The instruction gives its second operand when either is NaN.
        // SAFETY: see the impl.
        unsafe { F32x8(_mm256_max_ps(_mm256_setzero_ps(), self.0)) }
    }
    #[inline(always)]
    unsafe fn accumulate<const M: usize, const N: usize, const BY_ROWS: bool, const PACK: bool>(
        t: &Tile<f32>,
    ) -> [[Self; N]; M] {
        // SAFETY: see the impl; the caller keeps `Tile`'s promises.
        let sums = unsafe {
            match (M, N, PACK) {
                (4, 2, false) => avx2_loop::f32_4(t),
                (5, 2, false) => avx2_loop::f32_5(t),
                (6, 2, false) => avx2_loop::f32_6(t),
                (6, 2, true) => avx2_loop::f32_6_packing(t),
                _ => return tile::accumulate::<Self, M, N, BY_ROWS, PACK>(t),
            }
        };
        std::array::from_fn(|i| std::array::from_fn(|j| F32x8(sums[2 * i + j])))
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: see the impl.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
}

impl Transpose for F32x8 {
    type Square = [F32x8; 8];

    #[inline(always)]
    unsafe fn zero_square() -> Self::Square {
        // SAFETY: see the impl of `Vector`.
        unsafe { [F32x8::zero(); 8] }
    }
    #[inline(always)]
    unsafe fn transpose(s: &mut Self::Square) {
        // Pairs of lanes, then pairs of pairs, then halves of registers.
        // SAFETY: see the impl of `Vector`.
        unsafe {
            let mut pairs = [_mm256_setzero_ps(); 8];
            for i in 0..4 {
                pairs[2 * i] = _mm256_unpacklo_ps(s[2 * i].0, s[2 * i + 1].0);
                pairs[2 * i + 1] = _mm256_unpackhi_ps(s[2 * i].0, s[2 * i + 1].0);
            }
            let mut quads = [_mm256_setzero_ps(); 8];
            for i in 0..2 {
                let p = &pairs[4 * i..4 * i + 4];
                quads[4 * i] = _mm256_shuffle_ps::<0x44>(p[0], p[2]);
                quads[4 * i + 1] = _mm256_shuffle_ps::<0xee>(p[0], p[2]);
                quads[4 * i + 2] = _mm256_shuffle_ps::<0x44>(p[1], p[3]);
                quads[4 * i + 3] = _mm256_shuffle_ps::<0xee>(p[1], p[3]);
            }
            for i in 0..4 {
                s[i] = F32x8(_mm256_permute2f128_ps::<0x20>(quads[i], quads[i + 4]));
                s[i + 4] = F32x8(_mm256_permute2f128_ps::<0x31>(quads[i], quads[i + 4]));
            }
        }
    }
}

// As for `F32x8`.
impl Vector for F64x4 {
    type Elem = f64;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see the impl.
        unsafe { F64x4(_mm256_setzero_pd()) }
    }
    #[inline(always)]
    unsafe fn splat(p: *const f64) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x4(_mm256_set1_pd(*p)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x4(_mm256_loadu_pd(p)) }
    }
    #[inline(always)]
    unsafe fn load_first(p: *const f64, count: usize) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x4(_mm256_maskload_pd(p, mask_64(count))) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: see the impl.
        unsafe { _mm256_storeu_pd(p, self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut f64, count: usize) {
        // SAFETY: see the impl.
        unsafe { _mm256_maskstore_pd(p, mask_64(count), self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x4(_mm256_fmadd_pd(a.0, b.0, c.0)) }
    }
    #[inline(always)]
    unsafe fn add(a: Self, b: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x4(_mm256_add_pd(a.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // The instruction gives its second operand when either is NaN.
        // SAFETY: see the impl.
        unsafe { F64x4(_mm256_max_pd(_mm256_setzero_pd(), self.0)) }
    }
    #[inline(always)]
    unsafe fn accumulate<const M: usize, const N: usize, const BY_ROWS: bool, const PACK: bool>(
        t: &Tile<f64>,
    ) -> [[Self; N]; M] {
        // SAFETY: see the impl; the caller keeps `Tile`'s promises.
        let sums = unsafe {
            match (M, N, PACK) {
                (4, 2, false) => avx2_loop::f64_4(t),
                (5, 2, false) => avx2_loop::f64_5(t),
                (6, 2, false) => avx2_loop::f64_6(t),
                (6, 2, true) => avx2_loop::f64_6_packing(t),
                _ => return tile::accumulate::<Self, M, N, BY_ROWS, PACK>(t),
            }
        };
        std::array::from_fn(|i| std::array::from_fn(|j| F64x4(sums[2 * i + j])))
    }
    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        // SAFETY: see the impl.
        unsafe {
            let two = _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        }
    }
}

impl Transpose for F64x4 {
    type Square = [F64x4; 4];

    #[inline(always)]
    unsafe fn zero_square() -> Self::Square {
        // SAFETY: see the impl of `Vector`.
        unsafe { [F64x4::zero(); 4] }
    }
    #[inline(always)]
    unsafe fn transpose(s: &mut Self::Square) {
        // SAFETY: see the impl of `Vector`.
        unsafe {
            let even_01 = _mm256_unpacklo_pd(s[0].0, s[1].0);
            let odd_01 = _mm256_unpackhi_pd(s[0].0, s[1].0);
            let even_23 = _mm256_unpacklo_pd(s[2].0, s[3].0);
            let odd_23 = _mm256_unpackhi_pd(s[2].0, s[3].0);
            s[0] = F64x4(_mm256_permute2f128_pd::<0x20>(even_01, even_23));
            s[1] = F64x4(_mm256_permute2f128_pd::<0x20>(odd_01, odd_23));
            s[2] = F64x4(_mm256_permute2f128_pd::<0x31>(even_01, even_23));
            s[3] = F64x4(_mm256_permute2f128_pd::<0x31>(odd_01, odd_23));
        }
    }
}

#[inline(always)]
unsafe fn mask_32(count: usize) -> __m256i {
    // SAFETY: `count` is at most 8, so eight words from here are inside the table.
    unsafe { _mm256_loadu_si256(MASK_32.as_ptr().add(8 - count).cast()) }
}

#[inline(always)]
unsafe fn mask_64(count: usize) -> __m256i {
    // SAFETY: `count` is at most 4, so four words from here are inside the table.
    unsafe { _mm256_loadu_si256(MASK_64.as_ptr().add(4 - count).cast()) }
}

compile_level!(F32, F32x8, F32x8, 6, [1 2 3 4 5 6], "avx2,fma");
compile_level!(F64, F64x4, F64x4, 6, [1 2 3 4 5 6], "avx2,fma");
