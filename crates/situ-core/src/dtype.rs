//! Element types of tensors, and the Rust types that stand for them.

use std::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// 32-bit IEEE float.
    F32,
    /// 64-bit IEEE float.
    F64,
    /// 32-bit signed integer; arithmetic wraps.
    I32,
    /// 64-bit signed integer; arithmetic wraps.
    I64,
    /// 8-bit unsigned integer; arithmetic wraps.
    U8,
    /// Truth value, one byte each: 0 or 1.
    Bool,
}

impl DType {
    /// Every dtype, in the order of their discriminants.
    pub const ALL: [DType; 6] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool];

    /// Bytes of one element.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F64 | DType::I64 => 8,
            DType::U8 | DType::Bool => 1,
        }
    }

    /// The short name used in messages, files and the CLI.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// The dtype of that short name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// f32 or f64.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }

    /// i32, i64 or u8.
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::I32 | DType::I64 | DType::U8)
    }

    /// Anything but bool.
    pub const fn is_numeric(self) -> bool {
        !matches!(self, DType::Bool)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be the element of a tensor.
///
/// Sealed: the set of dtypes is the set of kernels, so it is not open to other crates.
pub trait Element: sealed::Sealed + Copy + Send + Sync + PartialEq + fmt::Debug + Default + 'static {
    /// The dtype it stands for.
    const DTYPE: DType;
    /// This value as a scalar attribute.
    fn to_scalar(self) -> crate::Scalar;
    /// The value as f64, for printing and comparisons; i64 beyond 2^53 is rounded.
    fn to_f64(self) -> f64;
    /// Reads one element from its bytes, as they are in a tensor's memory.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($rust:ty, $dtype:ident, $as_f64:expr, $scalar:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $rust {}
        impl Element for $rust {
            const DTYPE: DType = DType::$dtype;
            fn to_scalar(self) -> crate::Scalar { ($scalar)(self) }
            fn to_f64(self) -> f64 { ($as_f64)(self) }
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut raw = [0u8; size_of::<$rust>()];
                raw.copy_from_slice(&bytes[..size_of::<$rust>()]);
                ($from)(raw)
            }
        }
    )*};
}

elements! {
    f32, F32, f64::from, crate::Scalar::F32, f32::from_ne_bytes;
    f64, F64, |v| v, crate::Scalar::F64, f64::from_ne_bytes;
    i32, I32, f64::from, crate::Scalar::I32, i32::from_ne_bytes;
    i64, I64, |v| v as f64, crate::Scalar::I64, i64::from_ne_bytes;
    u8, U8, f64::from, crate::Scalar::U8, |raw: [u8; 1]| raw[0];
    bool, Bool, |v| f64::from(u8::from(v)), crate::Scalar::Bool, |raw: [u8; 1]| raw[0] != 0;
}
