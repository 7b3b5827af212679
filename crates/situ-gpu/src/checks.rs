//! Errors that depend on data, found by kernels while nobody waits for them.
//!
//! A kernel that may meet a bad index is given a slot. The main kernel notes the lowest bad row with `atomicMax` of
//! the row's complement (so zero means "none", and the answer does not depend on the order of threads); a one-thread
//! kernel right behind it notes the value found there, while the indices are still in memory. Slots are fetched
//! with the next read-back or sync, cleared in stream order, and so free again at once.

use crate::memory::Block;
use std::sync::Arc;

/// Words of one slot: complement of the row, the value there, and two spare.
pub const SLOT_WORDS: u64 = 4;
/// Slots per device; when all are taken the stream fetches them.
pub const SLOTS: u32 = 1024;

/// What a kernel found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name that the caller gave the check.
    pub ticket: u64,
    /// The first row whose value is out of range.
    pub row: u64,
    /// The value found there.
    pub value: i64,
}

/// The slots of one device that are in use. Lives under the stream's lock.
pub(crate) struct Checks {
    pub(crate) block: Arc<Block>,
    /// The ticket of each slot handed out since the last fetch.
    tickets: Vec<u64>,
}

impl Checks {
    pub(crate) fn bytes() -> u64 {
        u64::from(SLOTS) * SLOT_WORDS * 4
    }

    /// `block` holds [`Checks::bytes`] zeros.
    pub(crate) fn new(block: Block) -> Checks {
        Checks { block: Arc::new(block), tickets: Vec::new() }
    }

    /// A slot for the check called `ticket`; `None` when all are taken.
    pub(crate) fn reserve(&mut self, ticket: u64) -> Option<u32> {
        let slot = self.tickets.len() as u32;
        if slot == SLOTS {
            return None;
        }
        self.tickets.push(ticket);
        Some(slot)
    }

    /// Bytes at the start of the block that hold the slots in use.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        self.tickets.len() as u64 * SLOT_WORDS * 4
    }

    /// The tickets of the slots, which are free from here on: the caller has recorded fetching and clearing them.
    pub(crate) fn take_tickets(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.tickets)
    }
}

/// Reads fetched slots.
pub(crate) fn resolve(tickets: &[u64], bytes: &[u8]) -> Vec<Violation> {
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let mut found = Vec::new();
    for (slot, &ticket) in tickets.iter().enumerate() {
        let at = slot * SLOT_WORDS as usize * 4;
        let row_complement = word(at);
        if row_complement != 0 {
            let value = i64::from(word(at + 4) as i32);
            found.push(Violation { ticket, row: u64::from(!row_complement), value });
        }
    }
    found
}
