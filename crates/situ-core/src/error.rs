//! Errors as data: each names what was asked, why it can't be, and what to do next.
//!
//! They may get further variants and fields: what is matched has a `_` or a `..`, and what is made is made by
//! the functions of [`Error`].

mod make;
mod text;

use crate::reason::Excess;
use crate::{DType, DeviceId, Location, SpecError, TensorType};
use std::fmt;
use thiserror::Error as ThisError;

/// The result of everything in situ that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
///
/// `{:?}` prints what `{}` does: `fn main() -> Result<()>` and `unwrap` show errors so, and people need the
/// text.
#[derive(Clone, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// Shapes or dtypes of an op's inputs do not fit it.
    #[error("{0}")]
    Operands(Box<Operands>),
    /// An argument of an op or a call is wrong in itself.
    #[error("{0}")]
    Argument(Box<Argument>),
    /// A device name that can't be read.
    #[error(transparent)]
    DeviceName(#[from] SpecError),
    /// A device that is asked for and is not there.
    #[error("{0}")]
    NoSuchDevice(Box<NoSuchDevice>),
    /// No kernel where one was demanded.
    #[error("{0}")]
    NoKernel(Box<NoKernel>),
    /// Operands of a size that the device can't do, where it was demanded or where no other can.
    #[error("{0}")]
    TooLarge(Box<TooLarge>),
    /// An implicit copy, where the copy policy forbids it.
    #[error("{0}")]
    CopyForbidden(Box<CopyForbidden>),
    /// Memory that could not be had. Every live tensor is still valid.
    #[error("{0}")]
    OutOfMemory(Box<OutOfMemory>),
    /// A value in a tensor that the op can't use: a label or an index out of range.
    #[error("{0}")]
    Data(Box<Data>),
    /// A configuration that can't be, or can't be now.
    #[error("{0}")]
    Config(Box<Config>),
    /// An element of a dataset failed on its way to the program.
    #[error("{0}")]
    Element(Box<Element>),
    /// A file that can't be read, or is not what it should be.
    #[error("{0}")]
    File(Box<File>),
    /// A part of a program did not do what was expected of it.
    #[error("{0}")]
    Unmet(Box<Unmet>),
    /// The device has gone: its driver said so, or stopped answering.
    #[error("{device} is lost: {why}; tensors that lived only there are gone, all others stay usable")]
    DeviceLost {
        /// The device that is gone.
        device: DeviceId,
        /// What the driver said.
        why: String,
    },
    /// A kernel failed in a way that is not the program's fault.
    #[error("{op} failed on {device}: {why}")]
    Kernel {
        /// The op whose kernel failed.
        op: &'static str,
        /// Where it ran.
        device: DeviceId,
        /// What happened, in the device's words.
        why: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Inputs that do not fit an op.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
pub struct NoSuchDevice {
    /// What was asked for.
    pub asked: String,
    /// What there is.
    pub available: Vec<DeviceId>,
}

/// A kernel that is not there.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Unmet {
    /// What was otherwise, one sentence each.
    pub violations: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    #[test]
    fn an_operand_error_names_op_shapes_and_what_to_do() {
        let t = TensorType::new(DType::F32, Shape::new(&[2, 3]).unwrap());
        let text =
            Error::operands("matmul", &[t, t], "inner sizes differ: 3 and 2", "transpose one").to_string();
        assert_eq!(text, "matmul(f32[2, 3], f32[2, 3]): inner sizes differ: 3 and 2; transpose one");
    }

    #[test]
    fn a_program_that_ends_with_an_error_shows_its_text() {
        let error = Error::argument("take", "a count of 0 is asked for", "ask for at least 1");
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(format!("{:?}", Err::<(), _>(error.clone())), format!("Err({error})"));
    }

    #[test]
    fn an_error_stays_small_so_results_are_cheap_to_return() {
        assert!(size_of::<Error>() <= 64, "{}", size_of::<Error>());
    }
}
