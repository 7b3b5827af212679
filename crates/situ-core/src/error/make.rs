//! How errors are made, and what may be asked of one.

use super::{
    Argument, Config, CopyForbidden, Data, Element, Error, Fault, File, NoKernel, NoSuchDevice, Operands,
    OutOfMemory, Owner, TooLarge, Unmet,
};
use crate::reason::Excess;
use crate::{DType, DeviceId, Location, TensorType};

impl Error {
    /// A device that is asked for and is not there; `available` are those that are.
    #[cold]
    pub fn no_such_device(asked: impl Into<String>, available: Vec<DeviceId>) -> Error {
        Error::NoSuchDevice(Box::new(NoSuchDevice { asked: asked.into(), available }))
    }

    /// No kernel: on the device that was demanded, or on any. `have` are the devices that have it.
    #[cold]
    pub fn no_kernel(op: &'static str, dtype: DType, device: Option<DeviceId>, have: Vec<DeviceId>) -> Error {
        Error::NoKernel(Box::new(NoKernel { op, dtype, device, have }))
    }

    /// Operands of a size that the device can't do; `able` are those that can.
    #[cold]
    pub fn too_large(op: &'static str, device: DeviceId, excess: Excess, able: Vec<DeviceId>) -> Error {
        Error::TooLarge(Box::new(TooLarge { op, device, excess, able }))
    }

    /// A copy of input `input` of an op that nobody asked for, where copies are forbidden.
    #[cold]
    pub fn copy_forbidden(
        op: &'static str,
        input: usize,
        from: DeviceId,
        to: DeviceId,
        bytes: usize,
    ) -> Error {
        Error::CopyForbidden(Box::new(CopyForbidden { op, input, from, to, bytes }))
    }

    /// A value at `row` that an op can't use.
    #[cold]
    pub fn data(op: &'static str, fault: Fault, row: usize, location: Option<Location>) -> Error {
        Error::Data(Box::new(Data::new(op, fault, row, location)))
    }

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

impl Data {
    /// A value at `row` that `op` can't use.
    pub fn new(op: &'static str, fault: Fault, row: usize, location: Option<Location>) -> Data {
        Data { op, fault, row, location }
    }
}

impl OutOfMemory {
    /// `op` asked for so many bytes and did not get them; what else is known is added to it.
    pub fn new(op: &'static str, requested: usize) -> OutOfMemory {
        OutOfMemory { op, requested, ..OutOfMemory::default() }
    }
}

impl Owner {
    /// `count` live allocations of one owner.
    pub fn new(name: &'static str, count: usize, bytes: usize) -> Owner {
        Owner { name, count, bytes }
    }
}
