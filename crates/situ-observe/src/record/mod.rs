//! The record: plain data, the same in memory and on disk.
//!
//! Times are seconds since the recording began. Devices, plans, calls, nodes and eager ops are referred to by
//! their position in the lists of the record, nodes by their position in their plan.

mod event;
mod file;
mod incident;
mod look;

pub use event::{Call, Clock, Copy, CopyCause, EagerOp, Launch, MemorySample, OpRef, PassRecord, Wait};
pub use incident::{Elsewhere, Fallback, Finding, FindingKind, Replacement, Retrace};
pub use look::OpTotal;
pub use situ_runtime::function::plan_record::{
    Alternative, DeviceCost, Input, Node, NodeKind, Over, Part, PlanRecord, PlannedCopy, PlannedMemory,
    Reason, full_name,
};

use serde::{Deserialize, Serialize};

/// The version of the file format that this crate writes. Older ones are read, newer ones refused.
pub const VERSION: u32 = 2;

/// How much a recording asked of the devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Detail {
    /// Launches by the host's clock; a queue's own work is known from its waits and copies.
    #[default]
    Host,
    /// Passes by their device's clock: what a GPU ran as one was timed as one.
    Pass,
    /// Every launch by its device's clock: on a GPU each gets a pass of its own, which may cost some speed.
    Device,
}

/// One device of the program.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Device {
    /// Its name: `CPU:0`.
    pub name: String,
    /// `cpu` or `gpu`.
    pub kind: String,
    /// The sort of hardware: `discrete gpu`, `software gpu`.
    pub class: String,
    /// The hardware's name, and its driver.
    pub description: String,
    /// The most bytes it may hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// The most bytes in use at once since the program began, when the recording ended.
    pub memory_peak: u64,
    /// Whether its costs were measured by `situ calibrate`, rather than taken from the built-in table.
    pub calibrated: bool,
    /// Whether its memory is the host's. Not in files of versions before it was asked for by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_addressable: Option<bool>,
    /// Whether a launch returns before its work has run. Not in files of versions before it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
}

impl Device {
    /// Whether its memory is the host's; of a device that no file says it of, if it is a CPU.
    pub fn is_host(&self) -> bool {
        self.host_addressable.unwrap_or_else(|| self.is_cpu())
    }

    /// Whether a launch returns before its work has run; of a device that no file says it of, unless it is a
    /// CPU.
    pub fn is_queued(&self) -> bool {
        self.queued.unwrap_or_else(|| !self.is_cpu())
    }

    fn is_cpu(&self) -> bool {
        self.kind.eq_ignore_ascii_case("cpu")
    }
}

/// What a program did while it was recorded.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format.
    pub version: u32,
    /// The version of situ that wrote it.
    pub situ: String,
    /// What was recorded, for people.
    pub title: String,
    /// When it began, in seconds since 1970.
    pub began: f64,
    /// How long it took.
    pub seconds: f64,
    /// How much was asked of the devices.
    pub detail: Detail,
    /// The devices, in the runtime's order.
    pub devices: Vec<Device>,
    /// The functions that were called, each as it was compiled: one for each signature, and a new one
    /// whenever one was placed anew.
    pub plans: Vec<PlanRecord>,
    /// Ops that ran by themselves, one entry for each line, op, type and place.
    pub eager: Vec<EagerOp>,
    /// Calls of functions, by start.
    pub calls: Vec<Call>,
    /// Kernels that ran, by start.
    pub launches: Vec<Launch>,
    /// What devices ran as one and timed as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassRecord>,
    /// Bytes that were copied between memories, by start.
    pub copies: Vec<Copy>,
    /// Lanes that stood still for another, by start.
    pub waits: Vec<Wait>,
    /// Memory over time: a sample whenever it was seen to have changed.
    pub memory: Vec<MemorySample>,
    /// Functions that were compiled again, for other signatures.
    pub retraces: Vec<Retrace>,
    /// Functions that were placed anew for what was measured.
    pub replacements: Vec<Replacement>,
    /// Ops that did not run where they were asked to.
    pub fallbacks: Vec<Fallback>,
    /// What would make it faster, the largest gain first.
    pub findings: Vec<Finding>,
    /// Events that no longer had room: the oldest were dropped.
    pub dropped: u64,
}
