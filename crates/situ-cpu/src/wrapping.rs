//! Integers whose sign makes no difference: sums, products and copies of the low bits are the same whether
//! numbers are signed or not, so that one function serves the integers of each size.

/// An array whose length is the size of an integer.
pub(crate) trait OfSize {
    /// The integer of that size.
    type Integer;
}

macro_rules! sizes {
    ($($bytes:literal $integer:ty;)*) => {$(
        impl OfSize for [(); $bytes] {
            type Integer = $integer;
        }
    )*};
}
sizes! { 1 u8; 2 u16; 4 i32; 8 i64; }

/// An expression for the integer of a size in bytes: `with_wrapping!(size, T => f::<T>())`.
macro_rules! with_wrapping {
    ($size:expr, $t:ident => $body:expr) => {
        match $size {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = i32;
                $body
            }
            _ => {
                type $t = i64;
                $body
            }
        }
    };
}
pub(crate) use with_wrapping;
