//! What a device can do, asked of the device itself: it is opened, if it has not been. What follows from that
//! is decided in `policy`.

use crate::logical::LogicalDevice;
use crate::policy::Lacking;
use situ_core::{Error, TensorType};
use situ_device::{KernelId, Lack};
use situ_ir::Op;

impl From<Lack> for Lacking {
    fn from(lack: Lack) -> Lacking {
        match lack {
            Lack::Kernel => Lacking::Kernel,
            Lack::TooLarge(excess) => Lacking::Size(excess),
        }
    }
}

/// What a device lacks that does not answer.
#[cold]
fn silent(error: &Error) -> Lacking {
    match error {
        Error::DeviceLost { .. } => Lacking::Lost,
        _ => Lacking::Unopened,
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
    let target = device.device().map_err(|error| silent(&error))?;
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
    let most = device.device().map_err(|error| silent(&error))?.max_block();
    if bytes > most { Err(Lack::too_large("bytes in one tensor", bytes, most).into()) } else { Ok(()) }
}
