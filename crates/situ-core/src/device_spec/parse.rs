//! Text to [`DeviceSpec`]: the grammar of the module page, strictly.

use std::str::FromStr;

use super::DeviceSpec;
use super::error::{Field, Problem, SpecError};
use super::names::{DeviceType, JobName};

impl FromStr for DeviceSpec {
    type Err = SpecError;

    fn from_str(input: &str) -> Result<Self, SpecError> {
        let body = input.strip_prefix('/').unwrap_or(input);
        let mut reader = Reader::default();
        if !body.is_empty() {
            for part in body.split('/') {
                reader.part(part).map_err(|problem| SpecError::malformed(input, part, problem))?;
            }
        }
        Ok(reader.spec)
    }
}

/// The spec so far, and which fields were given: `*` leaves a field unset, and still may not be repeated.
#[derive(Default)]
struct Reader {
    spec: DeviceSpec,
    job: bool,
    replica: bool,
    task: bool,
    device: bool,
}

impl Reader {
    fn part(&mut self, part: &str) -> Result<(), Problem> {
        let (name, value) = match part.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (part, None),
        };
        match name {
            "job" => {
                once(&mut self.job, Field::Job)?;
                self.spec.job = unless_any(given(value, Field::Job)?, JobName::checked)?;
            }
            "replica" => {
                once(&mut self.replica, Field::Replica)?;
                self.spec.replica = number(given(value, Field::Replica)?, Field::Replica)?;
            }
            "task" => {
                once(&mut self.task, Field::Task)?;
                self.spec.task = number(given(value, Field::Task)?, Field::Task)?;
            }
            "device" => {
                once(&mut self.device, Field::Type)?;
                let value = given(value, Field::Type)?;
                let (kind, index) = match value.split_once(':') {
                    Some((kind, index)) => (kind, Some(index)),
                    None => (value, None),
                };
                self.spec.kind = unless_any(kind, DeviceType::checked)?;
                self.index(index)?;
            }
            "" if value.is_none() => return Err(Problem::EmptyPart),
            other => {
                let kind = DeviceType::built_in(other).ok_or(Problem::Unknown)?;
                once(&mut self.device, Field::Type)?;
                self.spec.kind = Some(kind);
                self.index(value)?;
            }
        }
        Ok(())
    }

    fn index(&mut self, text: Option<&str>) -> Result<(), Problem> {
        if let Some(text) = text {
            self.spec.index = number(text, Field::Index)?;
        }
        Ok(())
    }
}

fn once(seen: &mut bool, field: Field) -> Result<(), Problem> {
    if std::mem::replace(seen, true) { Err(Problem::Repeated(field)) } else { Ok(()) }
}

fn given(value: Option<&str>, field: Field) -> Result<&str, Problem> {
    value.ok_or(Problem::NoValue(field))
}

fn unless_any<T>(text: &str, read: fn(&str) -> Result<T, Problem>) -> Result<Option<T>, Problem> {
    if text == "*" { Ok(None) } else { read(text).map(Some) }
}

fn number(text: &str, field: Field) -> Result<Option<u32>, Problem> {
    match text {
        "*" => Ok(None),
        "" => Err(Problem::NoValue(field)),
        // `u32::from_str` would take a plus sign.
        _ if !text.bytes().all(|b| b.is_ascii_digit()) => Err(Problem::NotANumber(field)),
        _ => text.parse().map(Some).map_err(|_| Problem::TooLarge(field)),
    }
}
