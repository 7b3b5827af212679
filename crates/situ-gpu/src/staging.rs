//! Host-visible buffers that bytes pass through on their way to and from the device.
//!
//! Promises: every byte is claimed on the device's budget; one small buffer each way is claimed from the
//! start, so that a transfer gets through however full the device is; buffers are reused; a caller that has
//! to wait for one sleeps, and only callers that hold none wait, so that nobody waits for ever. Leaves
//! recording the copies to `stream`.

use crate::context::Context;
use crate::fault::Fault;
use situ_core::{Budget, Reservation};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The buffer that each direction always has room for, and the smallest that is made.
pub(crate) const BASE: u64 = 64 << 10;
/// The largest piece a transfer is cut into: larger ones gain nothing and cost memory.
pub(crate) const PIECE: u64 = 8 << 20;
/// What one direction may hold beside its base buffer: two pieces in flight overlap the copying of one with
/// the filling of the other.
const CAP: u64 = 2 * PIECE;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the host: the buffer is mapped for writing while it waits for use.
    Up,
    /// To the host: the buffer is mapped for reading after the device has filled it.
    Down,
}

/// One staging buffer; its bytes are claimed until it is dropped.
pub(crate) struct Staged {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) bytes: u64,
    /// `None` for the base buffer, which the stream has claimed.
    claim: Option<Reservation>,
    pool: Arc<StagingPool>,
}

impl Drop for Staged {
    fn drop(&mut self) {
        match self.claim.take() {
            Some(claim) => {
                self.pool.extra.fetch_sub(claim.bytes() as u64, Ordering::AcqRel);
            }
            None => self.pool.base_made.store(false, Ordering::Release),
        }
        self.pool.returned.notify_one();
    }
}

/// The buffers of one direction. Shared with map callbacks, which run inside driver calls: nobody may call
/// the driver while holding `free`.
struct StagingPool {
    direction: Direction,
    base_made: AtomicBool,
    extra: AtomicU64,
    free: Mutex<Vec<Staged>>,
    returned: Condvar,
    /// Set when the stream is gone: buffers that come back late are dropped.
    closed: AtomicBool,
}

impl StagingPool {
    /// The smallest free buffer of at least `bytes`, or the largest of all if none is that large.
    fn take_free(&self, bytes: u64, or_smaller: bool) -> Option<Staged> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let sizes = || free.iter().map(|s| s.bytes).enumerate();
        let enough = sizes().filter(|s| s.1 >= bytes).min_by_key(|s| s.1);
        let best = enough.or_else(|| sizes().max_by_key(|s| s.1).filter(|_| or_smaller))?.0;
        Some(free.swap_remove(best))
    }

    fn give_back(&self, staged: Staged) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.load(Ordering::Acquire) {
            drop(free);
            return drop(staged);
        }
        free.push(staged);
        drop(free);
        self.returned.notify_one();
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Free buffers point back at their pool: without this the two would keep each other.
        self.up.closed.store(true, Ordering::Release);
        self.down.closed.store(true, Ordering::Release);
        self.trim();
    }
}

/// The staging buffers of one device.
pub(crate) struct Staging {
    context: Arc<Context>,
    budget: Arc<Budget>,
    up: Arc<StagingPool>,
    down: Arc<StagingPool>,
}

impl Staging {
    /// Staging whose buffers are claimed on `budget`; the caller has claimed [`BASE`] for each direction.
    pub(crate) fn new(context: Arc<Context>, budget: Arc<Budget>) -> Staging {
        let pool = |direction| {
            Arc::new(StagingPool {
                direction,
                base_made: AtomicBool::new(false),
                extra: AtomicU64::new(0),
                free: Mutex::default(),
                returned: Condvar::new(),
                closed: AtomicBool::new(false),
            })
        };
        Staging { context, budget, up: pool(Direction::Up), down: pool(Direction::Down) }
    }

    /// Bytes claimed now beside the base buffers.
    pub(crate) fn extra_bytes(&self) -> u64 {
        self.up.extra.load(Ordering::Acquire) + self.down.extra.load(Ordering::Acquire)
    }

    /// Gives cached buffers back to the system.
    pub(crate) fn trim(&self) {
        for pool in [&self.up, &self.down] {
            let spare = std::mem::take(&mut *pool.free.lock().unwrap_or_else(PoisonError::into_inner));
            // The lock is released before the buffers are dropped into the driver.
            drop(spare);
        }
    }

    /// A buffer of `bytes` if that can be had, else a smaller one; `None` if all are in use and no more may
    /// be made.
    pub(crate) fn try_take(&self, direction: Direction, bytes: u64) -> Result<Option<Staged>, Fault> {
        let pool = self.pool(direction);
        if let Some(found) = pool.take_free(bytes, false) {
            return Ok(Some(found));
        }
        let size = bytes.next_power_of_two().clamp(BASE, PIECE);
        let room = |extra: u64| extra.checked_add(size).filter(|&sum| sum <= CAP);
        if pool.extra.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).is_ok() {
            if let Ok(claim) = self.budget.reserve(size as usize) {
                let staged = self.make(pool, size, Some(claim));
                // The driver may refuse what the budget allows: then a smaller buffer has to do.
                if !matches!(staged, Err(Fault::OutOfMemory { .. })) {
                    return staged.map(Some);
                }
            } else {
                pool.extra.fetch_sub(size, Ordering::AcqRel);
            }
        }
        if let Some(found) = pool.take_free(bytes, true) {
            return Ok(Some(found));
        }
        if !pool.base_made.swap(true, Ordering::AcqRel) {
            return self.make(pool, BASE, None).map(Some);
        }
        Ok(None)
    }

    fn make(&self, pool: &Arc<StagingPool>, size: u64, claim: Option<Reservation>) -> Result<Staged, Fault> {
        let usage = match pool.direction {
            Direction::Up => wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            Direction::Down => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        };
        let mapped_at_creation = pool.direction == Direction::Up;
        let descriptor = wgpu::BufferDescriptor { label: Some("staging"), size, usage, mapped_at_creation };
        match self.context.guarded(size, |device| device.create_buffer(&descriptor)) {
            Ok(buffer) => Ok(Staged { buffer, bytes: size, claim, pool: pool.clone() }),
            Err(fault) => {
                match claim {
                    Some(claim) => {
                        pool.extra.fetch_sub(claim.bytes() as u64, Ordering::AcqRel);
                    }
                    None => pool.base_made.store(false, Ordering::Release),
                }
                pool.returned.notify_one();
                Err(fault)
            }
        }
    }

    /// A buffer of `bytes` if that can be had, else a smaller one, waiting for it if need be. The caller
    /// holds none. `progress` makes the device finish what would give buffers back.
    pub(crate) fn take(
        &self,
        direction: Direction,
        bytes: u64,
        mut progress: impl FnMut() -> Result<(), Fault>,
    ) -> Result<Staged, Fault> {
        loop {
            if let Some(found) = self.try_take(direction, bytes)? {
                return Ok(found);
            }
            progress()?;
            if let Some(found) = self.try_take(direction, bytes)? {
                return Ok(found);
            }
            // Others hold them all between two of their own steps; the time limit covers a return that came
            // between the look above and this wait.
            let pool = self.pool(direction);
            let free = pool.free.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = pool.returned.wait_timeout(free, Duration::from_millis(5));
        }
    }

    /// Gives back a buffer that nothing was asked of.
    pub(crate) fn give_back_unused(&self, staged: Staged) {
        self.down.give_back(staged);
    }

    /// Gives back a buffer that was read from: it is unmapped and can be filled again.
    pub(crate) fn give_back_down(&self, staged: Staged) {
        staged.buffer.unmap();
        self.down.give_back(staged);
    }

    /// Gives back a buffer whose copy has been submitted: it becomes free once the device has read it.
    pub(crate) fn give_back_up(&self, staged: Staged) {
        let pool = self.up.clone();
        let buffer = staged.buffer.clone();
        buffer.map_async(wgpu::MapMode::Write, .., move |mapped| match mapped {
            Ok(()) => pool.give_back(staged),
            Err(_) => drop(staged), // The device is lost; the claim goes back and waiters see the loss.
        });
    }

    fn pool(&self, direction: Direction) -> &Arc<StagingPool> {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}
