//! Adagrad.

use super::rule::Fused;
use super::{Clip, Optimizer, Schedule};
use situ_core::Real;
use situ_ir::ops::UpdateKind;
use std::sync::Arc;

/// Steps by the gradient over the root of the sum of all its squares so far.
///
/// ```
/// use situ_nn::optimizers::{Adagrad, Optimizer};
/// let like_keras: Optimizer = Adagrad { initial: 0.1, epsilon: 1e-7, ..Adagrad::new(1e-3) }.into();
/// ```
#[derive(Clone, Debug)]
pub struct Adagrad {
    /// The learning rate.
    pub rate: Schedule,
    /// What the sums begin with.
    pub initial: f64,
    /// Added to the root.
    pub epsilon: f64,
    /// Weight decay: so much of the weight is added to its gradient.
    pub decay: f64,
    /// What is done to gradients first.
    pub clip: Clip,
}

impl Adagrad {
    /// Sums from zero, epsilon 1e-10: PyTorch's.
    pub fn new(rate: impl Into<Schedule>) -> Adagrad {
        Adagrad { rate: rate.into(), initial: 0.0, epsilon: 1e-10, decay: 0.0, clip: Clip::None }
    }
}

impl From<Adagrad> for Optimizer {
    fn from(adagrad: Adagrad) -> Optimizer {
        let kind = UpdateKind::Adagrad { epsilon: Real(adagrad.epsilon) };
        let rule = Fused { initial: adagrad.initial, ..Fused::new(kind, adagrad.decay, false) };
        Optimizer { rule: Arc::new(rule), rate: adagrad.rate, clip: adagrad.clip, decays: None }
    }
}
