//! What happened, and when.

use super::Reason;
use serde::{Deserialize, Serialize};

/// The op that something was for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OpRef {
    /// A node of a function, in one of its calls.
    Node {
        /// The call, by its position in [`Record::calls`](super::Record::calls).
        call: usize,
        /// The node, by its position in the plan of that call.
        node: usize,
    },
    /// An op that ran by itself.
    Eager {
        /// Its position in [`Record::eager`](super::Record::eager).
        eager: usize,
    },
}

/// One call of a function.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The plan that ran, by its position in [`Record::plans`](super::Record::plans).
    pub plan: usize,
    /// How many calls of the function came before: its step.
    pub number: u64,
    /// The thread that called, numbered in the order of their first events.
    pub thread: usize,
    /// When it began.
    pub start: f64,
    /// When it returned. A GPU may still be at work then.
    pub end: f64,
}

/// Who measured the times of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The host: for a CPU, the time of the kernel; for a queue, the time to launch it.
    #[default]
    Host,
    /// The device, but for all launches of a [`PassRecord`] together: each has the part of it that was
    /// expected of it, in their order.
    Pass,
    /// The device; its clock is set by the host's as well as launches and copies allow.
    Device,
}

/// Launches that a device ran and timed as one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PassRecord {
    /// The device that ran them.
    pub device: usize,
    /// When the first of them began.
    pub start: f64,
    /// When the last of them was over.
    pub end: f64,
    /// How many they are.
    pub launches: usize,
    /// Seconds that they were expected to take together.
    pub predicted: f64,
}

/// One kernel that ran.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// The op that it is for.
    #[serde(flatten)]
    pub op: OpRef,
    /// The device that ran it.
    pub device: usize,
    /// Which of the plan's lanes; 0 for eager ops.
    pub lane: usize,
    /// When the host began to launch it.
    pub queued: f64,
    /// When the host was done with it.
    pub launched: f64,
    /// When it began to run: by the device's clock if `clock` says so.
    pub start: f64,
    /// When it had run.
    pub end: f64,
    /// Whose clock `start` and `end` are by.
    pub clock: Clock,
    /// The pass that it was timed with, by its position in [`Record::passes`](super::Record::passes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<usize>,
}

impl Launch {
    /// Whether its own time was measured, and not only that of a pass, or of handing it to a queue.
    pub fn is_measured(&self, on: &super::Device) -> bool {
        match self.clock {
            Clock::Device => true,
            Clock::Pass => false,
            Clock::Host => !on.is_queued(),
        }
    }

    /// Seconds between the launch and the start: in the queue, behind other work.
    pub fn in_queue(&self) -> f64 {
        (self.start - self.launched).max(0.0)
    }
}

/// Why bytes were copied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CopyCause {
    /// An op needed an input on another device.
    Implicit,
    /// The program asked for it.
    Explicit,
    /// Host data became a tensor.
    Upload,
    /// A tensor was read by the program.
    Read,
}

/// One copy between two memories.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Copy {
    /// The device it left.
    pub from: usize,
    /// The device it reached.
    pub to: usize,
    /// How many bytes were copied.
    pub bytes: u64,
    /// Why they were copied.
    pub cause: CopyCause,
    /// The call that it was part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// Which of the copies of that call's plan it is: [`PlanRecord::copies`](super::PlanRecord::copies) has
    /// the edge that it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    /// The op that needed it.
    pub name: String,
    /// The line of the program.
    pub source: String,
    /// Which of the plan's lanes; 0 outside of functions.
    pub lane: usize,
    /// When it began. From a queue, this includes the wait for the work before it.
    pub start: f64,
    /// When the bytes were there, or handed to the queue.
    pub end: f64,
}

/// A lane that stood still.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// The call that stood still.
    pub call: usize,
    /// The node whose launch or copy had to wait.
    pub node: usize,
    /// The nodes that it waited for.
    pub waited_for: Vec<usize>,
    /// The device that stood still.
    pub device: usize,
    /// Which of the plan's lanes.
    pub lane: usize,
    /// From when it stood still.
    pub start: f64,
    /// Until when it stood still.
    pub end: f64,
}

/// An op that ran by itself, wherever the same line ran it with the same types on the same device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EagerOp {
    /// The op's name.
    pub op: String,
    /// The names around its call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The dtype of its result.
    pub dtype: String,
    /// The shape of its result.
    pub shape: Vec<usize>,
    /// What the scopes around it asked for; empty: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub requested: String,
    /// Where it ran.
    pub device: usize,
    /// Why it ran there.
    pub reason: Reason,
    /// The line of the program.
    pub source: String,
    /// How often it ran.
    pub count: u64,
}

impl EagerOp {
    /// Whether it did not run where it was asked to, or where it was tried first.
    pub fn fell_back(&self) -> bool {
        self.reason.rule.is_fallback(!self.requested.is_empty(), true)
    }
}

/// The memory of a device at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemorySample {
    /// When it was seen.
    pub time: f64,
    /// The device whose memory it is.
    pub device: usize,
    /// Bytes of live tensors and arenas.
    pub in_use: u64,
    /// Bytes held from the system.
    pub reserved: u64,
}
