//! What a run can be asked to record. Off, it is not there: the recorder is a type parameter of the executor.

use situ_core::DeviceId;
use situ_device::Timing;
use situ_ir::NodeId;
use situ_ir::graph::Source;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EventKind {
    /// A kernel was launched; on a CPU, it also ran.
    Launch,
    /// Bytes were copied between devices.
    Copy {
        /// From where.
        from: DeviceId,
        /// How many.
        bytes: usize,
    },
    /// A lane stood still until another had done its part.
    Wait,
}

/// One event, in seconds since the call began.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The op, or `copy`.
    pub name: &'static str,
    /// The node it was for.
    pub node: NodeId,
    /// Where.
    pub device: DeviceId,
    /// When it began.
    pub start: f64,
    /// When it was over.
    pub end: f64,
    /// The line of the program.
    pub source: Source,
}

/// Takes events, from several lanes at once.
pub trait Recorder: Sync {
    /// Whether anything is recorded at all; where not, no clock is read.
    const ON: bool;
    /// Takes one.
    fn take(&self, event: Event);
    /// The time from which events are counted.
    fn origin(&self) -> Instant;
    /// Where the device is to say how long a launch took, by the number of the step; `None`: nobody wants to know.
    #[inline]
    fn timing(&self, step: usize) -> Option<&Arc<Timing>> {
        let _ = step;
        None
    }
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Recorder for Off {
    const ON: bool = false;
    fn take(&self, _: Event) {}
    fn origin(&self) -> Instant {
        Instant::now()
    }
}

/// Times every launch by its device's clock.
#[derive(Debug)]
pub(crate) struct Timed {
    timings: Vec<Arc<Timing>>,
}

impl Timed {
    pub(crate) fn new(steps: usize) -> Timed {
        Timed { timings: (0..steps).map(|_| Arc::default()).collect() }
    }

    /// What a step took, if its device could tell.
    pub(crate) fn seconds(&self, step: usize) -> Option<f64> {
        self.timings.get(step)?.seconds()
    }
}

impl Recorder for Timed {
    const ON: bool = false;
    fn take(&self, _: Event) {}
    fn origin(&self) -> Instant {
        Instant::now()
    }
    fn timing(&self, step: usize) -> Option<&Arc<Timing>> {
        self.timings.get(step)
    }
}

/// Keeps every event.
#[derive(Debug)]
pub struct Events {
    origin: Instant,
    list: Mutex<Vec<Event>>,
}

impl Default for Events {
    fn default() -> Self {
        Events { origin: Instant::now(), list: Mutex::default() }
    }
}

impl Events {
    /// What was recorded, by start.
    pub fn into_list(self) -> Vec<Event> {
        let mut list = self.list.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        list.sort_by(|a, b| a.start.total_cmp(&b.start));
        list
    }
}

impl Recorder for Events {
    const ON: bool = true;
    fn take(&self, event: Event) {
        self.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(event);
    }
    fn origin(&self) -> Instant {
        self.origin
    }
}
