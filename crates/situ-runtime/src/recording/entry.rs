//! What is recorded: plain entries, in nanoseconds of the process.

use super::stamps::{Stamps, StepTimes};
use super::{nanoseconds, this_thread};
use crate::function::Blueprint;
use crate::ledger::{Cause, Route};
use crate::logical::LogicalDevice;
use situ_core::{DeviceId, DeviceSpec, Location, Reason, ScopeName, TensorType};
use situ_device::Timing;
use std::sync::Arc;
use std::time::Duration;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A function was called.
    Call(FunctionCall),
    /// An op ran by itself.
    Eager(EagerEntry),
    /// Bytes were copied outside of a function.
    Copy(CopyEntry),
    /// Something outside of a function was not put where it was asked to be.
    Fallback(FallbackEntry),
    /// Memory was looked at.
    Memory(MemoryEntry),
    /// A function was compiled again, for another signature.
    Traced(TracedAgain),
    /// A function was placed anew.
    Placed(PlacedAgain),
}

impl Entry {
    /// How many events it counts for.
    pub(crate) fn events(&self) -> usize {
        match self {
            Entry::Call(call) => call.stamps.len().max(1),
            Entry::Eager(_)
            | Entry::Copy(_)
            | Entry::Fallback(_)
            | Entry::Memory(_)
            | Entry::Traced(_)
            | Entry::Placed(_) => 1,
        }
    }

    /// The thread that did it.
    pub fn thread(&self) -> u64 {
        match self {
            Entry::Call(e) => e.thread,
            Entry::Eager(e) => e.thread,
            Entry::Copy(e) => e.thread,
            Entry::Fallback(e) => e.thread,
            Entry::Memory(e) => e.thread,
            Entry::Traced(e) => e.thread,
            Entry::Placed(e) => e.thread,
        }
    }
}

/// One call of a function.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// The plan that ran.
    pub blueprint: Arc<Blueprint>,
    /// How many calls of the function came before.
    pub number: u64,
    /// The thread that called.
    pub thread: u64,
    /// When it began.
    pub start: u64,
    /// When it returned.
    pub end: u64,
    pub(crate) stamps: Arc<Stamps>,
}

impl FunctionCall {
    /// The times of a step, by its number in the plan.
    pub fn times(&self, step: usize) -> StepTimes {
        self.stamps.times(step)
    }

    /// Where the device has said, or will say, how long a step took.
    pub fn timing(&self, step: usize) -> Option<&Timing> {
        use crate::function::Recorder;
        self.stamps.timing(step).map(|timing| &**timing)
    }

    /// When all that it queued was seen to be done, if anybody waited for that.
    pub fn drained(&self) -> Option<u64> {
        self.stamps.drained()
    }

    /// What the devices held during the call.
    pub fn memory(&self) -> Vec<MemoryEntry> {
        self.stamps.memory()
    }
}

/// One op that ran by itself.
#[derive(Clone, Debug)]
pub struct EagerEntry {
    /// The op that ran.
    pub op: &'static str,
    /// The names around its call.
    pub name: ScopeName,
    /// The type of its first output.
    pub ty: TensorType,
    /// What the scopes around it asked for.
    pub requested: DeviceSpec,
    /// Where it ran.
    pub device: DeviceId,
    /// Why it ran there.
    pub reason: Reason,
    /// The line of the program.
    pub location: Location,
    /// The thread that called.
    pub thread: u64,
    /// When the launch began.
    pub start: u64,
    /// When the host was done with it.
    pub end: u64,
    /// Where the device says how long it took, if it was asked.
    pub timing: Option<Arc<Timing>>,
}

/// One copy outside of a function.
#[derive(Clone, Debug)]
pub struct CopyEntry {
    /// Why it was copied.
    pub cause: Cause,
    /// The device that had the bytes.
    pub from: DeviceId,
    /// The device that got them.
    pub to: DeviceId,
    /// Which way the bytes went.
    pub route: Route,
    /// The op that needed it.
    pub op: &'static str,
    /// The line of the program.
    pub location: Location,
    /// How many bytes were copied.
    pub bytes: usize,
    /// The thread that did it.
    pub thread: u64,
    /// When it began.
    pub start: u64,
    /// When it was over.
    pub end: u64,
}

/// Data, or an op inside a condition or a loop, that is not where it was asked to be. Other ops say it in
/// their own entries.
#[derive(Clone, Debug)]
pub struct FallbackEntry {
    /// The device that was asked for.
    pub wanted: DeviceId,
    /// The device that was taken.
    pub device: DeviceId,
    /// The op, or what the data is: `constant`, `variable`.
    pub op: &'static str,
    /// Why it is not where it was asked to be.
    pub reason: Reason,
    /// The line of the program.
    pub location: Location,
    /// The thread that asked.
    pub thread: u64,
    /// When it was placed, in nanoseconds of the process.
    pub time: u64,
}

/// What a device held at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEntry {
    /// When it was looked, in nanoseconds of the process.
    pub time: u64,
    /// The device whose memory it is.
    pub device: DeviceId,
    /// Bytes of live tensors and arenas.
    pub in_use: usize,
    /// Bytes held from the system.
    pub reserved: usize,
    /// The thread that looked.
    pub thread: u64,
}

impl MemoryEntry {
    pub(crate) fn now(device: &LogicalDevice) -> MemoryEntry {
        let (in_use, reserved) = device.held();
        MemoryEntry { time: nanoseconds(), device: device.id(), in_use, reserved, thread: this_thread() }
    }
}

/// A function that was compiled again, for another signature.
#[derive(Clone, Debug)]
pub struct TracedAgain {
    /// The function that was compiled.
    pub function: Arc<str>,
    /// How often it was traced by then.
    pub traces: usize,
    /// The types it was traced for.
    pub signature: Vec<TensorType>,
    /// Why what was there did not do.
    pub cause: String,
    /// The thread that called.
    pub thread: u64,
    /// When it began.
    pub start: u64,
    /// When it was compiled.
    pub end: u64,
}

/// A function that was placed anew.
#[derive(Clone, Debug)]
pub struct PlacedAgain {
    /// The function that was placed.
    pub function: Arc<str>,
    /// Seconds that a call was expected to take before.
    pub before: f64,
    /// Seconds that a call is expected to take now.
    pub after: f64,
    /// Why it was placed anew.
    pub cause: &'static str,
    /// The thread that called.
    pub thread: u64,
    /// When it was placed, in nanoseconds of the process.
    pub time: u64,
}

impl TracedAgain {
    /// One that has just been compiled, after so long.
    pub fn now(
        function: Arc<str>,
        traces: usize,
        signature: Vec<TensorType>,
        cause: String,
        took: Duration,
    ) -> TracedAgain {
        let end = nanoseconds();
        let start = end.saturating_sub(took.as_nanos() as u64);
        TracedAgain { function, traces, signature, cause, thread: this_thread(), start, end }
    }
}

impl PlacedAgain {
    /// One that has just been compiled.
    pub fn now(function: Arc<str>, before: f64, after: f64, cause: &'static str) -> PlacedAgain {
        PlacedAgain { function, before, after, cause, thread: this_thread(), time: nanoseconds() }
    }
}
