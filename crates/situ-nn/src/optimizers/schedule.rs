//! Learning rates: one for each step, worked out on the host.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

/// The learning rate of each step, from step 0 on. A number is a schedule too.
///
/// ```
/// use situ_nn::optimizers::Schedule;
/// assert_eq!(Schedule::from(0.1).at(1000), 0.1);
/// let halved = Schedule::Piecewise { boundaries: vec![100, 200], rates: vec![0.4, 0.2, 0.1] };
/// assert_eq!([halved.at(99), halved.at(100), halved.at(200)], [0.4, 0.2, 0.1]);
/// let own = Schedule::custom(|step| 1.0 / (step + 1) as f64);
/// assert_eq!(own.at(3), 0.25);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Schedule {
    /// The same for all steps.
    Constant(f64),
    /// `rate · factor ^ (step / steps)`; in whole stairs, if so asked.
    Exponential {
        /// At step 0.
        rate: f64,
        /// What it is multiplied by in `steps` steps.
        factor: f64,
        /// Steps of one decay.
        steps: u64,
        /// Whether it changes only every `steps` steps.
        stairs: bool,
    },
    /// Up in a line to `peak` in `warmup` steps, then down along half a cosine to `floor` at step `steps`,
    /// where it stays.
    Cosine {
        /// The highest rate.
        peak: f64,
        /// The rate at the end.
        floor: f64,
        /// Steps on the way up: step `warmup` is the first with the peak.
        warmup: u64,
        /// Steps in all, with those of the warmup.
        steps: u64,
    },
    /// `rates[n]` where n boundaries are at or below the step.
    Piecewise {
        /// First steps of the rates from the second on, rising.
        boundaries: Vec<u64>,
        /// One more than there are boundaries.
        rates: Vec<f64>,
    },
    /// From `rate` to `end` in `steps` steps: `(rate − end) · (1 − step / steps) ^ power + end`.
    Polynomial {
        /// At step 0.
        rate: f64,
        /// From step `steps` on.
        end: f64,
        /// Steps on the way.
        steps: u64,
        /// 1: a line.
        power: f64,
    },
    /// The program's own.
    Custom(Arc<dyn Fn(u64) -> f64 + Send + Sync>),
}

impl Schedule {
    /// A closure from the number of the step to its rate.
    pub fn custom(rate: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Schedule {
        Schedule::Custom(Arc::new(rate))
    }

    /// [`Schedule::Cosine`] down to 0.
    pub fn cosine(peak: f64, warmup: u64, steps: u64) -> Schedule {
        Schedule::Cosine { peak, floor: 0.0, warmup, steps }
    }

    /// The rate of that step, the first of which is 0.
    pub fn at(&self, step: u64) -> f64 {
        match self {
            Schedule::Constant(rate) => *rate,
            Schedule::Exponential { rate, factor, steps, stairs } => {
                let decays = step as f64 / (*steps).max(1) as f64;
                rate * factor.powf(if *stairs { decays.floor() } else { decays })
            }
            Schedule::Cosine { peak, warmup, .. } if step < *warmup => {
                peak * (step + 1) as f64 / (*warmup + 1) as f64
            }
            Schedule::Cosine { peak, floor, warmup, steps } => {
                let way = steps.saturating_sub(*warmup).max(1) as f64;
                let done = ((step - warmup) as f64 / way).min(1.0);
                floor + (peak - floor) * 0.5 * (1.0 + (PI * done).cos())
            }
            Schedule::Piecewise { boundaries, rates } => {
                let passed = boundaries.iter().filter(|b| **b <= step).count();
                // Too few rates: the last one goes on.
                rates.get(passed).or(rates.last()).copied().unwrap_or(0.0)
            }
            Schedule::Polynomial { rate, end, steps, power } => {
                let left = 1.0 - (step as f64 / (*steps).max(1) as f64).min(1.0);
                (rate - end) * left.powf(*power) + end
            }
            Schedule::Custom(rate) => rate(step),
        }
    }
}

impl From<f64> for Schedule {
    fn from(rate: f64) -> Schedule {
        Schedule::Constant(rate)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Constant(rate) => write!(f, "Constant({rate})"),
            Schedule::Exponential { rate, factor, steps, stairs } => {
                write!(f, "Exponential({rate} × {factor} in {steps} steps, stairs: {stairs})")
            }
            Schedule::Cosine { peak, floor, warmup, steps } => {
                write!(f, "Cosine({warmup} steps up to {peak}, down to {floor} at {steps})")
            }
            Schedule::Piecewise { boundaries, rates } => write!(f, "Piecewise({rates:?} at {boundaries:?})"),
            Schedule::Polynomial { rate, end, steps, power } => {
                write!(f, "Polynomial({rate} to {end} in {steps} steps, power {power})")
            }
            Schedule::Custom(_) => f.write_str("Custom"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn exponential_decay_is_smooth_or_in_stairs() {
        let smooth = Schedule::Exponential { rate: 0.8, factor: 0.25, steps: 10, stairs: false };
        near(smooth.at(0), 0.8);
        near(smooth.at(5), 0.4);
        near(smooth.at(20), 0.05);
        let stairs = Schedule::Exponential { rate: 0.8, factor: 0.25, steps: 10, stairs: true };
        near(stairs.at(9), 0.8);
        near(stairs.at(10), 0.2);
    }

    #[test]
    fn a_cosine_rises_in_a_line_meets_its_peak_and_stays_at_its_floor() {
        let cosine = Schedule::Cosine { peak: 1.0, floor: 0.2, warmup: 4, steps: 14 };
        near(cosine.at(0), 0.2);
        near(cosine.at(3), 0.8);
        near(cosine.at(4), 1.0);
        near(cosine.at(9), 0.6);
        near(cosine.at(14), 0.2);
        near(cosine.at(1000), 0.2);
    }

    #[test]
    fn a_polynomial_ends_where_it_says() {
        let line = Schedule::Polynomial { rate: 1.0, end: 0.5, steps: 10, power: 1.0 };
        near(line.at(5), 0.75);
        near(line.at(100), 0.5);
        let square = Schedule::Polynomial { rate: 1.0, end: 0.0, steps: 10, power: 2.0 };
        near(square.at(5), 0.25);
    }

    #[test]
    fn schedules_without_steps_or_rates_give_numbers() {
        for odd in [
            Schedule::Exponential { rate: 1.0, factor: 0.5, steps: 0, stairs: false },
            Schedule::Cosine { peak: 1.0, floor: 0.0, warmup: 10, steps: 5 },
            Schedule::Polynomial { rate: 1.0, end: 0.0, steps: 0, power: 1.0 },
            Schedule::Piecewise { boundaries: vec![1, 2], rates: vec![0.5] },
            Schedule::Piecewise { boundaries: vec![], rates: vec![] },
        ] {
            assert!((0..40).all(|step| odd.at(step).is_finite()), "{odd:?}");
        }
    }
}
