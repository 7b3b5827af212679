//! Functions of one element: the table of [`UnaryKind`] by dtype.

use super::tile::{Map1, Params, TileFn, tile1};
use crate::level::Isa;
use crate::math::Float;
use situ_core::{DType, with_float, with_integer};
use situ_ir::ops::UnaryKind;
use std::mem::MaybeUninit;

/// The function of that kind on that dtype; `None` where it has no meaning (the exponential of an integer).
pub fn unary(kind: UnaryKind, dtype: DType) -> Option<TileFn> {
    match (dtype, kind) {
        (DType::Bool, UnaryKind::Not) => Some(tile1::<u8, Not>),
        (DType::Bool, _) => None,
        _ if dtype.is_half() => super::half::unary(kind, dtype),
        _ => with_float!(dtype, T => float::<T>(kind),
            else with_integer!(dtype, T => integer::<T>(kind), else None)),
    }
}

fn float<T: Float>(kind: UnaryKind) -> Option<TileFn> {
    Some(match kind {
        UnaryKind::Neg => tile1::<T, Neg>,
        UnaryKind::Abs => tile1::<T, Abs>,
        UnaryKind::Sign => tile1::<T, Sign>,
        UnaryKind::Exp => tile1::<T, Exp>,
        UnaryKind::Log => tile1::<T, Log>,
        UnaryKind::Expm1 => tile1::<T, Expm1>,
        UnaryKind::Log1p => tile1::<T, Log1p>,
        UnaryKind::Sqrt => tile1::<T, Sqrt>,
        UnaryKind::Rsqrt => tile1::<T, Rsqrt>,
        UnaryKind::Square => tile1::<T, Square>,
        UnaryKind::Reciprocal => tile1::<T, Reciprocal>,
        UnaryKind::Sin => tile1::<T, Sin>,
        UnaryKind::Cos => tile1::<T, Cos>,
        UnaryKind::Tanh => tile1::<T, Tanh>,
        UnaryKind::Sigmoid => tile1::<T, Sigmoid>,
        UnaryKind::Relu => tile1::<T, Relu>,
        UnaryKind::LeakyRelu => tile1::<T, LeakyRelu<T>>,
        UnaryKind::Elu => tile1::<T, Elu<T>>,
        UnaryKind::Gelu => tile1::<T, Gelu>,
        UnaryKind::Silu => tile1::<T, Silu>,
        UnaryKind::Softplus => tile1::<T, Softplus>,
        UnaryKind::Erf => tile1::<T, Erf>,
        UnaryKind::Floor => tile1::<T, Floor>,
        UnaryKind::Ceil => tile1::<T, Ceil>,
        UnaryKind::Round => tile1::<T, Round>,
        UnaryKind::Clip => tile1::<T, Clip<T>>,
        UnaryKind::IsNan => tile1::<T, IsNan>,
        UnaryKind::Not => return None,
    })
}

fn integer<T: Integer>(kind: UnaryKind) -> Option<TileFn> {
    Some(match kind {
        UnaryKind::Neg => tile1::<T::Wrapping, IntNeg>,
        UnaryKind::Abs => tile1::<T, IntAbs>,
        UnaryKind::Sign => tile1::<T, IntSign>,
        UnaryKind::Square => tile1::<T::Wrapping, IntSquare>,
        UnaryKind::Relu => tile1::<T, IntRelu>,
        UnaryKind::Clip => tile1::<T, IntClip<T>>,
        UnaryKind::Exp
        | UnaryKind::Log
        | UnaryKind::Log1p
        | UnaryKind::Expm1
        | UnaryKind::Sqrt
        | UnaryKind::Rsqrt
        | UnaryKind::Reciprocal
        | UnaryKind::Sin
        | UnaryKind::Cos
        | UnaryKind::Tanh
        | UnaryKind::Sigmoid
        | UnaryKind::LeakyRelu
        | UnaryKind::Elu
        | UnaryKind::Gelu
        | UnaryKind::Silu
        | UnaryKind::Softplus
        | UnaryKind::Erf
        | UnaryKind::Floor
        | UnaryKind::Ceil
        | UnaryKind::Round
        | UnaryKind::Not
        | UnaryKind::IsNan => return None,
    })
}

/// The integer dtypes; arithmetic wraps.
pub(super) trait Integer: Copy + PartialOrd + Send + Sync + 'static {
    /// The integer of the same size that stands for it where the sign makes no difference to the bits: sums,
    /// products, equality.
    type Wrapping: Integer;
    const ZERO: Self;
    const ONE: Self;
    fn saturating_from(x: f64) -> Self;
    fn wrapping_add(self, b: Self) -> Self;
    fn wrapping_sub(self, b: Self) -> Self;
    fn wrapping_mul(self, b: Self) -> Self;
    /// Toward zero; the least value by -1 wraps. 0 where `b` is 0.
    fn divide(self, b: Self) -> Self;
    /// With the sign of `self`. 0 where `b` is 0.
    fn remainder(self, b: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Integer for $t {
            type Wrapping = <[(); size_of::<$t>()] as crate::wrapping::OfSize>::Integer;
            const ZERO: $t = 0;
            const ONE: $t = 1;
            #[inline(always)]
            fn saturating_from(x: f64) -> $t {
                x as $t
            }
            #[inline(always)]
            fn wrapping_add(self, b: $t) -> $t {
                self.wrapping_add(b)
            }
            #[inline(always)]
            fn wrapping_sub(self, b: $t) -> $t {
                self.wrapping_sub(b)
            }
            #[inline(always)]
            fn wrapping_mul(self, b: $t) -> $t {
                self.wrapping_mul(b)
            }
            #[inline(always)]
            fn divide(self, b: $t) -> $t {
                if b == 0 { 0 } else { self.wrapping_div(b) }
            }
            #[inline(always)]
            fn remainder(self, b: $t) -> $t {
                if b == 0 { 0 } else { self.wrapping_rem(b) }
            }
        }
    )*};
}
situ_core::integer_types!([integers]);

/// Functions without parameters, each by its formula.
macro_rules! functions {
    ($($name:ident<$t:ident: $bound:ident>, $cheap:literal, |$x:ident| -> $out:ty { $value:expr })*) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        impl<$t: $bound> Map1<$t> for $name {
            type Out = $out;
            const CHEAP: bool = $cheap;
            #[inline(always)]
            fn new(_: Params) -> $name {
                $name
            }
            #[inline(always)]
            fn eval<I: Isa>(self, $x: $t) -> $out {
                $value
            }
        }
    )*};
}

functions! {
    Neg<T: Float>, true, |x| -> T { -x }
    Abs<T: Float>, true, |x| -> T { x.abs() }
    Sign<T: Float>, true, |x| -> T { if x > T::ZERO { T::ONE } else if x < T::ZERO { -T::ONE } else { x } }
    Log<T: Float>, false, |x| -> T { x.log::<I>() }
    Expm1<T: Float>, false, |x| -> T { x.expm1::<I>() }
    Log1p<T: Float>, false, |x| -> T { x.log1p::<I>() }
    Sqrt<T: Float>, true, |x| -> T { x.sqrt() }
    Rsqrt<T: Float>, true, |x| -> T { T::ONE / x.sqrt() }
    Square<T: Float>, true, |x| -> T { x * x }
    Reciprocal<T: Float>, true, |x| -> T { T::ONE / x }
    Tanh<T: Float>, false, |x| -> T { x.tanh::<I>() }
    Sigmoid<T: Float>, false, |x| -> T { x.sigmoid::<I>() }
    // NaN is not below 0, so it stays.
    Relu<T: Float>, true, |x| -> T { if x < T::ZERO { T::ZERO } else { x } }
    Gelu<T: Float>, false, |x| -> T { x.gelu::<I>() }
    Silu<T: Float>, false, |x| -> T { x.silu::<I>() }
    Softplus<T: Float>, false, |x| -> T { x.softplus::<I>() }
    Erf<T: Float>, false, |x| -> T { x.erf::<I>() }
    Floor<T: Float>, true, |x| -> T { x.floor::<I>() }
    Ceil<T: Float>, true, |x| -> T { x.ceil::<I>() }
    Round<T: Float>, true, |x| -> T { x.round::<I>() }
    IsNan<T: Float>, true, |x| -> u8 { u8::from(x.is_nan()) }

    Not<T: TruthByte>, true, |x| -> u8 { u8::from(!x.holds()) }

    IntNeg<T: Integer>, true, |x| -> T { T::ZERO.wrapping_sub(x) }
    IntAbs<T: Integer>, true, |x| -> T { if x < T::ZERO { T::ZERO.wrapping_sub(x) } else { x } }
    IntSign<T: Integer>, true, |x| -> T {
        if x > T::ZERO { T::ONE } else if x < T::ZERO { T::ZERO.wrapping_sub(T::ONE) } else { T::ZERO }
    }
    IntSquare<T: Integer>, true, |x| -> T { x.wrapping_mul(x) }
    IntRelu<T: Integer>, true, |x| -> T { if x < T::ZERO { T::ZERO } else { x } }
}

/// `e^x`.
#[derive(Clone, Copy)]
struct Exp;

impl<T: Float> Map1<T> for Exp {
    type Out = T;
    const CHEAP: bool = false;
    #[inline(always)]
    fn new(_: Params) -> Exp {
        Exp
    }
    #[inline(always)]
    fn eval<I: Isa>(self, x: T) -> T {
        x.exp::<I>()
    }
    #[inline(always)]
    fn first<I: Isa>(self, inputs: &[T], outputs: &mut [MaybeUninit<T>]) -> usize {
        T::exp_row::<I>(inputs, outputs)
    }
}

/// The byte of a bool. Any byte but 0 holds, so that no memory, however written, is undefined behaviour.
pub(super) trait TruthByte: Copy {
    fn holds(self) -> bool;
}

impl TruthByte for u8 {
    #[inline(always)]
    fn holds(self) -> bool {
        self != 0
    }
}

/// Sine and cosine of huge arguments need a reduction that vectors do not have: those elements are done
/// again, one by one.
macro_rules! trigonometric {
    ($($name:ident $method:ident $wide:path;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        impl<T: Float> Map1<T> for $name {
            type Out = T;
            const CHEAP: bool = false;
            #[inline(always)]
            fn new(_: Params) -> $name {
                $name
            }
            #[inline(always)]
            fn eval<I: Isa>(self, x: T) -> T {
                x.$method::<I>()
            }
            #[inline(always)]
            fn mend(self, inputs: &[T], outputs: &mut [MaybeUninit<T>]) {
                if inputs.iter().fold(false, |any, x| any | (x.abs() > T::TRIG_LIMIT)) {
                    for (x, y) in inputs.iter().zip(outputs) {
                        if x.abs() > T::TRIG_LIMIT {
                            y.write(T::from_f64($wide(x.to_f64())));
                        }
                    }
                }
            }
        }
    )*};
}
trigonometric! { Sin sin f64::sin; Cos cos f64::cos; }

/// `x`, or `slope · x` below 0.
#[derive(Clone, Copy)]
struct LeakyRelu<T>(T);

impl<T: Float> Map1<T> for LeakyRelu<T> {
    type Out = T;
    #[inline(always)]
    fn new(params: Params) -> Self {
        LeakyRelu(T::from_f64(params[0]))
    }
    #[inline(always)]
    fn eval<I: Isa>(self, x: T) -> T {
        if x < T::ZERO { self.0 * x } else { x }
    }
}

/// `x`, or `alpha · (e^x - 1)` below 0.
#[derive(Clone, Copy)]
struct Elu<T>(T);

impl<T: Float> Map1<T> for Elu<T> {
    type Out = T;
    const CHEAP: bool = false;
    #[inline(always)]
    fn new(params: Params) -> Self {
        Elu(T::from_f64(params[0]))
    }
    #[inline(always)]
    fn eval<I: Isa>(self, x: T) -> T {
        x.elu::<I>(self.0)
    }
}

/// `x` within bounds; NaN stays.
#[derive(Clone, Copy)]
struct Clip<T>(T, T);

impl<T: Float> Map1<T> for Clip<T> {
    type Out = T;
    #[inline(always)]
    fn new(params: Params) -> Self {
        Clip(T::from_f64(params[0]), T::from_f64(params[1]))
    }
    #[inline(always)]
    fn eval<I: Isa>(self, x: T) -> T {
        let x = if x < self.0 { self.0 } else { x };
        if x > self.1 { self.1 } else { x }
    }
}

/// The integers within bounds: the bounds round inwards.
#[derive(Clone, Copy)]
struct IntClip<T>(T, T);

impl<T: Integer> Map1<T> for IntClip<T> {
    type Out = T;
    #[inline(always)]
    fn new(params: Params) -> Self {
        IntClip(T::saturating_from(params[0].ceil()), T::saturating_from(params[1].floor()))
    }
    #[inline(always)]
    fn eval<I: Isa>(self, x: T) -> T {
        let x = if x < self.0 { self.0 } else { x };
        if x > self.1 { self.1 } else { x }
    }
}
