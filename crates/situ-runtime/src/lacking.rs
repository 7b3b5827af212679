//! Why a device can't run an op or hold a tensor, and what that becomes: the reason of a fallback, or an error.

use crate::logical::LogicalDevice;
use situ_core::error::{NoKernel, TooLarge};
use situ_core::reason::Excess;
use situ_core::{DType, DeviceId, Error, Reason, TensorType};
use situ_device::{KernelId, Lack};
use situ_ir::Op;

/// What a device lacks for an op or a tensor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Lacking {
    /// It was opened, and is lost.
    Lost,
    /// It can't be opened.
    Unopened,
    /// It has no kernel for the op and dtype.
    Kernel,
    /// It has one, but not for that size.
    Size(Excess),
}

impl From<Lack> for Lacking {
    fn from(lack: Lack) -> Lacking {
        match lack {
            Lack::Kernel => Lacking::Kernel,
            Lack::TooLarge(excess) => Lacking::Size(excess),
        }
    }
}

impl Lacking {
    /// Of a device that does not answer.
    #[cold]
    pub(crate) fn of(error: &Error) -> Lacking {
        match error {
            Error::DeviceLost { .. } => Lacking::Lost,
            _ => Lacking::Unopened,
        }
    }

    /// Why an op, or host data, is not on the device that was wanted.
    pub(crate) fn reason(self, op: &'static str, dtype: DType, wanted: DeviceId) -> Reason {
        match self {
            Lacking::Lost => Reason::DeviceLost { wanted },
            Lacking::Unopened => Reason::Unopened { wanted },
            Lacking::Kernel => Reason::NoKernel { op, dtype, wanted },
            Lacking::Size(excess) => Reason::TooLarge { wanted, excess },
        }
    }

    /// The error where no other device will do; `able` are those that would.
    #[cold]
    pub(crate) fn error(
        self,
        op: &'static str,
        dtype: DType,
        wanted: &LogicalDevice,
        able: Vec<DeviceId>,
    ) -> Error {
        match (self, wanted.device().err()) {
            (Lacking::Size(excess), _) => {
                Error::TooLarge(Box::new(TooLarge { op, device: wanted.id(), excess, able }))
            }
            (Lacking::Lost | Lacking::Unopened, Some(error)) => error,
            (Lacking::Kernel | Lacking::Lost | Lacking::Unopened, _) => {
                Error::NoKernel(Box::new(NoKernel { op, dtype, device: Some(wanted.id()), have: able }))
            }
        }
    }
}

/// The kernel of a device for an op on these types, or what it lacks.
#[inline]
pub(crate) fn kernel(
    device: &LogicalDevice,
    op: &Op,
    inputs: &[TensorType],
    outputs: &[TensorType],
) -> Result<KernelId, Lacking> {
    let target = device.device().map_err(|error| Lacking::of(&error))?;
    target.kernel(op, inputs, outputs).map_err(Lacking::from)
}

/// Whether a device can hold a tensor at all, however much memory is free.
pub(crate) fn holds(device: &LogicalDevice, ty: TensorType) -> Result<(), Lacking> {
    if !device.dtypes().contains(&ty.dtype) {
        return Err(Lacking::Kernel);
    }
    fits(device, ty.bytes())
}

/// Whether so many bytes go into one block of a device.
pub(crate) fn fits(device: &LogicalDevice, bytes: usize) -> Result<(), Lacking> {
    let most = device.device().map_err(|error| Lacking::of(&error))?.max_block();
    if bytes > most { Err(Lack::too_large("bytes in one tensor", bytes, most).into()) } else { Ok(()) }
}

/// The error where no visible device can run an op: of the one that lacks the least.
#[cold]
pub(crate) fn none_able<'d>(
    op: &'static str,
    dtype: DType,
    devices: impl Iterator<Item = (&'d LogicalDevice, Lacking)>,
) -> Error {
    let of_size = |(device, lacking): (&'d LogicalDevice, Lacking)| match lacking {
        Lacking::Size(_) => Some(lacking.error(op, dtype, device, Vec::new())),
        _ => None,
    };
    let mut devices = devices;
    devices
        .find_map(of_size)
        .unwrap_or_else(|| Error::NoKernel(Box::new(NoKernel { op, dtype, device: None, have: Vec::new() })))
}
