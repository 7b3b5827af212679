//! Which of two epochs was better.

use crate::train::Figures;
use situ_core::{Error, Result};

/// Which figures are good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Goal {
    /// Small ones: losses.
    Least,
    /// Large ones: accuracies.
    Most,
}

/// A figure that is watched for its best value.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    pub(super) name: String,
    pub(super) goal: Goal,
    /// What counts as better at all.
    pub(super) least_change: f64,
    pub(super) best: Option<f64>,
}

impl Monitor {
    /// Of losses and errors (by their names) the least is best, of all others the most.
    pub(super) fn new(name: &str) -> Monitor {
        let small = ["loss", "error", "mse", "mae"].iter().any(|end| name.ends_with(end));
        let goal = if small { Goal::Least } else { Goal::Most };
        Monitor { name: name.into(), goal, least_change: 0.0, best: None }
    }

    /// The best value as it was saved.
    pub(super) fn read(callback: &'static str, bits: &str) -> Result<f64> {
        bits.parse().map(f64::from_bits).map_err(|_| {
            Error::argument(callback, format!("what was saved of it is {bits:?}"), "save it again")
        })
    }

    /// Whether these figures are better than all before.
    pub(super) fn improves(&mut self, callback: &'static str, figures: &Figures) -> Result<bool> {
        let Some(now) = figures.get(&self.name) else {
            let names: Vec<&str> = figures.iter().map(|(name, _)| name).collect();
            return Err(Error::argument(
                callback,
                format!("there is no figure {}: there are {}", self.name, names.join(", ")),
                "name one of them; those that begin with val_ need Fit::validation",
            ));
        };
        let better = match (self.best, self.goal) {
            _ if now.is_nan() => false,
            (None, _) => true,
            (Some(best), Goal::Least) => now < best - self.least_change,
            (Some(best), Goal::Most) => now > best + self.least_change,
        };
        if better {
            self.best = Some(now);
        }
        Ok(better)
    }
}

/// How long a figure has not become better.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waiting {
    pub(super) epochs: usize,
    pub(super) best_epoch: Option<u64>,
}

impl Waiting {
    /// What a checkpoint keeps: the epochs, and, where there is one, the best epoch and the bits of the best
    /// value.
    pub(super) fn text(&self, monitor: &Monitor) -> Option<String> {
        Some(match (self.best_epoch, monitor.best) {
            (Some(epoch), Some(best)) => format!("{} {epoch} {}", self.epochs, best.to_bits()),
            _ => self.epochs.to_string(),
        })
    }

    /// The same as it was saved, with the best value in `monitor`.
    pub(super) fn read(callback: &'static str, text: &str, monitor: &mut Monitor) -> Result<Waiting> {
        let misread =
            || Error::argument(callback, format!("what was saved of it is {text:?}"), "save it again");
        let parts: Vec<&str> = text.split(' ').collect();
        let (epochs, best) = match parts[..] {
            [epochs] => (epochs, None),
            [epochs, best_epoch, best] => (epochs, Some((best_epoch, best))),
            _ => return Err(misread()),
        };
        let epochs = epochs.parse().map_err(|_| misread())?;
        let Some((best_epoch, best)) = best else { return Ok(Waiting { epochs, best_epoch: None }) };
        monitor.best = Some(Monitor::read(callback, best)?);
        Ok(Waiting { epochs, best_epoch: Some(best_epoch.parse().map_err(|_| misread())?) })
    }
}
