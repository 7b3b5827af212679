//! Ending when a figure gets no better.

use super::monitor::{Monitor, Waiting};
use super::{Callback, Goal, Run};
use crate::train::Figures;
use situ_core::Result;
use situ_tensor::{Tensor, Variable, current_runtime};

/// Ends training when a figure has not become better for some epochs.
///
/// A `fit` begins anew: but for one that goes on, on the same data, from a file or after an interrupt, which
/// goes on with the best figure and the patience as they were.
///
/// ```
/// use situ_nn::callbacks::EarlyStopping;
/// let stopping = EarlyStopping::new("val_loss", 3).restore_best();
/// ```
#[derive(Debug)]
pub struct EarlyStopping {
    monitor: Monitor,
    patience: usize,
    restore: bool,
    waiting: Waiting,
    kept: Vec<(Variable, Tensor)>,
    /// Of the fit before, should this one go on with it.
    kept_before: (Waiting, Vec<(Variable, Tensor)>),
}

impl EarlyStopping {
    /// Watches a figure: of losses and errors (by their names) the least is best, of all others the most.
    pub fn new(figure: &str, patience: usize) -> EarlyStopping {
        EarlyStopping {
            monitor: Monitor::new(figure),
            patience,
            restore: false,
            waiting: Waiting::default(),
            kept: Vec::new(),
            kept_before: Default::default(),
        }
    }

    /// Says which values are good ones.
    pub fn goal(mut self, goal: Goal) -> EarlyStopping {
        self.monitor.goal = goal;
        self
    }

    /// Changes of less than this count for nothing.
    pub fn least_change(mut self, change: f64) -> EarlyStopping {
        self.monitor.least_change = change;
        self
    }

    /// Gives the weights of the best epoch back at the end. It keeps a copy of them, which is in no file:
    /// where the best epoch was before one was loaded, they stay as they are, and it is said
    /// ([`Checkpoint::best`](super::Checkpoint::best) saves them).
    pub fn restore_best(mut self) -> EarlyStopping {
        self.restore = true;
        self
    }

    /// The best epoch so far.
    pub fn best_epoch(&self) -> Option<u64> {
        self.waiting.best_epoch
    }
}

impl Callback for EarlyStopping {
    fn identity(&self) -> String {
        format!("EarlyStopping {}", self.monitor.name)
    }

    fn state(&self) -> Option<String> {
        self.waiting.text(&self.monitor)
    }

    fn resume(&mut self, state: &str) -> Result<()> {
        self.waiting = Waiting::read("EarlyStopping", state, &mut self.monitor)?;
        let (before, kept) = std::mem::take(&mut self.kept_before);
        if before == self.waiting {
            self.kept = kept;
        }
        Ok(())
    }

    fn on_train_begin(&mut self, _: &mut Run<'_>) -> Result<()> {
        self.kept_before = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.kept));
        self.monitor.best = None;
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        if self.monitor.improves("EarlyStopping", figures)? {
            self.waiting = Waiting { epochs: 0, best_epoch: Some(run.epochs() - 1) };
            if self.restore {
                // A variable's value is never written over: holding it is the copy.
                let kept = run.weights().iter().map(|w| (w.variable.clone(), w.variable.value()));
                self.kept = kept.collect();
            }
            return Ok(());
        }
        self.waiting.epochs += 1;
        if self.waiting.epochs >= self.patience {
            run.stop();
        }
        Ok(())
    }

    fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        self.kept_before = Default::default();
        // Training that ended early is to go on from where it was.
        if run.is_interrupted() || run.failure().is_some() {
            return Ok(());
        }
        let kept = std::mem::take(&mut self.kept);
        if let (true, true, Some(best)) = (self.restore, kept.is_empty(), self.waiting.best_epoch) {
            current_runtime().say(format!(
                "EarlyStopping leaves the weights as they are: the best epoch, {best}, was before training was loaded, and its weights \
                 are not in that file; load the one that Checkpoint::best wrote"
            ));
        }
        kept.iter().try_for_each(|(variable, value)| variable.assign(value))
    }
}
