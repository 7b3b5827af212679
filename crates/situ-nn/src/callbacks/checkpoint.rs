//! Saving on the way.

use super::monitor::Monitor;
use super::{Callback, Goal, Run};
use crate::train::Figures;
use situ_core::Result;
use std::path::PathBuf;

/// Saves training to a file: after every epoch, or some, and where it ends early: it is interrupted, or a
/// step or its input fails.
///
/// `{epoch}` in the file's name is replaced by the number of epochs that are over; without it, each file
/// replaces the one before.
///
/// A file of the best epoch, or of an epoch by its number, is what its name says: what is saved within an
/// epoch goes to another. For `best.safetensors` that is `best.safetensors.latest`
/// ([`Checkpoint::every_steps`]) or `best.safetensors.interrupted` (an early end); for
/// `run/{epoch}.safetensors` it is `run/latest.safetensors` or `run/interrupted.safetensors`.
///
/// Training that goes on, from a file or in another `fit`, on the same data, goes on with the best figure
/// that was reached: a worse epoch does not replace the file.
///
/// ```
/// use situ_nn::callbacks::Checkpoint;
/// let every_fifth = Checkpoint::new("run/{epoch}.safetensors").every(5);
/// let the_best = Checkpoint::new("best.safetensors").best("val_accuracy");
/// ```
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    every: u64,
    steps: Option<u64>,
    best: Option<Monitor>,
}

/// What stands for the number of the epoch.
const EPOCH: &str = "{epoch}";

impl Checkpoint {
    /// After every epoch.
    pub fn new(path: impl Into<PathBuf>) -> Checkpoint {
        Checkpoint { path: path.into(), every: 1, steps: None, best: None }
    }

    /// After every so many epochs. (The best epoch is saved whichever it is.)
    pub fn every(mut self, epochs: u64) -> Checkpoint {
        self.every = epochs.max(1);
        self
    }

    /// Also after every so many steps.
    pub fn every_steps(mut self, steps: u64) -> Checkpoint {
        self.steps = Some(steps.max(1));
        self
    }

    /// Only after epochs in which that figure was better than ever: of losses and errors (by their names) the
    /// least, of all others the most.
    pub fn best(mut self, figure: &str) -> Checkpoint {
        self.best = Some(Monitor::new(figure));
        self
    }

    /// Only after epochs in which that figure was better than ever, where the name does not say which values
    /// are good ones.
    pub fn best_by(mut self, figure: &str, goal: Goal) -> Checkpoint {
        self.best = Some(Monitor { goal, ..Monitor::new(figure) });
        self
    }

    /// The file of an epoch that is over.
    fn of_epoch(&self, run: &Run<'_>) -> PathBuf {
        self.with_epoch(&run.epochs().to_string())
    }

    fn with_epoch(&self, text: &str) -> PathBuf {
        match self.path.to_str() {
            Some(name) if name.contains(EPOCH) => name.replace(EPOCH, text).into(),
            _ => self.path.clone(),
        }
    }

    /// The file of what is saved within an epoch.
    fn within_epoch(&self, what: &str) -> PathBuf {
        let path = self.with_epoch(what);
        if path != self.path || self.best.is_none() {
            return path;
        }
        let mut name = path.into_os_string();
        name.push(".");
        name.push(what);
        name.into()
    }
}

impl Callback for Checkpoint {
    fn identity(&self) -> String {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        match &self.best {
            Some(monitor) => format!("Checkpoint {file} {}", monitor.name),
            None => format!("Checkpoint {file}"),
        }
    }

    fn state(&self) -> Option<String> {
        self.best.as_ref()?.best.map(|best| best.to_bits().to_string())
    }

    fn resume(&mut self, state: &str) -> Result<()> {
        // Without the file of the best epoch there is nothing to better.
        let kept = self.path != self.with_epoch("") || self.path.exists();
        if let (Some(monitor), true) = (&mut self.best, kept) {
            monitor.best = Some(Monitor::read("Checkpoint", state)?);
        }
        Ok(())
    }

    fn outlives_fit(&self) -> bool {
        true
    }

    fn watches_batches(&self) -> bool {
        self.steps.is_some()
    }

    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        if self.steps.is_some_and(|steps| run.steps().is_multiple_of(steps)) {
            run.request_save(self.within_epoch("latest"));
        }
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        let due = match &mut self.best {
            Some(monitor) => monitor.improves("Checkpoint", figures)?,
            None => run.epochs().is_multiple_of(self.every),
        };
        if due {
            run.request_save(self.of_epoch(run));
        }
        Ok(())
    }

    fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        if run.is_interrupted() || run.failure().is_some() {
            run.request_save(self.within_epoch("interrupted"));
        }
        Ok(())
    }
}
