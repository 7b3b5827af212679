//! Why something is where it is. Every placed op has one; it is plain data, so keeping it costs nothing.

use crate::{DType, DeviceId, DeviceKind, Rule};
use std::fmt;

/// A size beyond what a device can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Excess {
    /// What is counted, and in what: `bytes in one output`, `elements in one input`.
    pub what: &'static str,
    /// How many there would be.
    pub needs: u64,
    /// How many there can be.
    pub limit: u64,
}

impl Excess {
    /// More than `limit` of what is counted.
    pub const fn new(what: &'static str, needs: u64, limit: u64) -> Excess {
        Excess { what, needs, limit }
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excess { what, needs, limit } = self;
        match what.strip_prefix("bytes ") {
            Some(what) => {
                let [needs, limit] = unlike(*needs, *limit);
                write!(f, "{needs} {what}, where {limit} is the most")
            }
            None => write!(f, "{needs} {what}, where {limit} is the most"),
        }
    }
}

/// The rule that decided a device, as the runtime has it.
pub type Reason = ReasonOf<DeviceId, &'static str>;

/// The rule that decided a device. The one type of reasons: `D` is how a device is named, and `W` how what
/// else a reason tells of is, an op or what something stays with. The placer has numbers for both, the
/// runtime names.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum ReasonOf<D, W> {
    /// A scope, or a call such as `to_device`, asked for this device.
    Requested,
    /// The device that was asked for has no kernel for this op and dtype.
    NoKernel {
        /// The op that has no kernel there.
        op: W,
        /// The dtype that has no kernel.
        dtype: DType,
        /// The device that was asked for.
        wanted: D,
    },
    /// The device that was asked for can't run it, which is all that a cost graph says.
    Unable {
        /// The device that was asked for.
        wanted: D,
    },
    /// The device that was asked for, or comes first by rule or by cost, has the kernel, but not for operands
    /// of this size.
    TooLarge {
        /// The device that was asked for.
        wanted: D,
        /// What is too large, and by how much.
        excess: Excess,
    },
    /// The device that was asked for can't be opened: its driver refuses, or its memory limit is below what
    /// it takes to run at all.
    Unopened {
        /// The device that was asked for.
        wanted: D,
    },
    /// The device that was asked for does not exist.
    NoSuchDevice {
        /// The kind that was asked for, if one was.
        kind: Option<DeviceKind>,
        /// The index that was asked for, if one was.
        index: Option<u32>,
    },
    /// The device that was asked for is lost.
    DeviceLost {
        /// The device that was asked for.
        wanted: D,
    },
    /// It must be where something else is: a variable's reads and writes run where the variable lives.
    Colocated {
        /// What it stays with.
        with: W,
    },
    /// It is done sooner here, by the cost model.
    Faster {
        /// The next best device.
        than: D,
        /// By how much, in seconds.
        saves: f64,
    },
    /// Another device computes it faster, but moving the inputs there costs more than that saves.
    CheaperThanMoving {
        /// The device that computes faster.
        to: D,
        /// What staying saves, in seconds.
        saves: f64,
    },
    /// The device preferred by cost or by rule has no memory left for it.
    MemoryLimit {
        /// The device that is full.
        full: D,
    },
    /// Another device computes it faster, but is busy with other ops: the whole function is not sooner done
    /// that way.
    Balanced {
        /// The device that is busy.
        busy: D,
        /// How much longer the function would take with the op there, in seconds; none: not simulated.
        saves: Option<f64>,
    },
    /// The rule `PreferGpu`: a GPU with a kernel comes first.
    PreferGpu,
    /// No other device could run it.
    OnlyDevice,
    /// A value of a function that is being traced: it is placed when the function is compiled.
    Undecided,
    /// A view: it is where the tensor is that it looks at.
    View,
}

impl<D, W> ReasonOf<D, W> {
    /// The rule alone.
    pub fn rule(&self) -> Rule {
        match self {
            ReasonOf::Requested => Rule::Requested,
            ReasonOf::NoKernel { .. } | ReasonOf::Unable { .. } => Rule::NoKernel,
            ReasonOf::TooLarge { .. } => Rule::TooLarge,
            ReasonOf::Unopened { .. } => Rule::Unopened,
            ReasonOf::NoSuchDevice { .. } => Rule::NoSuchDevice,
            ReasonOf::DeviceLost { .. } => Rule::DeviceLost,
            ReasonOf::Colocated { .. } => Rule::Colocated,
            ReasonOf::Faster { .. } => Rule::Faster,
            ReasonOf::CheaperThanMoving { .. } => Rule::CheaperThanMoving,
            ReasonOf::MemoryLimit { .. } => Rule::MemoryLimit,
            ReasonOf::Balanced { .. } => Rule::Balanced,
            ReasonOf::PreferGpu => Rule::PreferGpu,
            ReasonOf::OnlyDevice => Rule::OnlyDevice,
            ReasonOf::Undecided => Rule::Undecided,
            ReasonOf::View => Rule::View,
        }
    }

    /// The same with other names.
    pub fn named<E, V>(self, device: impl Fn(D) -> E, word: impl Fn(W) -> V) -> ReasonOf<E, V> {
        match self {
            ReasonOf::Requested => ReasonOf::Requested,
            ReasonOf::NoKernel { op, dtype, wanted } => {
                ReasonOf::NoKernel { op: word(op), dtype, wanted: device(wanted) }
            }
            ReasonOf::Unable { wanted } => ReasonOf::Unable { wanted: device(wanted) },
            ReasonOf::TooLarge { wanted, excess } => ReasonOf::TooLarge { wanted: device(wanted), excess },
            ReasonOf::Unopened { wanted } => ReasonOf::Unopened { wanted: device(wanted) },
            ReasonOf::NoSuchDevice { kind, index } => ReasonOf::NoSuchDevice { kind, index },
            ReasonOf::DeviceLost { wanted } => ReasonOf::DeviceLost { wanted: device(wanted) },
            ReasonOf::Colocated { with } => ReasonOf::Colocated { with: word(with) },
            ReasonOf::Faster { than, saves } => ReasonOf::Faster { than: device(than), saves },
            ReasonOf::CheaperThanMoving { to, saves } => {
                ReasonOf::CheaperThanMoving { to: device(to), saves }
            }
            ReasonOf::MemoryLimit { full } => ReasonOf::MemoryLimit { full: device(full) },
            ReasonOf::Balanced { busy, saves } => ReasonOf::Balanced { busy: device(busy), saves },
            ReasonOf::PreferGpu => ReasonOf::PreferGpu,
            ReasonOf::OnlyDevice => ReasonOf::OnlyDevice,
            ReasonOf::Undecided => ReasonOf::Undecided,
            ReasonOf::View => ReasonOf::View,
        }
    }
}

impl Reason {
    /// Whether it tells of a device that something is not on: one that was asked for, or that comes first and
    /// is full or too small.
    pub fn is_fallback(&self) -> bool {
        self.wanted().is_some()
    }

    /// For a fallback, the device that was asked for. It may not exist: then a part that was not said is a
    /// GPU, or index 0.
    pub fn wanted(&self) -> Option<DeviceId> {
        match *self {
            Reason::NoKernel { wanted, .. }
            | Reason::Unable { wanted }
            | Reason::TooLarge { wanted, .. }
            | Reason::Unopened { wanted }
            | Reason::DeviceLost { wanted }
            | Reason::MemoryLimit { full: wanted } => Some(wanted),
            Reason::NoSuchDevice { kind, index } => Some(DeviceId {
                kind: kind.unwrap_or(DeviceKind::Gpu),
                index: index.map_or(0, |i| u16::try_from(i).unwrap_or(u16::MAX)),
            }),
            _ => None,
        }
    }
}

impl<D: fmt::Display, W: fmt::Display> fmt::Display for ReasonOf<D, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReasonOf::Requested => f.write_str("requested"),
            ReasonOf::NoKernel { op, dtype, wanted } => write!(f, "{wanted} has no {dtype} kernel for {op}"),
            ReasonOf::Unable { wanted } => write!(f, "{wanted} can't run it"),
            ReasonOf::TooLarge { wanted, excess } => write!(f, "too large for {wanted}: {excess}"),
            ReasonOf::Unopened { wanted } => write!(f, "{wanted} can't be opened"),
            ReasonOf::NoSuchDevice { kind, index } => {
                let kind = kind.map_or("device", DeviceKind::name);
                match index {
                    Some(index) => write!(f, "there is no {kind}:{index}"),
                    None => write!(f, "there is no {kind}"),
                }
            }
            ReasonOf::DeviceLost { wanted } => write!(f, "{wanted} is lost"),
            ReasonOf::Colocated { with } => write!(f, "stays with {with}"),
            ReasonOf::Faster { than, saves } if *saves == 0.0 => write!(f, "no slower than on {than}"),
            ReasonOf::Faster { than, saves } => write!(f, "saves {} over {than}", seconds(*saves)),
            ReasonOf::CheaperThanMoving { to, saves } => {
                write!(f, "saves {} over moving its inputs to {to}", seconds(*saves))
            }
            ReasonOf::MemoryLimit { full } => write!(f, "{full} has no memory left for it"),
            ReasonOf::Balanced { busy, saves: Some(saves) } if *saves > 0.0 => {
                write!(f, "{busy} is busy: {} longer with it there", seconds(*saves))
            }
            ReasonOf::Balanced { busy, saves: Some(_) } => {
                write!(f, "{busy} is busy: no sooner done with it there")
            }
            ReasonOf::Balanced { busy, saves: None } => write!(f, "{busy} is busy"),
            ReasonOf::PreferGpu => f.write_str("a GPU with a kernel comes first"),
            ReasonOf::OnlyDevice => f.write_str("no other device can run it"),
            ReasonOf::Undecided => f.write_str("decided when the function is compiled"),
            ReasonOf::View => f.write_str("a view of a tensor there"),
        }
    }
}

/// A time in a unit people read.
pub fn seconds(s: f64) -> String {
    match s.abs() {
        v if v >= 1.0 => format!("{s:.2} s"),
        v if v >= 1e-3 => format!("{:.2} ms", s * 1e3),
        v if v >= 1e-6 => format!("{:.1} µs", s * 1e6),
        _ => format!("{:.0} ns", s * 1e9),
    }
}

/// Two byte counts side by side: in units people read, or to the byte where those would look alike.
pub fn unlike(a: u64, b: u64) -> [String; 2] {
    let read = |n: u64| bytes(usize::try_from(n).unwrap_or(usize::MAX));
    match [read(a), read(b)] {
        [x, y] if x == y && a != b => [a, b].map(|n| format!("{n} B")),
        both => both,
    }
}

/// A byte count in a unit people read.
pub fn bytes(n: usize) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_the_dtype_and_the_device() {
        let r = Reason::NoKernel { op: "matmul", dtype: DType::F64, wanted: DeviceId::gpu(0) };
        assert_eq!(r.to_string(), "GPU:0 has no f64 kernel for matmul");
        assert!(r.is_fallback() && !Reason::Requested.is_fallback());
    }

    #[test]
    fn a_size_that_is_too_large_is_said_in_its_own_unit() {
        let bytes = Excess { what: "bytes in one output", needs: 156 << 20, limit: 128 << 20 };
        let reason = Reason::TooLarge { wanted: DeviceId::gpu(0), excess: bytes };
        assert_eq!(
            reason.to_string(),
            "too large for GPU:0: 156.0 MiB in one output, where 128.0 MiB is the most"
        );
        assert_eq!((reason.rule(), reason.wanted()), (Rule::TooLarge, Some(DeviceId::gpu(0))));
        let close = Excess { what: "bytes in one output", needs: (128 << 20) + 4, limit: 128 << 20 };
        assert_eq!(close.to_string(), "134217732 B in one output, where 134217728 B is the most");
        let elements = Excess { what: "elements in one input", needs: 1 << 32, limit: (1 << 31) - 1 };
        assert_eq!(elements.to_string(), "4294967296 elements in one input, where 2147483647 is the most");
    }

    #[test]
    fn quantities_are_in_readable_units() {
        assert_eq!(seconds(2.0e-3), "2.00 ms");
        assert_eq!(seconds(3.0e-8), "30 ns");
        assert_eq!(bytes(8 << 20), "8.0 MiB");
        assert_eq!(bytes(12), "12 B");
    }
}
