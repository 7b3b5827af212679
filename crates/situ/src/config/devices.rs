//! Listing devices, and saying what programs see of them.

use super::name::{DeviceName, allows, one, some};
use crate::{DeviceId, DeviceKind, Error, Result, current_runtime};
use situ_runtime::{LogicalConfig, LogicalDevice, MemoryInfo, PhysicalDevice, Runtime};
use std::sync::Arc;

fn physical_ids(runtime: &Runtime) -> Vec<DeviceId> {
    runtime.list_physical_devices(None).iter().map(|d| d.id).collect()
}

/// What the machine has and `name` allows: `"GPU"`, `"CPU"`, or `""` for everything. Empty where there is
/// none.
///
/// ```
/// use situ::config::list_physical_devices;
///
/// # fn main() -> situ::Result<()> {
/// let cpus = list_physical_devices("CPU")?;
/// assert_eq!(cpus[0].id.to_string(), "CPU:0");
/// println!("{} with {} cores", cpus[0].description.hardware, cpus[0].description.cores.len());
/// # Ok(()) }
/// ```
pub fn list_physical_devices(name: impl DeviceName) -> Result<Vec<PhysicalDevice>> {
    let spec = name.device_spec()?;
    let mut devices = current_runtime().list_physical_devices(None);
    devices.retain(|d| allows(&spec, d.id));
    Ok(devices)
}

/// What programs see and `name` allows. A physical device that was split appears here as several.
pub fn list_logical_devices(name: impl DeviceName) -> Result<Vec<Arc<LogicalDevice>>> {
    let spec = name.device_spec()?;
    let mut devices = current_runtime().list_logical_devices(None);
    devices.retain(|d| allows(&spec, d.id()));
    Ok(devices)
}

/// Hides every physical device of type `kind` (`"GPU"` or `"CPU"`) that is not among `visible`.
///
/// ```
/// use situ::config;
///
/// # fn main() -> situ::Result<()> {
/// config::set_visible_devices("GPU", &[] as &[&str])?; // no GPU for this process
/// assert!(config::list_logical_devices("GPU")?.is_empty());
/// # Ok(()) }
/// ```
pub fn set_visible_devices<N: DeviceName>(kind: impl DeviceName, visible: &[N]) -> Result<()> {
    let spec = kind.device_spec()?;
    let kind = match (spec.kind.as_ref().and_then(DeviceKind::of_type), spec.index) {
        (Some(kind), None) => kind,
        _ => {
            return Err(Error::config(
                format!("set_visible_devices({spec:#})"),
                "the first argument is a type of device",
                "give \"GPU\" or \"CPU\", and the devices to keep as the second argument",
            ));
        }
    };
    let runtime = current_runtime();
    let all = physical_ids(&runtime);
    let mut ids = Vec::new();
    for name in visible {
        ids.extend(some(name, &all)?);
    }
    runtime.set_visible_devices(kind, &ids)
}

/// Whether a physical device's memory is taken as it is needed (`true`, the default), or whole at its first
/// use.
///
/// ```
/// use situ::config;
///
/// # fn main() -> situ::Result<()> {
/// for gpu in config::list_physical_devices("GPU")? {
///     config::set_memory_growth(&gpu, true)?;
/// }
/// # Ok(()) }
/// ```
pub fn set_memory_growth(physical: impl DeviceName, growth: bool) -> Result<()> {
    let runtime = current_runtime();
    runtime.set_memory_growth(one("set_memory_growth", &physical, &physical_ids(&runtime))?, growth)
}

/// Splits a physical device into logical ones: a GPU by memory limits, a CPU by cores, by limits, or by both.
///
/// ```
/// use situ::{LogicalConfig, config};
///
/// # fn main() -> situ::Result<()> {
/// // One device for input work and one for compute, each with 512 MiB.
/// let half = LogicalConfig::limit(512 << 20);
/// config::set_logical_devices("CPU:0", &[half.clone(), half])?;
///
/// let x = situ::with_device("/CPU:1", || situ::ones(&[2, 2], situ::DType::F32))?;
/// assert_eq!(x.device().to_string(), "CPU:1");
/// # Ok(()) }
/// ```
pub fn set_logical_devices(physical: impl DeviceName, logical: &[LogicalConfig]) -> Result<()> {
    let runtime = current_runtime();
    let id = one("set_logical_devices", &physical, &physical_ids(&runtime))?;
    runtime.set_logical_devices(id, logical)
}

/// The memory figures of one logical device: held, in use, peak, limit.
///
/// ```
/// # fn main() -> situ::Result<()> {
/// let x = situ::with_device("/CPU:0", || situ::zeros(&[1024, 1024], situ::DType::F32))?;
/// assert!(situ::config::memory_info("CPU:0")?.in_use >= 4 << 20);
/// # drop(x);
/// # Ok(()) }
/// ```
pub fn memory_info(name: impl DeviceName) -> Result<MemoryInfo> {
    let runtime = current_runtime();
    let devices = runtime.list_logical_devices(None);
    let ids: Vec<DeviceId> = devices.iter().map(|d| d.id()).collect();
    runtime.memory_info(&one("memory_info", &name, &ids)?.device_spec()?)
}

/// Gives memory that holds nothing back to the system, on every device, after the work that uses it.
pub fn trim() -> Result<()> {
    current_runtime().trim()
}
