//! Which of two epochs was better.

use crate::train::Figures;
use situ_core::{Error, Result};

/// Which figures are good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
