//! Ending when the loss is no number any more.

use super::{Callback, Run};
use crate::train::Figures;
use situ_core::Result;

/// Ends training when the loss is infinite or not a number: no step brings the weights back from there.
///
/// It reads the loss after every step, which makes devices idle for as long as that takes;
/// [`StopOnNan::every`] has it read less often. The end of an epoch is looked at in any case.
///
/// ```
/// use situ_nn::callbacks::StopOnNan;
/// let now_and_then = StopOnNan::new().every(50);
/// assert_eq!(now_and_then.stopped_at(), None);
/// ```
#[derive(Debug)]
pub struct StopOnNan {
    every: u64,
    stopped_at: Option<u64>,
}

impl Default for StopOnNan {
    fn default() -> StopOnNan {
        StopOnNan::new()
    }
}

impl StopOnNan {
    /// After every step.
    pub fn new() -> StopOnNan {
        StopOnNan { every: 1, stopped_at: None }
    }

    /// After every so many steps.
    pub fn every(self, steps: u64) -> StopOnNan {
        StopOnNan { every: steps.max(1), ..self }
    }

    /// How many steps there had been when it ended training, if it did.
    pub fn stopped_at(&self) -> Option<u64> {
        self.stopped_at
    }

    fn look(&mut self, run: &mut Run<'_>, loss: f64) {
        if !loss.is_finite() {
            self.stopped_at.get_or_insert(run.steps());
            run.stop();
        }
    }
}

impl Callback for StopOnNan {
    fn on_train_begin(&mut self, _: &mut Run<'_>) -> Result<()> {
        self.stopped_at = None;
        Ok(())
    }

    fn watches_batches(&self) -> bool {
        true
    }

    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        if run.steps().is_multiple_of(self.every) {
            let loss = run.figures()?.loss();
            self.look(run, loss);
        }
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        self.look(run, figures.loss());
        Ok(())
    }
}
