//! The CPU device of situ and its kernels.
//!
//! The crate is layered; each layer knows only those above it in this list:
//! - [`level`]: which instructions this processor has, and how one loop is compiled for each of them;
//! - [`threads`]: the fork-join pool that splits one kernel over cores;
//! - [`math`]: elementary functions that vectorise;
//! - primitives over raw memory: [`elementwise`], [`reduce`], [`normalize`], [`matmul`], [`movement`], [`random`].
//!
//! Everything here is deterministic: how work is cut into tasks, and the order in which numbers are added, depend on
//! shapes and on the [`level::Level`], never on the number of threads.

pub mod cache;
mod device;
pub mod elementwise;
pub mod exec;
mod kernels;
pub mod level;
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

pub use device::{physical, physical_at};

// Already being written, not to be started again: src/device.rs, src/memory.rs, src/kernels/mod.rs and
// kernels/elementwise.rs; src/random/, src/movement/ (copy, concat, pad, tile, gather, scatter, one_hot, fill, range,
// eye) with kernels/{random,movement,index,generate}.rs.
// Still open for the primitives' author: reductions, softmax, cross-entropy, layer norm, with kernels/{reduce,softmax,
// cross_entropy,layer_norm}.rs against kernels/mod.rs; kernels/matmul.rs once src/matmul is in.
