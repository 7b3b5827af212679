//! How two device names stand to each other: matching, compatibility, order.

use std::cmp::Ordering;

use super::{DeviceSpec, Field};

impl DeviceSpec {
    /// Whether this spec is a pattern that the complete name `full` fits. A partial `full` names no single
    /// device, so nothing matches it; [`is_specialization_of`](Self::is_specialization_of) compares partial
    /// names.
    pub fn matches(&self, full: &DeviceSpec) -> bool {
        full.is_complete() && full.is_specialization_of(self)
    }

    /// Whether this spec says everything that `general` says, and perhaps more: every field that `general`
    /// names is named here with the same value.
    ///
    /// ```
    /// # use situ_core::device_spec::DeviceSpec;
    /// let gpu: DeviceSpec = "gpu".parse()?;
    /// let first: DeviceSpec = "gpu:0".parse()?;
    /// assert!(first.is_specialization_of(&gpu));
    /// assert!(!gpu.is_specialization_of(&first));
    /// # Ok::<(), situ_core::device_spec::SpecError>(())
    /// ```
    pub fn is_specialization_of(&self, general: &DeviceSpec) -> bool {
        fn holds<T: PartialEq>(general: &Option<T>, special: &Option<T>) -> bool {
            general.is_none() || general == special
        }
        holds(&general.job, &self.job)
            && holds(&general.replica, &self.replica)
            && holds(&general.task, &self.task)
            && holds(&general.kind, &self.kind)
            && holds(&general.index, &self.index)
    }

    /// Whether some device could have both names: no field is named differently by the two.
    pub fn is_compatible(&self, other: &DeviceSpec) -> bool {
        self.conflict(other).is_none()
    }

    /// The first field, in canonical order, that the two name differently.
    pub(super) fn conflict(&self, other: &DeviceSpec) -> Option<Field> {
        fn differ<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
            a.is_some() && b.is_some() && a != b
        }
        let fields = [
            (Field::Job, differ(&self.job, &other.job)),
            (Field::Replica, differ(&self.replica, &other.replica)),
            (Field::Task, differ(&self.task, &other.task)),
            (Field::Type, differ(&self.kind, &other.kind)),
            (Field::Index, differ(&self.index, &other.index)),
        ];
        fields.into_iter().find_map(|(field, differs)| differs.then_some(field))
    }

    /// Whether both name the same job, replica and task in full: the same process, so that one can read the
    /// other's memory.
    pub fn same_address_space(&self, other: &DeviceSpec) -> bool {
        let named = self.job.is_some() && self.replica.is_some() && self.task.is_some();
        named && self.job == other.job && self.replica == other.replica && self.task == other.task
    }
}

/// Partial names before complete ones; then by job, replica, task, type and index, where an unnamed field
/// comes first.
impl Ord for DeviceSpec {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.is_complete().cmp(&other.is_complete()))
            .then_with(|| self.job.cmp(&other.job))
            .then_with(|| self.replica.cmp(&other.replica))
            .then_with(|| self.task.cmp(&other.task))
            .then_with(|| self.kind.cmp(&other.kind))
            .then_with(|| self.index.cmp(&other.index))
    }
}

impl PartialOrd for DeviceSpec {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Orders two texts as device names: texts that are not names first, by their characters, then by the order
/// of [`DeviceSpec`]. Two spellings of one name are equal.
///
/// ```
/// use std::cmp::Ordering;
/// use situ_core::device_spec::compare_names;
/// assert_eq!(compare_names("gpu:0", "/device:GPU:0"), Ordering::Equal);
/// assert_eq!(compare_names("no such thing", "/CPU:0"), Ordering::Less);
/// ```
pub fn compare_names(a: &str, b: &str) -> Ordering {
    match (a.parse::<DeviceSpec>(), b.parse::<DeviceSpec>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Greater,
        (Err(_), Ok(_)) => Ordering::Less,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
