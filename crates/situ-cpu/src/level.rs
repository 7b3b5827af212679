//! Instruction-set levels: what the processor offers, found at run time.
//!
//! One binary runs on any x86-64 or ARM machine. A kernel is written once, as a plain loop generic over an
//! [`Isa`]; [`multiversion!`](crate::multiversion) compiles that loop once per level inside a
//! `#[target_feature]` function, where the compiler vectorises it with that level's registers, and picks one
//! by the [`Level`] the caller passes.
//!
//! Promise: two calls with the same level and the same input give the same bits. Two levels may differ in the
//! last bits, because [`Isa::mul_add`] rounds once where the hardware has a fused multiply-add and twice
//! where it has not.

use crate::wide::{PowersOfTwo, Tail};
use std::fmt;
use std::sync::OnceLock;

/// A set of instructions that kernels are compiled for, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The baseline of the target: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, with AVX2 and FMA.
    Avx512,
}

impl Level {
    /// The best level of this processor. The first call asks the processor; later calls are a load.
    pub fn detect() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            if has_avx512() {
                Level::Avx512
            } else if has_avx2() {
                Level::Avx2
            } else {
                Level::Portable
            }
        })
    }

    /// Every level that this processor can run, weakest first. `Portable` is always among them.
    pub fn available() -> Vec<Level> {
        [Level::Portable, Level::Avx2, Level::Avx512]
            .into_iter()
            .filter(|level| *level <= Level::detect())
            .collect()
    }

    /// The name used in reports and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

/// What a loop body may know about the level it is being compiled for.
pub trait Isa: Tail<f32> + Tail<f64> + PowersOfTwo + Copy + Send + Sync + 'static {
    /// The level itself.
    const LEVEL: Level;
    /// Whether a fused multiply-add is one instruction here.
    const FMA: bool;

    /// `a * b + c`: fused where that is one instruction, else a product and a sum (never a call to a soft
    /// fma).
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }

    /// [`Isa::mul_add`] in double precision.
    #[inline(always)]
    fn mul_add_f64(a: f64, b: f64, c: f64) -> f64 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }
}

/// [`Level::Portable`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct PortableIsa;
/// [`Level::Avx2`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct Avx2Isa;
/// [`Level::Avx512`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct Avx512Isa;

impl Isa for PortableIsa {
    const LEVEL: Level = Level::Portable;
    // NEON has fused multiply-add in its baseline; SSE2 has not.
    const FMA: bool = cfg!(target_arch = "aarch64");
}

impl Isa for Avx2Isa {
    const LEVEL: Level = Level::Avx2;
    const FMA: bool = true;
}

impl Isa for Avx512Isa {
    const LEVEL: Level = Level::Avx512;
    const FMA: bool = true;
}

/// Defines a function that is compiled once per [`Level`] and takes the level as its first argument.
///
/// The name in brackets is a type parameter of the body that stands for the level's [`Isa`]; further type
/// parameters follow it, each with its bounds in parentheses; so is a `where` clause. Whatever the body calls
/// must be `#[inline(always)]`, or it is compiled without the level's instructions.
///
/// ```
/// use situ_cpu::{level::{Isa, Level}, multiversion};
///
/// multiversion! {
///     /// y += a * x.
///     pub fn axpy[I](a: f32, x: &[f32], y: &mut [f32]) {
///         for (y, x) in y.iter_mut().zip(x) {
///             *y = I::mul_add(a, *x, *y);
///         }
///     }
/// }
///
/// let mut y = [1.0, 2.0];
/// axpy(Level::detect(), 2.0, &[10.0, 20.0], &mut y);
/// assert_eq!(y, [21.0, 42.0]);
/// ```
///
/// A level that the processor does not have is never run: the call falls to the best one it has.
#[macro_export]
macro_rules! multiversion {
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident[$isa:ident $(, $generic:ident : ($($bound:tt)+))* $(,)?]
            ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $(where ($($clause:tt)+))? $body:block
    ) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name<$($generic: $($bound)+),*>(level: $crate::level::Level, $($arg: $ty),*) $(-> $ret)? $(where $($clause)+)? {
            #[inline(always)]
            #[allow(clippy::extra_unused_type_parameters)] // a body may do without the level
            fn body<$isa: $crate::level::Isa, $($generic: $($bound)+),*>($($arg: $ty),*) $(-> $ret)? $(where $($clause)+)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$($generic: $($bound)+),*>($($arg: $ty),*) $(-> $ret)? $(where $($clause)+)? {
                body::<$crate::level::Avx2Isa, $($generic),*>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512<$($generic: $($bound)+),*>($($arg: $ty),*) $(-> $ret)? $(where $($clause)+)? {
                body::<$crate::level::Avx512Isa, $($generic),*>($($arg),*)
            }

            match ::core::cmp::Ord::min(level, $crate::level::Level::detect()) {
                $crate::level::Level::Portable => body::<$crate::level::PortableIsa, $($generic),*>($($arg),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `detect` found AVX2 and FMA on this processor.
                $crate::level::Level::Avx2 => unsafe { avx2::<$($generic),*>($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `detect` found every AVX-512 feature named above on this processor.
                $crate::level::Level::Avx512 => unsafe { avx512::<$($generic),*>($($arg),*) },
                #[cfg(not(target_arch = "x86_64"))]
                $crate::level::Level::Avx2 | $crate::level::Level::Avx512 => {
                    body::<$crate::level::PortableIsa, $($generic),*>($($arg),*)
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    multiversion! {
        fn level_seen_inside[I]() -> Level {
            I::LEVEL
        }
    }

    multiversion! {
        fn dot[I, T: (Copy + Into<f32>), U: (Copy + Into<f32>)](a: &[T], b: &[U]) -> f32 {
            a.iter().zip(b).fold(0.0, |sum, (a, b)| I::mul_add((*a).into(), (*b).into(), sum))
        }
    }

    #[test]
    fn portable_is_always_available_and_levels_are_in_order() {
        let levels = Level::available();
        assert_eq!(levels[0], Level::Portable);
        assert!(levels.is_sorted());
        assert_eq!(*levels.last().unwrap(), Level::detect());
    }

    #[test]
    fn a_multiversioned_function_runs_the_level_it_is_given() {
        for level in Level::available() {
            assert_eq!(level_seen_inside(level), level);
        }
    }

    #[test]
    fn a_level_the_processor_lacks_falls_to_the_best_it_has() {
        assert_eq!(level_seen_inside(Level::Avx512), Level::detect());
    }

    #[test]
    fn further_type_parameters_reach_the_body() {
        for level in Level::available() {
            assert_eq!(dot(level, &[1u8, 2, 3], &[4.0f32, 5.0, 6.0]), 32.0);
        }
    }
}
