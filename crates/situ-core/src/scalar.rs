//! Single values carried by ops: fill values, padding, bounds.
//!
//! Ops are compared and hashed (common subexpressions, plan caches), so floats here compare by their bits:
//! NaN equals itself, and 0.0 differs from -0.0.

use crate::{DType, Element, with_element};
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

macro_rules! scalars {
    ($([$variant:ident ($rust:ty) $class:ident $name:literal $npy:literal $safetensors:ident $doc:literal])*) => {
        /// One element of some dtype.
        #[derive(Clone, Copy, Debug)]
        pub enum Scalar {
            $(#[doc = $doc] $variant($rust),)*
        }

        impl Scalar {
            /// The dtype whose element it is.
            pub const fn dtype(self) -> DType {
                match self { $(Scalar::$variant(_) => DType::$variant,)* }
            }

            /// The value as f64; integers beyond 2^53 are rounded.
            pub fn to_f64(self) -> f64 {
                match self { $(Scalar::$variant(v) => v.to_f64(),)* }
            }

            /// The value as a whole number; `None` for floats.
            pub fn to_whole(self) -> Option<i128> {
                match self { $(Scalar::$variant(v) => v.to_whole(),)* }
            }

            /// The element's bytes in the low end, as they are in a tensor's memory.
            pub fn bits(self) -> u64 {
                match self { $(Scalar::$variant(v) => v.bits(),)* }
            }
        }

        impl fmt::Display for Scalar {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Scalar::$variant(v) => write!(f, "{v:?}"),)* }
            }
        }
    };
}
crate::dtype_table!([scalars]);

impl Scalar {
    /// `value` as a scalar of `dtype`, as a cast converts it: see [`Element::from_f64`].
    ///
    /// ```
    /// use situ_core::{DType, Scalar, bf16};
    /// // Just above the middle of two neighbours.
    /// let number = 1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -30);
    /// assert_eq!(Scalar::of(DType::BF16, number), Scalar::BF16(bf16::from_f32(1.0078125)));
    /// ```
    pub fn of(dtype: DType, value: f64) -> Scalar {
        // By the trait: f16 and bf16 have a function of that name, which rounds twice.
        with_element!(dtype, T => <T as Element>::from_f64(value).to_scalar())
    }

    /// `value` as a scalar of `dtype`, as a cast converts it: see [`Element::from_whole`].
    pub fn of_whole(dtype: DType, value: i128) -> Scalar {
        with_element!(dtype, T => T::from_whole(value).to_scalar())
    }

    /// The value in another dtype, as `cast` converts it: floats to integers round toward zero and saturate,
    /// NaN is 0; integers narrow by wrapping; to a float, the nearest, ties to even; anything to bool is "not
    /// zero".
    ///
    /// ```
    /// use situ_core::{DType, Scalar};
    /// assert_eq!(Scalar::F32(-7.9).cast(DType::U8), Scalar::U8(0));
    /// assert_eq!(Scalar::I32(257).cast(DType::U8), Scalar::U8(1));
    /// ```
    pub fn cast(self, to: DType) -> Scalar {
        match self.to_whole() {
            _ if self.dtype() == to => self,
            Some(whole) => Scalar::of_whole(to, whole),
            None => Scalar::of(to, self.to_f64()),
        }
    }

    /// The scalar of that dtype that this text writes; floats may be `inf` and `NaN`.
    pub fn parse(dtype: DType, text: &str) -> Option<Scalar> {
        with_element!(dtype, T => T::parse(text).map(T::to_scalar))
    }

    /// Whether it is a NaN.
    pub fn is_nan(self) -> bool {
        self.to_f64().is_nan()
    }

    /// `value` as a scalar of `dtype`, where the dtype has it: whole numbers in range for integers, 0 and 1
    /// for bool. Floats round it, as a literal does, but no finite number becomes infinite.
    ///
    /// ```
    /// use situ_core::{DType, Scalar};
    /// assert_eq!(Scalar::exact(DType::U8, 255.0), Some(Scalar::U8(255)));
    /// assert_eq!(Scalar::exact(DType::U8, 2.5), None);
    /// assert_eq!(Scalar::exact(DType::F32, 0.1), Some(Scalar::F32(0.1)));
    /// ```
    pub fn exact(dtype: DType, value: f64) -> Option<Scalar> {
        let held = Scalar::of(dtype, value);
        let fits = match dtype.whole_range() {
            // The largest integers of 64 bits are no f64: what saturates to one of them would compare as
            // equal.
            Some(range) => held.to_f64() == value && range.contains(&(value as i128)),
            None => held.to_f64().is_finite() || !value.is_finite(),
        };
        fits.then_some(held)
    }

    /// The number before this one among those that its dtype has, of a finite float.
    ///
    /// ```
    /// use situ_core::Scalar;
    /// assert_eq!(Scalar::F32(1.0).before(), Scalar::F32(1.0f32.next_down()));
    /// ```
    pub fn before(self) -> Scalar {
        let (dtype, bits) = (self.dtype(), self.bits());
        let sign = 1 << (8 * dtype.size() - 1);
        let below = match bits {
            0 => sign | 1,
            _ if bits & sign != 0 => sign | ((bits & !sign) + 1),
            _ => bits - 1,
        };
        Scalar::from_bits(dtype, below)
    }

    /// The element of `dtype` whose memory begins with these bits; the inverse of [`Scalar::bits`].
    pub fn from_bits(dtype: DType, bits: u64) -> Scalar {
        with_element!(dtype, T => <T as Element>::from_bits(bits).to_scalar())
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
