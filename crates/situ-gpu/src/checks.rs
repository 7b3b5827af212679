//! Errors that depend on data, found by kernels while nobody waits for them.
//!
//! A kernel that may meet a bad value is given a slot. It notes the lowest bad row with `atomicMax` of the
//! row's complement, so that zero means "none" and the answer does not depend on the order of threads. Where
//! the value itself is wanted, a one-thread kernel right behind it notes that too, while the indices are
//! still in memory. Slots are fetched with the next read-back or sync, cleared in stream order, and so free
//! again at once.

use crate::memory::Block;
use situ_core::error::Fault as DataFault;
use situ_device::Check;
use std::sync::Arc;

/// Words of one slot: complement of the row, the value there in two, and one spare.
pub(crate) const SLOT_WORDS: u64 = 4;
/// Slots per device; when all are taken the stream fetches them.
pub(crate) const SLOTS: u32 = 1024;

/// What a slot found full means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BadValue {
    /// A label or an index that is not from 0 to below `limit`.
    OutOfRange { what: &'static str, limit: i64 },
    /// An integer divided by zero.
    DivisionByZero,
}

/// A check of a launch, and how to word what it finds.
#[derive(Clone, Debug)]
pub(crate) struct PendingCheck {
    pub(crate) check: Arc<Check>,
    pub(crate) bad: BadValue,
}

/// The slots of one device that are in use. Lives under the stream's lock.
pub(crate) struct Checks {
    pub(crate) block: Arc<Block>,
    /// The check of each slot handed out since the last fetch.
    open: Vec<PendingCheck>,
}

impl Checks {
    pub(crate) const BYTES: u64 = SLOTS as u64 * SLOT_WORDS * 4;

    /// `block` holds [`Checks::BYTES`] zeros.
    pub(crate) fn new(block: Block) -> Checks {
        Checks { block: Arc::new(block), open: Vec::new() }
    }

    /// A slot for a check; `None` when all are taken.
    pub(crate) fn reserve(&mut self, watch: &PendingCheck) -> Option<u32> {
        let slot = self.open.len() as u32;
        if slot == SLOTS {
            return None;
        }
        self.open.push(watch.clone());
        Some(slot)
    }

    /// Bytes at the start of the block that hold the slots in use.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        self.open.len() as u64 * SLOT_WORDS * 4
    }

    /// The checks of the slots, which are free from here on: the caller has recorded fetching and clearing
    /// them.
    pub(crate) fn take(&mut self) -> Vec<PendingCheck> {
        std::mem::take(&mut self.open)
    }
}

/// Settles checks from their fetched slots.
pub(crate) fn settle(open: &[PendingCheck], bytes: &[u8]) {
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    for (slot, watch) in open.iter().enumerate() {
        let at = slot * SLOT_WORDS as usize * 4;
        let row_complement = word(at);
        let row = !row_complement as usize;
        watch.check.settle((row_complement != 0).then(|| match watch.bad {
            BadValue::OutOfRange { what, limit } => {
                let value = (u64::from(word(at + 8)) << 32 | u64::from(word(at + 4))) as i64;
                (DataFault::OutOfRange { what, value, limit }, row)
            }
            BadValue::DivisionByZero => (DataFault::DivisionByZero, row),
        }));
    }
}
