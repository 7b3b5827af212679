//! Kernels through the device seam, against plain double-precision references.

mod beyond;
mod dtypes;
mod elementwise;
mod fused;
mod harness;
mod index;
mod matmul;
mod movement;
mod random;
mod reduce;
mod rows;
