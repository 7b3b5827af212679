//! A pooling allocator for one logical device.
//!
//! Promises: everything it holds is under a reservation on the device's budget; a request that fails changes
//! nothing; pieces freed side by side become one again. It takes from its free pieces first, then grows up to the
//! limit, then gives cached blocks and staging back and tries once more, and only then reports that memory is out.
//! Leaves to others: what the memory is for, and waiting for queued work before memory goes back to the system
//! (the device's own handles do that).

use crate::pieces::{Piece, Pieces};
use situ_core::error::{OutOfMemory, Owner};
use situ_core::{Budget, Error, Reservation, Result};
use situ_device::{Block, Device};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Blocks start at this size and double up to [`LARGEST_SHARED`], so that a small program holds little.
const SMALLEST_BLOCK: usize = 1 << 20;
/// Requests above this get a block of their own, which can go back to the system whole.
const LARGEST_SHARED: usize = 32 << 20;
/// A shared block takes at most this part of a limit, so that the slack of blocks does not eat up a small one.
const PART_OF_LIMIT: usize = 16;
/// A block that nothing has used for this long goes back to the system when the pool is next at work.
const IDLE: Duration = Duration::from_secs(10);
/// Sizes up to this, in steps of the alignment, are kept in exact bins: no search, no splitting.
const BINS: usize = 64;

/// Figures of one pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
    /// Live allocations.
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

#[derive(Debug)]
struct HeldBlock {
    block: Arc<Block>,
    /// Given back with the block.
    _reservation: Reservation,
    used: usize,
    idle_since: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Live {
    owner: &'static str,
    bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    blocks: Vec<Option<HeldBlock>>,
    pieces: Pieces,
    bins: Vec<Vec<Piece>>,
    live: Vec<Option<Live>>,
    live_free: Vec<u32>,
    in_use: usize,
    peak: usize,
    next_block: usize,
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
        let state = State { bins: vec![Vec::new(); BINS], next_block: SMALLEST_BLOCK, ..State::default() };
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
        state.release(allocation);
        let piece =
            Piece { block: allocation.block_index, offset: allocation.offset, bytes: allocation.bytes };
        let bin = allocation.bytes / self.alignment - 1;
        if let Some(bin) = state.bins.get_mut(bin) {
            bin.push(piece);
        } else {
            state.pieces.insert(piece);
        }
        // The clock is read only when a block has just become empty: most frees do not pay for it.
        let emptied = state.blocks[piece.block as usize].as_mut().is_some_and(|b| {
            if b.used == 0 {
                b.idle_since = Instant::now();
            }
            b.used == 0
        });
        // Blocks of a pool without growth are the program's to keep.
        if emptied && self.growth {
            self.give_back(&mut state, |b| b.idle_since.elapsed() >= IDLE);
        }
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
        if let Some(piece) = state.pieces.best_fit(bytes) {
            return Ok(piece);
        }
        // Binned pieces may be what keeps a large enough piece apart.
        state.empty_bins();
        if let Some(piece) = state.pieces.best_fit(bytes) {
            return Ok(piece);
        }
        if !self.growth {
            return Err(Some("memory growth is off, and no reserved piece is large enough".to_string()));
        }
        match self.grow(state, device, bytes) {
            Ok(()) => {}
            Err(_) => {
                self.give_back(state, |_| true);
                device.trim();
                self.grow(state, device, bytes)?;
            }
        }
        state.pieces.best_fit(bytes).ok_or(None)
    }

    /// Adds a block that can hold `bytes`: a shared one if the limit allows, else one just large enough.
    fn grow(&self, state: &mut State, device: &dyn Device, bytes: usize) -> Result<(), Option<String>> {
        let most = self.budget.limit().map_or(LARGEST_SHARED, |limit| limit / PART_OF_LIMIT);
        let most = most.next_multiple_of(self.alignment);
        let shared = if bytes > LARGEST_SHARED / 2 { bytes } else { bytes.max(state.next_block.min(most)) };
        let mut last = None;
        for size in [shared.min(self.max_block), bytes] {
            match self.add_block(state, device, size) {
                Ok(()) => {
                    state.next_block = (state.next_block * 2).min(LARGEST_SHARED);
                    return Ok(());
                }
                Err(cause) => last = cause,
            }
        }
        Err(last)
    }

    fn add_block(&self, state: &mut State, device: &dyn Device, bytes: usize) -> Result<(), Option<String>> {
        let reservation = self.budget.reserve(bytes).map_err(|_| None)?;
        let block = Arc::new(device.allocate(bytes).map_err(Some)?);
        let held = HeldBlock { block, _reservation: reservation, used: 0, idle_since: Instant::now() };
        let index = match state.blocks.iter().position(Option::is_none) {
            Some(index) => index,
            None => {
                state.blocks.push(None);
                state.blocks.len() - 1
            }
        };
        state.blocks[index] = Some(held);
        state.pieces.insert(Piece { block: index as u32, offset: 0, bytes });
        Ok(())
    }

    fn reserve_whole_limit(&self, state: &mut State, device: &dyn Device) -> Result<(), Option<String>> {
        let mut left = self.budget.limit().unwrap_or(0).saturating_sub(self.budget.taken());
        while left >= self.alignment {
            let size = left.min(self.max_block) / self.alignment * self.alignment;
            self.add_block(state, device, size)?;
            left -= size;
        }
        state.whole_limit_reserved = true;
        Ok(())
    }

    /// Gives blocks that hold nothing, and that `which` names, back to the system.
    fn give_back(&self, state: &mut State, which: impl Fn(&HeldBlock) -> bool) {
        state.empty_bins();
        for index in 0..state.blocks.len() {
            if state.blocks[index].as_ref().is_some_and(|b| b.used == 0 && which(b)) {
                state.pieces.remove_block(index as u32);
                state.blocks[index] = None;
            }
        }
        state.next_block = SMALLEST_BLOCK;
    }

    /// Gives every block that holds nothing back to the system.
    pub(crate) fn trim(&self) {
        let mut state = self.state();
        self.give_back(&mut state, |_| true);
        state.whole_limit_reserved = false;
    }

    pub(crate) fn info(&self) -> MemoryInfo {
        let mut state = self.state();
        state.empty_bins();
        MemoryInfo {
            reserved: self.budget.taken(),
            in_use: state.in_use,
            peak: state.peak,
            limit: self.budget.limit(),
            largest_free: state.pieces.largest(),
            live: state.live.len() - state.live_free.len(),
        }
    }

    /// How many bytes are missing to hold pieces of these sizes beside what is live: 0 where they fit. Blocks that hold
    /// nothing count as given back; cached staging is, if that helps.
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
        let goes_back = |held: &HeldBlock| self.growth && held.used == 0;
        let returned: usize =
            state.blocks.iter().flatten().filter(|b| goes_back(b)).map(|b| b.block.bytes()).sum();
        let mut growth = limit.saturating_sub(self.budget.taken() - returned);
        let stays = |block: u32| state.blocks[block as usize].as_ref().is_some_and(|b| !goes_back(b));
        let mut free: Vec<usize> = state.pieces.iter().filter(|p| stays(p.block)).map(|p| p.bytes).collect();
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

    /// Bytes in use and bytes held from the system: what [`info`](Pool::info) says of them, without tidying up first.
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
                None => owners.push(Owner { name: live.owner, count: 1, bytes: live.bytes }),
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
        Error::OutOfMemory(Box::new(OutOfMemory {
            device: None,
            op,
            requested,
            limit: info.limit,
            reserved: info.reserved,
            in_use: info.in_use,
            largest_free: info.largest_free,
            owners: self.owners(),
            cause,
            remedies,
        }))
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
        let held = self.blocks[piece.block as usize].as_mut().expect("a free piece lies in a held block");
        held.used += piece.bytes;
        Allocation {
            block: held.block.clone(),
            offset: piece.offset,
            bytes: piece.bytes,
            block_index: piece.block,
            live_index,
        }
    }

    fn release(&mut self, allocation: &Allocation) {
        self.live[allocation.live_index as usize] = None;
        self.live_free.push(allocation.live_index);
        self.in_use -= allocation.bytes;
        if let Some(held) = &mut self.blocks[allocation.block_index as usize] {
            held.used -= allocation.bytes;
        }
    }

    fn empty_bins(&mut self) {
        for bin in &mut self.bins {
            for piece in bin.drain(..) {
                self.pieces.insert(piece);
            }
        }
    }
}
