//! Raw GPU memory: blocks that a pool cuts tensors from.
//!
//! A block is one wgpu buffer. Kernels bind the whole block and are told where their tensors begin, so a bind
//! group is good for every tensor of the blocks it names. All bindings are `read_write`: inputs and outputs
//! may lie in one block, and one dispatch may not bind a buffer both as read-only and as writable.
//!
//! Promises: a failed allocation is a `Fault` and harms nothing. Leaves limits, reuse and accounting to the
//! runtime.

use crate::context::Context;
use crate::fault::Fault;
use crate::stream::Stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ids name blocks in caches. They are never used again, and no two devices share one.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Sizes and offsets of tensors within a block are multiples of this: whole vectors can be read and written
/// anywhere, and what is written past the end of a tensor stays in its own padding.
pub(crate) const ALIGNMENT: u64 = 256;

/// One buffer on one device.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) id: u64,
    pub(crate) buffer: wgpu::Buffer,
    bytes: u64,
}

impl Block {
    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A block as the runtime holds it: caches forget it when it is dropped, so that its memory can go once the
/// work that uses it is done.
pub(crate) struct Held {
    pub(crate) block: Block,
    pub(crate) stream: Arc<Stream>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.stream.forget(&self.block);
    }
}

impl Context {
    /// The largest block that kernels of this device can use.
    pub(crate) fn max_block_bytes(&self) -> u64 {
        self.borders().block as u64
    }

    /// A new block of at least `bytes`, its contents undefined.
    pub(crate) fn allocate(&self, bytes: u64) -> Result<Block, Fault> {
        let limit = self.max_block_bytes();
        let rounded = bytes.max(1).checked_next_multiple_of(ALIGNMENT);
        let Some(size) = rounded.filter(|&size| size <= limit) else {
            return Err(Fault::TooLarge { bytes, limit });
        };
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let descriptor =
            wgpu::BufferDescriptor { label: Some("block"), size, usage, mapped_at_creation: false };
        let buffer = self.guarded(size, |device| device.create_buffer(&descriptor))?;
        Ok(Block { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), buffer, bytes: size })
    }
}
