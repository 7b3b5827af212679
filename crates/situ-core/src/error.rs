//! Errors as data: each names what was asked, why it can't be, and what to do next.

mod details;
mod text;

pub use details::{
    Argument, Config, CopyForbidden, Data, Element, Fault, File, NoKernel, NoSuchDevice, Operands,
    OutOfMemory, Owner, TooLarge, Unmet,
};

use crate::{DeviceId, SpecError, TensorType};
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
        /// The device.
        device: DeviceId,
        /// What the driver said.
        why: String,
    },
    /// A kernel failed in a way that is not the program's fault.
    #[error("{op} failed on {device}: {why}")]
    Kernel {
        /// The op.
        op: &'static str,
        /// Where it ran.
        device: DeviceId,
        /// What happened.
        why: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Expectations that were not met.
    #[cold]
    pub fn unmet(violations: Vec<String>) -> Error {
        Error::Unmet(Box::new(Unmet { violations }))
    }

    /// A file that can't be used; `place` is empty where the fault has none.
    #[cold]
    pub fn file(
        path: impl Into<String>,
        place: impl Into<String>,
        why: impl Into<String>,
        help: impl Into<String>,
    ) -> Error {
        let place = Some(place.into()).filter(|p| !p.is_empty());
        Error::File(Box::new(File { path: path.into(), place, why: why.into(), help: help.into() }))
    }

    /// The same, said of the element of a dataset that failed; the first stage that says so is kept.
    #[cold]
    pub fn of_element(self, stage: &'static str, index: usize) -> Error {
        match self {
            Error::Element(_) => self,
            error => Error::Element(Box::new(Element { stage, index, error })),
        }
    }

    /// Inputs that do not fit `op`.
    #[cold]
    pub fn operands(
        op: &'static str,
        inputs: &[TensorType],
        why: impl Into<String>,
        help: impl Into<String>,
    ) -> Error {
        Error::Operands(Box::new(Operands {
            op,
            inputs: inputs.to_vec(),
            why: why.into(),
            help: help.into(),
        }))
    }

    /// An argument of `op` that is wrong in itself.
    #[cold]
    pub fn argument(op: &'static str, why: impl Into<String>, help: impl Into<String>) -> Error {
        Error::Argument(Box::new(Argument { op, why: why.into(), help: help.into() }))
    }

    /// A configuration that can't be.
    #[cold]
    pub fn config(asked: impl Into<String>, why: impl Into<String>, help: impl Into<String>) -> Error {
        Error::Config(Box::new(Config { asked: asked.into(), why: why.into(), help: help.into() }))
    }

    /// The same, said of the op: a shape that can't be is an error of the op that would have it.
    #[cold]
    pub fn of_op(self, op: &'static str, inputs: &[TensorType]) -> Error {
        match self {
            Error::Argument(shape) if shape.op == "shape" => match inputs {
                [] => Error::argument(op, shape.why, shape.help),
                _ => Error::operands(op, inputs, shape.why, shape.help),
            },
            other => other,
        }
    }

    /// The device that was lost, if that is what went wrong.
    pub fn lost(&self) -> Option<DeviceId> {
        match self {
            Error::DeviceLost { device, .. } => Some(*device),
            _ => None,
        }
    }

    /// Whether memory was what was missing.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::OutOfMemory(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Shape};

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
