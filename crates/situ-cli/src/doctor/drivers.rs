//! GPU drivers: which there are, and what to install where there is none.

use super::finding::Finding;
use crate::devices::SOFTWARE;
use situ::DeviceKind;
use situ::config::{DeviceClass, LogicalDevice, PhysicalDevice, built_for};
use situ::reason::bytes;
use std::path::Path;
use std::sync::Arc;

const TOPIC: &str = "gpu driver";

pub(super) fn gpus(physical: &[PhysicalDevice], logical: &[Arc<LogicalDevice>]) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        physical.iter().filter(|d| d.description.capabilities.queued).map(|d| one(d, logical)).collect();
    if findings.is_empty() {
        findings.push(none());
    }
    findings
}

fn one(device: &PhysicalDevice, logical: &[Arc<LogicalDevice>]) -> Finding {
    let d = &device.description;
    let memory = d.memory.map_or("memory unknown".to_string(), |m| format!("{} of memory", bytes(m)));
    let limit = logical
        .iter()
        .find(|l| (l.id().kind, l.physical_index()) == (device.id.kind, usize::from(device.id.index)))
        .and_then(|l| l.memory_info().limit)
        .map_or("no limit".to_string(), |l| format!("limit {}", bytes(l)));
    let driver = d.driver.as_deref().unwrap_or("unknown driver");
    let found = format!("{}: {}, {driver}; {memory}, {limit}", device.id, d.hardware);
    match d.class {
        DeviceClass::SoftwareGpu => Finding::note(
            TOPIC,
            format!("{found}\n{SOFTWARE}"),
            "if this machine has a GPU, install its vendor's Vulkan driver; unscoped ops stay on the CPU meanwhile",
        ),
        DeviceClass::Cpu
        | DeviceClass::DiscreteGpu
        | DeviceClass::IntegratedGpu
        | DeviceClass::VirtualGpu => match d.memory {
            Some(_) => Finding::fine(TOPIC, found),
            None => Finding::note(
                TOPIC,
                found,
                "the driver does not tell how much memory there is: set a limit with config::set_logical_devices",
            ),
        },
    }
}

/// Why there may be no GPU.
fn none() -> Finding {
    if !built_for(DeviceKind::Gpu) {
        return Finding::note(
            TOPIC,
            "no GPU: this program was built for CPUs alone; ops that ask for a GPU run on the CPU",
            "build it with the cargo feature `gpu`, which is on by default",
        );
    }
    let chosen = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().find_map(|name| {
        let files = std::env::var(name).ok().filter(|v| !v.is_empty())?;
        let missing: Vec<String> =
            std::env::split_paths(&files).filter(|f| !f.exists()).map(|f| f.display().to_string()).collect();
        (!missing.is_empty()).then(|| (name, missing.join(", ")))
    });
    if let Some((name, missing)) = chosen {
        return Finding::note(
            TOPIC,
            format!("no GPU: {name} names {missing}, which is not there"),
            format!("unset {name}, or name a driver's .json file"),
        );
    }
    if cfg!(target_os = "linux") && !has_manifest() {
        return Finding::note(
            TOPIC,
            "no GPU: no Vulkan driver is installed; ops that ask for a GPU run on the CPU",
            "install your GPU's Vulkan driver, or Mesa's software driver to try GPU programs: \
             apt-get install mesa-vulkan-drivers libvulkan1 (Debian, Ubuntu), dnf install mesa-vulkan-drivers \
             vulkan-loader (Fedora), pacman -S vulkan-swrast vulkan-icd-loader (Arch)",
        );
    }
    Finding::note(
        TOPIC,
        "no GPU that can run our kernels; ops that ask for one run on the CPU",
        "install or update your GPU's driver (on Linux also the loader, libvulkan1), and look at `vulkaninfo --summary`",
    )
}

/// Whether a driver has registered itself where the Vulkan loader looks.
fn has_manifest() -> bool {
    let folders = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    folders.iter().any(|folder| {
        let Ok(files) = Path::new(folder).read_dir() else { return false };
        files.flatten().any(|file| file.path().extension().is_some_and(|e| e == "json"))
    })
}
