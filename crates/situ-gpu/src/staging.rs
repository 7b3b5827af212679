//! Host-visible buffers that bytes pass through on their way to and from the device.
//!
//! Promises: the bytes held never exceed the cap, half of it for each direction; buffers are reused; a caller that
//! has to wait for one sleeps, and only callers that hold none wait, so that nobody waits for ever. Leaves recording
//! the copies to `stream`.

use crate::context::Context;
use crate::fault::Fault;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The smallest buffer made; smaller needs share its size so that they share buffers.
const SMALLEST: u64 = 16 << 10;
/// The largest piece a transfer is cut into: larger ones gain nothing and cost memory.
const LARGEST_PIECE: u64 = 8 << 20;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the host: the buffer is mapped for writing while it waits for use.
    Up,
    /// To the host: the buffer is mapped for reading after the device has filled it.
    Down,
}

/// One staging buffer; its bytes are counted until it is dropped.
pub struct Staged {
    pub(crate) buffer: wgpu::Buffer,
    bytes: u64,
    shelf: Arc<Shelf>,
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.shelf.held.fetch_sub(self.bytes, Ordering::AcqRel);
        self.shelf.returned.notify_one();
    }
}

/// The buffers of one direction. Shared with map callbacks, which run inside driver calls: nobody may call the
/// driver while holding `free`.
struct Shelf {
    direction: Direction,
    cap: u64,
    held: AtomicU64,
    free: Mutex<Vec<Staged>>,
    returned: Condvar,
}

impl Shelf {
    fn take_free(&self, bytes: u64) -> Option<Staged> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |s: &&(usize, u64)| s.1 >= bytes;
        let sizes: Vec<(usize, u64)> = free.iter().map(|s| s.bytes).enumerate().collect();
        let best = sizes.iter().filter(fits).min_by_key(|s| s.1)?.0;
        Some(free.swap_remove(best))
    }

    fn give_back(&self, staged: Staged) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(staged);
        self.returned.notify_one();
    }

    /// Claims room under the cap, giving up cached buffers that are too small to help.
    fn claim(&self, bytes: u64) -> bool {
        let room = |held: u64| held.checked_add(bytes).filter(|&sum| sum <= self.cap);
        while self.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).is_err() {
            let spare = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
            // The lock is released before the buffer is dropped into the driver.
            if spare.is_none() {
                return false;
            }
        }
        true
    }
}

/// The staging buffers of one device.
pub struct Staging {
    context: Arc<Context>,
    up: Arc<Shelf>,
    down: Arc<Shelf>,
}

impl Staging {
    /// Staging that holds at most `cap` bytes (but enough for one small buffer each way).
    pub fn new(context: Arc<Context>, cap: u64) -> Staging {
        let half = (cap / 2).max(SMALLEST);
        let shelf = |direction| {
            Arc::new(Shelf {
                direction,
                cap: half,
                held: AtomicU64::new(0),
                free: Mutex::default(),
                returned: Condvar::new(),
            })
        };
        Staging { context, up: shelf(Direction::Up), down: shelf(Direction::Down) }
    }

    /// Bytes held now, in use or kept for reuse.
    pub fn bytes(&self) -> u64 {
        self.up.held.load(Ordering::Acquire) + self.down.held.load(Ordering::Acquire)
    }

    /// The most bytes that one buffer will have: transfers are cut into pieces of this size.
    pub fn piece(&self, direction: Direction) -> u64 {
        // Two pieces in flight overlap the copying of one with the filling of the other.
        let half = self.shelf(direction).cap / 2;
        let power = if half.is_power_of_two() { half } else { half.next_power_of_two() / 2 };
        power.clamp(SMALLEST, LARGEST_PIECE)
    }

    /// Gives cached buffers back to the system.
    pub fn trim(&self) {
        for shelf in [&self.up, &self.down] {
            let spare = std::mem::take(&mut *shelf.free.lock().unwrap_or_else(PoisonError::into_inner));
            drop(spare);
        }
    }

    /// A buffer of at least `bytes` (at most a piece), or `None` if the cap is reached and none is free.
    pub fn try_take(&self, direction: Direction, bytes: u64) -> Result<Option<Staged>, Fault> {
        let shelf = self.shelf(direction);
        if let Some(found) = shelf.take_free(bytes) {
            return Ok(Some(found));
        }
        let size = bytes.next_power_of_two().max(SMALLEST);
        if !shelf.claim(size) {
            return Ok(None);
        }
        let usage = match direction {
            Direction::Up => wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            Direction::Down => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        };
        let mapped_at_creation = direction == Direction::Up;
        let descriptor = wgpu::BufferDescriptor { label: Some("staging"), size, usage, mapped_at_creation };
        match self.context.guarded(size, |device| device.create_buffer(&descriptor)) {
            Ok(buffer) => Ok(Some(Staged { buffer, bytes: size, shelf: shelf.clone() })),
            Err(fault) => {
                shelf.held.fetch_sub(size, Ordering::AcqRel);
                shelf.returned.notify_one();
                Err(fault)
            }
        }
    }

    /// A buffer of at least `bytes`, waiting for one if need be. The caller holds none. `progress` makes the device
    /// finish what would give buffers back.
    pub fn take(
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
            // Others hold them all between two of their own steps; the time limit covers a return that came between
            // the look above and this wait.
            let shelf = self.shelf(direction);
            let free = shelf.free.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = shelf.returned.wait_timeout(free, Duration::from_millis(5));
        }
    }

    /// Gives back a buffer that was read from: it is unmapped and can be filled again.
    pub fn give_back_down(&self, staged: Staged) {
        debug_assert_eq!(staged.shelf.direction, Direction::Down);
        staged.buffer.unmap();
        self.down.give_back(staged);
    }

    /// Gives back a buffer whose copy has been submitted: it becomes free once the device has read it.
    pub fn give_back_up(&self, staged: Staged) {
        debug_assert_eq!(staged.shelf.direction, Direction::Up);
        let shelf = self.up.clone();
        let buffer = staged.buffer.clone();
        buffer.map_async(wgpu::MapMode::Write, .., move |mapped| match mapped {
            Ok(()) => shelf.give_back(staged),
            Err(_) => drop(staged), // The device is lost; the count goes down and waiters see the loss.
        });
    }

    fn shelf(&self, direction: Direction) -> &Arc<Shelf> {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}
