//! Products against a reference in double precision, over shapes, strides, levels, threads and number types.

mod bf16;
mod bytes;
mod cases;
mod determinism;
#[cfg(unix)]
mod edges;
mod special;
#[cfg(target_arch = "x86_64")]
mod spills;
mod values;
