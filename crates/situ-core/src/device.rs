//! Identities of logical devices: small, copyable, comparable without touching a string.

use crate::{DeviceSpec, DeviceType};
use std::fmt;

/// The type of a device: what its name says, and nothing of what it can do, which its description tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum DeviceKind {
    /// Cores of the host.
    Cpu,
    /// A GPU, real or simulated by a software driver.
    Gpu,
}

impl DeviceKind {
    /// Every kind, CPUs first.
    pub const ALL: [DeviceKind; 2] = [DeviceKind::Cpu, DeviceKind::Gpu];

    /// The type by which device names call it.
    pub const fn device_type(self) -> DeviceType {
        match self {
            DeviceKind::Cpu => DeviceType::Cpu,
            DeviceKind::Gpu => DeviceType::Gpu,
        }
    }

    /// The kind that a device name's type means; `None`: one that no process has.
    pub fn of_type(named: &DeviceType) -> Option<DeviceKind> {
        DeviceKind::ALL.into_iter().find(|kind| kind.device_type() == *named)
    }

    /// `CPU` or `GPU`.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "CPU",
            DeviceKind::Gpu => "GPU",
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A logical device of this process: `GPU:0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId {
    /// Its kind, the word before the colon.
    pub kind: DeviceKind,
    /// Its number within the kind.
    pub index: u16,
}

impl DeviceId {
    /// `CPU:0`, which every runtime has.
    pub const CPU0: DeviceId = DeviceId::cpu(0);

    /// Stands for a device that is not decided yet: that of a value in a function being traced.
    pub const UNDECIDED: DeviceId = DeviceId::cpu(u16::MAX);

    /// The CPU device of that index.
    pub const fn cpu(index: u16) -> DeviceId {
        DeviceId { kind: DeviceKind::Cpu, index }
    }

    /// The GPU device of that index.
    pub const fn gpu(index: u16) -> DeviceId {
        DeviceId { kind: DeviceKind::Gpu, index }
    }

    /// The spec that names this device, and no other of this process.
    pub fn spec(self) -> DeviceSpec {
        DeviceSpec { index: Some(u32::from(self.index)), ..DeviceSpec::any_of(self.kind.device_type()) }
    }

    /// Whether `spec` allows this device. Job, replica and task are of no concern within one process.
    #[inline]
    pub fn is_allowed_by(self, spec: &DeviceSpec) -> bool {
        let kind = spec.kind.as_ref().is_none_or(|named| *named == self.kind.device_type());
        kind && spec.index.is_none_or(|index| index == u32::from(self.index))
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == DeviceId::UNDECIDED {
            return f.write_str("undecided");
        }
        write!(f, "{}:{}", self.kind, self.index)
    }
}
impl fmt::Debug for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
