//! Gradient descent.

use super::rule::Fused;
use super::{Clip, Optimizer, Schedule};
use situ_core::Real;
use situ_ir::ops::UpdateKind;
use std::sync::Arc;

/// Gradient descent: `v ← momentum · v + g`, `w ← w − rate · v`, as PyTorch has it.
///
/// ```
/// use situ_nn::optimizers::{Optimizer, Sgd};
/// let plain: Optimizer = Sgd::new(0.1).into();
/// let with_momentum: Optimizer = Sgd { momentum: 0.9, nesterov: true, ..Sgd::new(0.1) }.into();
/// ```
#[derive(Clone, Debug)]
pub struct Sgd {
    /// The learning rate.
    pub rate: Schedule,
    /// How much of the velocity stays. 0: no velocity is kept.
    pub momentum: f64,
    /// Whether the step looks ahead: `g + momentum · v` in place of v.
    pub nesterov: bool,
    /// Weight decay: so much of the weight is added to its gradient.
    pub decay: f64,
    /// What is done to gradients first.
    pub clip: Clip,
}

impl Sgd {
    /// Gradient descent without momentum, at a rate.
    pub fn new(rate: impl Into<Schedule>) -> Sgd {
        Sgd { rate: rate.into(), momentum: 0.0, nesterov: false, decay: 0.0, clip: Clip::None }
    }
}

impl From<Sgd> for Optimizer {
    fn from(sgd: Sgd) -> Optimizer {
        let kind = UpdateKind::Sgd { momentum: Real(sgd.momentum), nesterov: sgd.nesterov };
        Optimizer {
            rule: Arc::new(Fused::new(kind, sgd.decay, false)),
            rate: sgd.rate,
            clip: sgd.clip,
            decays: None,
        }
    }
}
