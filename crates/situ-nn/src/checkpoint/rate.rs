//! The learning rate in a file.

use crate::optimizers::Schedule;
use serde::{Deserialize, Serialize};

/// A schedule, its numbers as the bits of f64: decimal digits are not read back exactly by every reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum SavedRate {
    Constant(u64),
    Exponential {
        rate: u64,
        factor: u64,
        steps: u64,
        stairs: bool,
    },
    Cosine {
        peak: u64,
        floor: u64,
        warmup: u64,
        steps: u64,
    },
    Piecewise {
        boundaries: Vec<u64>,
        rates: Vec<u64>,
    },
    Polynomial {
        rate: u64,
        end: u64,
        steps: u64,
        power: u64,
    },
    /// A closure, which no file can hold.
    Custom,
}

impl SavedRate {
    pub(super) fn of(schedule: &Schedule) -> SavedRate {
        match schedule {
            Schedule::Constant(rate) => SavedRate::Constant(rate.to_bits()),
            Schedule::Exponential { rate, factor, steps, stairs } => SavedRate::Exponential {
                rate: rate.to_bits(),
                factor: factor.to_bits(),
                steps: *steps,
                stairs: *stairs,
            },
            Schedule::Cosine { peak, floor, warmup, steps } => SavedRate::Cosine {
                peak: peak.to_bits(),
                floor: floor.to_bits(),
                warmup: *warmup,
                steps: *steps,
            },
            Schedule::Piecewise { boundaries, rates } => SavedRate::Piecewise {
                boundaries: boundaries.clone(),
                rates: rates.iter().map(|rate| rate.to_bits()).collect(),
            },
            Schedule::Polynomial { rate, end, steps, power } => SavedRate::Polynomial {
                rate: rate.to_bits(),
                end: end.to_bits(),
                steps: *steps,
                power: power.to_bits(),
            },
            Schedule::Custom(_) => SavedRate::Custom,
        }
    }

    /// The schedule, if the file holds it.
    pub(super) fn schedule(&self) -> Option<Schedule> {
        let number = |bits: &u64| f64::from_bits(*bits);
        Some(match self {
            SavedRate::Constant(rate) => Schedule::Constant(number(rate)),
            SavedRate::Exponential { rate, factor, steps, stairs } => Schedule::Exponential {
                rate: number(rate),
                factor: number(factor),
                steps: *steps,
                stairs: *stairs,
            },
            SavedRate::Cosine { peak, floor, warmup, steps } => {
                Schedule::Cosine { peak: number(peak), floor: number(floor), warmup: *warmup, steps: *steps }
            }
            SavedRate::Piecewise { boundaries, rates } => Schedule::Piecewise {
                boundaries: boundaries.clone(),
                rates: rates.iter().map(number).collect(),
            },
            SavedRate::Polynomial { rate, end, steps, power } => Schedule::Polynomial {
                rate: number(rate),
                end: number(end),
                steps: *steps,
                power: number(power),
            },
            SavedRate::Custom => return None,
        })
    }
}
