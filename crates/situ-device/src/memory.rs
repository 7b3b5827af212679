//! Raw device memory: blocks as a device hands them out, and regions of them as kernels see them.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

/// A piece of memory obtained from a device, given back when dropped. Pools cut tensors out of it.
pub struct Block {
    bytes: usize,
    host: Option<NonNull<u8>>,
    native: Box<dyn Any + Send + Sync>,
}

// SAFETY: the host pointer is owned by `native`, which is Send + Sync; whoever reads or writes through it is
// responsible for ordering, as for any shared memory.
unsafe impl Send for Block {}
// SAFETY: as for Send.
unsafe impl Sync for Block {}

impl Block {
    /// Memory that the host can address. `native` owns it and frees it on drop.
    ///
    /// # Safety
    /// `host` must be valid for reads and writes of `bytes` bytes for as long as `native` lives.
    pub unsafe fn on_host(host: NonNull<u8>, bytes: usize, native: Box<dyn Any + Send + Sync>) -> Block {
        Block { bytes, host: Some(host), native }
    }

    /// Memory that only the device can address. `native` owns it and frees it on drop.
    pub fn on_device(bytes: usize, native: Box<dyn Any + Send + Sync>) -> Block {
        Block { bytes, host: None, native }
    }

    /// Its size in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its address on the host, if it has one.
    #[inline]
    pub fn host(&self) -> Option<NonNull<u8>> {
        self.host
    }

    /// The device's own handle, if it is a `T`.
    pub fn native<T: 'static>(&self) -> Option<&T> {
        self.native.downcast_ref()
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("bytes", &self.bytes).field("host", &self.host).finish_non_exhaustive()
    }
}

/// Part of a block.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    /// The block that it is a part of.
    pub block: &'a Block,
    /// Where it starts, in bytes; a multiple of the device's alignment.
    pub offset: usize,
    /// How long it is.
    pub bytes: usize,
}

impl Region<'_> {
    /// Its address on the host, if it has one.
    #[inline]
    pub fn host(&self) -> Option<NonNull<u8>> {
        debug_assert!(self.offset + self.bytes <= self.block.bytes());
        // SAFETY: a region lies within its block.
        self.block.host().map(|base| unsafe { base.add(self.offset) })
    }
}
