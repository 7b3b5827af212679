//! Saving on the way.

use super::monitor::Monitor;
use super::{Callback, Goal, Run};
use crate::train::Figures;
use situ_core::Result;
use std::path::{Path, PathBuf};

/// Saves training to a file: after every epoch, or some, and where it ends early: it is interrupted, or a step or its input fails.
///
/// `{epoch}` in the file's name is replaced by the number of epochs that are over; without it, each file replaces the one before.
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

impl Checkpoint {
    /// After every epoch.
    pub fn new(path: impl Into<PathBuf>) -> Checkpoint {
        Checkpoint { path: path.into(), every: 1, steps: None, best: None }
    }

    /// After every so many epochs.
    pub fn every(mut self, epochs: u64) -> Checkpoint {
        self.every = epochs.max(1);
        self
    }

    /// Also after every so many steps.
    pub fn every_steps(mut self, steps: u64) -> Checkpoint {
        self.steps = Some(steps.max(1));
        self
    }

    /// Only after epochs in which that figure was better than ever: of losses and errors (by their names) the least, of all others the
    /// most. What is saved at an early end then goes to a file of its own, with `.interrupted` behind its name.
    pub fn best(mut self, figure: &str) -> Checkpoint {
        self.best = Some(Monitor::new(figure));
        self
    }

    /// Only after epochs in which that figure was better than ever, where the name does not say which values are good ones.
    pub fn best_by(mut self, figure: &str, goal: Goal) -> Checkpoint {
        self.best = Some(Monitor { goal, ..Monitor::new(figure) });
        self
    }

    fn save(&self, run: &mut Run<'_>, path: &Path) -> Result<()> {
        let name = path.to_string_lossy();
        match name.contains("{epoch}") {
            true => {
                let name = name.replace("{epoch}", &run.epochs().to_string());
                run.save(Path::new(&name))
            }
            false => run.save(path),
        }
    }
}

impl Callback for Checkpoint {
    fn watches_batches(&self) -> bool {
        self.steps.is_some()
    }

    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        match self.steps {
            Some(steps) if run.steps().is_multiple_of(steps) => self.save(run, &self.path),
            _ => Ok(()),
        }
    }

    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        let due = match &mut self.best {
            Some(monitor) => monitor.improves("Checkpoint", figures)?,
            None => run.epochs().is_multiple_of(self.every),
        };
        if due { self.save(run, &self.path) } else { Ok(()) }
    }

    fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        if !run.is_interrupted() && run.failure().is_none() {
            return Ok(());
        }
        match self.best {
            None => self.save(run, &self.path),
            Some(_) => {
                let mut name = self.path.clone().into_os_string();
                name.push(".interrupted");
                self.save(run, Path::new(&name))
            }
        }
    }
}
