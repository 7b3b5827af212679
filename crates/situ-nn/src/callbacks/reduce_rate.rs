//! A smaller learning rate when a figure gets no better.

use super::monitor::{Monitor, Waiting};
use super::{Callback, Goal, Run};
use crate::optimizers::Schedule;
use crate::train::Figures;
use situ_core::{Error, Result};

/// Multiplies the learning rate by a factor each time a figure has not become better for some epochs. The
/// rate must be a constant: a schedule would go its own way.
///
/// As of [`EarlyStopping`](super::EarlyStopping), a `fit` begins anew but where it goes on with one before.
///
/// ```
/// use situ_nn::callbacks::ReduceLearningRate;
/// let reduce = ReduceLearningRate::on_plateau("val_loss", 5).factor(0.5).at_least(1e-6);
/// ```
#[derive(Debug)]
pub struct ReduceLearningRate {
    monitor: Monitor,
    patience: usize,
    factor: f64,
    least: f64,
    waiting: Waiting,
}

const NAME: &str = "ReduceLearningRate";

impl ReduceLearningRate {
    /// Watches a figure, of losses and errors (by their names) the least is best, of all others the most;
    /// after `patience` epochs in which it was not better than ever, the rate is divided by ten.
    pub fn on_plateau(figure: &str, patience: usize) -> ReduceLearningRate {
        ReduceLearningRate {
            monitor: Monitor::new(figure),
            patience,
            factor: 0.1,
            least: 0.0,
            waiting: Waiting::default(),
        }
    }

    /// What the rate is multiplied by: more than 0 and less than 1.
    pub fn factor(self, factor: f64) -> ReduceLearningRate {
        ReduceLearningRate { factor, ..self }
    }

    /// The least rate that it goes down to.
    pub fn at_least(self, rate: f64) -> ReduceLearningRate {
        ReduceLearningRate { least: rate, ..self }
    }

    /// Says which values are good ones.
    pub fn goal(mut self, goal: Goal) -> ReduceLearningRate {
        self.monitor.goal = goal;
        self
    }

    /// Changes of less than this count for nothing.
    pub fn least_change(mut self, change: f64) -> ReduceLearningRate {
        self.monitor.least_change = change;
        self
    }
}

impl Callback for ReduceLearningRate {
    fn identity(&self) -> String {
        format!("{NAME} {}", self.monitor.name)
    }

    fn state(&self) -> Option<String> {
        self.waiting.text(&self.monitor)
    }

    fn resume(&mut self, state: &str) -> Result<()> {
        self.waiting = Waiting::read(NAME, state, &mut self.monitor)?;
        Ok(())
    }

    fn on_train_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        if !(self.factor > 0.0 && self.factor < 1.0) {
            let why = format!("a factor of {}", self.factor);
            return Err(Error::argument(NAME, why, "use a number above 0 and below 1"));
        }
        if !matches!(run.stepper().schedule(), Schedule::Constant(_)) {
            let why = format!("the rate is {:?}, which is not constant", run.stepper().schedule());
            return Err(Error::argument(
                NAME,
                why,
                "compile with a number for the rate, or leave one of both out",
            ));
        }
        self.waiting = Waiting::default();
        self.monitor.best = None;
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        if self.monitor.improves(NAME, figures)? {
            self.waiting = Waiting { epochs: 0, best_epoch: Some(run.epochs() - 1) };
            return Ok(());
        }
        self.waiting.epochs += 1;
        if self.waiting.epochs >= self.patience.max(1) {
            self.waiting.epochs = 0;
            let rate = run.stepper().rate();
            // A rate that is below the least already stays.
            run.set_rate((rate * self.factor).max(self.least).min(rate));
        }
        Ok(())
    }
}
