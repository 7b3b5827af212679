//! Elementwise ops: one function applied to the elements of up to three operands that broadcast together.
//!
//! An op is a [`TileFn`]: the function compiled for dense runs of elements, once per level, behind one
//! untyped signature. That is all that an op is; the [engine](run) makes everything else of it:
//! - operands that are dense are read in place, in runs as long as the task;
//! - a scalar, or a column that repeats along rows, is spread once over a tile that stays in the first-level
//!   cache;
//! - other strides are gathered tile by tile;
//! - results larger than the last-level cache are computed into a tile and streamed past the caches;
//! - long runs are cut into tasks of fixed size.
//!
//! Every element goes through the same instructions whatever the cut, so results do not depend on the number
//! of threads. The same tile functions, called in sequence on one tile, are a [fused] program.

pub mod binary;
pub mod cast;
mod chain;
mod engine;
mod feed;
pub mod fused;
mod half;
pub mod select;
pub mod tile;
pub mod unary;
mod walk;

pub use engine::{NoResult, Operand, run};
pub use tile::{NO_FAULT, Params, TileFn};
