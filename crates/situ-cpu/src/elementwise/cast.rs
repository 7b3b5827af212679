//! Conversions between dtypes: float to integer rounds toward zero and saturates, NaN is 0; integers narrow by wrapping; anything
//! to bool is "not zero".

use super::tile::{Map1, Params, TileFn, tile1};
use crate::level::Isa;
use situ_core::DType;

/// The conversion from one dtype to another.
pub fn cast(from: DType, to: DType) -> TileFn {
    match from {
        DType::F32 => from_number::<f32>(to),
        DType::F64 => from_number::<f64>(to),
        DType::I32 => from_number::<i32>(to),
        DType::I64 => from_number::<i64>(to),
        DType::U8 => from_number::<u8>(to),
        DType::Bool => from_number::<Truth>(to),
    }
}

fn from_number<
    T: Convert<f32> + Convert<f64> + Convert<i32> + Convert<i64> + Convert<u8> + Convert<Truth>,
>(
    to: DType,
) -> TileFn {
    match to {
        DType::F32 => tile1::<T, To<f32>>,
        DType::F64 => tile1::<T, To<f64>>,
        DType::I32 => tile1::<T, To<i32>>,
        DType::I64 => tile1::<T, To<i64>>,
        DType::U8 => tile1::<T, To<u8>>,
        DType::Bool => tile1::<T, To<Truth>>,
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
    ($($from:ty => $($to:ty)*;)*) => {$(
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
    )*};
}
conversions! {
    f32 => f32 f64 i32 i64 u8;
    f64 => f32 f64 i32 i64 u8;
    i32 => f32 f64 i32 i64 u8;
    i64 => f32 f64 i32 i64 u8;
    u8 => f32 f64 i32 i64 u8;
}

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
