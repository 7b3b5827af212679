//! Kernels for products of bytes: registers of elements that hold four bytes or two numbers of 16 bits.

use super::avx512::first_16;
use super::avx512_tile;
use super::bytes::ByteKernels;
use super::portable::Four;
use super::vector::{Vector, compile_level};
use crate::level::Level;
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

/// Sixteen elements of four bytes, by AVX512_VNNI.
#[derive(Clone, Copy)]
pub(super) struct Quads16(pub(super) __m512i);

/// Eight elements of four bytes, by AVX_VNNI.
#[derive(Clone, Copy)]
pub(super) struct Quads8(__m256i);

/// Eight elements of two numbers of 16 bits, by AVX2.
#[derive(Clone, Copy)]
pub(super) struct Pairs8(__m256i);

// Each method below forwards to intrinsics that need AVX-512 F, and AVX512_VNNI to multiply, which the
// trait's contract gives; the pointers are the caller's promise.
impl Vector for Quads16 {
    type Elem = i32;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see the impl.
        unsafe { Quads16(_mm512_setzero_si512()) }
    }
    #[inline(always)]
    unsafe fn splat(p: *const i32) -> Self {
        // SAFETY: see the impl.
        unsafe { Quads16(_mm512_set1_epi32(*p)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const i32) -> Self {
        // SAFETY: see the impl.
        unsafe { Quads16(_mm512_loadu_si512(p.cast())) }
    }
    #[inline(always)]
    unsafe fn load_first(p: *const i32, count: usize) -> Self {
        // SAFETY: see the impl.
        unsafe { Quads16(_mm512_maskz_loadu_epi32(first_16(count), p)) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut i32) {
        // SAFETY: see the impl.
        unsafe { _mm512_storeu_si512(p.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut i32, count: usize) {
        // SAFETY: see the impl.
        unsafe { _mm512_mask_storeu_epi32(p, first_16(count), self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { Quads16(_mm512_dpbusd_epi32(c.0, a.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn add(a: Self, b: Self) -> Self {
        // SAFETY: see the impl.
        unsafe { Quads16(_mm512_add_epi32(a.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // SAFETY: see the impl.
        unsafe { Quads16(_mm512_max_epi32(_mm512_setzero_si512(), self.0)) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> i32 {
        // SAFETY: see the impl.
        unsafe { _mm512_reduce_add_epi32(self.0) }
    }
}

/// A [`Vector`] of eight elements with this `mul_add`.
macro_rules! eight {
    ($name:ident, |$a:ident, $b:ident, $c:ident| $mul_add:expr) => {
        // Each method forwards to intrinsics that need AVX2, and what the type says to multiply, which the
        // trait's contract gives; the pointers are the caller's promise.
        impl Vector for $name {
            type Elem = i32;
            const LANES: usize = 8;

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: see the impl.
                unsafe { $name(_mm256_setzero_si256()) }
            }
            #[inline(always)]
            unsafe fn splat(p: *const i32) -> Self {
                // SAFETY: see the impl.
                unsafe { $name(_mm256_set1_epi32(*p)) }
            }
            #[inline(always)]
            unsafe fn load(p: *const i32) -> Self {
                // SAFETY: see the impl.
                unsafe { $name(_mm256_loadu_si256(p.cast())) }
            }
            #[inline(always)]
            unsafe fn load_first(p: *const i32, count: usize) -> Self {
                // SAFETY: see the impl.
                unsafe { $name(_mm256_maskload_epi32(p, first_8(count))) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut i32) {
                // SAFETY: see the impl.
                unsafe { _mm256_storeu_si256(p.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn store_first(self, p: *mut i32, count: usize) {
                // SAFETY: see the impl.
                unsafe { _mm256_maskstore_epi32(p, first_8(count), self.0) }
            }
            #[inline(always)]
            unsafe fn mul_add($a: Self, $b: Self, $c: Self) -> Self {
                // SAFETY: see the impl.
                unsafe { $name($mul_add) }
            }
            #[inline(always)]
            unsafe fn add(a: Self, b: Self) -> Self {
                // SAFETY: see the impl.
                unsafe { $name(_mm256_add_epi32(a.0, b.0)) }
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                // SAFETY: see the impl.
                unsafe { $name(_mm256_max_epi32(_mm256_setzero_si256(), self.0)) }
            }
            #[inline(always)]
            unsafe fn sum(self) -> i32 {
                let mut lanes = [0i32; 8];
                // SAFETY: there is room for eight.
                unsafe { self.store(lanes.as_mut_ptr()) };
                lanes.into_iter().fold(0, i32::wrapping_add)
            }
        }
    };
}
eight!(Quads8, |a, b, c| _mm256_dpbusd_avx_epi32(c.0, a.0, b.0));
eight!(Pairs8, |a, b, c| _mm256_add_epi32(c.0, _mm256_madd_epi16(a.0, b.0)));

/// The mask of the first `count` lanes, at most 8.
#[inline(always)]
unsafe fn first_8(count: usize) -> __m256i {
    // SAFETY: the caller has AVX2.
    unsafe { _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)) }
}

// Panels and rows come laid out, so that what packs them, over plain arrays, is hardly ever used.
compile_level!(
    QUADS_AVX512,
    Quads16,
    Four<i32>,
    avx512_tile::ROWS,
    (&avx512_tile::bytes::TILES, avx512_tile::bytes::PACKING),
    true,
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma"
);
// Compiled, six rows leave too few registers where a panel is written down on the way.
compile_level!(QUADS_AVX2, Quads8, Four<i32>, 5, [1 2 3 4 5], "avx2,fma,avxvnni");
// A product of pairs takes a register before it is added: two rows fewer.
compile_level!(PAIRS_AVX2, Pairs8, Four<i32>, 4, [1 2 3 4], "avx2,fma");

const IN_512: ByteKernels = ByteKernels { kernels: &QUADS_AVX512, quads: true };
const IN_256: ByteKernels = ByteKernels { kernels: &QUADS_AVX2, quads: true };
const IN_PAIRS: ByteKernels = ByteKernels { kernels: &PAIRS_AVX2, quads: false };

/// The best kernels of a level that this processor has.
pub(super) fn best(level: Level) -> Option<ByteKernels> {
    match level {
        Level::Portable => None,
        Level::Avx512 if is_x86_feature_detected!("avx512vnni") => Some(IN_512),
        Level::Avx2 | Level::Avx512 if is_x86_feature_detected!("avxvnni") => Some(IN_256),
        Level::Avx2 | Level::Avx512 => Some(IN_PAIRS),
    }
}

/// Every kind of kernels of a level that this processor has.
#[cfg(test)]
pub(super) fn add_available(level: Level, list: &mut Vec<ByteKernels>) {
    if level >= Level::Avx2 {
        list.push(IN_PAIRS);
    }
    if level >= Level::Avx2 && is_x86_feature_detected!("avxvnni") {
        list.push(IN_256);
    }
    if level >= Level::Avx512 && is_x86_feature_detected!("avx512vnni") {
        list.push(IN_512);
    }
}
