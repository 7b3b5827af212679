//! Moving elements: copies between strided views, and what is made of them.
//!
//! But for range and scatter_add nothing here knows dtypes, only bytes of an element (1, 4 or 8). The heart
//! is the part: a box of elements copied from any strides to any strides, which chooses its inner loop (runs,
//! repeats, transposed tiles, single elements) once, and can be cut into tasks anywhere. Copy, concat, pad
//! and tile are lists of parts with disjoint destinations.
//!
//! Promises: tasks are cut by shape alone, and since no two tasks write the same byte the result is the same
//! for any number of threads; results larger than the last-level cache are written past the caches where
//! whole lines are written; an index out of range is reported, and no memory outside of the operands is
//! touched.

mod fill;
mod gather;
mod join;
mod one_hot;
mod part;
mod rows;
mod runs;
mod scatter;
mod transpose;

pub use fill::{Step, eye, fill, range};
pub use gather::{Gather, Index, OutOfRange, gather};
pub use join::{Source, concat, copy, pad, tile};
pub use one_hot::one_hot;
pub use rows::{distinct, places, put_rows};
pub use scatter::{Slices, Summand, scatter_add};

use part::{Axis, Part};

/// Bytes written that are worth a task of their own.
const TASK_BYTES: usize = 128 << 10;

#[cfg(test)]
mod tests;
