//! Conversions between dtypes: float to integer rounds toward zero and saturates, NaN is 0; integers narrow
//! by wrapping; anything to bool is "not zero".

use super::tile::{Map1, Params, TileFn, tile1};
use crate::level::Isa;
use crate::wrapping::with_wrapping;
use situ_core::{DType, with_float, with_integer};

/// The conversion from one dtype to another.
pub fn cast(from: DType, to: DType) -> TileFn {
    match (from.is_half(), to.is_half()) {
        (true, true) if from == to => return tile1::<u16, To<u16>>,
        (true, _) => return super::half::cast_from(from, to),
        (false, true) => return super::half::cast_to(from, to),
        (false, false) => {}
    }
    with_float!(from, T => from_float::<T>(to),
        else with_integer!(from, T => from_integer::<T>(to), else from_truth(to)))
}

fn from_float<T: Number>(to: DType) -> TileFn {
    with_float!(to, R => tile1::<T, To<R>>,
        else with_integer!(to, R => tile1::<T, To<R>>, else tile1::<T, To<Truth>>))
}

/// An integer that narrows keeps its low bits, one that widens the sign it has: the sign of the result makes
/// no difference.
fn from_integer<T: Number>(to: DType) -> TileFn {
    match to {
        DType::Bool => with_wrapping!(size_of::<T>(), R => tile1::<R, To<Truth>>),
        _ => with_float!(to, R => tile1::<T, To<R>>, else with_wrapping!(to.size(), R => tile1::<T, To<R>>)),
    }
}

fn from_truth(to: DType) -> TileFn {
    match to {
        DType::Bool => tile1::<Truth, To<Truth>>,
        _ => with_float!(to, R => tile1::<Truth, To<R>>,
            else with_wrapping!(to.size(), R => tile1::<Truth, To<R>>)),
    }
}

/// The byte of a bool; any byte but 0 holds.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

/// The conversion of one element.
trait Convert<R: Copy>: Copy {
    fn convert(self) -> R;
}

macro_rules! conversions {
    ([$($from:ty)*] $to:tt) => {
        $(conversions! { one $from => $to })*
    };
    (one $from:ty => [$($to:ty)*]) => {
        $(impl Convert<$to> for $from {
            #[inline(always)]
            fn convert(self) -> $to {
                self as $to
            }
        })*
        impl Convert<Truth> for $from {
            #[inline(always)]
            fn convert(self) -> Truth {
                Truth(u8::from(self != 0 as $from))
            }
        }
        impl Convert<$from> for Truth {
            #[inline(always)]
            fn convert(self) -> $from {
                u8::from(self.0 != 0) as $from
            }
        }
        impl Number for $from {}
    };
}
macro_rules! numbers {
    ($($integer:ty)*) => {
        /// A number that becomes any other.
        trait Number: Convert<f32> + Convert<f64> + Convert<Truth> $(+ Convert<$integer>)* {}
        conversions! { [f32 f64 $($integer)*] [f32 f64 $($integer)*] }
    };
}
situ_core::integer_types!([numbers]);

impl Convert<Truth> for Truth {
    #[inline(always)]
    fn convert(self) -> Truth {
        Truth(u8::from(self.0 != 0))
    }
}

/// A conversion as an op.
struct To<R>(std::marker::PhantomData<R>);

impl<R> Clone for To<R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for To<R> {}

impl<A: Convert<R>, R: Copy> Map1<A> for To<R> {
    type Out = R;
    #[inline(always)]
    fn new(_: Params) -> Self {
        To(std::marker::PhantomData)
    }
    #[inline(always)]
    fn eval<I: Isa>(self, a: A) -> R {
        a.convert()
    }
}
