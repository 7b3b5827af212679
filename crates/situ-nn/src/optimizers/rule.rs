//! The seam of optimizers: the arithmetic of one step of one weight.

use situ_core::{Real, Result};
use situ_ir::ops::{Update, UpdateKind};
use situ_tensor::{Tensor, Variable};
use std::fmt::Debug;
use std::sync::Arc;

/// A tensor that a rule keeps for each weight, of the weight's shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Its name in checkpoints.
    pub name: &'static str,
    /// What it is filled with at first.
    pub initial: f64,
}

/// The arithmetic of a step. Optimizers of this crate are one fused op each; a program may write its own of
/// any ops.
pub trait UpdateRule: Debug + Send + Sync {
    /// Its name in checkpoints: state of another rule can't be loaded.
    fn name(&self) -> &'static str;

    /// What it keeps for each weight.
    fn state(&self) -> Vec<State>;

    /// The same without weight decay, for weights that
    /// [`Optimizer::decay_only`](super::Optimizer::decay_only) leaves out of it: with the same state. `None`
    /// where it has no decay to leave out.
    fn without_decay(&self) -> Option<Arc<dyn UpdateRule>> {
        None
    }

    /// Whether its ops are called at lines of the program, which messages and profiles then show. Those of
    /// this crate's rules are said to be of the line that compiled the model, or called the stepper.
    #[doc(hidden)]
    fn has_lines(&self) -> bool {
        true
    }

    /// Whether it changes only the rows of a table that were looked up, where a gradient is rows
    /// ([`Tensor::rows`]).
    fn is_lazy(&self) -> bool {
        false
    }

    /// Changes a weight, and its state, by a gradient. `rates` are two numbers: the learning rate, and the
    /// number of the step from 1 on. It is called in the scope of the weight's device.
    fn step(&self, weight: &Variable, gradient: &Tensor, rates: &Tensor, state: &[&Variable]) -> Result<()>;
}

/// A rule that is one kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fused {
    pub(super) update: Update,
    pub(super) initial: f64,
    /// Whether rows of a table that were not looked up stay as they are, and so does their state.
    pub(super) lazy: bool,
}

impl Fused {
    pub(super) fn new(kind: UpdateKind, decay: f64, decoupled: bool) -> Fused {
        Fused { update: Update { kind, decay: Real(decay), decoupled }, initial: 0.0, lazy: false }
    }
}

impl UpdateRule for Fused {
    fn name(&self) -> &'static str {
        match self.update.kind {
            UpdateKind::Sgd { .. } => "sgd",
            UpdateKind::Adam { .. } => "adam",
            UpdateKind::RmsProp { .. } => "rmsprop",
            UpdateKind::Adagrad { .. } => "adagrad",
        }
    }

    fn state(&self) -> Vec<State> {
        let names: &[&'static str] = match self.update.kind {
            UpdateKind::Sgd { .. } => &["velocity"],
            UpdateKind::Adam { .. } => &["mean", "mean_square"],
            UpdateKind::RmsProp { .. } => &["mean_square"],
            UpdateKind::Adagrad { .. } => &["sum_of_squares"],
        };
        names[..self.update.states()].iter().map(|&name| State { name, initial: self.initial }).collect()
    }

    fn without_decay(&self) -> Option<Arc<dyn UpdateRule>> {
        Some(Arc::new(Fused { update: Update { decay: Real(0.0), ..self.update }, ..*self }))
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn is_lazy(&self) -> bool {
        // Decay is of every row.
        self.lazy && self.update.decay.0 == 0.0
    }

    fn step(&self, weight: &Variable, gradient: &Tensor, rates: &Tensor, state: &[&Variable]) -> Result<()> {
        match gradient.rows() {
            Some(rows) if self.is_lazy() => weight.step_rows(self.update, rows, rates, state),
            _ => weight.step(self.update, gradient, rates, state),
        }
    }
}
