//! The times of one call's steps. Each step is run by one lane, once, so each slot has one writer and needs
//! no lock.

use super::entry::MemoryEntry;
use super::nanoseconds;
use super::session::DeviceTimes;
use crate::function::{Recorder, Timed};
use crate::logical::LogicalDevice;
use situ_device::Timing;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// When a step waited, began and ended, in nanoseconds of the process; zero: not at all.
#[derive(Debug, Default)]
struct Slot {
    waits: AtomicU64,
    begins: AtomicU64,
    ends: AtomicU64,
    copied: AtomicBool,
}

/// The times of one step, in nanoseconds of the process; zero: it did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepTimes {
    /// When it began to wait for other lanes.
    pub waits: u64,
    /// When it began.
    pub begins: u64,
    /// When the host was done with it.
    pub ends: u64,
    /// Of a step that asks for bytes ahead: whether it has waited for them and copied them, because the
    /// device can't be asked.
    pub copied: bool,
}

/// What one call records.
#[derive(Debug)]
pub(crate) struct Stamps {
    slots: Box<[Slot]>,
    /// Where devices say how long launches took, if they are asked.
    timed: Option<Timed>,
    memory: Mutex<Vec<MemoryEntry>>,
    /// When the queues of its devices were seen to be empty after the call; zero: they were not looked at.
    drained: AtomicU64,
}

impl Stamps {
    pub(crate) fn new(steps: usize, asked: DeviceTimes) -> Stamps {
        Stamps {
            slots: (0..steps).map(|_| Slot::default()).collect(),
            timed: (asked != DeviceTimes::Unasked).then(|| Timed::asking(steps, asked)),
            memory: Mutex::default(),
            drained: AtomicU64::new(0),
        }
    }

    pub(crate) fn set_drained(&self) {
        self.drained.store(nanoseconds(), Relaxed);
    }

    pub(crate) fn drained(&self) -> Option<u64> {
        Some(self.drained.load(Relaxed)).filter(|at| *at > 0)
    }

    pub(crate) fn timed(&self) -> Option<&Timed> {
        self.timed.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn times(&self, step: usize) -> StepTimes {
        let Slot { waits, begins, ends, copied } = &self.slots[step];
        StepTimes {
            waits: waits.load(Relaxed),
            begins: begins.load(Relaxed),
            ends: ends.load(Relaxed),
            copied: copied.load(Relaxed),
        }
    }

    /// Notes what the devices hold now.
    pub(crate) fn sample<'d>(&self, devices: impl Iterator<Item = &'d Arc<LogicalDevice>>) {
        let mut samples = self.memory.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        samples.extend(devices.map(|device| MemoryEntry::now(device)));
    }

    /// The samples of memory that were taken.
    pub(crate) fn memory(&self) -> Vec<MemoryEntry> {
        self.memory.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

impl Recorder for Stamps {
    const ON: bool = true;

    #[inline]
    fn now(&self) -> u64 {
        nanoseconds()
    }

    #[inline]
    fn waited(&self, step: usize, since: u64) {
        self.slots[step].waits.store(since, Relaxed);
    }

    #[inline]
    fn ran(&self, step: usize, since: u64) -> u64 {
        let now = nanoseconds();
        self.slots[step].begins.store(since, Relaxed);
        self.slots[step].ends.store(now, Relaxed);
        now
    }

    fn copied(&self, step: usize) {
        self.slots[step].copied.store(true, Relaxed);
    }

    fn taken(&self, devices: &[Arc<LogicalDevice>], used: &[usize]) {
        self.sample(used.iter().map(|&device| &devices[device]));
    }

    #[inline]
    fn timing(&self, step: usize) -> Option<&Arc<Timing>> {
        self.timed.as_ref().and_then(|timed| timed.timing(step))
    }
}
