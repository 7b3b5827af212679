//! What can be wrong with a device name, as data, and how it is said.

use std::fmt;

use super::{DeviceSpec, suggest};

/// A field of a device name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// `/job:NAME`
    Job,
    /// `/replica:N`
    Replica,
    /// `/task:N`
    Task,
    /// `TYPE` in `/device:TYPE:N`
    Type,
    /// `N` in `/device:TYPE:N`
    Index,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Field::Job => "job",
            Field::Replica => "replica",
            Field::Task => "task",
            Field::Type => "device type",
            Field::Index => "device index",
        })
    }
}

/// Why a part of a name is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Two slashes in a row, or one at the end.
    #[error("there is no field after a slash")]
    EmptyPart,
    /// The part begins with a word that the grammar does not know.
    #[error(
        "the first word is neither a field (job, replica, task, device) nor a device type that may stand alone (CPU, GPU)"
    )]
    Unknown,
    /// A field that was already given.
    #[error("the {0} is named a second time")]
    Repeated(Field),
    /// A field without its value.
    #[error("the {0} has no value (`*` means any)")]
    NoValue(Field),
    /// A job or type that is not a word.
    #[error("a {0} is a letter followed by letters, digits and underscores")]
    NotAWord(Field),
    /// A replica, task or index with anything but digits in it.
    #[error("the {0} must be digits only (`*` means any)")]
    NotANumber(Field),
    /// A replica, task or index past 32 bits.
    #[error("the {0} is larger than {max}", max = u32::MAX)]
    TooLarge(Field),
}

/// A device name that cannot be read, or two that cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is not a device name.
    #[error("device name {}: in {}, {problem}; {}", Quoted(.input), Quoted(.part), Advice(.suggestion))]
    Malformed {
        /// The whole text.
        input: Box<str>,
        /// The part between slashes that is wrong.
        part: Box<str>,
        /// What is wrong with it.
        problem: Problem,
        /// The nearest valid name, if there is one.
        suggestion: Option<Box<str>>,
    },
    /// Two specs name different values of one field.
    #[error("{left:#} and {right:#} cannot both hold: the {field} differs; drop it from one of them")]
    Conflict {
        /// The first field, in canonical order, in which they differ.
        field: Field,
        /// The spec merged into.
        left: Box<DeviceSpec>,
        /// The spec merged.
        right: Box<DeviceSpec>,
    },
    /// A spec lacks fields that an operation needs.
    #[error("device name {}: {purpose} needs its {}", Quoted(&.spec.to_string()), Listed(.missing))]
    Incomplete {
        /// The spec that lacks them.
        spec: Box<DeviceSpec>,
        /// What was to be done with it.
        purpose: &'static str,
        /// The fields to add.
        missing: Box<[Field]>,
    },
}

impl SpecError {
    /// The error for `part` of `input`, with the nearest valid name looked up.
    pub(super) fn malformed(input: &str, part: &str, problem: Problem) -> Self {
        let suggestion = suggest::nearest(input).map(Into::into);
        SpecError::Malformed { input: input.into(), part: part.into(), problem, suggestion }
    }
}

/// Text in quotes, control characters escaped, cut where a message would drown in it.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 120;
        match self.0.char_indices().nth(SHOWN) {
            None => write!(f, "{:?}", self.0),
            Some((cut, _)) => write!(f, "{:?}… ({} bytes)", &self.0[..cut], self.0.len()),
        }
    }
}

struct Advice<'a>(&'a Option<Box<str>>);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "did you mean {name}?"),
            None => {
                f.write_str("valid names look like cpu, /GPU:0, /device:TYPE:0, /job:worker/task:1/GPU:0")
            }
        }
    }
}

struct Listed<'a>(&'a [Field]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, field) in self.0.iter().enumerate() {
            let before = match i {
                0 => "",
                _ if i + 1 == self.0.len() => " and ",
                _ => ", ",
            };
            write!(f, "{before}{field}")?;
        }
        Ok(())
    }
}
