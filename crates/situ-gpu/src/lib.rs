//! The GPU device of situ: wgpu (Vulkan, Metal, DX12) and WGSL kernels of our own.

pub mod adapters;
pub mod checks;
pub mod context;
pub mod fault;
pub mod memory;
pub mod pipelines;
pub mod staging;
pub mod stream;

#[cfg(test)]
mod core_tests;
