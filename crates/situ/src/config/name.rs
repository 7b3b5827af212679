//! What people name devices by, and finding the devices that a name means.

use crate::{DeviceId, DeviceKind, DeviceSpec, Error, Result};
use situ_runtime::{LogicalDevice, PhysicalDevice};

/// What can name devices: text, an id, a kind, or a device from a list.
///
/// ```
/// use situ::{DeviceId, DeviceKind, config::DeviceName};
///
/// # fn main() -> situ::Result<()> {
/// assert_eq!("gpu:0".device_spec()?, DeviceId::gpu(0).device_spec()?);
/// assert_eq!("/GPU".device_spec()?, DeviceKind::Gpu.device_spec()?);
/// let error = "GPUU:0".device_spec().unwrap_err();
/// assert!(error.to_string().contains("did you mean"));
/// # Ok(()) }
/// ```
pub trait DeviceName {
    /// The possibly partial name; an error if it is text that can't be read.
    fn device_spec(&self) -> Result<DeviceSpec>;
}

impl DeviceName for str {
    fn device_spec(&self) -> Result<DeviceSpec> {
        Ok(self.parse()?)
    }
}
impl DeviceName for String {
    fn device_spec(&self) -> Result<DeviceSpec> {
        self.as_str().device_spec()
    }
}
impl DeviceName for DeviceSpec {
    fn device_spec(&self) -> Result<DeviceSpec> {
        Ok(self.clone())
    }
}
impl DeviceName for DeviceKind {
    fn device_spec(&self) -> Result<DeviceSpec> {
        Ok(DeviceSpec::any_of(self.device_type()))
    }
}
impl DeviceName for DeviceId {
    fn device_spec(&self) -> Result<DeviceSpec> {
        Ok(self.spec())
    }
}
impl DeviceName for PhysicalDevice {
    fn device_spec(&self) -> Result<DeviceSpec> {
        self.id.device_spec()
    }
}
impl DeviceName for LogicalDevice {
    fn device_spec(&self) -> Result<DeviceSpec> {
        self.id().device_spec()
    }
}
impl<T: DeviceName + ?Sized> DeviceName for &T {
    fn device_spec(&self) -> Result<DeviceSpec> {
        (**self).device_spec()
    }
}
impl<T: DeviceName + ?Sized> DeviceName for std::sync::Arc<T> {
    fn device_spec(&self) -> Result<DeviceSpec> {
        (**self).device_spec()
    }
}

/// Whether `spec` allows that device of this process.
pub(super) fn allows(spec: &DeviceSpec, id: DeviceId) -> bool {
    let here = spec.job.as_ref().is_none_or(|job| job.as_str() == "localhost")
        && spec.replica.is_none_or(|replica| replica == 0)
        && spec.task.is_none_or(|task| task == 0);
    here && id.is_allowed_by(spec)
}

/// The devices of `available` that `name` allows; an error if there is none.
pub(super) fn some(name: &impl DeviceName, available: &[DeviceId]) -> Result<Vec<DeviceId>> {
    let spec = name.device_spec()?;
    let found: Vec<DeviceId> = available.iter().copied().filter(|id| allows(&spec, *id)).collect();
    if found.is_empty() {
        return Err(Error::no_such_device(spec.to_string(), available.to_vec()));
    }
    Ok(found)
}

/// The one device of `available` that `name` allows; an error if there is none, or if there are several.
pub(super) fn one(call: &str, name: &impl DeviceName, available: &[DeviceId]) -> Result<DeviceId> {
    match some(name, available)?.as_slice() {
        [only] => Ok(*only),
        several => {
            let spec = name.device_spec()?;
            let list: Vec<String> = several.iter().map(DeviceId::to_string).collect();
            let asked = if spec.is_empty() { "the empty name".to_string() } else { format!("{spec:#}") };
            Err(Error::config(
                format!("{call}({spec:#})"),
                format!("{asked} means {} devices", several.len()),
                format!("name one of {}", list.join(", ")),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: [DeviceId; 3] = [DeviceId::cpu(0), DeviceId::gpu(0), DeviceId::gpu(1)];

    #[test]
    fn a_partial_name_means_every_device_it_allows() {
        assert_eq!(some(&"", &MACHINE).unwrap(), MACHINE);
        assert_eq!(some(&"gpu", &MACHINE).unwrap(), [DeviceId::gpu(0), DeviceId::gpu(1)]);
        assert_eq!(one("call", &"cpu", &MACHINE).unwrap(), DeviceId::cpu(0));
    }

    #[test]
    fn a_name_that_means_several_or_none_says_what_there_is() {
        let several = one("memory_info", &"GPU", &MACHINE).unwrap_err().to_string();
        assert_eq!(several, "memory_info(GPU): GPU means 2 devices; name one of GPU:0, GPU:1");
        let all = one("memory_info", &"", &MACHINE).unwrap_err().to_string();
        assert!(all.contains("the empty name means 3 devices"), "{all}");
        let none = one("memory_info", &"GPU:7", &MACHINE).unwrap_err().to_string();
        assert!(none.contains("/device:GPU:7") && none.contains("CPU:0, GPU:0, GPU:1"), "{none}");
    }

    #[test]
    fn a_device_of_another_process_is_not_one_of_ours() {
        assert!(some(&"/job:worker/task:1/GPU:0", &MACHINE).is_err());
        assert_eq!(some(&"/job:localhost/replica:0/task:0/GPU:1", &MACHINE).unwrap(), [DeviceId::gpu(1)]);
    }
}
