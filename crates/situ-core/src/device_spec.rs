//! Device names: the one grammar that Rust, Python, the command line and files share.
//!
//! A [`DeviceSpec`] is a possibly partial name. Written out in full it is
//! `/job:worker/replica:0/task:1/device:GPU:0`; every field may be left out, or be `*`, which is the same.
//!
//! ```text
//! name    = "" | "/" | ["/"] field { "/" field }          fields in any order, each at most once
//! field   = "job:" (word | "*")
//!         | "replica:" (number | "*") | "task:" (number | "*")
//!         | "device:" (word | "*") [":" (number | "*")]
//!         | ("cpu" | "gpu") [":" (number | "*")]          in any case
//! word    = letter { letter | digit | "_" }               ASCII
//! number  = digit { digit }                               at most 4294967295
//! ```
//!
//! ```
//! use situ_core::device_spec::{DeviceSpec, DeviceType};
//!
//! let spec: DeviceSpec = "gpu:1".parse()?;
//! assert_eq!(spec, DeviceSpec::device(DeviceType::Gpu, 1));
//! assert_eq!(spec.to_string(), "/device:GPU:1");
//!
//! let typo = "/GPUU:0".parse::<DeviceSpec>().unwrap_err();
//! assert!(typo.to_string().ends_with("did you mean /GPU:0?"));
//! # Ok::<(), situ_core::device_spec::SpecError>(())
//! ```
//!
//! Promised: parsing never panics; what [`Display`](fmt::Display) writes parses back to the same spec, in
//! both its forms; a value of these types is always valid, so nothing downstream checks a name again; cloning
//! never copies text.
//!
//! Left to others: which devices exist, the stack of scopes and what `None` does to it, and which of several
//! matching devices is taken.

mod combine;
mod error;
mod names;
mod parse;
mod relate;
mod suggest;

use std::fmt;

pub use error::{Field, Problem, SpecError};
pub use names::{CustomType, DeviceType, JobName};
pub use relate::compare_names;

/// A possibly partial device name; `None` in a field means "any".
///
/// The fields are plain data: every combination of them is a valid name.
///
/// [`Display`](fmt::Display) writes the canonical form, with `*` for the half of the device that is not named
/// (`/device:GPU:*`); the alternate form `{:#}` is what people type (`GPU:0`, `/task:1/GPU`). An empty spec
/// is written as the empty string. Both forms parse back to the same spec.
///
/// ```
/// use situ_core::device_spec::{DeviceSpec, DeviceType};
///
/// let spec: DeviceSpec = "/job:worker/gpu".parse()?;
/// assert_eq!(spec.kind, Some(DeviceType::Gpu));
/// assert_eq!(spec.index, None);
/// assert_eq!(spec.to_string(), "/job:worker/device:GPU:*");
/// assert_eq!(format!("{spec:#}"), "/job:worker/GPU");
/// # Ok::<(), situ_core::device_spec::SpecError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceSpec {
    /// The job, a group of processes that do the same work.
    pub job: Option<JobName>,
    /// The replica inside the job.
    pub replica: Option<u32>,
    /// The task (process) inside the job.
    pub task: Option<u32>,
    /// The type of device.
    pub kind: Option<DeviceType>,
    /// Which device of that type.
    pub index: Option<u32>,
}

impl DeviceSpec {
    /// The spec that names nothing, and so allows any device. What `""` and `"/"` parse to.
    pub const ANY: DeviceSpec = DeviceSpec { job: None, replica: None, task: None, kind: None, index: None };

    /// One device of this process: `/device:GPU:0`.
    pub const fn device(kind: DeviceType, index: u32) -> Self {
        DeviceSpec { job: None, replica: None, task: None, kind: Some(kind), index: Some(index) }
    }

    /// Any device of a type: `/device:GPU:*`.
    pub const fn any_of(kind: DeviceType) -> Self {
        DeviceSpec { job: None, replica: None, task: None, kind: Some(kind), index: None }
    }

    /// Whether no field is named.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.kind.is_none()
            && self.index.is_none()
            && self.job.is_none()
            && self.replica.is_none()
            && self.task.is_none()
    }

    /// Whether every field is named, so that the spec can mean one device only.
    pub fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// The fields that are not named, in canonical order.
    pub fn missing(&self) -> impl Iterator<Item = Field> + use<> {
        [
            (Field::Job, self.job.is_none()),
            (Field::Replica, self.replica.is_none()),
            (Field::Task, self.task.is_none()),
            (Field::Type, self.kind.is_none()),
            (Field::Index, self.index.is_none()),
        ]
        .into_iter()
        .filter_map(|(field, absent)| absent.then_some(field))
    }

    fn names_a_task(&self) -> bool {
        self.job.is_some() || self.replica.is_some() || self.task.is_some()
    }
}

impl From<DeviceType> for DeviceSpec {
    fn from(kind: DeviceType) -> Self {
        DeviceSpec::any_of(kind)
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(job) = &self.job {
            write!(f, "/job:{job}")?;
        }
        if let Some(replica) = self.replica {
            write!(f, "/replica:{replica}")?;
        }
        if let Some(task) = self.task {
            write!(f, "/task:{task}")?;
        }
        if f.alternate() { self.write_short_device(f) } else { self.write_device(f) }
    }
}

impl DeviceSpec {
    fn write_device(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, self.index) {
            (None, None) => Ok(()),
            (None, Some(index)) => write!(f, "/device:*:{index}"),
            (Some(kind), None) => write!(f, "/device:{kind}:*"),
            (Some(kind), Some(index)) => write!(f, "/device:{kind}:{index}"),
        }
    }

    fn write_short_device(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            None => return self.write_device(f),
            Some(kind @ (DeviceType::Cpu | DeviceType::Gpu)) => {
                let slash = if self.names_a_task() { "/" } else { "" };
                write!(f, "{slash}{kind}")?;
            }
            // Only `device:` introduces a custom type, so the short form keeps it.
            Some(kind @ DeviceType::Custom(_)) => write!(f, "/device:{kind}")?,
        }
        match self.index {
            Some(index) => write!(f, ":{index}"),
            None => Ok(()),
        }
    }
}
