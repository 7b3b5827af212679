//! The kernels for AVX-512. Tiles are written out in [`super::avx512_tile`]; what is here serves the way out
//! of them, and vectors.
//!
//! Packing uses the AVX2 registers: its transposes are bound by memory, not by width.

use super::avx2::{F32x8, F64x4};
use super::avx512_tile;
use super::vector::{Vector, compile_level};
use std::arch::x86_64::*;

/// Sixteen `f32`.
#[derive(Clone, Copy)]
pub(super) struct F32x16(pub(super) __m512);

/// Eight `f64`.
#[derive(Clone, Copy)]
pub(super) struct F64x8(pub(super) __m512d);

// Each method below forwards to intrinsics that need AVX-512 F, which the trait's contract gives; the
// pointers are the caller's promise.
impl Vector for F32x16 {
    type Elem = f32;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see the impl.
        unsafe { F32x16(_mm512_setzero_ps()) }
    }
    #[inline(always)]
    unsafe fn splat(p: *const f32) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x16(_mm512_set1_ps(*p)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x16(_mm512_loadu_ps(p)) }
    }
    #[inline(always)]
    unsafe fn load_first(p: *const f32, count: usize) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x16(_mm512_maskz_loadu_ps(first_16(count), p)) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: see the impl.
        unsafe { _mm512_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut f32, count: usize) {
        // SAFETY: see the impl.
        unsafe { _mm512_mask_storeu_ps(p, first_16(count), self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x16(_mm512_fmadd_ps(a.0, b.0, c.0)) }
    }
    #[inline(always)]
    unsafe fn add(a: Self, b: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F32x16(_mm512_add_ps(a.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // The instruction gives its second operand when either is NaN.
        // SAFETY: see the impl.
        unsafe { F32x16(_mm512_max_ps(_mm512_setzero_ps(), self.0)) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: see the impl.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
}

// As for `F32x16`.
impl Vector for F64x8 {
    type Elem = f64;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see the impl.
        unsafe { F64x8(_mm512_setzero_pd()) }
    }
    #[inline(always)]
    unsafe fn splat(p: *const f64) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x8(_mm512_set1_pd(*p)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x8(_mm512_loadu_pd(p)) }
    }
    #[inline(always)]
    unsafe fn load_first(p: *const f64, count: usize) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x8(_mm512_maskz_loadu_pd(first_16(count) as u8, p)) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: see the impl.
        unsafe { _mm512_storeu_pd(p, self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut f64, count: usize) {
        // SAFETY: see the impl.
        unsafe { _mm512_mask_storeu_pd(p, first_16(count) as u8, self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x8(_mm512_fmadd_pd(a.0, b.0, c.0)) }
    }
    #[inline(always)]
    unsafe fn add(a: Self, b: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { F64x8(_mm512_add_pd(a.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // The instruction gives its second operand when either is NaN.
        // SAFETY: see the impl.
        unsafe { F64x8(_mm512_max_pd(_mm512_setzero_pd(), self.0)) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        // SAFETY: see the impl.
        unsafe { _mm512_reduce_add_pd(self.0) }
    }
}

/// The mask of the first `count` lanes, at most 16.
#[inline(always)]
pub(super) fn first_16(count: usize) -> u16 {
    ((1u32 << count) - 1) as u16
}

compile_level!(
    F32,
    F32x16,
    F32x8,
    avx512_tile::ROWS,
    (&avx512_tile::f32::TILES, avx512_tile::f32::PACKING),
    true,
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"
);
compile_level!(
    F64,
    F64x8,
    F64x4,
    avx512_tile::ROWS,
    (&avx512_tile::f64::TILES, avx512_tile::f64::PACKING),
    true,
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"
);
