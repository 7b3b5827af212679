//! A pooling allocator for one logical device.
//!
//! Promises: everything it holds is under a reservation on the device's budget; a request that fails changes
//! nothing; pieces freed side by side become one again. It takes from its free pieces first, then grows up to
//! the limit, then gives cached blocks and staging back and tries once more, and only then reports that
//! memory is out.
//!
//! Its blocks stay in proportion: before it grows beyond twice the most that was in use at once, or
//! [`SLACK`], it gives blocks back that hold nothing, those first that were idle for longest. What remains
//! beyond that is the slack of blocks that hold something: at most as much again as what they hold where
//! requests are large; where they are small, what fragmentation leaves, which no allocator that can't move
//! memory has a bound of that order for.
//!
//! Leaves to others: what the memory is for, waiting for queued work before memory goes back to the system
//! (the device's own handles do that), and asking other pools of the host for what they do not need.

use crate::blocks::{Blocks, Class, SMALLEST_BLOCK};
use crate::pieces::Piece;
use situ_core::error::{OutOfMemory, Owner};
use situ_core::{Budget, Error, Result};
use situ_device::{Block, Device};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Bytes that blocks may hold even if twice the most that was in use is less: caching for programs whose
/// tensors are small.
const SLACK: usize = 64 << 20;
/// A shared block takes at most this part of a limit, so that the slack of blocks does not eat up a small
/// one.
const PART_OF_LIMIT: usize = 16;
/// A block that nothing has used for this long goes back to the system when the pool is next at work.
const IDLE: Duration = Duration::from_secs(10);
/// Sizes up to this, in steps of the alignment, are kept in exact bins: no search, no splitting.
const BINS: usize = 64;

/// Figures of one pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Bytes held from the system: blocks, arenas, staging.
    pub reserved: usize,
    /// Bytes of live tensors.
    pub in_use: usize,
    /// The most that was in use at once.
    pub peak: usize,
    /// The limit, if there is one.
    pub limit: Option<usize>,
    /// The largest free piece among the reserved bytes.
    pub largest_free: usize,
    /// How many allocations are live.
    pub live: usize,
}

/// A live piece: where it is, and its entry in the list of what is live.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) block: Arc<Block>,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    block_index: u32,
    live_index: u32,
}

#[derive(Debug, Clone, Copy)]
struct Live {
    owner: &'static str,
    bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    blocks: Blocks,
    bins: Vec<Vec<Piece>>,
    live: Vec<Option<Live>>,
    live_free: Vec<u32>,
    in_use: usize,
    peak: usize,
    /// Test hook: how many more allocations succeed.
    fail_after: Option<usize>,
    whole_limit_reserved: bool,
}

/// The allocator of one logical device.
#[derive(Debug)]
pub(crate) struct Pool {
    budget: Arc<Budget>,
    alignment: usize,
    max_block: usize,
    /// Whether to grow on demand, or to take the whole limit at once.
    growth: bool,
    state: Mutex<State>,
}

impl Pool {
    pub(crate) fn new(budget: Arc<Budget>, alignment: usize, max_block: usize, growth: bool) -> Pool {
        let state = State { bins: vec![Vec::new(); BINS], ..State::default() };
        Pool { budget, alignment: alignment.max(64), max_block, growth, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held can't leave the books half written: every update is made after the
        // last call that can fail.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A piece of at least `bytes` bytes for `owner`, or the report of why not.
    pub(crate) fn allocate(
        &self,
        device: &dyn Device,
        bytes: usize,
        owner: &'static str,
    ) -> Result<Allocation> {
        let rounded = match bytes.max(1).checked_next_multiple_of(self.alignment) {
            Some(rounded) if rounded <= self.max_block => rounded,
            _ => return Err(self.out_of_memory(bytes, owner, Some(self.too_large(bytes)))),
        };
        let mut state = self.state();
        if let Some(left) = &mut state.fail_after {
            if *left == 0 {
                drop(state);
                return Err(self.out_of_memory(bytes, owner, Some("an injected failure".to_string())));
            }
            *left -= 1;
        }
        let bin = rounded / self.alignment - 1;
        let piece = match state.bins.get_mut(bin).and_then(Vec::pop) {
            Some(piece) => piece,
            None => match self.find_or_grow(&mut state, device, rounded) {
                Ok(piece) => piece,
                Err(cause) => {
                    drop(state);
                    return Err(self.out_of_memory(bytes, owner, cause));
                }
            },
        };
        Ok(state.take(piece, owner))
    }

    /// Gives a piece back.
    pub(crate) fn free(&self, allocation: &Allocation) {
        let mut state = self.state();
        let emptied = state.release(allocation);
        let piece =
            Piece { block: allocation.block_index, offset: allocation.offset, bytes: allocation.bytes };
        let bin = allocation.bytes / self.alignment - 1;
        if let Some(bin) = state.bins.get_mut(bin) {
            bin.push(piece);
        } else {
            state.blocks.insert(piece);
        }
        // Blocks of a pool without growth are the program's to keep.
        if emptied && self.growth && state.blocks.has_idle(IDLE) {
            state.empty_bins();
            state.blocks.give_back_idle(IDLE);
        }
    }

    /// The class of blocks for a request.
    fn class(&self, bytes: usize) -> Class {
        // The whole limit was taken in as few blocks as there can be: all requests share them.
        if self.growth { Class::of(bytes) } else { Class::Shared }
    }

    fn find_or_grow(
        &self,
        state: &mut State,
        device: &dyn Device,
        bytes: usize,
    ) -> Result<Piece, Option<String>> {
        if !self.growth && !state.whole_limit_reserved {
            self.reserve_whole_limit(state, device)?;
        }
        let class = self.class(bytes);
        if let Some(piece) = state.blocks.find(class, bytes) {
            return Ok(piece);
        }
        // Binned pieces may be what keeps a large enough piece apart.
        if class != Class::Own {
            state.empty_bins();
            if let Some(piece) = state.blocks.find(class, bytes) {
                return Ok(piece);
            }
        }
        if !self.growth {
            return Err(Some("memory growth is off, and no reserved piece is large enough".to_string()));
        }
        if self.grow(state, device, class, bytes).is_err() {
            self.give_back(state);
            device.trim();
            if let Err(cause) = self.grow(state, device, class, bytes) {
                // A block of another class that can't go back may have what is needed.
                return state.blocks.find_anywhere(bytes).ok_or(cause);
            }
        }
        state.blocks.find(class, bytes).ok_or(None)
    }

    /// Adds a block that can hold `bytes`: one that has more if the limits allow, else one just large enough.
    fn grow(
        &self,
        state: &mut State,
        device: &dyn Device,
        class: Class,
        bytes: usize,
    ) -> Result<(), Option<String>> {
        let most = self.budget.limit().map_or(usize::MAX, |limit| limit / PART_OF_LIMIT);
        let most = most.checked_next_multiple_of(self.alignment).unwrap_or(usize::MAX);
        let larger = state.blocks.next_size(class, bytes, most);
        let larger = larger.checked_next_multiple_of(self.alignment).unwrap_or(bytes).min(self.max_block);
        let larger = if self.keep_in_proportion(state, larger, bytes) {
            larger
        } else {
            bytes.max(SMALLEST_BLOCK.min(larger))
        };
        let mut last = None;
        for size in [larger, bytes] {
            match self.add_block(state, device, class, size) {
                Ok(()) => return Ok(()),
                Err(cause) => last = cause,
            }
        }
        Err(last)
    }

    /// Gives empty blocks back as far as a new one of `size` bytes, for a request of `bytes`, needs it to
    /// keep all of them in proportion to what was in use; false if that was not enough.
    fn keep_in_proportion(&self, state: &mut State, size: usize, bytes: usize) -> bool {
        let peak = state.peak.max(state.in_use.saturating_add(bytes));
        let most = peak.saturating_mul(2).max(SLACK);
        let beyond = state.blocks.bytes().saturating_add(size).saturating_sub(most);
        if beyond == 0 {
            return true;
        }
        state.empty_bins();
        state.blocks.give_back(beyond);
        state.blocks.bytes().saturating_add(size) <= most
    }

    fn add_block(
        &self,
        state: &mut State,
        device: &dyn Device,
        class: Class,
        bytes: usize,
    ) -> Result<(), Option<String>> {
        let reservation = self.budget.reserve(bytes).map_err(|_| None)?;
        let block = device.allocate(bytes).map_err(Some)?;
        state.blocks.add(block, class, reservation);
        Ok(())
    }

    fn reserve_whole_limit(&self, state: &mut State, device: &dyn Device) -> Result<(), Option<String>> {
        let mut left = self.budget.limit().unwrap_or(0).saturating_sub(self.budget.taken());
        while left >= self.alignment {
            let size = left.min(self.max_block) / self.alignment * self.alignment;
            self.add_block(state, device, Class::Shared, size)?;
            left -= size;
        }
        state.whole_limit_reserved = true;
        Ok(())
    }

    /// Gives every block that holds nothing back to the system.
    fn give_back(&self, state: &mut State) {
        state.empty_bins();
        state.blocks.give_back(usize::MAX);
    }

    /// Gives every block that holds nothing back to the system.
    pub(crate) fn trim(&self) {
        let mut state = self.state();
        self.give_back(&mut state);
        state.whole_limit_reserved = false;
    }

    /// Gives every block that holds nothing back to the system, for another pool to have: not those that the
    /// program told this one to keep.
    pub(crate) fn give_way(&self) {
        if self.growth {
            self.give_back(&mut self.state());
        }
    }

    pub(crate) fn info(&self) -> MemoryInfo {
        let mut state = self.state();
        state.empty_bins();
        MemoryInfo {
            reserved: self.budget.taken(),
            in_use: state.in_use,
            peak: state.peak,
            limit: self.budget.limit(),
            largest_free: state.blocks.largest_free(),
            live: state.live.len() - state.live_free.len(),
        }
    }

    /// How many bytes are missing to hold pieces of these sizes beside what is live: 0 where they fit. Blocks
    /// that hold nothing count as given back; cached staging is, if that helps.
    pub(crate) fn missing(&self, device: &dyn Device, sizes: &[usize]) -> usize {
        let missing = self.missing_now(sizes);
        if missing == 0 || device.staging() == 0 {
            return missing;
        }
        device.trim();
        self.missing_now(sizes)
    }

    fn missing_now(&self, sizes: &[usize]) -> usize {
        let Some(limit) = self.budget.limit() else { return 0 };
        let mut state = self.state();
        state.empty_bins();
        let returned = if self.growth { state.blocks.empty_bytes() } else { 0 };
        let mut growth = limit.saturating_sub(self.budget.taken().saturating_sub(returned));
        let mut free: Vec<usize> = state.blocks.free_pieces(!self.growth).collect();
        let mut sizes: Vec<usize> =
            sizes.iter().map(|bytes| bytes.max(&1).next_multiple_of(self.alignment)).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let mut missing = 0;
        for size in sizes {
            let fits = free.iter_mut().filter(|piece| **piece >= size).min();
            match fits {
                Some(piece) => *piece -= size,
                None => {
                    missing += size.saturating_sub(growth);
                    growth = growth.saturating_sub(size);
                }
            }
        }
        missing
    }

    /// Bytes in use and bytes held from the system: what [`info`](Pool::info) says of them, without tidying
    /// up first.
    pub(crate) fn held(&self) -> (usize, usize) {
        (self.state().in_use, self.budget.taken())
    }

    /// What is live, by owner, largest first.
    pub(crate) fn owners(&self) -> Vec<Owner> {
        let state = self.state();
        let mut owners: Vec<Owner> = Vec::new();
        for live in state.live.iter().flatten() {
            match owners.iter_mut().find(|o| o.name == live.owner) {
                Some(owner) => {
                    owner.count += 1;
                    owner.bytes += live.bytes;
                }
                None => owners.push(Owner::new(live.owner, 1, live.bytes)),
            }
        }
        owners.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(b.name)));
        owners
    }

    /// Lets `n` more allocations succeed and then none; `None` ends that.
    pub(crate) fn fail_after(&self, n: Option<usize>) {
        self.state().fail_after = n;
    }

    fn too_large(&self, bytes: usize) -> String {
        format!(
            "one tensor of {} is beyond the device's largest buffer of {}",
            situ_core::reason::bytes(bytes),
            situ_core::reason::bytes(self.max_block)
        )
    }

    #[cold]
    fn out_of_memory(&self, requested: usize, op: &'static str, cause: Option<String>) -> Error {
        let info = self.info();
        let mut remedies =
            vec!["drop tensors that are no longer needed", "run the op on another device by a scope"];
        if info.limit.is_some() {
            remedies.push("raise the device's memory limit");
        }
        let mut report = OutOfMemory::new(op, requested);
        report.limit = info.limit;
        report.reserved = info.reserved;
        report.in_use = info.in_use;
        report.largest_free = info.largest_free;
        report.owners = self.owners();
        report.cause = cause;
        report.remedies = remedies;
        Error::OutOfMemory(Box::new(report))
    }
}

impl State {
    /// Books a piece as live.
    fn take(&mut self, piece: Piece, owner: &'static str) -> Allocation {
        let live = Live { owner, bytes: piece.bytes };
        let live_index = match self.live_free.pop() {
            Some(index) => {
                self.live[index as usize] = Some(live);
                index
            }
            None => {
                self.live.push(Some(live));
                self.live.len() as u32 - 1
            }
        };
        self.in_use += piece.bytes;
        self.peak = self.peak.max(self.in_use);
        Allocation {
            block: self.blocks.take(piece),
            offset: piece.offset,
            bytes: piece.bytes,
            block_index: piece.block,
            live_index,
        }
    }

    /// Books a piece as no longer live: true if its block holds nothing any more.
    fn release(&mut self, allocation: &Allocation) -> bool {
        self.live[allocation.live_index as usize] = None;
        self.live_free.push(allocation.live_index);
        self.in_use -= allocation.bytes;
        self.blocks.release(allocation.block_index, allocation.bytes)
    }

    fn empty_bins(&mut self) {
        for bin in &mut self.bins {
            for piece in bin.drain(..) {
                self.blocks.insert(piece);
            }
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
