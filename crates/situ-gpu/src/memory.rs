//! Raw GPU memory: blocks that a pool cuts tensors from.
//!
//! A block is one wgpu buffer. Kernels bind the whole block and are told where their tensors begin, so a bind group
//! is good for every tensor of the blocks it names. All bindings are `read_write`: inputs and outputs may lie in one
//! block, and one dispatch may not bind a buffer both as read-only and as writable.
//!
//! Promises: a failed allocation is a `Fault` and harms nothing. Leaves limits, reuse and accounting to the runtime.

use crate::context::Context;
use crate::fault::Fault;

/// Sizes and offsets of tensors within a block are multiples of this: whole vectors can be read and written anywhere,
/// and what is written past the end of a tensor stays in its own padding.
pub const ALIGNMENT: u64 = 256;

/// One buffer on one device.
#[derive(Debug)]
pub struct Block {
    pub(crate) id: u64,
    pub(crate) buffer: wgpu::Buffer,
    bytes: u64,
}

impl Block {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Context {
    /// The largest block that kernels of this device can use.
    pub fn max_block_bytes(&self) -> u64 {
        let limit = self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size);
        // Kernels count words and bytes in 32 bits.
        limit.min(u64::from(u32::MAX)) / ALIGNMENT * ALIGNMENT
    }

    /// A new block of at least `bytes`, its contents undefined.
    pub fn allocate(&self, bytes: u64) -> Result<Block, Fault> {
        let limit = self.max_block_bytes();
        let rounded = bytes.max(1).checked_next_multiple_of(ALIGNMENT);
        let Some(size) = rounded.filter(|&size| size <= limit) else {
            return Err(Fault::TooLarge { bytes, limit });
        };
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let descriptor =
            wgpu::BufferDescriptor { label: Some("block"), size, usage, mapped_at_creation: false };
        let buffer = self.guarded(size, |device| device.create_buffer(&descriptor))?;
        Ok(Block { id: self.next_block_id(), buffer, bytes: size })
    }
}
