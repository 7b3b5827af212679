//! Products against a reference in double precision, over shapes, strides, levels, threads and number types.

mod cases;
mod determinism;
#[cfg(unix)]
mod edges;
mod special;
mod values;
