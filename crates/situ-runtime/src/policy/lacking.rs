//! Why a device can't run an op or hold a tensor, and what that becomes: the reason of a fallback, or an
//! error.

use super::Facts;
use situ_core::reason::Excess;
use situ_core::{DeviceId, Error, Reason};

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

impl Lacking {
    /// Why something is not on the device that was wanted.
    pub(super) fn reason(self, facts: &impl Facts, wanted: usize) -> Reason {
        let (op, wanted) = (facts.what(), facts.id(wanted));
        match self {
            Lacking::Lost => Reason::DeviceLost { wanted },
            Lacking::Unopened => Reason::Unopened { wanted },
            Lacking::Kernel => Reason::NoKernel { op, dtype: facts.dtype(), wanted },
            Lacking::Size(excess) => Reason::TooLarge { wanted, excess },
        }
    }

    /// The error where no other device will do; `able` are those that would.
    #[cold]
    pub(super) fn error(self, facts: &impl Facts, wanted: usize, able: Vec<DeviceId>) -> Error {
        let (op, device) = (facts.what(), facts.id(wanted));
        let said = match self {
            Lacking::Size(excess) => {
                return Error::too_large(op, device, excess, able);
            }
            Lacking::Lost | Lacking::Unopened => facts.failure(wanted),
            Lacking::Kernel => None,
        };
        said.unwrap_or_else(|| Error::no_kernel(op, facts.dtype(), Some(device), able))
    }
}

/// The error where no visible device can do it: of the first that could but for the size, else that there is
/// no kernel.
#[cold]
pub(super) fn nobody(facts: &impl Facts) -> Error {
    let of_size = |device: usize| match facts.able(device) {
        Err(lacks @ Lacking::Size(_)) => Some(lacks.error(facts, device, Vec::new())),
        _ => None,
    };
    (0..facts.count())
        .find_map(of_size)
        .unwrap_or_else(|| Error::no_kernel(facts.what(), facts.dtype(), None, Vec::new()))
}
