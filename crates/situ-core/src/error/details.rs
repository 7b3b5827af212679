//! What each error knows: plain data, which programs match and tests compare.

use super::Error;
use crate::reason::Excess;
use crate::{DType, DeviceId, Location, TensorType};

/// Inputs that do not fit an op.
#[derive(Clone, Debug)]
pub struct Operands {
    /// The op.
    pub op: &'static str,
    /// Its inputs.
    pub inputs: Vec<TensorType>,
    /// Why they do not fit.
    pub why: String,
    /// What to do.
    pub help: String,
}

/// An argument that is wrong in itself.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The op or call.
    pub op: &'static str,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub help: String,
}

/// A device that is not there.
#[derive(Clone, Debug)]
pub struct NoSuchDevice {
    /// What was asked for.
    pub asked: String,
    /// What there is.
    pub available: Vec<DeviceId>,
}

/// A kernel that is not there.
#[derive(Clone, Debug)]
pub struct NoKernel {
    /// The op.
    pub op: &'static str,
    /// The dtype.
    pub dtype: DType,
    /// The device that was demanded, if one was.
    pub device: Option<DeviceId>,
    /// The devices that have the kernel.
    pub have: Vec<DeviceId>,
}

/// Operands of a size that a device can't do.
#[derive(Clone, Debug)]
pub struct TooLarge {
    /// The op.
    pub op: &'static str,
    /// The device.
    pub device: DeviceId,
    /// What is too large, and by how much.
    pub excess: Excess,
    /// The devices that can do it.
    pub able: Vec<DeviceId>,
}

/// An implicit copy that is forbidden.
#[derive(Clone, Debug)]
pub struct CopyForbidden {
    /// The op that would run.
    pub op: &'static str,
    /// Which of its inputs.
    pub input: usize,
    /// Where that input is.
    pub from: DeviceId,
    /// Where the op runs.
    pub to: DeviceId,
    /// How much would be moved.
    pub bytes: usize,
}

/// One class of live allocations in an out-of-memory report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Who owns them: an op's name, a variable, an arena.
    pub name: &'static str,
    /// How many there are.
    pub count: usize,
    /// Their bytes together.
    pub bytes: usize,
}

/// The report of an allocation that failed.
#[derive(Clone, Debug, Default)]
pub struct OutOfMemory {
    /// The device, and the op that asked.
    pub device: Option<DeviceId>,
    /// The op that asked.
    pub op: &'static str,
    /// The bytes that were asked for.
    pub requested: usize,
    /// The device's limit, if it has one.
    pub limit: Option<usize>,
    /// Bytes held from the system.
    pub reserved: usize,
    /// Bytes of live tensors.
    pub in_use: usize,
    /// The largest free piece among the held bytes.
    pub largest_free: usize,
    /// What is live, largest first.
    pub owners: Vec<Owner>,
    /// What the system or the driver said, where the limit was not the cause.
    pub cause: Option<String>,
    /// What the program can do that has not been tried.
    pub remedies: Vec<&'static str>,
}

/// What is wrong with a value in a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A label, an index: it must be from 0 to below the limit.
    OutOfRange {
        /// What the value is.
        what: &'static str,
        /// The value.
        value: i64,
        /// Valid values are below this.
        limit: i64,
    },
    /// An integer division or remainder by zero.
    DivisionByZero,
}

/// A value that an op can't use.
#[derive(Clone, Debug)]
pub struct Data {
    /// The op.
    pub op: &'static str,
    /// What is wrong with the value.
    pub fault: Fault,
    /// The row, or position, at which it stands.
    pub row: usize,
    /// Where the op was called.
    pub location: Option<Location>,
}

/// A configuration that can't be.
#[derive(Clone, Debug)]
pub struct Config {
    /// What was asked.
    pub asked: String,
    /// Why it can't be.
    pub why: String,
    /// What to do.
    pub help: String,
}

/// A failed element of a dataset.
#[derive(Clone, Debug)]
pub struct Element {
    /// The stage in which it failed: `map`, `filter`, `batch`.
    pub stage: &'static str,
    /// Its number in the source that it came from, or the number of its batch.
    pub index: usize,
    /// What went wrong with it.
    pub error: Error,
}

/// A file that can't be used.
#[derive(Clone, Debug)]
pub struct File {
    /// The file.
    pub path: String,
    /// Where in it, if the fault has a place: `line 3`, `byte 16`.
    pub place: Option<String>,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub help: String,
}

/// Expectations that were not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// What was otherwise, one sentence each.
    pub violations: Vec<String>,
}
