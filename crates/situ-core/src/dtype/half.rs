//! Rounding to floats of 16 bits once: on the way through f32, what f32 can't hold is rounded to odd, and the
//! second rounding then sees on which side of a tie the number was.

/// The f32 toward zero from a number, with the last bit set where that is not the number: rounded again to
/// half as many bits or fewer, it gives what the number itself would.
///
/// ```
/// use situ_core::{dtype::to_odd, f16};
/// // Just above the middle of two neighbours: through the nearest f32, which is the middle, it would go
/// // down to the even one.
/// let number = 1.0 + f64::powi(2.0, -11) + f64::powi(2.0, -40);
/// assert_eq!(f16::from_f32(number as f32).to_f32(), 1.0);
/// assert_eq!(f16::from_f32(to_odd(number)).to_f32(), 1.0 + f32::powi(2.0, -10));
/// ```
#[inline(always)]
pub fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    // Without branches, so that loops over it vectorise. Away from zero by rounding, infinity among it: one
    // back. Of a NaN the last bit does not matter.
    let bits = near.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(bits | u32::from(back != value))
}

/// As [`to_odd`], of a whole number.
#[inline(always)]
pub fn whole_to_odd(magnitude: u64, negative: bool) -> f32 {
    // An f64 holds the first 44 bits; of those that are cut off, one says whether there were any.
    let long = magnitude >> 44 != 0;
    let cut = (magnitude >> 20 | u64::from(magnitude & 0xf_ffff != 0)) << 20;
    let held = if long { cut } else { magnitude } as f64;
    to_odd(if negative { -held } else { held })
}
