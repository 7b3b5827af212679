//! GPUs that are not there: the CPU's kernels behind the seam of a GPU.
//!
//! A [`SimulatedGpu`] has a set memory, lacks kernels that it is told to lack, takes its time, queues work
//! until somebody waits for it (so that errors which depend on data come late, as on a real queue), refuses
//! the k-th block of memory, and is lost on demand. Its memory can't be addressed by the host, so that code
//! which tries is found out.
//!
//! Promises: results are the CPU's, bit for bit; work runs in launch order. It proves what the runtime does
//! about devices, never what a real GPU computes.

mod controls;
mod device;
mod memory;
mod physical;
mod queue;

pub use controls::{Controls, Fault};
pub use physical::SimulatedGpu;
