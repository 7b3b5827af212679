//! Single values carried by ops: fill values, padding, bounds.
//!
//! Ops are compared and hashed (common subexpressions, plan caches), so floats here compare by their bits:
//! NaN equals itself, and 0.0 differs from -0.0.

use crate::{DType, Element};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A float attribute of an op (a slope, an epsilon), compared by bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Real) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for Real {}
impl Hash for Real {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// One element of some dtype.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// An f32.
    F32(f32),
    /// An f64.
    F64(f64),
    /// An i32.
    I32(i32),
    /// An i64.
    I64(i64),
    /// A u8.
    U8(u8),
    /// A bool.
    Bool(bool),
}

impl Scalar {
    /// Its dtype.
    pub const fn dtype(self) -> DType {
        match self {
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
            Scalar::I32(_) => DType::I32,
            Scalar::I64(_) => DType::I64,
            Scalar::U8(_) => DType::U8,
            Scalar::Bool(_) => DType::Bool,
        }
    }

    /// The value as f64; i64 beyond 2^53 is rounded.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::F32(v) => v.to_f64(),
            Scalar::F64(v) => v,
            Scalar::I32(v) => v.to_f64(),
            Scalar::I64(v) => v.to_f64(),
            Scalar::U8(v) => v.to_f64(),
            Scalar::Bool(v) => v.to_f64(),
        }
    }

    /// `value` as a scalar of `dtype`, by Rust's `as` (saturating); bool is `value != 0`.
    pub fn of(dtype: DType, value: f64) -> Scalar {
        match dtype {
            DType::F32 => Scalar::F32(value as f32),
            DType::F64 => Scalar::F64(value),
            DType::I32 => Scalar::I32(value as i32),
            DType::I64 => Scalar::I64(value as i64),
            DType::U8 => Scalar::U8(value as u8),
            DType::Bool => Scalar::Bool(value != 0.0),
        }
    }

    /// `value` as a scalar of `dtype`, where the dtype has it: whole numbers in range for integers, 0 and 1 for bool. Floats round it, as a
    /// literal does, but no finite number becomes infinite.
    ///
    /// ```
    /// use situ_core::{DType, Scalar};
    /// assert_eq!(Scalar::exact(DType::U8, 255.0), Some(Scalar::U8(255)));
    /// assert_eq!(Scalar::exact(DType::U8, 2.5), None);
    /// assert_eq!(Scalar::exact(DType::F32, 0.1), Some(Scalar::F32(0.1)));
    /// ```
    pub fn exact(dtype: DType, value: f64) -> Option<Scalar> {
        let held = Scalar::of(dtype, value);
        let fits = match held {
            Scalar::F64(_) => true,
            Scalar::F32(v) => v.is_finite() || !value.is_finite(),
            // The largest i64 is no f64: what saturates to it would compare as equal.
            Scalar::I64(v) => v as f64 == value && value < i64::MAX as f64,
            Scalar::I32(_) | Scalar::U8(_) | Scalar::Bool(_) => held.to_f64() == value,
        };
        fits.then_some(held)
    }

    /// The element of `dtype` whose memory begins with these bits; the inverse of [`Scalar::bits`].
    pub fn from_bits(dtype: DType, bits: u64) -> Scalar {
        match dtype {
            DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            DType::F64 => Scalar::F64(f64::from_bits(bits)),
            DType::I32 => Scalar::I32(bits as u32 as i32),
            DType::I64 => Scalar::I64(bits as i64),
            DType::U8 => Scalar::U8(bits as u8),
            DType::Bool => Scalar::Bool(bits as u8 != 0),
        }
    }

    /// The element's bytes in the low end, as they are in a tensor's memory.
    pub fn bits(self) -> u64 {
        match self {
            Scalar::F32(v) => u64::from(v.to_bits()),
            Scalar::F64(v) => v.to_bits(),
            Scalar::I32(v) => u64::from(v as u32),
            Scalar::I64(v) => v as u64,
            Scalar::U8(v) => u64::from(v),
            Scalar::Bool(v) => u64::from(v),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.dtype() == other.dtype() && self.bits() == other.bits()
    }
}
impl Eq for Scalar {}
impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.bits().hash(state);
    }
}
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::F32(v) => write!(f, "{v:?}"),
            Scalar::F64(v) => write!(f, "{v:?}"),
            Scalar::I32(v) => write!(f, "{v}"),
            Scalar::I64(v) => write!(f, "{v}"),
            Scalar::U8(v) => write!(f, "{v}"),
            Scalar::Bool(v) => write!(f, "{v}"),
        }
    }
}
