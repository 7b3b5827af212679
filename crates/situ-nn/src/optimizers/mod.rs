//! Optimizers: how weights change by their gradients.
//!
//! An optimizer is data: a rule (the arithmetic), a schedule (the learning rate of each step) and clipping. [`Stepper`] binds it to
//! weights, and holds their state.
//!
//! # Promises
//! - The state of a weight lives on the weight's device; a step of a weight is one kernel there.
//! - The learning rate and the number of the step are values, not constants of a compiled step: a schedule traces nothing again.
//! - Arithmetic is PyTorch's, down to where epsilon is added: behind the root (`√v + ε`), and for Adam behind the root of the corrected
//!   mean square (`√(v / (1 − β₂ᵗ)) + ε`). Keras' Adam puts it before the correction, and its momentum holds the learning rate: the
//!   first differs in the last digits, the second only while the rate changes.
//!
//! # What it leaves to others
//! Kernels (the op `Update`), gradients (`Tape`), when to step (`Trainer`, or the program's own loop).

mod adagrad;
mod adam;
mod clip;
mod rmsprop;
mod rule;
mod schedule;
mod sgd;
mod stepper;

pub use adagrad::Adagrad;
pub use adam::{Adam, AdamW};
pub use clip::Clip;
pub use rmsprop::RmsProp;
pub use rule::{State, UpdateRule};
pub use schedule::Schedule;
pub use sgd::Sgd;
pub use stepper::Stepper;
pub(crate) use stepper::{Bound, beside, on};

use crate::Weight;
use situ_core::Result;
use std::sync::Arc;

/// How weights change by their gradients. [`Sgd`], [`Adam`] and the others turn into one.
#[derive(Clone, Debug)]
pub struct Optimizer {
    /// The arithmetic of a step.
    pub rule: Arc<dyn UpdateRule>,
    /// The learning rate of each step.
    pub rate: Schedule,
    /// What is done to gradients first.
    pub clip: Clip,
}

impl Optimizer {
    /// For the program's own rule.
    pub fn new(rule: impl UpdateRule + 'static, rate: impl Into<Schedule>) -> Optimizer {
        Optimizer { rule: Arc::new(rule), rate: rate.into(), clip: Clip::None }
    }

    /// The optimizer with state for the trainable ones of these weights.
    pub fn bind(&self, weights: &[Weight]) -> Result<Stepper> {
        Stepper::new(self, weights)
    }
}
