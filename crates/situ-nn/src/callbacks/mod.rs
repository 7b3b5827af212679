//! Callbacks: what is called on the way through `fit`.

mod checkpoint;
mod closures;
mod early_stopping;
mod monitor;
mod reduce_rate;
mod stop_on_nan;

pub use checkpoint::Checkpoint;
pub use closures::{EachBatch, EachEpoch, LearningRateSchedule};
pub use early_stopping::EarlyStopping;
pub use monitor::Goal;
pub use reduce_rate::ReduceLearningRate;
pub use stop_on_nan::StopOnNan;

use crate::train::{Figures, Training};
use situ_core::{Error, Result};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

/// What is called on the way through `fit`. An error ends it.
pub trait Callback {
    /// Before the first step.
    fn on_train_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// What it is known by in checkpoints, where [`Callback::state`] is kept: the name of its type, unless it
    /// says otherwise. Several of one name are told apart by their order.
    fn identity(&self) -> String {
        let name = std::any::type_name::<Self>();
        name.split('<').next().unwrap_or(name).to_string()
    }

    /// What is to be kept of it in checkpoints, if anything: what it can't go on without.
    fn state(&self) -> Option<String> {
        None
    }

    /// Goes on with what [`Callback::state`] gave: after [`Callback::on_train_begin`], where training goes on
    /// from a file, or after an interrupt or an error, with the same data for training and validation; in any
    /// later `fit` on the same data, if [`Callback::outlives_fit`] says so.
    fn resume(&mut self, state: &str) -> Result<()> {
        let _ = state;
        Ok(())
    }

    /// Whether it goes on with its state in every later `fit` of the trainer on the same data, also where the
    /// one before came to its end.
    fn outlives_fit(&self) -> bool {
        false
    }

    /// Before the first step of an epoch: once, also where the epoch is stopped and gone on with.
    fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// Before the first of the steps that are left of an epoch that was stopped, if
    /// [`Callback::on_epoch_begin`] was called when it began.
    fn on_epoch_resume(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// Whether [`Callback::on_batch_end`] is to be called at all: a step can be over in less time than a call
    /// takes.
    fn watches_batches(&self) -> bool {
        false
    }

    /// After a step. [`Training::figures`] are there for the asking, but waiting for them after every step
    /// makes devices idle.
    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// After the last step of an epoch and its validation, whose figures have `val_` before their names.
    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        let _ = (run, figures);
        Ok(())
    }

    /// After the last step, also where training was interrupted ([`Run::is_interrupted`]) or failed
    /// ([`Run::failure`]).
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
    fn identity(&self) -> String {
        (**self).identity()
    }
    fn state(&self) -> Option<String> {
        (**self).state()
    }
    fn resume(&mut self, state: &str) -> Result<()> {
        (**self).resume(state)
    }
    fn outlives_fit(&self) -> bool {
        (**self).outlives_fit()
    }
    fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        (**self).on_epoch_begin(run)
    }
    fn on_epoch_resume(&mut self, run: &mut Run<'_>) -> Result<()> {
        (**self).on_epoch_resume(run)
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
    failure: Option<&'t Error>,
    stop: bool,
    saves: Vec<PathBuf>,
}

impl<'t> Run<'t> {
    pub(crate) fn new(training: &'t mut Training) -> Run<'t> {
        Run { training, interrupted: false, failure: None, stop: false, saves: Vec::new() }
    }

    /// As it is at the end.
    pub(crate) fn ended(
        training: &'t mut Training,
        interrupted: bool,
        failure: Option<&'t Error>,
    ) -> Run<'t> {
        Run { training, interrupted, failure, stop: false, saves: Vec::new() }
    }

    /// Ends training after this call.
    pub fn stop(&mut self) {
        self.stop = true;
    }

    /// Saves training to a file when all callbacks have been called, so that the file has what each of them
    /// keeps ([`Callback::state`]) as it is then. ([`Training::save`], at once, has what they kept when the
    /// last epoch began or ended.)
    pub fn request_save(&mut self, path: impl Into<PathBuf>) {
        self.saves.push(path.into());
    }

    pub(crate) fn requested(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.saves)
    }

    pub(crate) fn stops(&self) -> bool {
        self.stop
    }

    /// Whether training was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// The error that ended training, which `fit` gives back when all callbacks have been told: of a step, of
    /// the input, or of a callback. What was trained before it is sound.
    pub fn failure(&self) -> Option<&Error> {
        self.failure
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
