//! The GPU device of situ: wgpu (Vulkan, Metal, DX12) and WGSL kernels of our own. The only crate that names
//! a GPU API.
//!
//! From the bottom up:
//! - `adapters`: the GPUs this machine has;
//! - `context`, `borders`: one logical GPU, whose errors never become panics, and what it can do in one go;
//! - `memory`, `staging`: blocks for tensors, and buffers that bytes pass through;
//! - `pipelines`, `checks`, `clock`, `progress`, `stream`: compiled kernels, errors found by them, how long
//!   they take, and the one queue that all work goes through, in order and in batches;
//! - `kernels`: what is computed, one file per family of ops;
//! - `device`: all of it behind the seam of `situ-device`.
//!
//! Without a GPU, a software Vulkan driver (Mesa's lavapipe) is a real device here: right results, not speed.

mod adapters;
mod borders;
mod checks;
mod clock;
mod context;
pub mod custom;
mod device;
mod fault;
mod kernels;
mod memory;
mod pipelines;
mod progress;
mod staging;
mod stream;

#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod core_tests;
#[cfg(test)]
mod device_tests;

pub use device::physical;
