//! Functions of two elements: the table of [`BinaryKind`] by dtype.

use super::tile::{Map2, TileFn, tile2};
use super::unary::{Integer, TruthByte};
use crate::level::Isa;
use crate::math::Float;
use situ_core::{DType, with_float, with_integer};
use situ_ir::ops::BinaryKind;

/// The function of that kind on that dtype; `None` where it has no meaning (the sum of truth values).
pub fn binary(kind: BinaryKind, dtype: DType) -> Option<TileFn> {
    if dtype.is_half() {
        return super::half::binary(kind, dtype);
    }
    with_float!(dtype, T => float::<T>(kind),
        else with_integer!(dtype, T => integer::<T>(kind), else truth(kind)))
}

/// `relu(a + b)` in one pass; floats.
pub fn add_relu(dtype: DType) -> Option<TileFn> {
    with_float!(dtype, T => Some(tile2::<T, T, AddRelu>), else None)
}

fn float<T: Float>(kind: BinaryKind) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::Add => tile2::<T, T, Add>,
        BinaryKind::Sub => tile2::<T, T, Sub>,
        BinaryKind::Mul => tile2::<T, T, Mul>,
        BinaryKind::Div => tile2::<T, T, Div>,
        BinaryKind::Rem => tile2::<T, T, Rem>,
        BinaryKind::Pow => tile2::<T, T, Pow>,
        BinaryKind::Maximum => tile2::<T, T, Maximum>,
        BinaryKind::Minimum => tile2::<T, T, Minimum>,
        _ => return order::<T>(kind),
    })
}

fn integer<T: Integer>(kind: BinaryKind) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::Add => tile2::<T::Wrapping, T::Wrapping, IntAdd>,
        BinaryKind::Sub => tile2::<T::Wrapping, T::Wrapping, IntSub>,
        BinaryKind::Mul => tile2::<T::Wrapping, T::Wrapping, IntMul>,
        BinaryKind::Equal | BinaryKind::NotEqual => return order::<T::Wrapping>(kind),
        BinaryKind::Div => tile2::<T, T, IntDiv>,
        BinaryKind::Rem => tile2::<T, T, IntRem>,
        BinaryKind::Maximum => tile2::<T, T, IntMaximum>,
        BinaryKind::Minimum => tile2::<T, T, IntMinimum>,
        _ => return order::<T>(kind),
    })
}

fn order<T: PartialOrd + Copy>(kind: BinaryKind) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::Equal => tile2::<T, T, Equal>,
        BinaryKind::NotEqual => tile2::<T, T, NotEqual>,
        BinaryKind::Less => tile2::<T, T, Less>,
        BinaryKind::LessEqual => tile2::<T, T, LessEqual>,
        BinaryKind::Greater => tile2::<T, T, Greater>,
        BinaryKind::GreaterEqual => tile2::<T, T, GreaterEqual>,
        BinaryKind::Add
        | BinaryKind::Sub
        | BinaryKind::Mul
        | BinaryKind::Div
        | BinaryKind::Rem
        | BinaryKind::Pow
        | BinaryKind::Maximum
        | BinaryKind::Minimum
        | BinaryKind::And
        | BinaryKind::Or
        | BinaryKind::Xor => return None,
    })
}

fn truth(kind: BinaryKind) -> Option<TileFn> {
    Some(match kind {
        BinaryKind::And => tile2::<u8, u8, And>,
        BinaryKind::Or => tile2::<u8, u8, Or>,
        BinaryKind::Xor | BinaryKind::NotEqual => tile2::<u8, u8, Xor>,
        BinaryKind::Equal => tile2::<u8, u8, Same>,
        BinaryKind::Add
        | BinaryKind::Sub
        | BinaryKind::Mul
        | BinaryKind::Div
        | BinaryKind::Rem
        | BinaryKind::Pow
        | BinaryKind::Maximum
        | BinaryKind::Minimum
        | BinaryKind::Less
        | BinaryKind::LessEqual
        | BinaryKind::Greater
        | BinaryKind::GreaterEqual => return None,
    })
}

/// Functions, each by its formula.
macro_rules! functions {
    ($($name:ident<$t:ident: $bound:path>, $cheap:literal, |$a:ident, $b:ident| -> $out:ty { $value:expr })*) => {$(
        #[derive(Clone, Copy, Default)]
        struct $name;

        impl<$t: $bound + Copy> Map2<$t, $t> for $name {
            type Out = $out;
            const CHEAP: bool = $cheap;
            #[inline(always)]
            fn eval<I: Isa>(self, $a: $t, $b: $t) -> $out {
                $value
            }
        }
    )*};
}

functions! {
    Add<T: Float>, true, |a, b| -> T { a + b }
    Sub<T: Float>, true, |a, b| -> T { a - b }
    Mul<T: Float>, true, |a, b| -> T { a * b }
    Div<T: Float>, true, |a, b| -> T { a / b }
    Rem<T: Float>, true, |a, b| -> T { a % b }
    Pow<T: Float>, false, |a, b| -> T { a.pow::<I>(b) }
    // A NaN in `a` is chosen by its own test, one in `b` because no comparison with it holds.
    Maximum<T: Float>, true, |a, b| -> T { if (a > b) | a.is_nan() { a } else { b } }
    Minimum<T: Float>, true, |a, b| -> T { if (a < b) | a.is_nan() { a } else { b } }
    AddRelu<T: Float>, true, |a, b| -> T { if a + b < T::ZERO { T::ZERO } else { a + b } }

    IntAdd<T: Integer>, true, |a, b| -> T { a.wrapping_add(b) }
    IntSub<T: Integer>, true, |a, b| -> T { a.wrapping_sub(b) }
    IntMul<T: Integer>, true, |a, b| -> T { a.wrapping_mul(b) }
    IntMaximum<T: Integer>, true, |a, b| -> T { if a > b { a } else { b } }
    IntMinimum<T: Integer>, true, |a, b| -> T { if a < b { a } else { b } }

    Equal<T: PartialOrd>, true, |a, b| -> u8 { u8::from(a == b) }
    NotEqual<T: PartialOrd>, true, |a, b| -> u8 { u8::from(a != b) }
    Less<T: PartialOrd>, true, |a, b| -> u8 { u8::from(a < b) }
    LessEqual<T: PartialOrd>, true, |a, b| -> u8 { u8::from(a <= b) }
    Greater<T: PartialOrd>, true, |a, b| -> u8 { u8::from(a > b) }
    GreaterEqual<T: PartialOrd>, true, |a, b| -> u8 { u8::from(a >= b) }

    And<T: TruthByte>, true, |a, b| -> u8 { u8::from(a.holds() & b.holds()) }
    Or<T: TruthByte>, true, |a, b| -> u8 { u8::from(a.holds() | b.holds()) }
    Xor<T: TruthByte>, true, |a, b| -> u8 { u8::from(a.holds() ^ b.holds()) }
    Same<T: TruthByte>, true, |a, b| -> u8 { u8::from(a.holds() == b.holds()) }
}

/// Integer functions that have no value where the divisor is 0.
macro_rules! divisions {
    ($($name:ident $method:ident)*) => {$(
        #[derive(Clone, Copy, Default)]
        struct $name;

        impl<T: Integer> Map2<T, T> for $name {
            type Out = T;
            const CAN_FAIL: bool = true;
            #[inline(always)]
            fn eval<I: Isa>(self, a: T, b: T) -> T {
                a.$method(b)
            }
            #[inline(always)]
            fn faulty(self, b: T) -> bool {
                b == T::ZERO
            }
        }
    )*};
}
divisions! { IntDiv divide IntRem remainder }
