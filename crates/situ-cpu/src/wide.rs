//! Registers of floats, for the few loops that the compiler does not vectorise by itself, or not well: sums
//! along a row, whose order is part of the result, and a row's exponentials with their sum.
//!
//! Everything else is a plain loop inside [`multiversion!`](crate::multiversion), which is easier to read and
//! as fast.

pub(crate) mod exp;
pub(crate) mod row;
mod tail;

pub use exp::PowersOfTwo;
pub use tail::Tail;

use crate::level::{Avx2Isa, Avx512Isa, PortableIsa};

/// A level's registers of `T`.
///
/// # Safety of its methods
/// Every method needs the level's instructions, and so is called only from code inside that level; those that
/// take a pointer read or write as many elements as they say, at any alignment.
#[allow(missing_docs, clippy::missing_safety_doc)] // each method is what its name says; safety is as above
pub trait Wide<T>: Copy {
    type V: Copy;
    /// Elements of a register.
    const LEN: usize;
    unsafe fn splat(x: T) -> Self::V;
    unsafe fn load(from: *const T) -> Self::V;
    unsafe fn store(v: Self::V, to: *mut T);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, fused where [`Isa::FMA`](crate::level::Isa::FMA) says so.
    unsafe fn multiply_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The larger; `b` where either is NaN.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// The smaller; `b` where either is NaN.
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    /// `a` where it is NaN, else `b`.
    unsafe fn nan_or(a: Self::V, b: Self::V) -> Self::V;
}

/// Registers made of an array, for targets without intrinsics of ours.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! arrays {
    ($($isa:ty, $t:ty, $len:literal;)*) => {$(
        impl Wide<$t> for $isa {
            type V = [$t; $len];
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self::V {
                [x; $len]
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self::V {
                // SAFETY: the caller's promise.
                unsafe { from.cast::<Self::V>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(v: Self::V, to: *mut $t) {
                // SAFETY: the caller's promise.
                unsafe { to.cast::<Self::V>().write_unaligned(v) }
            }
            #[inline(always)]
            unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] + b[i])
            }
            #[inline(always)]
            unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] - b[i])
            }
            #[inline(always)]
            unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] * b[i])
            }
            #[inline(always)]
            unsafe fn multiply_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                if cfg!(target_arch = "aarch64") {
                    std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
                } else {
                    std::array::from_fn(|i| a[i] * b[i] + c[i])
                }
            }
            #[inline(always)]
            unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            unsafe fn nan_or(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| if a[i].is_nan() { a[i] } else { b[i] })
            }
        }
    )*};
}
#[cfg(not(target_arch = "x86_64"))]
arrays! {
    PortableIsa, f32, 4; PortableIsa, f64, 2;
    Avx2Isa, f32, 4; Avx2Isa, f64, 2;
    Avx512Isa, f32, 4; Avx512Isa, f64, 2;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    macro_rules! registers {
        ($($isa:ty, $t:ty, $v:ty, $len:literal: $splat:ident $load:ident $store:ident $add:ident $sub:ident $mul:ident
            $max:ident $min:ident, |$p:ident, $q:ident, $r:ident| $mul_add:expr, |$a:ident, $b:ident| $nan_or:expr;)*) => {$(
            impl Wide<$t> for $isa {
                type V = $v;
                const LEN: usize = $len;
                #[inline(always)]
                unsafe fn splat(x: $t) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $splat(x) }
                }
                #[inline(always)]
                unsafe fn load(from: *const $t) -> $v {
                    // SAFETY: the caller is inside the level and vouches for the pointer.
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(v: $v, to: *mut $t) {
                    // SAFETY: the caller is inside the level and vouches for the pointer.
                    unsafe { $store(to, v) }
                }
                #[inline(always)]
                unsafe fn add(a: $v, b: $v) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $add(a, b) }
                }
                #[inline(always)]
                unsafe fn sub(a: $v, b: $v) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $sub(a, b) }
                }
                #[inline(always)]
                unsafe fn mul(a: $v, b: $v) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $mul(a, b) }
                }
                #[inline(always)]
                unsafe fn multiply_add($p: $v, $q: $v, $r: $v) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $mul_add }
                }
                #[inline(always)]
                unsafe fn max(a: $v, b: $v) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $max(a, b) }
                }
                #[inline(always)]
                unsafe fn min(a: $v, b: $v) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $min(a, b) }
                }
                #[inline(always)]
                unsafe fn nan_or($a: $v, $b: $v) -> $v {
                    // SAFETY: the caller is inside the level.
                    unsafe { $nan_or }
                }
            }
        )*};
    }

    registers! {
        PortableIsa, f32, __m128, 4: _mm_set1_ps _mm_loadu_ps _mm_storeu_ps _mm_add_ps _mm_sub_ps _mm_mul_ps
            _mm_max_ps _mm_min_ps, |a, b, c| _mm_add_ps(_mm_mul_ps(a, b), c), |a, b| {
                let nan = _mm_cmpunord_ps(a, a);
                _mm_or_ps(_mm_and_ps(nan, a), _mm_andnot_ps(nan, b))
            };
        PortableIsa, f64, __m128d, 2: _mm_set1_pd _mm_loadu_pd _mm_storeu_pd _mm_add_pd _mm_sub_pd _mm_mul_pd
            _mm_max_pd _mm_min_pd, |a, b, c| _mm_add_pd(_mm_mul_pd(a, b), c), |a, b| {
                let nan = _mm_cmpunord_pd(a, a);
                _mm_or_pd(_mm_and_pd(nan, a), _mm_andnot_pd(nan, b))
            };
        Avx2Isa, f32, __m256, 8: _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps
            _mm256_max_ps _mm256_min_ps, |a, b, c| _mm256_fmadd_ps(a, b, c),
            |a, b| _mm256_blendv_ps(b, a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a));
        Avx2Isa, f64, __m256d, 4: _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd
            _mm256_max_pd _mm256_min_pd, |a, b, c| _mm256_fmadd_pd(a, b, c),
            |a, b| _mm256_blendv_pd(b, a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a));
        Avx512Isa, f32, __m512, 16: _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps
            _mm512_max_ps _mm512_min_ps, |a, b, c| _mm512_fmadd_ps(a, b, c),
            |a, b| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a), b, a);
        Avx512Isa, f64, __m512d, 8: _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd
            _mm512_max_pd _mm512_min_pd, |a, b, c| _mm512_fmadd_pd(a, b, c),
            |a, b| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a), b, a);
    }
}

/// The most elements of any register.
pub(crate) const MOST: usize = 16;
