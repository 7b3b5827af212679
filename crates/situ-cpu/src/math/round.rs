//! Rounding to integers, without a call where the level has no instruction for it.

use crate::level::Isa;

/// To the nearest integer, ties to even.
#[inline(always)]
pub fn round<I: Isa>(x: f32) -> f32 {
    if I::FMA {
        // Every level with fused multiply-add has a rounding instruction.
        return x.round_ties_even();
    }
    // From 2^23 on every f32 is an integer; below, adding 2^23 pushes the fraction out.
    const EDGE: f32 = 8_388_608.0;
    let a = x.abs();
    let rounded = ((a + EDGE) - EDGE).copysign(x);
    if a < EDGE { rounded } else { x }
}

/// The next integer below.
#[inline(always)]
pub fn floor<I: Isa>(x: f32) -> f32 {
    if I::FMA {
        return x.floor();
    }
    let r = round::<I>(x);
    if r > x { r - 1.0 } else { r }
}

/// The next integer above.
#[inline(always)]
pub fn ceil<I: Isa>(x: f32) -> f32 {
    if I::FMA {
        return x.ceil();
    }
    let r = round::<I>(x);
    (if r < x { r + 1.0 } else { r }).copysign(x)
}
