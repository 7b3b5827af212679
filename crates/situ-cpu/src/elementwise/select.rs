//! `where`: an element of the second operand where the first holds, else of the third.

use super::tile::{NO_FAULT, Params, TileFn};
use crate::level::Level;
use crate::multiversion;
use situ_core::DType;
use std::mem::MaybeUninit;

/// The function on that dtype. Elements are only moved, so one function serves each width.
pub fn select(dtype: DType) -> TileFn {
    match dtype.size() {
        1 => tile::<u8>,
        2 => tile::<u16>,
        4 => tile::<u32>,
        _ => tile::<u64>,
    }
}

multiversion! {
    fn choose[_I, T: (Copy)](condition: &[u8], a: &[T], b: &[T], out: &mut [MaybeUninit<T>]) {
        for (((out, condition), a), b) in out.iter_mut().zip(condition).zip(a).zip(b) {
            out.write(if *condition != 0 { *a } else { *b });
        }
    }
}

/// # Safety
/// As for [`TileFn`].
unsafe fn tile<T: Copy>(
    level: Level,
    _: Params,
    inputs: [*const u8; 3],
    output: *mut u8,
    len: usize,
) -> usize {
    // SAFETY: the caller vouches for the pointers and lengths.
    let (condition, a, b, out) = unsafe {
        (
            std::slice::from_raw_parts(inputs[0], len),
            std::slice::from_raw_parts(inputs[1].cast::<T>(), len),
            std::slice::from_raw_parts(inputs[2].cast::<T>(), len),
            std::slice::from_raw_parts_mut(output.cast(), len),
        )
    };
    choose::<T>(level, condition, a, b, out);
    NO_FAULT
}
