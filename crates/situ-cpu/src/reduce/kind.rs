//! What elements are reduced to: an identity, and how two partial results become one.

use crate::level::Isa;
use crate::math::Float;
use crate::wide::row::{AsIs, Maximum, Minimum, Plus, Times, reduce_wide};

/// A reduction. Results are combined in a fixed order, so it need not be associative to the last bit.
pub trait Reducer<T>: Copy + Send + Sync + 'static {
    /// The result of no elements.
    const IDENTITY: T;
    /// Two partial results, or elements, as one.
    fn combine<I: Isa>(a: T, b: T) -> T;
    /// The reduction of neighbouring elements. Where the order does not matter, a plain loop: the compiler
    /// vectorises that.
    #[inline(always)]
    fn row<I: Isa>(row: &[T]) -> T
    where
        T: Copy,
    {
        row.iter().fold(Self::IDENTITY, |a, b| Self::combine::<I>(a, *b))
    }
}

/// [`Reducer::row`] of floats, where the order does matter.
macro_rules! wide_row {
    ($t:ty, $combine:ty) => {
        #[inline(always)]
        fn row<I: Isa>(row: &[$t]) -> $t {
            // SAFETY: this is generic over the level it is compiled in.
            unsafe { reduce_wide::<I, $t, $combine, AsIs<$t>>(row, AsIs(<Self as Reducer<$t>>::IDENTITY)) }
        }
    };
}

/// The sum; integers wrap.
#[derive(Clone, Copy, Debug)]
pub struct Sum;
/// The product; integers wrap.
#[derive(Clone, Copy, Debug)]
pub struct Prod;
/// The largest; NaN if any is.
#[derive(Clone, Copy, Debug)]
pub struct Max;
/// The smallest; NaN if any is.
#[derive(Clone, Copy, Debug)]
pub struct Min;
/// Whether any holds; bytes, 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct Any;
/// Whether all hold; bytes, 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct All;

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Reducer<$t> for Sum {
            const IDENTITY: $t = 0.0;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                a + b
            }
            wide_row!($t, Plus);
        }
        impl Reducer<$t> for Prod {
            const IDENTITY: $t = 1.0;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                a * b
            }
            wide_row!($t, Times);
        }
        impl Reducer<$t> for Max {
            const IDENTITY: $t = <$t>::NEG_INFINITY;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                if (a > b) | Float::is_nan(a) { a } else { b }
            }
            wide_row!($t, Maximum);
        }
        impl Reducer<$t> for Min {
            const IDENTITY: $t = <$t>::INFINITY;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                if (a < b) | Float::is_nan(a) { a } else { b }
            }
            wide_row!($t, Minimum);
        }
    )*};
}
floats! { f32 f64 }

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Reducer<$t> for Sum {
            const IDENTITY: $t = 0;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                a.wrapping_add(b)
            }
        }
        impl Reducer<$t> for Prod {
            const IDENTITY: $t = 1;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                a.wrapping_mul(b)
            }
        }
        impl Reducer<$t> for Max {
            const IDENTITY: $t = <$t>::MIN;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                if a > b { a } else { b }
            }
        }
        impl Reducer<$t> for Min {
            const IDENTITY: $t = <$t>::MAX;
            #[inline(always)]
            fn combine<I: Isa>(a: $t, b: $t) -> $t {
                if a < b { a } else { b }
            }
        }
    )*};
}
situ_core::integer_types!([integers]);

impl Reducer<u8> for Any {
    const IDENTITY: u8 = 0;
    #[inline(always)]
    fn combine<I: Isa>(a: u8, b: u8) -> u8 {
        u8::from(a | b != 0)
    }
}

impl Reducer<u8> for All {
    const IDENTITY: u8 = 1;
    #[inline(always)]
    fn combine<I: Isa>(a: u8, b: u8) -> u8 {
        u8::from((a != 0) & (b != 0))
    }
}
