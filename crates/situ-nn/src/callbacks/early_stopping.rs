//! Ending when a figure gets no better.

use super::monitor::Monitor;
use super::{Callback, Goal, Run};
use crate::train::Figures;
use situ_core::Result;
use situ_tensor::{Tensor, Variable};

/// Ends training when a figure has not become better for some epochs.
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
    waited: usize,
    kept: Vec<(Variable, Tensor)>,
    best_epoch: Option<u64>,
}

impl EarlyStopping {
    /// Watches a figure: of losses and errors (by their names) the least is best, of all others the most.
    pub fn new(figure: &str, patience: usize) -> EarlyStopping {
        let monitor = Monitor::new(figure);
        EarlyStopping { monitor, patience, restore: false, waited: 0, kept: Vec::new(), best_epoch: None }
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

    /// Gives the weights of the best epoch back at the end. It keeps a copy of them.
    pub fn restore_best(mut self) -> EarlyStopping {
        self.restore = true;
        self
    }

    /// The best epoch so far.
    pub fn best_epoch(&self) -> Option<u64> {
        self.best_epoch
    }
}

impl Callback for EarlyStopping {
    fn on_train_begin(&mut self, _: &mut Run<'_>) -> Result<()> {
        self.waited = 0;
        self.monitor.best = None;
        self.kept.clear();
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        if self.monitor.improves("EarlyStopping", figures)? {
            self.waited = 0;
            self.best_epoch = Some(run.epochs() - 1);
            if self.restore {
                // A variable's value is never written over: holding it is the copy.
                let kept = run.weights().iter().map(|w| (w.variable.clone(), w.variable.value()));
                self.kept = kept.collect();
            }
            return Ok(());
        }
        self.waited += 1;
        if self.waited >= self.patience {
            run.stop();
        }
        Ok(())
    }

    fn on_train_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        let kept = std::mem::take(&mut self.kept);
        // Training that ended early is to go on from where it was.
        if run.is_interrupted() || run.failure().is_some() {
            return Ok(());
        }
        kept.iter().try_for_each(|(variable, value)| variable.assign(value))
    }
}
