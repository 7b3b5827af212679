//! Elementwise ops on f16 and bf16: tile by tile to f32, the function of f32, and each result rounded once.
//!
//! Functions of f32 are called, not compiled again: there are two dtypes and no more code for them than the
//! conversions.

use super::cast::cast;
use super::tile::{NO_FAULT, Params, TileFn};
use super::{binary::binary as binary_f32, unary::unary as unary_f32};
use crate::half::Half;
use crate::level::Level;
use crate::multiversion;
use situ_core::dtype::{to_odd, whole_to_odd};
use situ_core::{DType, bf16, f16, with_element};
use situ_ir::ops::{BinaryKind, UnaryKind};
use std::mem::MaybeUninit;

/// Elements that are converted at a time; all tiles of them stay in the first-level cache.
const BLOCK: usize = 512;

/// An array of a function's instances by their number. A tile function has no room to remember which kind it
/// is of: its type does.
macro_rules! numbered {
    ($name:ident $half:ty: $($n:literal)*) => {
        [$($name::<$half, $n> as TileFn),*]
    };
    ($name:ident $half:ty) => {
        numbered!($name $half: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47)
    };
}

/// The function of that kind; `None` where f32 has none.
pub(super) fn unary(kind: UnaryKind, dtype: DType) -> Option<TileFn> {
    unary_f32(kind, DType::F32)?;
    let list = if dtype == DType::F16 { numbered!(unary_tile f16) } else { numbered!(unary_tile bf16) };
    list.get(UnaryKind::ALL.iter().position(|k| *k == kind)?).copied()
}

/// The function of that kind; `None` where f32 has none.
pub(super) fn binary(kind: BinaryKind, dtype: DType) -> Option<TileFn> {
    binary_f32(kind, DType::F32)?;
    let list = if dtype == DType::F16 { numbered!(binary_tile f16) } else { numbered!(binary_tile bf16) };
    list.get(BinaryKind::ALL.iter().position(|k| *k == kind)?).copied()
}

/// The conversion to any dtype: f32 holds every float of 16 bits, so that the second step is the only one
/// that rounds.
pub(super) fn cast_from(from: DType, to: DType) -> TileFn {
    let list = if from == DType::F16 { numbered!(cast_tile f16) } else { numbered!(cast_tile bf16) };
    list[to as usize]
}

/// The conversion from any dtype but the two themselves.
pub(super) fn cast_to(from: DType, to: DType) -> TileFn {
    if to == DType::F16 {
        with_element!(from, T => round_tile::<T, f16>)
    } else {
        with_element!(from, T => round_tile::<T, bf16>)
    }
}

/// # Safety
/// As for [`TileFn`].
unsafe fn unary_tile<H: Half, const KIND: usize>(
    level: Level,
    params: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
) -> usize {
    let Some(f) = UnaryKind::ALL.get(KIND).and_then(|kind| unary_f32(*kind, DType::F32)) else {
        return NO_FAULT;
    };
    let rounds = UnaryKind::ALL[KIND] != UnaryKind::IsNan;
    // SAFETY: the caller's promise.
    unsafe { through::<H, 1>(level, f, params, inputs, output, len, rounds.then_some(DType::F32)) }
}

/// # Safety
/// As for [`TileFn`].
unsafe fn binary_tile<H: Half, const KIND: usize>(
    level: Level,
    params: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
) -> usize {
    let Some(f) = BinaryKind::ALL.get(KIND).and_then(|kind| binary_f32(*kind, DType::F32)) else {
        return NO_FAULT;
    };
    let rounds = !BinaryKind::ALL[KIND].is_predicate();
    // SAFETY: the caller's promise.
    unsafe { through::<H, 2>(level, f, params, inputs, output, len, rounds.then_some(DType::F32)) }
}

/// # Safety
/// As for [`TileFn`].
unsafe fn cast_tile<H: Half, const TO: usize>(
    level: Level,
    params: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
) -> usize {
    let Some(to) = DType::ALL.get(TO) else { return NO_FAULT };
    let size = to.size();
    let f = cast(DType::F32, *to);
    for at in (0..len).step_by(BLOCK) {
        let count = BLOCK.min(len - at);
        let mut wide = [MaybeUninit::<f32>::uninit(); BLOCK];
        // SAFETY: the caller's promise for the input and the output; a block was written before it is read.
        unsafe {
            let from = std::slice::from_raw_parts(inputs[0].cast::<H>().add(at), count);
            H::widen(level, from, &mut wide[..count]);
            f(level, params, [wide.as_ptr().cast(); 3], output.add(at * size), count);
        }
    }
    NO_FAULT
}

/// A function of f32 on elements of 16 bits; its results are rounded, or, where `rounded` is `None`, bytes
/// that are written as they are.
///
/// # Safety
/// As for [`TileFn`]; the function has N inputs.
unsafe fn through<H: Half, const N: usize>(
    level: Level,
    f: TileFn,
    params: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
    rounded: Option<DType>,
) -> usize {
    for at in (0..len).step_by(BLOCK) {
        let count = BLOCK.min(len - at);
        let mut wide = [[MaybeUninit::<f32>::uninit(); BLOCK]; N];
        let mut result = [MaybeUninit::<f32>::uninit(); BLOCK];
        let mut reads = [std::ptr::null(); 3];
        // SAFETY: the caller's promise for inputs and output, of which `count` elements are left; blocks have
        // room for as many, and are written before they are read.
        unsafe {
            for ((wide, read), input) in wide.iter_mut().zip(&mut reads).zip(inputs) {
                H::widen(
                    level,
                    std::slice::from_raw_parts(input.cast::<H>().add(at), count),
                    &mut wide[..count],
                );
                *read = wide.as_ptr().cast();
            }
            if rounded.is_none() {
                f(level, params, reads, output.add(at), count);
                continue;
            }
            f(level, params, reads, result.as_mut_ptr().cast(), count);
            let result = std::slice::from_raw_parts(result.as_ptr().cast::<f32>(), count);
            H::narrow(
                level,
                result,
                std::slice::from_raw_parts_mut(output.cast::<MaybeUninit<H>>().add(at), count),
            );
        }
    }
    NO_FAULT
}

/// # Safety
/// As for [`TileFn`].
unsafe fn round_tile<T: ToOdd, H: Half>(
    level: Level,
    _: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
) -> usize {
    for at in (0..len).step_by(BLOCK) {
        let count = BLOCK.min(len - at);
        let mut wide = [MaybeUninit::<f32>::uninit(); BLOCK];
        // SAFETY: the caller's promise for the input and the output; a block was written before it is read.
        unsafe {
            let from = std::slice::from_raw_parts(inputs[0].cast::<T::Memory>().add(at), count);
            all_to_odd::<T>(level, from, &mut wide[..count]);
            let wide = std::slice::from_raw_parts(wide.as_ptr().cast::<f32>(), count);
            H::narrow(
                level,
                wide,
                std::slice::from_raw_parts_mut(output.cast::<MaybeUninit<H>>().add(at), count),
            );
        }
    }
    NO_FAULT
}

multiversion! {
    fn all_to_odd[I, T: (ToOdd)](from: &[T::Memory], to: &mut [MaybeUninit<f32>]) {
        for (to, from) in to.iter_mut().zip(from) {
            to.write(T::to_odd(*from));
        }
    }
}

/// An element as the f32 from which rounding to 16 bits gives what rounding the element itself would.
trait ToOdd: 'static {
    /// As it lies in memory: any byte may stand for a bool.
    type Memory: Copy;
    fn to_odd(value: Self::Memory) -> f32;
}

macro_rules! to_odd {
    ($([$variant:ident ($rust:ty) $class:ident $($rest:tt)*])*) => {
        $(to_odd! { $class $rust })*
    };
    (float $rust:ty) => {
        impl ToOdd for $rust {
            type Memory = $rust;
            #[inline(always)]
            fn to_odd(value: $rust) -> f32 {
                // An f32 is itself.
                to_odd(f64::from(value))
            }
        }
    };
    (half $rust:ty) => {
        impl ToOdd for $rust {
            type Memory = $rust;
            #[inline(always)]
            fn to_odd(value: $rust) -> f32 {
                value.to_f32_const()
            }
        }
    };
    (signed $rust:ty) => {
        impl ToOdd for $rust {
            type Memory = $rust;
            #[inline(always)]
            fn to_odd(value: $rust) -> f32 {
                whole_to_odd(u64::from(value.unsigned_abs()), value < 0)
            }
        }
    };
    (unsigned $rust:ty) => {
        impl ToOdd for $rust {
            type Memory = $rust;
            #[inline(always)]
            fn to_odd(value: $rust) -> f32 {
                whole_to_odd(u64::from(value), false)
            }
        }
    };
    (bool $rust:ty) => {
        impl ToOdd for $rust {
            type Memory = u8;
            #[inline(always)]
            fn to_odd(value: u8) -> f32 {
                f32::from(u8::from(value != 0))
            }
        }
    };
}
situ_core::dtype_table! { [to_odd] }

const _: () = assert!(UnaryKind::ALL.len() <= 48 && BinaryKind::ALL.len() <= 48 && DType::ALL.len() <= 48);
