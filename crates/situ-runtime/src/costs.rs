//! What ops and copies are expected to take, before anything is measured.
//!
//! A device is a launch time and, per class of work, an arithmetic rate and a memory rate; an op takes the launch
//! plus the slower of the two. The figures are round numbers for a class of hardware, good enough to tell
//! milliseconds from microseconds; calibration replaces them.

use situ_device::{Description, DeviceClass};
use situ_ir::{Work, WorkClass};

/// Speeds of one device.
#[derive(Clone, Debug)]
pub struct CostTable {
    /// Seconds from the call of an op until it runs.
    pub launch: f64,
    /// Operations a second, by class of work.
    pub flops: [f64; WorkClass::ALL.len()],
    /// Bytes a second through its memory.
    pub bandwidth: f64,
    /// Seconds before the first byte of a copy to or from the host.
    pub copy_latency: f64,
    /// Bytes a second to or from the host.
    pub copy_bandwidth: f64,
}

impl CostTable {
    /// The built-in table of a device of this description.
    pub fn built_in(description: &Description) -> CostTable {
        let cores = description.cores.len().max(1) as f64;
        // Order: elementwise, transcendental, matmul, reduce, move, gather.
        match description.class {
            DeviceClass::Cpu => CostTable {
                launch: 2e-7,
                flops: [4e9, 8e9, 6e10, 8e9, 4e9, 1e9].map(|f| f * cores),
                bandwidth: 1.5e10 * cores.sqrt(),
                copy_latency: 1e-7,
                copy_bandwidth: 1e10,
            },
            DeviceClass::DiscreteGpu => CostTable {
                launch: 1.5e-5,
                flops: [4e12, 2e12, 8e12, 1e12, 4e12, 5e11],
                bandwidth: 4e11,
                copy_latency: 2e-5,
                copy_bandwidth: 1.2e10,
            },
            DeviceClass::IntegratedGpu | DeviceClass::VirtualGpu => CostTable {
                launch: 2e-5,
                flops: [4e11, 2e11, 8e11, 1e11, 4e11, 5e10],
                bandwidth: 4e10,
                copy_latency: 2e-5,
                copy_bandwidth: 1e10,
            },
            // Shaders on the host's own cores: slower than the host in everything, and with a queue before it.
            DeviceClass::SoftwareGpu => CostTable {
                launch: 2e-5,
                flops: [1e9, 5e8, 4e9, 5e8, 1e9, 2e8],
                bandwidth: 4e9,
                copy_latency: 1e-4,
                copy_bandwidth: 4e9,
            },
        }
    }

    /// Seconds this work takes, once its inputs are there.
    #[inline]
    pub fn compute(&self, work: &Work) -> f64 {
        self.launch + (work.flops / self.flops[work.class as usize]).max(work.bytes / self.bandwidth)
    }

    /// Seconds a copy of `bytes` between this device and the host takes.
    #[inline]
    pub fn copy(&self, bytes: usize) -> f64 {
        self.copy_latency + bytes as f64 / self.copy_bandwidth
    }
}
