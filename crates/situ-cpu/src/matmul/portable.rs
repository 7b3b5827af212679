//! The kernels that run anywhere: plain arrays of four numbers, which the compiler turns into the target's
//! baseline registers (SSE2 on x86-64, NEON on aarch64).
//!
//! The tile is 4 rows by 2 registers: 8 sums, and room among 16 registers for B, A and, without a fused
//! multiply-add, a product.

use super::vector::{Float, Transpose, Vector, compile_level};
use crate::level::{Isa, PortableIsa};

/// Four numbers.
#[derive(Clone, Copy)]
pub(super) struct Four<T>([T; 4]);

macro_rules! four {
    ($elem:ty, $zero:literal, $mul_add:path, $add:path) => {
        // The pointers are the caller's promise, as the trait's contract says; no instruction is needed
        // beyond the target's baseline.
        impl Vector for Four<$elem> {
            type Elem = $elem;
            const LANES: usize = 4;

            #[inline(always)]
            unsafe fn zero() -> Self {
                Four([$zero; 4])
            }
            #[inline(always)]
            unsafe fn splat(p: *const $elem) -> Self {
                // SAFETY: see the impl.
                unsafe { Four([*p; 4]) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                // SAFETY: see the impl.
                unsafe { Four(p.cast::<[$elem; 4]>().read()) }
            }
            #[inline(always)]
            unsafe fn load_first(p: *const $elem, count: usize) -> Self {
                let mut four = [$zero; 4];
                for (i, x) in four.iter_mut().take(count).enumerate() {
                    // SAFETY: see the impl.
                    *x = unsafe { *p.add(i) };
                }
                Four(four)
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                // SAFETY: see the impl.
                unsafe { p.cast::<[$elem; 4]>().write(self.0) }
            }
            #[inline(always)]
            unsafe fn store_first(self, p: *mut $elem, count: usize) {
                for (i, &x) in self.0.iter().take(count).enumerate() {
                    // SAFETY: see the impl.
                    unsafe { *p.add(i) = x };
                }
            }
            #[inline(always)]
            unsafe fn mul_add(a: Self, b: Self, c: Self) -> Self {
                Four(std::array::from_fn(|i| $mul_add(a.0[i], b.0[i], c.0[i])))
            }
            #[inline(always)]
            unsafe fn add(a: Self, b: Self) -> Self {
                Four(std::array::from_fn(|i| $add(a.0[i], b.0[i])))
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                Four(self.0.map(|x| if x < $zero { $zero } else { x }))
            }
            #[inline(always)]
            unsafe fn sum(self) -> $elem {
                $add($add(self.0[0], self.0[2]), $add(self.0[1], self.0[3]))
            }
        }
    };
}
four!(f32, 0.0, PortableIsa::mul_add, std::ops::Add::add);
four!(f64, 0.0, PortableIsa::mul_add_f64, std::ops::Add::add);
four!(i32, 0, add_pair, i32::wrapping_add);

/// The products of two pairs of 16 bits, and a number.
#[inline(always)]
fn add_pair(a: i32, b: i32, c: i32) -> i32 {
    let [a, b] = [a, b].map(|pair| [i32::from(pair as i16), pair >> 16]);
    c.wrapping_add(a[0] * b[0]).wrapping_add(a[1] * b[1])
}

impl<T: Float> Transpose for Four<T>
where
    Four<T>: Vector,
{
    type Square = [Four<T>; 4];

    #[inline(always)]
    unsafe fn zero_square() -> Self::Square {
        [Four([T::default(); 4]); 4]
    }
    #[inline(always)]
    unsafe fn transpose(s: &mut Self::Square) {
        *s = std::array::from_fn(|i| Four(std::array::from_fn(|j| s[j].0[i])));
    }
}

compile_level!(F32, Four<f32>, Four<f32>, 4, [1 2 3 4]);
compile_level!(F64, Four<f64>, Four<f64>, 4, [1 2 3 4]);
compile_level!(PAIRS, Four<i32>, Four<i32>, 4, [1 2 3 4]);
