//! The CPU device of situ and its kernels.
//!
//! The crate is layered; each layer knows only those above it in this list:
//! - [`level`]: which instructions this processor has, and how one loop is compiled for each of them;
//! - [`threads`]: the fork-join pool that splits one kernel over cores;
//! - [`wide`], [`math`]: registers of floats, and elementary functions that vectorise;
//! - [`exec`]: the level and the threads that a primitive is given;
//! - primitives over raw memory: [`elementwise`], [`reduce`], [`normalize`], [`matmul`], [`movement`],
//!   [`random`], [`convolve`];
//! - the kernels, which are the ops of `situ-ir` on these primitives, and the device that launches them.
//!
//! Everything here is deterministic: how work is cut into tasks, and the order in which numbers are added,
//! depend on shapes and on the [`level::Level`], never on the number of threads.

pub mod cache;
pub mod convolve;
pub mod custom;
mod device;
pub mod elementwise;
pub mod exec;
pub mod half;
mod kernels;
pub mod level;
mod limits;
pub mod math;
pub mod matmul;
mod memory;
pub mod movement;
pub mod normalize;
pub mod random;
pub mod reduce;
mod scratch;
mod stream;
pub mod threads;
pub mod wide;
mod wrapping;

pub use device::{physical, physical_at};
