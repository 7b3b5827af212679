//! What can go wrong below the device seam, before it is given an op and a device to name.

use std::fmt;

/// A failure of the GPU core. `device.rs` turns it into the project's error type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The driver refused an allocation of this many bytes; the device itself is unharmed.
    OutOfMemory {
        /// The size asked for.
        bytes: u64,
    },
    /// One buffer of this size cannot be bound by a kernel on this adapter.
    TooLarge {
        /// The size asked for.
        bytes: u64,
        /// The most this adapter binds at once.
        limit: u64,
    },
    /// The device is gone (driver reset, unplugged, destroyed); nothing on it can be read any more.
    Lost(String),
    /// The driver or wgpu rejected something that we sent: a bug of ours or of the driver.
    Internal(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::OutOfMemory { bytes } => write!(f, "the driver refused to allocate {bytes} bytes"),
            Fault::TooLarge { bytes, limit } => {
                write!(
                    f,
                    "a buffer of {bytes} bytes exceeds the {limit} bytes that this adapter can bind to a kernel"
                )
            }
            Fault::Lost(why) => write!(f, "the device was lost: {why}"),
            Fault::Internal(what) => write!(f, "GPU driver error: {what}"),
        }
    }
}

impl std::error::Error for Fault {}
