//! What a chain needs of a vector: the operations of its instructions, for AVX2 and for AVX-512.

use std::arch::x86_64::*;

/// Vectors of one width.
///
/// # Safety
/// Every method needs a processor with the width's instructions; those on memory need a vector's room at the
/// address.
pub(super) trait Lanes: Copy {
    /// A vector of floats.
    type V: Copy;
    /// Floats of a vector.
    const LANES: usize;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(to: *mut f32, v: Self::V);
    /// Past the caches; `to` is aligned to a vector.
    unsafe fn stream(to: *mut f32, v: Self::V);
    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sqrt(a: Self::V) -> Self::V;
    /// `if a > b { a } else { b }`
    unsafe fn larger(a: Self::V, b: Self::V) -> Self::V;
    /// `if a < b { a } else { b }`
    unsafe fn smaller(a: Self::V, b: Self::V) -> Self::V;
    /// With the bits of `mask` turned over.
    unsafe fn xor(a: Self::V, mask: u32) -> Self::V;
    /// With the bits of `mask` alone.
    unsafe fn and(a: Self::V, mask: u32) -> Self::V;
    /// All bits of a lane where the comparison holds, else none.
    unsafe fn compare<const HOW: i32>(a: Self::V, b: Self::V) -> Self::V;
    /// `a` in lanes whose highest mask bit is set, else `b`.
    unsafe fn select(mask: Self::V, a: Self::V, b: Self::V) -> Self::V;
}

/// Eight floats.
#[derive(Clone, Copy)]
pub(super) struct Avx2;

/// Sixteen floats.
#[derive(Clone, Copy)]
pub(super) struct Avx512;

/// One-line methods, each by its expression.
macro_rules! methods {
    ($($name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)? { $value:expr })*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: $ty),*) $(-> $out)? {
            // SAFETY: the caller's promise.
            unsafe { $value }
        }
    )*};
}

impl Lanes for Avx2 {
    type V = __m256;
    const LANES: usize = 8;
    methods! {
        load(from: *const f32) -> __m256 { _mm256_loadu_ps(from) }
        store(to: *mut f32, v: __m256) { _mm256_storeu_ps(to, v) }
        stream(to: *mut f32, v: __m256) { _mm256_stream_ps(to, v) }
        splat(x: f32) -> __m256 { _mm256_set1_ps(x) }
        add(a: __m256, b: __m256) -> __m256 { _mm256_add_ps(a, b) }
        sub(a: __m256, b: __m256) -> __m256 { _mm256_sub_ps(a, b) }
        mul(a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
        div(a: __m256, b: __m256) -> __m256 { _mm256_div_ps(a, b) }
        sqrt(a: __m256) -> __m256 { _mm256_sqrt_ps(a) }
        larger(a: __m256, b: __m256) -> __m256 { _mm256_max_ps(a, b) }
        smaller(a: __m256, b: __m256) -> __m256 { _mm256_min_ps(a, b) }
        xor(a: __m256, mask: u32) -> __m256 { _mm256_xor_ps(a, _mm256_set1_ps(f32::from_bits(mask))) }
        and(a: __m256, mask: u32) -> __m256 { _mm256_and_ps(a, _mm256_set1_ps(f32::from_bits(mask))) }
        select(mask: __m256, a: __m256, b: __m256) -> __m256 { _mm256_blendv_ps(b, a, mask) }
    }
    #[inline(always)]
    unsafe fn compare<const HOW: i32>(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_cmp_ps::<HOW>(a, b) }
    }
}

impl Lanes for Avx512 {
    type V = __m512;
    const LANES: usize = 16;
    methods! {
        load(from: *const f32) -> __m512 { _mm512_loadu_ps(from) }
        store(to: *mut f32, v: __m512) { _mm512_storeu_ps(to, v) }
        stream(to: *mut f32, v: __m512) { _mm512_stream_ps(to, v) }
        splat(x: f32) -> __m512 { _mm512_set1_ps(x) }
        add(a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
        sub(a: __m512, b: __m512) -> __m512 { _mm512_sub_ps(a, b) }
        mul(a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        div(a: __m512, b: __m512) -> __m512 { _mm512_div_ps(a, b) }
        sqrt(a: __m512) -> __m512 { _mm512_sqrt_ps(a) }
        larger(a: __m512, b: __m512) -> __m512 { _mm512_max_ps(a, b) }
        smaller(a: __m512, b: __m512) -> __m512 { _mm512_min_ps(a, b) }
        xor(a: __m512, mask: u32) -> __m512 { _mm512_xor_ps(a, _mm512_set1_ps(f32::from_bits(mask))) }
        and(a: __m512, mask: u32) -> __m512 { _mm512_and_ps(a, _mm512_set1_ps(f32::from_bits(mask))) }
        select(mask: __m512, a: __m512, b: __m512) -> __m512 {
            _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(mask)), b, a)
        }
    }
    #[inline(always)]
    unsafe fn compare<const HOW: i32>(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { _mm512_castsi512_ps(_mm512_movm_epi32(_mm512_cmp_ps_mask::<HOW>(a, b))) }
    }
}
