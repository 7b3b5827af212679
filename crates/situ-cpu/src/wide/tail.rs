//! The last few elements of a row, which do not fill a register.

use super::Wide;
use crate::level::{Avx2Isa, Avx512Isa, PortableIsa};

/// Part of a register.
///
/// # Safety of its methods
/// As for [`Wide`]; nothing beyond the first `count` elements, of which there are at most [`Wide::LEN`], is
/// read or written.
#[allow(clippy::missing_safety_doc)] // as above
pub trait Tail<T>: Wide<T> {
    /// The first `count` elements, and `pad` behind them.
    unsafe fn load_first(from: *const T, count: usize, pad: T) -> Self::V;
    /// Stores the first `count` elements.
    unsafe fn store_first(v: Self::V, to: *mut T, count: usize);
}

/// By way of an array, for levels without masks.
macro_rules! through_arrays {
    ($($isa:ty, $t:ty;)*) => {$(
        impl Tail<$t> for $isa {
            #[inline(always)]
            unsafe fn load_first(from: *const $t, count: usize, pad: $t) -> Self::V {
                let mut whole = [pad; <Self as Wide<$t>>::LEN];
                for (i, x) in whole.iter_mut().enumerate().take(count) {
                    // SAFETY: the caller's promise.
                    *x = unsafe { *from.add(i) };
                }
                // SAFETY: the array is a register long; the caller is inside the level.
                unsafe { <Self as Wide<$t>>::load(whole.as_ptr()) }
            }
            #[inline(always)]
            unsafe fn store_first(v: Self::V, to: *mut $t, count: usize) {
                let mut whole = [0.0; <Self as Wide<$t>>::LEN];
                // SAFETY: the array is a register long; the caller is inside the level.
                unsafe { <Self as Wide<$t>>::store(v, whole.as_mut_ptr()) };
                for (i, x) in whole.iter().enumerate().take(count) {
                    // SAFETY: the caller's promise.
                    unsafe { *to.add(i) = *x };
                }
            }
        }
    )*};
}

through_arrays! { PortableIsa, f32; PortableIsa, f64; }
#[cfg(not(target_arch = "x86_64"))]
through_arrays! { Avx2Isa, f32; Avx2Isa, f64; Avx512Isa, f32; Avx512Isa, f64; }

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    /// All bits of the first `count` of eight lanes.
    #[inline(always)]
    unsafe fn lanes_of_8(count: usize) -> __m256i {
        // SAFETY: the caller is inside AVX2.
        unsafe {
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
        }
    }

    /// All bits of the first `count` of four lanes.
    #[inline(always)]
    unsafe fn lanes_of_4(count: usize) -> __m256i {
        // SAFETY: the caller is inside AVX2.
        unsafe { _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_setr_epi64x(0, 1, 2, 3)) }
    }

    macro_rules! masked {
        ($($isa:ty, $t:ty, |$from:ident, $n:ident, $pad:ident| $load:expr, |$to:ident, $count:ident, $v:ident| $store:expr;)*) => {$(
            impl Tail<$t> for $isa {
                #[inline(always)]
                unsafe fn load_first($from: *const $t, $n: usize, $pad: $t) -> Self::V {
                    // SAFETY: the caller is inside the level and vouches for the elements that are not
                    // masked.
                    unsafe { $load }
                }
                #[inline(always)]
                unsafe fn store_first($v: Self::V, $to: *mut $t, $count: usize) {
                    // SAFETY: as above.
                    unsafe { $store }
                }
            }
        )*};
    }

    masked! {
        Avx2Isa, f32, |from, count, pad| {
            let lanes = lanes_of_8(count);
            _mm256_blendv_ps(_mm256_set1_ps(pad), _mm256_maskload_ps(from, lanes), _mm256_castsi256_ps(lanes))
        }, |to, count, v| _mm256_maskstore_ps(to, lanes_of_8(count), v);
        Avx2Isa, f64, |from, count, pad| {
            let lanes = lanes_of_4(count);
            _mm256_blendv_pd(_mm256_set1_pd(pad), _mm256_maskload_pd(from, lanes), _mm256_castsi256_pd(lanes))
        }, |to, count, v| _mm256_maskstore_pd(to, lanes_of_4(count), v);
        Avx512Isa, f32, |from, count, pad| _mm512_mask_loadu_ps(_mm512_set1_ps(pad), ((1u32 << count) - 1) as __mmask16, from),
            |to, count, v| _mm512_mask_storeu_ps(to, ((1u32 << count) - 1) as __mmask16, v);
        Avx512Isa, f64, |from, count, pad| _mm512_mask_loadu_pd(_mm512_set1_pd(pad), ((1u32 << count) - 1) as __mmask8, from),
            |to, count, v| _mm512_mask_storeu_pd(to, ((1u32 << count) - 1) as __mmask8, v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;
    use crate::multiversion;

    /// The lanes that were loaded, and where they were stored, of either type.
    type Copied = (Vec<f32>, Vec<f32>, Vec<f64>, Vec<f64>);

    multiversion! {
        /// Copies every number of elements that fits a register.
        fn copy_first[I](from: &[f32], from_wide: &[f64]) -> Vec<Copied> {
            (0..=<I as Wide<f32>>::LEN).map(|count| {
                let half = count.min(<I as Wide<f64>>::LEN);
                let (mut lanes, mut to) = (vec![0.0; 16], vec![7.0; 16]);
                let (mut lanes_wide, mut to_wide) = (vec![0.0; 8], vec![7.0; 8]);
                // SAFETY: `copy_first` is compiled for the level, and the slices have a register's elements.
                unsafe {
                    let v = <I as Tail<f32>>::load_first(from.as_ptr(), count, -1.0);
                    <I as Wide<f32>>::store(v, lanes.as_mut_ptr());
                    <I as Tail<f32>>::store_first(v, to.as_mut_ptr(), count);
                    let v = <I as Tail<f64>>::load_first(from_wide.as_ptr(), half, -1.0);
                    <I as Wide<f64>>::store(v, lanes_wide.as_mut_ptr());
                    <I as Tail<f64>>::store_first(v, to_wide.as_mut_ptr(), half);
                }
                lanes.truncate(<I as Wide<f32>>::LEN);
                lanes_wide.truncate(<I as Wide<f64>>::LEN);
                (lanes, to, lanes_wide, to_wide)
            }).collect()
        }
    }

    #[test]
    fn the_first_elements_are_copied_and_the_rest_is_left_alone() {
        let from: Vec<f32> = (0..16).map(|i| i as f32).collect();
        let from_wide: Vec<f64> = (0..8).map(f64::from).collect();
        for level in Level::available() {
            for (count, (lanes, to, lanes_wide, to_wide)) in
                copy_first(level, &from, &from_wide).iter().enumerate()
            {
                let half = count.min(lanes_wide.len());
                assert_eq!(lanes[..count], from[..count], "{level}");
                assert!(lanes[count..].iter().all(|x| *x == -1.0), "{level}");
                assert_eq!(to[..count], from[..count], "{level}");
                assert!(to[count..].iter().all(|x| *x == 7.0), "{level}");
                assert_eq!(lanes_wide[..half], from_wide[..half], "{level}");
                assert!(lanes_wide[half..].iter().all(|x| *x == -1.0), "{level}");
                assert_eq!(to_wide[..half], from_wide[..half], "{level}");
                assert!(to_wide[half..].iter().all(|x| *x == 7.0), "{level}");
            }
        }
    }
}
