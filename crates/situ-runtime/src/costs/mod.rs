//! What ops and copies are expected to take.
//!
//! A device has one line for each class of work: seconds = launch + flops / rate + bytes / bandwidth, of f32;
//! other dtypes have a factor for each class. Copies to and from the host have the same without the flops.
//! The built-in lines are round numbers for a class of hardware, good enough to tell milliseconds from
//! microseconds; [`calibrate`](mod@calibrate) fits a device's own.

pub mod calibrate;
mod factors;
pub mod fit;
pub mod store;

pub use factors::Factors;

use serde::{Deserialize, Serialize};
use situ_device::{Description, DeviceClass};
use situ_ir::{Work, WorkClass};
use std::ops::RangeInclusive;

/// A launch, or the beginning of a copy, that takes longer than this is no device's.
const MOST_SECONDS: f64 = 60.0;
/// One operation, or one byte, that takes longer than this is no device's.
const MOST_EACH: f64 = 1.0;
/// Copies are never free: their bandwidth is a number that placement divides by.
const LEAST_COPIED: f64 = 1e-18;

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
    /// How much longer operations take in other dtypes than f32, which the lines are of.
    #[serde(default)]
    pub factors: Factors,
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
            // Shaders on the host's own cores: slower than the host in everything, and with a queue before
            // it.
            DeviceClass::SoftwareGpu => (2e-5, [1e9, 5e8, 4e9, 5e8, 1e9, 2e8], 4e9, 1e-4, 4e9),
        };
        let link = LinkCost::new(latency, copies);
        CostModel {
            lines: rates.map(|rate| Line::new(launch, rate, bandwidth)),
            upload: link,
            download: link,
            factors: Factors::built_in(),
            calibrated: false,
        }
    }

    /// What is wrong with it, if a figure makes no sense: placement divides by them, and adds them up.
    pub fn fault(&self) -> Option<String> {
        let seconds = 0.0..=MOST_SECONDS;
        let each = 0.0..=MOST_EACH;
        let copied = LEAST_COPIED..=MOST_EACH;
        let of = |part: &str, name: &str, value: f64, range: &RangeInclusive<f64>| {
            let (least, most) = (range.start(), range.end());
            let wrong = !range.contains(&value);
            wrong.then(|| format!("{name} of {part} is {value:e} s, and must be from {least:e} to {most:e}"))
        };
        let lines = WorkClass::ALL.iter().zip(&self.lines).find_map(|(class, line)| {
            let part = format!("{class:?}").to_lowercase();
            of(&part, "launch", line.launch, &seconds)
                .or_else(|| of(&part, "per_flop", line.per_flop, &each))
                .or_else(|| of(&part, "per_byte", line.per_byte, &each))
        });
        let links = [("upload", self.upload), ("download", self.download)];
        lines.or_else(|| self.factors.fault()).or_else(|| {
            links.iter().find_map(|(part, link)| {
                of(part, "latency", link.latency, &seconds)
                    .or_else(|| of(part, "per_byte", link.per_byte, &copied))
            })
        })
    }

    /// The line of a class of work.
    #[inline]
    pub fn line(&self, class: WorkClass) -> &Line {
        &self.lines[class as usize]
    }

    /// Copies between logical devices on its hardware, without the host: each byte is read and written there,
    /// as by an op that moves.
    pub fn peer(&self) -> LinkCost {
        let line = self.line(WorkClass::Move);
        LinkCost { latency: line.launch, per_byte: 2.0 * line.per_byte }
    }

    /// Seconds this work takes, once its inputs are there. The factor of its dtype is one of the operations;
    /// where a line was fitted without any, because bytes tell as much, it is one of the bytes of a class
    /// that computes.
    #[inline]
    pub fn compute(&self, work: &Work) -> f64 {
        let (line, factor) = (self.line(work.class), self.factors.of(work.class, work.dtype));
        match work.class {
            WorkClass::Move | WorkClass::Gather => line.seconds(work.flops, work.bytes),
            _ if line.per_flop > 0.0 => line.seconds(work.flops * factor, work.bytes),
            _ => line.seconds(work.flops, work.bytes * factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> CostModel {
        let line = Line { launch: 1e-6, per_flop: 0.0, per_byte: 0.0 };
        let link = LinkCost { latency: 0.0, per_byte: 1e-10 };
        CostModel {
            lines: [line; WorkClass::ALL.len()],
            upload: link,
            download: link,
            factors: Factors::default(),
            calibrated: true,
        }
    }

    #[test]
    fn every_figure_that_makes_no_sense_is_found() {
        assert_eq!(model().fault(), None);
        let wrong = [-1.0, -1e-300, f64::NAN, f64::INFINITY, 1e308, 61.0];
        for value in wrong {
            for n in 0..WorkClass::ALL.len() {
                for figure in [0, 1, 2] {
                    let mut model = model();
                    let line = &mut model.lines[n];
                    *[&mut line.launch, &mut line.per_flop, &mut line.per_byte][figure] = value;
                    assert!(model.fault().is_some(), "{value} of line {n}");
                }
            }
            for figure in [0, 1, 2, 3] {
                let mut model = model();
                let CostModel { upload, download, .. } = &mut model;
                *[&mut upload.latency, &mut upload.per_byte, &mut download.latency, &mut download.per_byte]
                    [figure] = value;
                assert!(model.fault().is_some(), "{value} of a link");
            }
        }
        for free in [0.0, 1e-310] {
            let mut model = model();
            model.download.per_byte = free;
            assert!(model.fault().is_some_and(|why| why.contains("per_byte of download")), "{free}");
        }
    }
}
