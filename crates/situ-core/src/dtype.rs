//! Element types of tensors.

mod element;
mod half;
mod table;

pub use element::Element;
pub use half::{to_odd, whole_to_odd};

use std::fmt;
use std::ops::RangeInclusive;

/// What sort of numbers a dtype has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// IEEE floats that kernels compute in.
    Float,
    /// Floats of 16 bits, which are computed in f32 and rounded once.
    Half,
    /// Integers of both signs.
    Signed,
    /// Integers from 0.
    Unsigned,
    /// Truth values.
    Bool,
}

macro_rules! class {
    (float) => {
        Class::Float
    };
    (half) => {
        Class::Half
    };
    (signed) => {
        Class::Signed
    };
    (unsigned) => {
        Class::Unsigned
    };
    (bool) => {
        Class::Bool
    };
}

macro_rules! dtypes {
    ($([$variant:ident ($rust:ty) $class:ident $name:literal $npy:literal $safetensors:ident $doc:literal])*) => {
        /// The type of a tensor's elements.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = $doc] $variant,)*
        }

        impl DType {
            /// Every dtype, in the order of their discriminants.
            pub const ALL: [DType; [$($name),*].len()] = [$(DType::$variant),*];

            /// Bytes of one element.
            #[inline]
            pub const fn size(self) -> usize {
                match self { $(DType::$variant => size_of::<$rust>(),)* }
            }

            /// The short name used in messages, files and the CLI.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// What sort of numbers it has.
            #[inline]
            pub const fn class(self) -> Class {
                match self { $(DType::$variant => class!($class),)* }
            }

            /// What NPY files call it, without the order of bytes: `f4`. bf16 is there as two bytes without a
            /// meaning, `V2`, which is what NumPy writes for it.
            pub const fn npy_name(self) -> &'static str {
                match self { $(DType::$variant => $npy,)* }
            }
        }
    };
}
crate::dtype_table!([dtypes]);

impl DType {
    /// The dtype of that short name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// f16, bf16, f32 or f64.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float | Class::Half)
    }

    /// f16 or bf16: computed in f32, and each result rounded once.
    #[inline]
    pub const fn is_half(self) -> bool {
        matches!(self.class(), Class::Half)
    }

    /// Whether it is an integer, signed or not.
    #[inline]
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Unsigned)
    }

    /// An integer without a sign.
    #[inline]
    pub const fn is_unsigned(self) -> bool {
        matches!(self.class(), Class::Unsigned)
    }

    /// Anything but bool.
    #[inline]
    pub const fn is_numeric(self) -> bool {
        !matches!(self.class(), Class::Bool)
    }

    /// Whether indices and labels may be of it: i32 or i64.
    #[inline]
    pub const fn is_index(self) -> bool {
        matches!(self, DType::I32 | DType::I64)
    }

    /// The least and the largest integer that it has; `None` for floats.
    ///
    /// ```
    /// use situ_core::DType;
    /// assert_eq!(DType::U8.whole_range(), Some(0..=255));
    /// assert_eq!(DType::F32.whole_range(), None);
    /// ```
    pub const fn whole_range(self) -> Option<RangeInclusive<i128>> {
        let bits = 8 * self.size() as u32;
        match self.class() {
            Class::Float | Class::Half => None,
            Class::Signed => Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1),
            Class::Unsigned => Some(0..=(1 << bits) - 1),
            Class::Bool => Some(0..=1),
        }
    }

    /// Bits of the significand of a float, the leading one among them: a whole number of so many bits is held
    /// exactly. `None` for others.
    pub const fn significand_bits(self) -> Option<u32> {
        crate::with_element!(self, T => T::SIGNIFICAND_BITS)
    }

    /// The least positive float that is not subnormal; `None` for others.
    pub fn least_normal(self) -> Option<f64> {
        crate::with_element!(self, T => T::LEAST_NORMAL.map(T::to_f64))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_every_size_is_that_of_the_rust_type() {
        for (number, dtype) in DType::ALL.into_iter().enumerate() {
            assert_eq!(dtype as usize, number);
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
            assert_eq!(crate::with_element!(dtype, T => (T::DTYPE, size_of::<T>())), (dtype, dtype.size()));
        }
    }

    #[test]
    fn the_range_of_an_integer_is_that_of_its_rust_type() {
        for dtype in DType::ALL {
            let range =
                crate::with_integer!(dtype, T => Some(i128::from(T::MIN)..=i128::from(T::MAX)), else None);
            assert_eq!(range, dtype.whole_range().filter(|_| dtype != DType::Bool), "{dtype}");
        }
    }
}
