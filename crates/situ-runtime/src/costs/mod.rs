//! What ops and copies are expected to take.
//!
//! A device has one line for each class of work: seconds = launch + flops / rate + bytes / bandwidth; copies to and from the host
//! have the same without the flops. The built-in lines are round numbers for a class of hardware, good enough to tell milliseconds
//! from microseconds; [`calibrate`](mod@calibrate) fits a device's own.

pub mod calibrate;
pub mod fit;
pub mod store;

use serde::{Deserialize, Serialize};
use situ_device::{Description, DeviceClass};
use situ_ir::{Work, WorkClass};

/// Seconds of one class of work.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Line {
    /// Before anything is computed.
    pub launch: f64,
    /// For each operation.
    pub per_flop: f64,
    /// For each byte read or written.
    pub per_byte: f64,
}

impl Line {
    fn new(launch: f64, flops: f64, bandwidth: f64) -> Line {
        Line { launch, per_flop: 1.0 / flops, per_byte: 1.0 / bandwidth }
    }

    /// Seconds that so much takes.
    #[inline]
    pub fn seconds(&self, flops: f64, bytes: f64) -> f64 {
        self.launch + flops * self.per_flop + bytes * self.per_byte
    }
}

/// Seconds of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkCost {
    /// Before the first byte.
    pub latency: f64,
    /// For each byte.
    pub per_byte: f64,
}

impl LinkCost {
    fn new(latency: f64, bandwidth: f64) -> LinkCost {
        LinkCost { latency, per_byte: 1.0 / bandwidth }
    }

    /// Seconds that a copy takes.
    #[inline]
    pub fn seconds(&self, bytes: usize) -> f64 {
        self.latency + bytes as f64 * self.per_byte
    }
}

/// The costs of one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostModel {
    /// One for each class of work, in the order of [`WorkClass::ALL`].
    pub lines: [Line; WorkClass::ALL.len()],
    /// Copies from the host; between CPU devices, from another of them.
    pub upload: LinkCost,
    /// Copies to the host.
    pub download: LinkCost,
    /// Whether it was fitted to measurements of the device.
    pub calibrated: bool,
}

impl CostModel {
    /// The built-in model of a device of this description.
    pub fn built_in(description: &Description) -> CostModel {
        let cores = description.cores.len().max(1) as f64;
        // Rates in the order of the classes: elementwise, transcendental, matmul, reduce, move, gather.
        let (launch, rates, bandwidth, latency, copies) = match description.class {
            DeviceClass::Cpu => {
                let rates = [4e9, 8e9, 6e10, 8e9, 4e9, 1e9].map(|f| f * cores);
                (2e-7, rates, 1.5e10 * cores.sqrt(), 1e-7, 1e10)
            }
            DeviceClass::DiscreteGpu => (1.5e-5, [4e12, 2e12, 8e12, 1e12, 4e12, 5e11], 4e11, 2e-5, 1.2e10),
            DeviceClass::IntegratedGpu | DeviceClass::VirtualGpu => {
                (2e-5, [4e11, 2e11, 8e11, 1e11, 4e11, 5e10], 4e10, 2e-5, 1e10)
            }
            // Shaders on the host's own cores: slower than the host in everything, and with a queue before it.
            DeviceClass::SoftwareGpu => (2e-5, [1e9, 5e8, 4e9, 5e8, 1e9, 2e8], 4e9, 1e-4, 4e9),
        };
        let link = LinkCost::new(latency, copies);
        CostModel {
            lines: rates.map(|rate| Line::new(launch, rate, bandwidth)),
            upload: link,
            download: link,
            calibrated: false,
        }
    }

    /// The line of a class of work.
    #[inline]
    pub fn line(&self, class: WorkClass) -> &Line {
        &self.lines[class as usize]
    }

    /// Seconds this work takes, once its inputs are there.
    #[inline]
    pub fn compute(&self, work: &Work) -> f64 {
        self.line(work.class).seconds(work.flops, work.bytes)
    }
}
