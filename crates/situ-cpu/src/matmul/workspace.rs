//! Memory for packed panels.
//!
//! Panels that a task packs for itself live in its thread's scratch buffer. Panels shared by all tasks of a
//! product live in the workspace that came with the product; without one they live in a block from a
//! process-wide list, kept between calls because asking the system anew would cost a page fault for every 4
//! KiB touched. [`release`] gives that list back.

use super::Workspace;
use crate::scratch::with_scratch;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::sync::{Mutex, PoisonError};

/// What panels are aligned to.
pub(super) const CACHE_LINE: usize = 64;
/// Size and alignment of a huge page: large blocks on such pages miss the address cache far less.
const HUGE_PAGE: usize = 2 << 20;

/// An uninitialised block of memory.
#[derive(Debug)]
pub(super) struct Block {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the block is owned, and nothing in it is tied to a thread.
unsafe impl Send for Block {}
// SAFETY: a shared reference gives the address only; those who write through it answer for it.
unsafe impl Sync for Block {}

impl Block {
    /// At least `bytes` bytes (and never none), aligned to a cache line at least.
    ///
    /// # Panics
    /// If that is more than the address space, which no operand in memory asks for.
    pub(super) fn new(bytes: usize) -> Block {
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { CACHE_LINE };
        let layout = Layout::from_size_align(bytes.max(1).next_multiple_of(align), align)
            .expect("panels of an operand in memory fit the address space");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        #[cfg(target_os = "linux")]
        if align == HUGE_PAGE {
            // SAFETY: the range is ours and page-aligned. It is advice: failing changes nothing but speed.
            unsafe { libc::madvise(start.cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        Block { start, layout }
    }

    /// The block's address.
    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }

    /// The block's size.
    pub(super) fn bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start, self.layout) }
    }
}

/// Calls `f` with room for `len` numbers that belong to this thread alone, undefined, on a cache line. Calls
/// may nest.
#[inline]
pub(super) fn with_local<T: Copy, R>(len: usize, f: impl FnOnce(*mut T) -> R) -> R {
    if len == 0 {
        return f(std::ptr::null_mut());
    }
    with_scratch(len, |buffer: &mut [std::mem::MaybeUninit<T>]| f(buffer.as_mut_ptr().cast()))
}

static KEPT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// Calls `f` with `bytes` bytes on a cache line: of `given` if it is large enough, else of a block of the
/// list.
pub(super) fn with_workspace<R>(given: Workspace, bytes: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    let skipped = given.start.align_offset(CACHE_LINE);
    if !given.start.is_null() && skipped.saturating_add(bytes) <= given.bytes {
        return f(given.start.wrapping_add(skipped));
    }
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let block = kept.filter(|block| block.bytes() >= bytes).unwrap_or_else(|| Block::new(bytes));
    let result = f(block.start());
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(block);
    result
}

/// Frees the blocks kept for later products; returns their bytes.
pub(super) fn release() -> usize {
    let blocks = std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner));
    blocks.iter().map(Block::bytes).sum()
}
