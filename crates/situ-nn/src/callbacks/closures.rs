//! Callbacks that are closures.

use super::{Callback, Run};
use crate::optimizers::Schedule;
use crate::train::Figures;
use situ_core::Result;

/// Calls a closure after every epoch.
///
/// ```
/// use situ_nn::callbacks::EachEpoch;
/// let stop_when_good = EachEpoch(|run, figures| {
///     if figures.loss() < 0.1 {
///         run.stop();
///     }
///     Ok(())
/// });
/// # let _: Box<dyn situ_nn::callbacks::Callback> = Box::new(stop_when_good);
/// ```
pub struct EachEpoch<F>(pub F)
where
    F: FnMut(&mut Run<'_>, &Figures) -> Result<()>;

impl<F: FnMut(&mut Run<'_>, &Figures) -> Result<()>> Callback for EachEpoch<F> {
    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        (self.0)(run, figures)
    }
}

/// Calls a closure after every step.
pub struct EachBatch<F>(pub F)
where
    F: FnMut(&mut Run<'_>) -> Result<()>;

impl<F: FnMut(&mut Run<'_>) -> Result<()>> Callback for EachBatch<F> {
    fn watches_batches(&self) -> bool {
        true
    }

    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        (self.0)(run)
    }
}

/// Sets the learning rate of every epoch, when it begins: from its number, and the rate before. The rate is
/// saved in checkpoints, and an epoch that is gone on with keeps it.
///
/// ```
/// use situ_nn::callbacks::LearningRateSchedule;
/// let tenth = |epoch| epoch > 0 && epoch % 10 == 0;
/// let halved = LearningRateSchedule(move |epoch, rate| if tenth(epoch) { rate / 2.0 } else { rate });
/// # let _: Box<dyn situ_nn::callbacks::Callback> = Box::new(halved);
/// ```
pub struct LearningRateSchedule<F>(pub F)
where
    F: FnMut(u64, f64) -> f64;

impl<F: FnMut(u64, f64) -> f64> Callback for LearningRateSchedule<F> {
    fn identity(&self) -> String {
        "LearningRateSchedule".into()
    }

    fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        let rate = (self.0)(run.epochs(), run.stepper().rate());
        run.set_rate(Schedule::Constant(rate));
        Ok(())
    }
}
