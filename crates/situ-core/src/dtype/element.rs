//! The Rust types that stand for dtypes.

use crate::{DType, Scalar};
use std::fmt;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be the element of a tensor.
///
/// Sealed: the set of dtypes is the set of kernels, so it is not open to other crates.
pub trait Element:
    sealed::Sealed + Copy + Send + Sync + PartialEq + PartialOrd + fmt::Debug + fmt::Display + Default + 'static
{
    /// The dtype it stands for.
    const DTYPE: DType;
    /// Bits of a float's significand, the leading one among them.
    const SIGNIFICAND_BITS: Option<u32> = None;
    /// The least positive float that is not subnormal.
    const LEAST_NORMAL: Option<Self> = None;
    /// This value as a scalar attribute.
    fn to_scalar(self) -> Scalar;
    /// The value as f64, for printing and comparisons; integers beyond 2^53 are rounded.
    fn to_f64(self) -> f64;
    /// The value as a whole number; `None` for floats.
    fn to_whole(self) -> Option<i128>;
    /// The element nearest to a number: floats round to nearest, ties to even, once; integers round toward
    /// zero and saturate, NaN is 0; bool is "not zero".
    fn from_f64(value: f64) -> Self;
    /// The element of a whole number: integers keep the low bits, floats round to nearest, ties to even,
    /// once; bool is "not zero".
    fn from_whole(value: i128) -> Self;
    /// The element that this text writes.
    fn parse(text: &str) -> Option<Self>;
    /// Its bytes in the low end, as they are in a tensor's memory.
    fn bits(self) -> u64;
    /// The inverse of [`Element::bits`].
    fn from_bits(bits: u64) -> Self;
    /// Reads one element from its bytes, as they are in a tensor's memory.
    fn from_bytes(bytes: &[u8]) -> Self;
}

/// What differs between the classes.
macro_rules! by_class {
    (float $rust:ty) => {
        const SIGNIFICAND_BITS: Option<u32> = Some(<$rust>::MANTISSA_DIGITS);
        const LEAST_NORMAL: Option<Self> = Some(<$rust>::MIN_POSITIVE);
        fn to_f64(self) -> f64 {
            f64::from(self)
        }
        fn to_whole(self) -> Option<i128> {
            None
        }
        fn from_f64(value: f64) -> Self {
            value as $rust
        }
        fn from_whole(value: i128) -> Self {
            value as $rust
        }
        fn parse(text: &str) -> Option<Self> {
            text.parse().ok()
        }
        fn bits(self) -> u64 {
            self.to_bits().into()
        }
        fn from_bits(bits: u64) -> Self {
            <$rust>::from_bits(bits as _)
        }
        by_class!(@bytes $rust);
    };
    (half $rust:ty) => {
        const SIGNIFICAND_BITS: Option<u32> = Some(<$rust>::MANTISSA_DIGITS);
        const LEAST_NORMAL: Option<Self> = Some(<$rust>::MIN_POSITIVE);
        fn to_f64(self) -> f64 {
            f64::from(self)
        }
        fn to_whole(self) -> Option<i128> {
            None
        }
        fn from_f64(value: f64) -> Self {
            <$rust>::from_f32(super::half::to_odd(value))
        }
        fn from_whole(value: i128) -> Self {
            <$rust>::from_f32(super::half::whole_to_odd(u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX), value < 0))
        }
        fn parse(text: &str) -> Option<Self> {
            text.parse().ok().map(<Self as Element>::from_f64)
        }
        fn bits(self) -> u64 {
            self.to_bits().into()
        }
        fn from_bits(bits: u64) -> Self {
            <$rust>::from_bits(bits as u16)
        }
        by_class!(@bytes $rust);
    };
    (bool $rust:ty) => {
        fn to_f64(self) -> f64 {
            f64::from(u8::from(self))
        }
        fn to_whole(self) -> Option<i128> {
            Some(i128::from(self))
        }
        fn from_f64(value: f64) -> Self {
            value != 0.0
        }
        fn from_whole(value: i128) -> Self {
            value != 0
        }
        fn parse(text: &str) -> Option<Self> {
            text.parse().ok()
        }
        fn bits(self) -> u64 {
            u64::from(self)
        }
        fn from_bits(bits: u64) -> Self {
            bits as u8 != 0
        }
        fn from_bytes(bytes: &[u8]) -> Self {
            bytes[0] != 0
        }
    };
    // Integers of either sign.
    ($integer:ident $rust:ty) => {
        fn to_f64(self) -> f64 {
            self as f64
        }
        fn to_whole(self) -> Option<i128> {
            Some(i128::from(self))
        }
        fn from_f64(value: f64) -> Self {
            value as $rust
        }
        fn from_whole(value: i128) -> Self {
            value as $rust
        }
        fn parse(text: &str) -> Option<Self> {
            text.parse().ok()
        }
        fn bits(self) -> u64 {
            // Of a negative number, the bytes that its type has.
            self as u64 & (u64::MAX >> (64 - <$rust>::BITS))
        }
        fn from_bits(bits: u64) -> Self {
            bits as $rust
        }
        by_class!(@bytes $rust);
    };
    (@bytes $rust:ty) => {
        fn from_bytes(bytes: &[u8]) -> Self {
            let mut raw = [0u8; size_of::<$rust>()];
            raw.copy_from_slice(&bytes[..size_of::<$rust>()]);
            <$rust>::from_ne_bytes(raw)
        }
    };
}

macro_rules! elements {
    ($([$variant:ident ($rust:ty) $class:ident $($rest:tt)*])*) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const DTYPE: DType = DType::$variant;
            fn to_scalar(self) -> Scalar { Scalar::$variant(self) }
            by_class!($class $rust);
        }
    )*};
}
crate::dtype_table!([elements]);
