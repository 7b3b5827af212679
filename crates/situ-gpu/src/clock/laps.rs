//! Which timestamps on the device bound which launches.
//!
//! A lap goes from one time to another. That of a pass has two timestamps of its own. That of a batch has one
//! at most, at its end: a queue begins with a batch when it was submitted, or when it is done with what came
//! before, whichever is later; and where the host waits for the end of the batch, it knows it.

use super::{STAMPS, Stopwatch, TOGETHER};
use std::sync::Arc;
use std::time::Instant;

/// From one time to another.
pub(super) struct Lap {
    pub(super) watch: Arc<Stopwatch>,
    /// The batch; zero until it is submitted.
    pub(super) number: u64,
    pub(super) begin: Begin,
    pub(super) end: End,
}

/// Where a lap begins.
pub(super) enum Begin {
    /// At a timestamp.
    Stamp(u32),
    /// With its batch, which has not been submitted yet.
    Recorded,
    /// With its batch, which was submitted then.
    Submitted(Instant),
}

/// Where a lap ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// At a timestamp.
    Stamp(u32),
    /// With its batch, as whoever waits for that will tell.
    BatchDone,
}

/// A lap without an end.
pub(super) struct Running {
    pub(super) watch: Arc<Stopwatch>,
    begin: Begin,
}

/// The laps of the batch that is being recorded, and of those before it that were left on the device. Lives
/// under the stream's lock.
#[derive(Default)]
pub(crate) struct Laps {
    pub(super) list: Vec<Lap>,
    /// Timestamps in use.
    stamps: u32,
    /// The lap that goes on until the batch ends, or something else is timed.
    pub(super) running: Option<Running>,
}

impl Laps {
    /// Whether there are times on the device that nobody has asked for yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.running.is_none()
    }

    /// Whether a batch is being timed.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The batch that is being recorded was submitted.
    pub(crate) fn submitted(&mut self, number: u64) {
        for lap in self.list.iter_mut().rev().take_while(|lap| lap.number == 0) {
            lap.number = number;
            if matches!(lap.begin, Begin::Recorded) {
                lap.begin = Begin::Submitted(Instant::now());
            }
        }
    }

    /// Whether they may stay there for now.
    pub(super) fn can_wait(&self) -> bool {
        self.list.len() <= TOGETHER && self.list.iter().all(|lap| lap.watch.timing.is_with_others())
    }

    /// How many timestamps have been written.
    pub(super) fn stamps(&self) -> u32 {
        self.stamps
    }

    /// A timestamp that is free; `None` if there is none left.
    pub(super) fn stamp(&mut self) -> Option<u32> {
        let free = (self.stamps < STAMPS).then_some(self.stamps)?;
        self.stamps += 1;
        Some(free)
    }

    /// Two of them, for a pass.
    pub(super) fn pass(&mut self, watch: &Arc<Stopwatch>) -> Option<(u32, u32)> {
        let (begin, end) = (self.stamp()?, self.stamp()?);
        let (watch, begin_at, end_at) = (watch.clone(), Begin::Stamp(begin), End::Stamp(end));
        self.list.push(Lap { watch, number: 0, begin: begin_at, end: end_at });
        Some((begin, end))
    }

    /// Begins the lap that goes on.
    pub(super) fn run(&mut self, watch: &Arc<Stopwatch>, begin: Begin) {
        watch.begin_lap();
        self.running = Some(Running { watch: watch.clone(), begin });
    }

    /// Ends the lap that goes on.
    pub(super) fn end(&mut self, running: Running, end: End) {
        self.list.push(Lap { watch: running.watch, number: 0, begin: running.begin, end });
    }

    /// All of them, which leaves the device's timestamps free.
    pub(super) fn take(&mut self) -> Vec<Lap> {
        std::mem::take(self).list
    }
}
