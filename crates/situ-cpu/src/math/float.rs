//! The two float dtypes behind one trait, so that a kernel is written once for both.

use super::TRIG_LIMIT;
use crate::level::Isa;
use crate::wide::exp::{write_exp, write_exponentials};
use crate::wide::row::{AsIs, Largest, Plus, SquaredDistance, reduce_wide, scale_wide};
use std::mem::MaybeUninit;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

unsafe extern "C" {
    // The C library's, which std links already; std itself has no stable error function.
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
}

/// f32 by our own polynomials, f64 by the standard library.
#[allow(missing_docs)] // each method is the function of its name; see `math` for the promises
pub trait Float:
    Copy
    + Send
    + Sync
    + PartialOrd
    + Default
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    const ZERO: Self;
    const ONE: Self;
    /// `Σ x` of a row, as a tree; see [`reduce`](crate::reduce).
    fn sum_row<I: Isa>(row: &[Self]) -> Self;
    /// `Σ (x - mean)²` of a row, as a tree.
    fn squared_distances_row<I: Isa>(row: &[Self], mean: Self) -> Self;
    /// The largest of a row, -inf of none; NaN may or may not come through.
    fn largest_in_row<I: Isa>(row: &[Self]) -> Self;
    /// Multiplies a row's elements by `factor`.
    fn scale_row<I: Isa>(row: &mut [Self], factor: Self);
    /// Writes `e^(x - shift)` of a row, whose largest is `shift`, to `y`, which is as long; gives the sum, as
    /// a tree. What lies `ahead` elements further on will be wanted soon.
    fn exponentials_row<I: Isa>(row: &[Self], shift: Self, y: &mut [MaybeUninit<Self>], ahead: usize)
    -> Self;
    /// Writes [`Float::exp`] of the first elements to `y`, which is as long, where the level has a way that
    /// is quicker for many; says how many those are.
    fn exp_row<I: Isa>(row: &[Self], y: &mut [MaybeUninit<Self>]) -> usize;
    const INFINITY: Self;
    const NEG_INFINITY: Self;
    /// Up to this |x|, `sin` and `cos` may be used.
    const TRIG_LIMIT: Self;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn mul_add<I: Isa>(self, b: Self, c: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn is_nan(self) -> bool;
    fn exp<I: Isa>(self) -> Self;
    /// `e^x` for `x` at most 0; f32 flushes denormal results to 0.
    fn exp_nonpositive<I: Isa>(self) -> Self;
    fn expm1<I: Isa>(self) -> Self;
    fn log<I: Isa>(self) -> Self;
    fn log1p<I: Isa>(self) -> Self;
    fn sin<I: Isa>(self) -> Self;
    fn cos<I: Isa>(self) -> Self;
    fn tanh<I: Isa>(self) -> Self;
    fn sigmoid<I: Isa>(self) -> Self;
    fn silu<I: Isa>(self) -> Self;
    fn softplus<I: Isa>(self) -> Self;
    fn elu<I: Isa>(self, alpha: Self) -> Self;
    fn erf<I: Isa>(self) -> Self;
    fn gelu<I: Isa>(self) -> Self;
    fn pow<I: Isa>(self, y: Self) -> Self;
    fn floor<I: Isa>(self) -> Self;
    fn ceil<I: Isa>(self) -> Self;
    /// To the nearest integer, ties to even.
    fn round<I: Isa>(self) -> Self;
}

/// Rows, by registers of the level.
macro_rules! rows {
    ($t:ty) => {
        #[inline(always)]
        fn sum_row<I: Isa>(row: &[$t]) -> $t {
            // SAFETY: this is generic over the level it is compiled in.
            unsafe { reduce_wide::<I, $t, Plus, AsIs<$t>>(row, AsIs(0.0)) }
        }
        #[inline(always)]
        fn squared_distances_row<I: Isa>(row: &[$t], mean: $t) -> $t {
            // SAFETY: as above.
            unsafe { reduce_wide::<I, $t, Plus, SquaredDistance<$t>>(row, SquaredDistance(mean)) }
        }
        #[inline(always)]
        fn scale_row<I: Isa>(row: &mut [$t], factor: $t) {
            // SAFETY: as above.
            unsafe { scale_wide::<I, $t>(row, factor, 0.0) }
        }
        #[inline(always)]
        fn largest_in_row<I: Isa>(row: &[$t]) -> $t {
            // SAFETY: as above.
            unsafe { reduce_wide::<I, $t, Largest, AsIs<$t>>(row, AsIs(<$t>::NEG_INFINITY)) }
        }
    };
}

/// Methods that forward to the functions of this module.
macro_rules! forward {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name<I: Isa>(self) -> f32 {
            super::$name::<I>(self)
        }
    )*};
}

/// Methods that forward to std's scalar functions.
macro_rules! standard {
    ($($name:ident $std:ident;)*) => {$(
        #[inline(always)]
        fn $name<I: Isa>(self) -> f64 {
            f64::$std(self)
        }
    )*};
}

impl Float for f32 {
    rows!(f32);
    #[inline(always)]
    fn exponentials_row<I: Isa>(row: &[f32], shift: f32, y: &mut [MaybeUninit<f32>], ahead: usize) -> f32 {
        // SAFETY: this is generic over the level it is compiled in.
        unsafe { write_exponentials::<I>(row, shift, y, ahead) }
    }
    #[inline(always)]
    fn exp_row<I: Isa>(row: &[f32], y: &mut [MaybeUninit<f32>]) -> usize {
        // SAFETY: as above.
        unsafe { write_exp::<I>(row, y) }
    }
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const INFINITY: f32 = f32::INFINITY;
    const NEG_INFINITY: f32 = f32::NEG_INFINITY;
    const TRIG_LIMIT: f32 = TRIG_LIMIT;

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn mul_add<I: Isa>(self, b: f32, c: f32) -> f32 {
        I::mul_add(self, b, c)
    }
    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }
    #[inline(always)]
    fn elu<I: Isa>(self, alpha: f32) -> f32 {
        super::elu::<I>(self, alpha)
    }
    #[inline(always)]
    fn pow<I: Isa>(self, y: f32) -> f32 {
        super::pow::<I>(self, y)
    }
    forward! { exp exp_nonpositive expm1 log log1p sin cos tanh sigmoid silu softplus erf gelu floor ceil round }
}

impl Float for f64 {
    rows!(f64);
    #[inline(always)]
    fn exponentials_row<I: Isa>(row: &[f64], shift: f64, y: &mut [MaybeUninit<f64>], _ahead: usize) -> f64 {
        assert_eq!(row.len(), y.len());
        for (y, x) in y.iter_mut().zip(row) {
            y.write((*x - shift).exp());
        }
        // SAFETY: every element was written above.
        Self::sum_row::<I>(unsafe { &*(std::ptr::from_mut(y) as *const [f64]) })
    }
    #[inline(always)]
    fn exp_row<I: Isa>(_: &[f64], _: &mut [MaybeUninit<f64>]) -> usize {
        0
    }
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const INFINITY: f64 = f64::INFINITY;
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;
    const TRIG_LIMIT: f64 = f64::INFINITY;

    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn mul_add<I: Isa>(self, b: f64, c: f64) -> f64 {
        I::mul_add_f64(self, b, c)
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
    standard! {
        exp exp; exp_nonpositive exp; expm1 exp_m1; log ln; log1p ln_1p; sin sin; cos cos; tanh tanh;
        floor floor; ceil ceil; round round_ties_even;
    }
    #[inline(always)]
    fn sigmoid<I: Isa>(self) -> f64 {
        let e = (-self.abs()).exp();
        (if self < 0.0 { e } else { 1.0 }) / (1.0 + e)
    }
    #[inline(always)]
    fn silu<I: Isa>(self) -> f64 {
        let x = if self < -760.0 { -760.0 } else { self };
        x * Float::sigmoid::<I>(x)
    }
    #[inline(always)]
    fn softplus<I: Isa>(self) -> f64 {
        (if self > 0.0 { self } else { 0.0 }) + (-self.abs()).exp().ln_1p()
    }
    #[inline(always)]
    fn elu<I: Isa>(self, alpha: f64) -> f64 {
        if self > 0.0 { self } else { alpha * self.exp_m1() }
    }
    #[inline(always)]
    fn erf<I: Isa>(self) -> f64 {
        erf(self)
    }
    #[inline(always)]
    fn gelu<I: Isa>(self) -> f64 {
        let x = if self < -40.0 { -40.0 } else { self };
        0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
    }
    #[inline(always)]
    fn pow<I: Isa>(self, y: f64) -> f64 {
        // As in f32: correctly rounded where functions have an op for it.
        match y {
            2.0 => self * self,
            -1.0 => 1.0 / self,
            _ => self.powf(y),
        }
    }
}
