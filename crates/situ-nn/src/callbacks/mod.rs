//! Callbacks: what is called on the way through `fit`.

mod checkpoint;
mod closures;
mod early_stopping;
mod monitor;

pub use checkpoint::Checkpoint;
pub use closures::{EachBatch, EachEpoch, LearningRateSchedule};
pub use early_stopping::EarlyStopping;
pub use monitor::Goal;

use crate::train::{Figures, Training};
use situ_core::Result;
use std::ops::{Deref, DerefMut};

/// What is called on the way through `fit`. An error ends it.
pub trait Callback {
    /// Before the first step.
    fn on_train_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// Before the first step of an epoch.
    fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// Whether [`Callback::on_batch_end`] is to be called at all: a step can be over in less time than a call takes.
    fn watches_batches(&self) -> bool {
        false
    }

    /// After a step. [`Training::figures`] are there for the asking, but waiting for them after every step makes devices idle.
    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// After the last step of an epoch and its validation, whose figures have `val_` before their names.
    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        let _ = (run, figures);
        Ok(())
    }

    /// After the last step, also where training was interrupted.
    fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }
}

/// So that a program can look at its callback afterwards: `Box::new(&mut callback)`.
impl<C: Callback + ?Sized> Callback for &mut C {
    fn on_train_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        (**self).on_train_begin(run)
    }
    fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        (**self).on_epoch_begin(run)
    }
    fn watches_batches(&self) -> bool {
        (**self).watches_batches()
    }
    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        (**self).on_batch_end(run)
    }
    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        (**self).on_epoch_end(run, figures)
    }
    fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        (**self).on_train_end(run)
    }
}

/// Training, as callbacks see it: all of [`Training`], and a way to end it.
#[derive(Debug)]
pub struct Run<'t> {
    training: &'t mut Training,
    interrupted: bool,
    stop: bool,
}

impl<'t> Run<'t> {
    pub(crate) fn new(training: &'t mut Training, interrupted: bool) -> Run<'t> {
        Run { training, interrupted, stop: false }
    }

    /// Ends training after this call.
    pub fn stop(&mut self) {
        self.stop = true;
    }

    pub(crate) fn stops(&self) -> bool {
        self.stop
    }

    /// Whether training was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }
}

impl Deref for Run<'_> {
    type Target = Training;
    fn deref(&self) -> &Training {
        self.training
    }
}

impl DerefMut for Run<'_> {
    fn deref_mut(&mut self) -> &mut Training {
        self.training
    }
}
