//! The words inside a device name: job names and device types, valid from the moment they exist.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::error::{Field, Problem, SpecError};

/// The name of a job: a letter, then letters, digits and underscores (ASCII). Case matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobName(Arc<str>);

impl JobName {
    /// Checks a job name.
    ///
    /// ```
    /// use situ_core::device_spec::JobName;
    /// assert!(JobName::new("worker_0").is_ok());
    /// assert!(JobName::new("0_worker").is_err());
    /// ```
    pub fn new(name: &str) -> Result<Self, SpecError> {
        Self::checked(name).map_err(|problem| SpecError::malformed(&format!("/job:{name}"), name, problem))
    }

    pub(super) fn checked(name: &str) -> Result<Self, Problem> {
        check_word(name, Field::Job)?;
        Ok(JobName(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A type of device. Ordered by its name, as text.
///
/// [`FromStr`] reads what may follow `/device:`: `CPU` and `GPU` in any case, or any other word, which is a
/// custom type and kept as it is written.
///
/// ```
/// use situ_core::device_spec::DeviceType;
/// assert_eq!("gpu".parse(), Ok(DeviceType::Gpu));
/// assert_eq!("Tpu".parse::<DeviceType>()?.to_string(), "Tpu");
/// # Ok::<(), situ_core::device_spec::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceType {
    /// The host's processors and memory.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// A type that situ does not know by itself.
    Custom(CustomType),
}

/// The name of a custom device type: a word, kept as written, that is not `CPU` or `GPU` in any case. Made by
/// parsing a [`DeviceType`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CustomType(Arc<str>);

impl CustomType {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl DeviceType {
    /// The type's name, as canonical names have it.
    pub fn as_str(&self) -> &str {
        match self {
            DeviceType::Cpu => "CPU",
            DeviceType::Gpu => "GPU",
            DeviceType::Custom(name) => name.as_str(),
        }
    }

    /// The type that may stand alone as a field, without `device:` before it.
    pub(super) fn built_in(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("cpu") {
            Some(DeviceType::Cpu)
        } else if name.eq_ignore_ascii_case("gpu") {
            Some(DeviceType::Gpu)
        } else {
            None
        }
    }

    pub(super) fn checked(name: &str) -> Result<Self, Problem> {
        if let Some(kind) = Self::built_in(name) {
            return Ok(kind);
        }
        check_word(name, Field::Type)?;
        Ok(DeviceType::Custom(CustomType(name.into())))
    }
}

impl FromStr for DeviceType {
    type Err = SpecError;

    fn from_str(name: &str) -> Result<Self, SpecError> {
        Self::checked(name).map_err(|problem| SpecError::malformed(&format!("/device:{name}"), name, problem))
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Ord for DeviceType {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for DeviceType {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A letter, then letters, digits and underscores.
fn check_word(word: &str, field: Field) -> Result<(), Problem> {
    let mut bytes = word.bytes();
    match bytes.next() {
        None => Err(Problem::NoValue(field)),
        Some(first) if !first.is_ascii_alphabetic() => Err(Problem::NotAWord(field)),
        Some(_) if bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') => Ok(()),
        Some(_) => Err(Problem::NotAWord(field)),
    }
}
