//! What fit did, epoch by epoch.

use super::Figures;
use std::time::Duration;

/// What one epoch came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Epoch {
    /// Its number, from 0 on.
    pub number: u64,
    /// Loss and metrics of training, and of validation with `val_` before their names.
    pub figures: Figures,
    /// The learning rate of its last step.
    pub rate: f64,
    /// Steps that were made.
    pub steps: u64,
    /// How long its steps took, without validation and callbacks.
    pub time: Duration,
}

/// What fit did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct History {
    /// The epochs, in order. One that was interrupted is not among them.
    pub epochs: Vec<Epoch>,
    /// Whether it was interrupted: fit goes on from there if it is called again with the same data.
    pub interrupted: bool,
    /// Whether a callback ended it early.
    pub stopped: bool,
}

impl History {
    /// A figure over the epochs.
    pub fn series(&self, name: &str) -> Vec<f64> {
        self.epochs.iter().filter_map(|e| e.figures.get(name)).collect()
    }

    /// The figure of the last epoch.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.epochs.last()?.figures.get(name)
    }
}
