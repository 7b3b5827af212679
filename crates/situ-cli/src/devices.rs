//! `situ devices`: the machine's devices, and what programs see of them.

use crate::screen::{Screen, ranges};
use anyhow::Result;
use comfy_table::Cell;
use serde::Serialize;
use situ::DeviceType;
use situ::config::{self, Description, DeviceClass, LogicalDevice, PhysicalDevice};
use situ::reason::bytes;

/// What is said of a software driver, everywhere.
pub(crate) const SOFTWARE: &str = "software driver: proves results, not speed";

/// The physical devices, and the logical ones made of them.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceList {
    physical: Vec<Physical>,
    logical: Vec<Logical>,
}

/// A device that the machine has.
#[derive(Debug, Serialize)]
struct Physical {
    name: String,
    hardware: String,
    class: &'static str,
    /// Whether it is a driver that runs on the host's cores.
    software: bool,
    driver: Option<String>,
    memory_bytes: Option<usize>,
    cores: Vec<usize>,
    features: Vec<String>,
    dtypes: Vec<String>,
    visible: bool,
    memory_growth: bool,
}

/// A device that programs see.
#[derive(Debug, Serialize)]
struct Logical {
    name: String,
    /// Whether the host's cores compute for it.
    #[serde(skip)]
    on_cores: bool,
    /// Whether a scope `/GPU` means it.
    #[serde(skip)]
    is_gpu: bool,
    physical: String,
    memory_limit_bytes: Option<usize>,
    /// The cores it owns alone, if it does.
    cores: Option<Vec<usize>>,
    dtypes: Vec<String>,
    /// The calibration that was found for it and is not used, and why.
    ignored_calibration: Option<String>,
}

pub(crate) fn run(screen: &mut Screen, json: bool) -> Result<()> {
    let list = DeviceList::gather()?;
    if json { screen.json(&list) } else { list.show(screen) }
}

impl DeviceList {
    /// As they are now.
    pub(crate) fn gather() -> Result<DeviceList> {
        let physical = config::list_physical_devices("")?;
        let logical = config::list_logical_devices("")?;
        Ok(DeviceList {
            physical: physical.iter().map(Physical::new).collect(),
            logical: logical.iter().map(|device| Logical::new(device)).collect(),
        })
    }

    /// The name of a device whose driver runs on the host's cores, if there is one.
    pub(crate) fn software(&self) -> Option<&str> {
        self.physical.iter().find(|d| d.software).map(|d| d.name.as_str())
    }

    /// Whether programs see a GPU.
    pub(crate) fn has_gpu(&self) -> bool {
        self.logical.iter().any(|d| d.is_gpu)
    }

    fn show(&self, screen: &mut Screen) -> Result<()> {
        screen.line("Physical devices: what the machine has")?;
        self.show_physical(screen)?;
        screen.heading("Logical devices: what programs see")?;
        let rows = self.logical.iter().map(Logical::row).collect();
        screen.table(&["device", "on", "memory limit", "cores", "dtypes with kernels"], rows)?;
        for device in &self.logical {
            if let Some(ignored) = &device.ignored_calibration {
                screen.line(&format!("{}: {ignored}", device.name))?;
            }
        }
        Ok(())
    }

    /// The table of what the machine has, and what to know about it.
    pub(crate) fn show_physical(&self, screen: &mut Screen) -> Result<()> {
        let rows = self.physical.iter().map(Physical::row).collect();
        screen.table(&["device", "hardware", "memory", "cores or driver", "features"], rows)?;
        for device in self.physical.iter().filter(|d| d.software) {
            screen.line(&format!("{}: {SOFTWARE}", device.name))?;
        }
        if !self.has_gpu() {
            screen.line(
                "No GPU: ops that ask for one run on the CPU, with a warning. `situ doctor` says what to do.",
            )?;
        }
        Ok(())
    }
}

fn dtypes(description: &Description) -> Vec<String> {
    description.dtypes.iter().map(ToString::to_string).collect()
}

fn size(known: Option<usize>) -> String {
    known.map_or("unknown".to_string(), bytes)
}

impl Physical {
    fn new(device: &PhysicalDevice) -> Physical {
        let d = &device.description;
        Physical {
            name: device.id.to_string(),
            hardware: d.hardware.clone(),
            class: d.class.name(),
            software: d.class == DeviceClass::SoftwareGpu,
            driver: d.driver.clone(),
            memory_bytes: d.memory,
            cores: d.cores.clone(),
            features: d.features.clone(),
            dtypes: dtypes(d),
            visible: device.visible,
            memory_growth: device.memory_growth,
        }
    }

    fn row(&self) -> Vec<Cell> {
        let name = if self.visible { self.name.clone() } else { format!("{} (hidden)", self.name) };
        let how = match &self.driver {
            Some(driver) => driver.clone(),
            None => format!("{} cores ({})", self.cores.len(), ranges(&self.cores)),
        };
        let hardware = format!("{}\n{}", self.hardware, self.class);
        let memory = size(self.memory_bytes);
        vec![
            Cell::new(name),
            Cell::new(hardware),
            Cell::new(memory),
            Cell::new(how),
            Cell::new(self.features.join("\n")),
        ]
    }
}

impl Logical {
    fn new(device: &LogicalDevice) -> Logical {
        Logical {
            name: device.id().to_string(),
            on_cores: device.capabilities().owns_cores,
            is_gpu: device.id().kind.device_type() == DeviceType::Gpu,
            physical: format!("{}:{}", device.id().kind, device.physical_index()),
            memory_limit_bytes: device.memory_info().limit,
            cores: device.cores().map(<[usize]>::to_vec),
            dtypes: dtypes(device.description()),
            ignored_calibration: device.ignored_calibration().map(ToString::to_string),
        }
    }

    fn row(&self) -> Vec<Cell> {
        let limit = self.memory_limit_bytes.map_or("none".to_string(), bytes);
        let cores = match &self.cores {
            Some(cores) => format!("its own: {}", ranges(cores)),
            None => "shared".to_string(),
        };
        let cores = if self.on_cores { cores } else { "-".to_string() };
        vec![
            Cell::new(&self.name),
            Cell::new(&self.physical),
            Cell::new(limit),
            Cell::new(cores),
            Cell::new(self.dtypes.join(" ")),
        ]
    }
}
