//! What a run can be asked to record. Off, it is not there: the recorder is a type parameter of the executor.

use super::describe::StepKind;
use crate::logical::LogicalDevice;
use crate::recording::{DeviceTimes, StepTimes};
use situ_core::DeviceId;
use situ_device::Timing;
use situ_ir::NodeId;
use situ_ir::graph::Source;
use std::sync::Arc;

/// What a step of a call did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EventKind {
    /// A kernel was launched; on a CPU, it also ran.
    Launch,
    /// Bytes were copied between devices.
    Copy {
        /// The device that had the bytes.
        from: DeviceId,
        /// How many bytes were copied.
        bytes: usize,
    },
    /// A lane stood still until another had done its part.
    Wait,
}

/// One event, in seconds since the call began.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What the step did.
    pub kind: EventKind,
    /// The op, or `copy`, or `wait`.
    pub name: &'static str,
    /// The node it was for.
    pub node: NodeId,
    /// The device that did it.
    pub device: DeviceId,
    /// When it began.
    pub start: f64,
    /// When it was over.
    pub end: f64,
    /// The line of the program.
    pub source: Source,
}

impl Event {
    /// The events of one step: its wait, if it had to, and itself. `name` is what the step's action is
    /// called.
    pub(super) fn of(
        step: &super::StepDescription,
        name: &'static str,
        times: StepTimes,
        origin: u64,
    ) -> Vec<Event> {
        let at = |nanoseconds: u64| nanoseconds.saturating_sub(origin) as f64 * 1e-9;
        let event = |kind, name, start: u64, end: u64| Event {
            kind,
            name,
            node: step.node,
            device: step.device,
            start: at(start),
            end: at(end),
            source: step.source,
        };
        let kind = match step.kind {
            StepKind::Launch | StepKind::Branch => Some(EventKind::Launch),
            StepKind::Copy { from, bytes, .. } => Some(EventKind::Copy { from, bytes }),
            // It is over at once: the copy is what takes time.
            StepKind::BeginDownload(_) => None,
        };
        let mut events = Vec::new();
        if times.waits > 0 {
            events.push(event(EventKind::Wait, "wait", times.waits, times.begins));
        }
        if let Some(kind) = kind.filter(|_| times.begins > 0) {
            events.push(event(kind, name, times.begins, times.ends));
        }
        events
    }
}

/// Takes the times of steps, from several lanes at once: each step is told of by one lane.
pub(crate) trait Recorder: Sync {
    /// Whether anything is recorded at all; where not, no clock is read.
    const ON: bool;
    /// The time, in nanoseconds of the process.
    #[inline]
    fn now(&self) -> u64 {
        0
    }
    /// A step has waited for other lanes.
    #[inline]
    fn waited(&self, step: usize, since: u64) {
        let _ = (step, since);
    }
    /// A step has run until now, which is returned.
    #[inline]
    fn ran(&self, step: usize, since: u64) -> u64 {
        let _ = (step, since);
        0
    }
    /// A step that was to ask for bytes has copied them.
    #[inline]
    fn copied(&self, step: usize) {
        let _ = step;
    }
    /// The call has its memory.
    #[inline]
    fn taken(&self, devices: &[Arc<LogicalDevice>], used: &[usize]) {
        let _ = (devices, used);
    }
    /// Where the device is to say how long a launch took, by the number of the step; `None`: nobody wants to
    /// know.
    #[inline]
    fn timing(&self, step: usize) -> Option<&Arc<Timing>> {
        let _ = step;
        None
    }
}

/// The recorder of a call that nobody records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Off;

impl Recorder for Off {
    const ON: bool = false;
}

/// Times every launch by its device's clock.
#[derive(Debug)]
pub(crate) struct Timed {
    timings: Vec<Arc<Timing>>,
}

impl Timed {
    pub(crate) fn new(steps: usize) -> Timed {
        Timed::asking(steps, DeviceTimes::Launches)
    }

    /// Asks devices for so much.
    pub(crate) fn asking(steps: usize, asked: DeviceTimes) -> Timed {
        Timed { timings: (0..steps).filter_map(|_| asked.timing()).map(Arc::new).collect() }
    }

    /// What a step took, if its device could tell.
    pub(crate) fn seconds(&self, step: usize) -> Option<f64> {
        self.timings.get(step)?.seconds()
    }
}

impl Recorder for Timed {
    const ON: bool = false;
    fn timing(&self, step: usize) -> Option<&Arc<Timing>> {
        self.timings.get(step)
    }
}
