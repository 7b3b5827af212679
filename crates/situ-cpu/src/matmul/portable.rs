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
    ($elem:ty, $mul_add:path) => {
        // The pointers are the caller's promise, as the trait's contract says; no instruction is needed
        // beyond the target's baseline.
        impl Vector for Four<$elem> {
            type Elem = $elem;
            const LANES: usize = 4;

            #[inline(always)]
            unsafe fn zero() -> Self {
                Four([0.0; 4])
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
                let mut four = [0.0; 4];
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
                Four(std::array::from_fn(|i| a.0[i] + b.0[i]))
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                Four(self.0.map(|x| if x < 0.0 { 0.0 } else { x }))
            }
            #[inline(always)]
            unsafe fn sum(self) -> $elem {
                (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
            }
        }
    };
}
four!(f32, PortableIsa::mul_add);
four!(f64, PortableIsa::mul_add_f64);

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
