//! Kernels through the device seam, against plain double-precision references.

mod elementwise;
mod harness;
