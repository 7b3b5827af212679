//! Two device names into one: nesting, the merges, completion; and one name into two.
//!
//! In all of them an index belongs to its type: `GPU:1` and `CPU` never make `CPU:1`.

use super::{DeviceSpec, Field, SpecError};

impl DeviceSpec {
    /// The spec that holds in a scope `inner` opened inside a scope with this spec.
    ///
    /// Field by field the inner one wins. Naming a type drops the outer index, even where the type is the
    /// same: inside `/GPU:1`, `/GPU` means any GPU. An empty inner spec changes nothing.
    ///
    /// ```
    /// # use situ_core::device_spec::DeviceSpec;
    /// let outer: DeviceSpec = "/job:worker/GPU:2".parse()?;
    /// let inner: DeviceSpec = "/CPU".parse()?;
    /// assert_eq!(outer.inside(&inner), "/job:worker/CPU".parse()?);
    /// assert_eq!(outer.inside(&DeviceSpec::ANY), outer);
    /// # Ok::<(), situ_core::device_spec::SpecError>(())
    /// ```
    #[must_use]
    pub fn inside(&self, inner: &DeviceSpec) -> DeviceSpec {
        let index = if inner.kind.is_some() { inner.index } else { inner.index.or(self.index) };
        DeviceSpec { index, ..inner.or_fields_of(self) }
    }

    /// Both specs at once; an error naming the first field in which they disagree.
    pub fn merge(&self, other: &DeviceSpec) -> Result<DeviceSpec, SpecError> {
        match self.conflict(other) {
            None => Ok(self.or_fields_of(other)),
            Some(field) => Err(self.conflict_error(field, other)),
        }
    }

    /// Both specs at once, giving up what they disagree on: different types leave neither type nor index,
    /// different indices leave no index. A job, replica or task is never given up: disagreeing there is an
    /// error.
    pub fn merge_soft(&self, other: &DeviceSpec) -> Result<DeviceSpec, SpecError> {
        let both = self.or_fields_of(other);
        match self.conflict(other) {
            None => Ok(both),
            Some(Field::Type) => Ok(DeviceSpec { kind: None, index: None, ..both }),
            Some(Field::Index) => Ok(DeviceSpec { index: None, ..both }),
            Some(field @ (Field::Job | Field::Replica | Field::Task)) => {
                Err(self.conflict_error(field, other))
            }
        }
    }

    /// The fields of `other`, and this spec's where `other` names none. Unlike [`inside`](Self::inside), the
    /// index stays if `other` names the same type without one.
    #[must_use]
    pub fn merge_override(&self, other: &DeviceSpec) -> DeviceSpec {
        other.merge_unset(self)
    }

    /// The fields of this spec, and those of `other` where this one names none.
    #[must_use]
    pub fn merge_unset(&self, other: &DeviceSpec) -> DeviceSpec {
        let types_differ = matches!((&self.kind, &other.kind), (Some(a), Some(b)) if a != b);
        let index = if types_differ { self.index } else { self.index.or(other.index) };
        DeviceSpec { index, ..self.or_fields_of(other) }
    }

    /// The complete name that this spec means as seen from the device `base`, which must be complete: unnamed
    /// fields are the base's. A type other than the base's, without an index, means the first device of that
    /// type.
    pub fn canonicalize(&self, base: &DeviceSpec) -> Result<DeviceSpec, SpecError> {
        base.require("to complete other names, it", base.missing())?;
        let full = self.merge_unset(base);
        Ok(DeviceSpec { index: full.index.or(Some(0)), ..full })
    }

    /// The part that names a process and the part that names a device in it; an error unless type and index
    /// are both named.
    ///
    /// ```
    /// # use situ_core::device_spec::DeviceSpec;
    /// let (task, device) = "/cpu:1/job:a/task:2".parse::<DeviceSpec>()?.split()?;
    /// assert_eq!(task.to_string(), "/job:a/task:2");
    /// assert_eq!(format!("{device:#}"), "CPU:1");
    /// # Ok::<(), situ_core::device_spec::SpecError>(())
    /// ```
    pub fn split(&self) -> Result<(DeviceSpec, DeviceSpec), SpecError> {
        let device_fields = self.missing().filter(|field| matches!(field, Field::Type | Field::Index));
        self.require("to be split into process and device, it", device_fields)?;
        let process = DeviceSpec { kind: None, index: None, ..self.clone() };
        let device = DeviceSpec { kind: self.kind.clone(), index: self.index, ..DeviceSpec::ANY };
        Ok((process, device))
    }

    /// Field by field, this spec's value or else the other's, with no thought for types and indices.
    fn or_fields_of(&self, other: &DeviceSpec) -> DeviceSpec {
        DeviceSpec {
            job: self.job.as_ref().or(other.job.as_ref()).cloned(),
            replica: self.replica.or(other.replica),
            task: self.task.or(other.task),
            kind: self.kind.as_ref().or(other.kind.as_ref()).cloned(),
            index: self.index.or(other.index),
        }
    }

    fn require(&self, purpose: &'static str, missing: impl Iterator<Item = Field>) -> Result<(), SpecError> {
        let missing: Box<[Field]> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(SpecError::Incomplete { spec: Box::new(self.clone()), purpose, missing })
    }

    fn conflict_error(&self, field: Field, other: &DeviceSpec) -> SpecError {
        SpecError::Conflict { field, left: Box::new(self.clone()), right: Box::new(other.clone()) }
    }
}
