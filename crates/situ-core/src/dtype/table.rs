//! The table of dtypes: a row for each, from which their names, sizes, Rust types, scalars, names in files
//! and the dispatch of kernels are made.

/// Hands the table to a macro: `dtype_table!([mine] tokens..)` becomes `mine! { tokens.. [row] [row] .. }`. A
/// row is the variant of `DType`, the Rust type of an element, the class, the name, what NPY files call it,
/// what safetensors files call it, and a doc line.
///
/// Classes: `float` computes in itself; `half` in f32, and each result is rounded once; `signed` and
/// `unsigned` are integers, which wrap; `bool` is a byte of 0 or 1.
#[macro_export]
macro_rules! dtype_table {
    ([$($then:tt)*] $($given:tt)*) => {
        $($then)* ! {
            $($given)*
            [F16 ($crate::f16) half "f16" "f2" F16 "16-bit IEEE float; computed in f32, each result rounded once."]
            [BF16 ($crate::bf16) half "bf16" "V2" BF16 "The upper 16 bits of a 32-bit float; computed in f32, each result rounded once."]
            [F32 (f32) float "f32" "f4" F32 "32-bit IEEE float."]
            [F64 (f64) float "f64" "f8" F64 "64-bit IEEE float."]
            [I8 (i8) signed "i8" "i1" I8 "8-bit signed integer; arithmetic wraps."]
            [I16 (i16) signed "i16" "i2" I16 "16-bit signed integer; arithmetic wraps."]
            [I32 (i32) signed "i32" "i4" I32 "32-bit signed integer; arithmetic wraps."]
            [I64 (i64) signed "i64" "i8" I64 "64-bit signed integer; arithmetic wraps."]
            [U8 (u8) unsigned "u8" "u1" U8 "8-bit unsigned integer; arithmetic wraps."]
            [U16 (u16) unsigned "u16" "u2" U16 "16-bit unsigned integer; arithmetic wraps."]
            [U32 (u32) unsigned "u32" "u4" U32 "32-bit unsigned integer; arithmetic wraps."]
            [U64 (u64) unsigned "u64" "u8" U64 "64-bit unsigned integer; arithmetic wraps."]
            [Bool (bool) bool "bool" "b1" BOOL "Truth value, one byte each: 0 or 1."]
        }
    };
}

/// An expression for the Rust type of a dtype: `with_element!(dtype, T => f::<T>())`.
///
/// ```
/// use situ_core::{DType, with_element};
/// let size = |dtype: DType| with_element!(dtype, T => size_of::<T>());
/// assert_eq!(size(DType::F64), 8);
/// ```
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::dtype_table!([$crate::__dtype_arms] any $dtype, $t, $body, (),)
    };
}

/// An expression for the Rust type of an integer dtype, and another for every other dtype:
/// `with_integer!(dtype, T => f::<T>(), else g())`.
#[macro_export]
macro_rules! with_integer {
    ($dtype:expr, $t:ident => $body:expr, else $other:expr) => {
        $crate::dtype_table!([$crate::__dtype_arms] integer $dtype, $t, $body, $other,)
    };
}

/// An expression for the Rust type of a float dtype that computes in itself (f32, f64), and another for every
/// other dtype.
#[macro_export]
macro_rules! with_float {
    ($dtype:expr, $t:ident => $body:expr, else $other:expr) => {
        $crate::dtype_table!([$crate::__dtype_arms] float $dtype, $t, $body, $other,)
    };
}

/// The `match` of the macros above.
#[doc(hidden)]
#[macro_export]
macro_rules! __dtype_arms {
    ($wanted:ident $dtype:expr, $t:ident, $body:expr, $other:expr,
     $([$variant:ident ($rust:ty) $class:ident $($rest:tt)*])*) => {
        match $dtype {
            $($crate::DType::$variant => $crate::__dtype_arm!($wanted $class $t, $rust, $body, $other),)*
        }
    };
}

/// One arm: the expression where the class of the row is among those wanted.
#[doc(hidden)]
#[macro_export]
macro_rules! __dtype_arm {
    (any $class:ident $t:ident, $rust:ty, $body:expr, $other:expr) => {{
        type $t = $rust;
        $body
    }};
    (integer signed $t:ident, $rust:ty, $body:expr, $other:expr) => {{
        type $t = $rust;
        $body
    }};
    (integer unsigned $t:ident, $rust:ty, $body:expr, $other:expr) => {{
        type $t = $rust;
        $body
    }};
    (float float $t:ident, $rust:ty, $body:expr, $other:expr) => {{
        type $t = $rust;
        $body
    }};
    ($wanted:ident $class:ident $t:ident, $rust:ty, $body:expr, $other:expr) => {
        $other
    };
}

/// Hands the Rust types of the integer dtypes to a macro: `integer_types!([mine])` becomes
/// `mine! { i32 i64 .. }`.
#[macro_export]
macro_rules! integer_types {
    ([$($then:tt)*]) => {
        $crate::dtype_table! { [$crate::__integer_types] [$($then)*] [] }
    };
}

/// The rows of the table one by one, those of integers kept.
#[doc(hidden)]
#[macro_export]
macro_rules! __integer_types {
    ([$($then:tt)*] [$($kept:ty)*]) => {
        $($then)* ! { $($kept)* }
    };
    ($then:tt [$($kept:ty)*] [$variant:ident ($rust:ty) signed $($rest:tt)*] $($rows:tt)*) => {
        $crate::__integer_types! { $then [$($kept)* $rust] $($rows)* }
    };
    ($then:tt [$($kept:ty)*] [$variant:ident ($rust:ty) unsigned $($rest:tt)*] $($rows:tt)*) => {
        $crate::__integer_types! { $then [$($kept)* $rust] $($rows)* }
    };
    ($then:tt $kept:tt [$($row:tt)*] $($rows:tt)*) => {
        $crate::__integer_types! { $then $kept $($rows)* }
    };
}
