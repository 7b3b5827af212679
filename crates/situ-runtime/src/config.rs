//! What can be configured, and the devices that a configuration makes.

use crate::logical::LogicalDevice;
use crate::runtime::Inner;
use situ_core::budget::Holder;
use situ_core::{Budget, DeviceId, DeviceKind, Error, Policy, Result};
use situ_device::{DeviceClass, Open, Physical};
use std::path::Path;
use std::sync::{Arc, Weak};

/// How an op without a scope finds its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum PlacementRule {
    /// The device on which it is done soonest, by the cost model.
    Auto,
    /// The first GPU that has a kernel, else the CPU.
    PreferGpu,
    /// Where the largest of its inputs is, and the CPU for an op without inputs: nothing is decided that no
    /// scope says.
    Manual,
}

/// One logical device to make on a physical one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogicalConfig {
    /// Its memory limit in bytes; `None`: the default of its hardware.
    pub memory_limit: Option<usize>,
    /// The cores it owns alone. CPUs only.
    pub cores: Option<Vec<usize>>,
}

impl LogicalConfig {
    /// A device with that memory limit.
    pub fn limit(bytes: usize) -> LogicalConfig {
        LogicalConfig { memory_limit: Some(bytes), cores: None }
    }

    /// A CPU device that owns these cores.
    pub fn cores(cores: impl IntoIterator<Item = usize>) -> LogicalConfig {
        LogicalConfig { memory_limit: None, cores: Some(cores.into_iter().collect()) }
    }

    /// The same with a memory limit.
    pub fn with_limit(mut self, bytes: usize) -> LogicalConfig {
        self.memory_limit = Some(bytes);
        self
    }

    /// The same with cores of its own.
    pub fn with_cores(mut self, cores: impl IntoIterator<Item = usize>) -> LogicalConfig {
        self.cores = Some(cores.into_iter().collect());
        self
    }
}

/// The configuration of one physical device.
#[derive(Clone, Debug)]
pub(crate) struct PhysicalConfig {
    pub(crate) visible: bool,
    pub(crate) growth: bool,
    pub(crate) logical: Vec<LogicalConfig>,
}

impl Default for PhysicalConfig {
    fn default() -> Self {
        PhysicalConfig { visible: true, growth: true, logical: vec![LogicalConfig::default()] }
    }
}

/// Everything that can be configured.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// One for each physical device, in their order.
    pub(crate) physical: Vec<PhysicalConfig>,
    pub(crate) rule: PlacementRule,
    pub(crate) fallback: Policy,
    pub(crate) copies: Policy,
    pub(crate) log_placement: bool,
    pub(crate) deterministic: bool,
    pub(crate) intra_op_threads: Option<usize>,
    pub(crate) inter_op_threads: Option<usize>,
    pub(crate) variants: Variants,
}

/// How much of what a function was compiled to is kept: one variant for each signature, set of devices and
/// scope that it is called with. Beyond either bound, those go first that were not called for longest; a call
/// with their signature compiles again.
///
/// ```
/// let kept = situ_runtime::Variants::default();
/// assert_eq!((kept.count, kept.bytes), (256, 256 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variants {
    /// The most variants of one function.
    pub count: usize,
    /// The most bytes that they take together: their plans on the host, by an estimate, and the constants
    /// that were computed for them. The one in use stays, however large it is.
    pub bytes: usize,
}

impl Variants {
    /// The same with at most so many variants of one function.
    pub fn with_count(mut self, count: usize) -> Variants {
        self.count = count;
        self
    }

    /// The same with at most so many bytes of them.
    pub fn with_bytes(mut self, bytes: usize) -> Variants {
        self.bytes = bytes;
        self
    }
}

impl Default for Variants {
    fn default() -> Variants {
        Variants { count: 256, bytes: 256 << 20 }
    }
}

impl Config {
    pub(crate) fn new(physical: usize) -> Config {
        Config {
            physical: vec![PhysicalConfig::default(); physical],
            rule: PlacementRule::Auto,
            fallback: Policy::Warn,
            copies: Policy::Allow,
            log_placement: false,
            deterministic: false,
            intra_op_threads: None,
            inter_op_threads: None,
            variants: Variants::default(),
        }
    }

    /// Checks what `set_logical_devices` was given for a device.
    pub(crate) fn check_logical(
        physical: &dyn Physical,
        name: &str,
        logical: &[LogicalConfig],
    ) -> Result<()> {
        let asked = || format!("set_logical_devices({name})");
        let description = physical.description();
        if logical.is_empty() {
            return Err(Error::config(
                asked(),
                "a device can't be split into none",
                "hide it with set_visible_devices",
            ));
        }
        let mut taken: Vec<usize> = Vec::new();
        for one in logical {
            if one.memory_limit == Some(0) {
                return Err(Error::config(
                    asked(),
                    "a memory limit of 0 bytes holds no tensor",
                    "give a larger one",
                ));
            }
            let Some(cores) = &one.cores else { continue };
            if !description.capabilities.owns_cores {
                return Err(Error::config(
                    asked(),
                    "only CPU devices own cores",
                    "give memory limits to a GPU",
                ));
            }
            if cores.is_empty() {
                return Err(Error::config(
                    asked(),
                    "a list of no cores runs nothing",
                    "name at least one core",
                ));
            }
            for &core in cores {
                if !description.cores.contains(&core) {
                    return Err(Error::config(
                        asked(),
                        format!("there is no core {core}"),
                        format!("this process may use cores {:?}", description.cores),
                    ));
                }
                if taken.contains(&core) {
                    return Err(Error::config(
                        asked(),
                        format!("core {core} is given twice"),
                        "logical devices own disjoint cores",
                    ));
                }
                taken.push(core);
            }
        }
        Ok(())
    }
}

/// Memory that a device may take unless told otherwise.
fn default_limit(description: &situ_device::Description, host_memory: Option<usize>) -> Option<usize> {
    match description.class {
        // Systems promise more than they have and kill whoever takes it: the limit is ours to keep.
        DeviceClass::Cpu => host_memory.map(host_limit),
        DeviceClass::DiscreteGpu | DeviceClass::VirtualGpu => description.memory.map(|m| m / 10 * 9),
        DeviceClass::IntegratedGpu => host_memory.map(|m| m / 2),
        DeviceClass::SoftwareGpu => Some(host_memory.map_or(4 << 30, |m| (m / 4).min(4 << 30))),
    }
}

/// What all devices that live in the host's memory may take of it together.
pub(crate) fn host_limit(host_memory: usize) -> usize {
    host_memory / 10 * 9
}

/// Whether a device's memory is the host's.
fn is_on_host(class: DeviceClass) -> bool {
    match class {
        DeviceClass::Cpu | DeviceClass::SoftwareGpu | DeviceClass::IntegratedGpu => true,
        DeviceClass::DiscreteGpu | DeviceClass::VirtualGpu => false,
    }
}

/// The logical devices, CPUs first, in the order of their names.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) devices: Vec<Arc<LogicalDevice>>,
}

impl Table {
    /// Makes the table of a configuration.
    pub(crate) fn build(
        physical: &[Arc<dyn Physical>],
        config: &Config,
        host: &Arc<Budget>,
        host_memory: Option<usize>,
        calibrations: Option<&Path>,
        runtime: &Weak<Inner>,
    ) -> Table {
        let mut devices = Vec::new();
        for kind in DeviceKind::ALL {
            let mut next = 0;
            let of_kind = physical.iter().zip(&config.physical).filter(|(p, _)| p.description().kind == kind);
            for (physical_index, (p, c)) in of_kind.enumerate() {
                if !c.visible {
                    continue;
                }
                let description = p.description();
                let default = default_limit(description, host_memory).map(|limit| {
                    match description.capabilities.host_addressable {
                        // They share the host's limit through their common parent.
                        true => limit,
                        false => limit / c.logical.len(),
                    }
                });
                for one in &c.logical {
                    let id = DeviceId { kind, index: next };
                    next += 1;
                    let limit = one.memory_limit.or(default);
                    let shares = is_on_host(description.class);
                    let budget = Budget::within(limit, shares.then(|| host.clone()));
                    let how = Open {
                        id,
                        cores: one.cores.clone(),
                        threads: match description.capabilities.owns_cores {
                            true => config.intra_op_threads.or_else(|| p.threads()),
                            false => None,
                        },
                        budget: budget.clone(),
                    };
                    let device = Arc::new(LogicalDevice::new(
                        p.clone(),
                        physical_index,
                        how,
                        budget,
                        c.growth,
                        calibrations,
                        runtime.clone(),
                    ));
                    if shares {
                        let holder: Weak<dyn Holder> = Arc::<LogicalDevice>::downgrade(&device);
                        host.enroll(holder);
                    }
                    devices.push(device);
                }
            }
        }
        Table { devices }
    }

    pub(crate) fn ids(&self) -> Vec<DeviceId> {
        self.devices.iter().map(|d| d.id()).collect()
    }
}
