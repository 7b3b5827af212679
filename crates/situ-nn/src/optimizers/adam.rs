//! Adam, with weight decay in the gradient or apart from it.

use super::rule::Fused;
use super::{Clip, Optimizer, Schedule};
use situ_core::Real;
use situ_ir::ops::UpdateKind;
use std::sync::Arc;

/// Steps by the mean of gradients over the root of their mean square, both corrected for their start at zero.
///
/// ```
/// use situ_nn::optimizers::{Adam, Clip, Optimizer};
/// let usual: Optimizer = Adam::new(1e-3).into();
/// let clipped: Optimizer = Adam { clip: Clip::GlobalNorm(1.0), ..Adam::new(1e-3) }.into();
/// ```
#[derive(Clone, Debug)]
pub struct Adam {
    /// The learning rate.
    pub rate: Schedule,
    /// How much of the mean stays.
    pub beta1: f64,
    /// How much of the mean square stays.
    pub beta2: f64,
    /// Added to the root of the corrected mean square.
    pub epsilon: f64,
    /// Weight decay: so much of the weight is added to its gradient.
    pub decay: f64,
    /// What is done to gradients first.
    pub clip: Clip,
    /// Of a table that is only looked up in, changes the rows of the batch alone, with their means: the
    /// others wait until they are looked up again, as PyTorch's `SparseAdam` has it. Plain Adam goes on
    /// moving every row by what is left of its mean, which for a table of a million rows is nearly all of a
    /// step. Weight decay is of every row, so that with it steps are those of plain Adam.
    pub lazy: bool,
}

impl Adam {
    /// Betas 0.9 and 0.999, epsilon 1e-8: PyTorch's.
    pub fn new(rate: impl Into<Schedule>) -> Adam {
        Adam {
            rate: rate.into(),
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            decay: 0.0,
            clip: Clip::None,
            lazy: false,
        }
    }

    fn optimizer(self, decoupled: bool) -> Optimizer {
        let kind = UpdateKind::Adam {
            beta1: Real(self.beta1),
            beta2: Real(self.beta2),
            epsilon: Real(self.epsilon),
        };
        Optimizer {
            rule: Arc::new(Fused { lazy: self.lazy, ..Fused::new(kind, self.decay, decoupled) }),
            rate: self.rate,
            clip: self.clip,
            decays: None,
        }
    }
}

impl From<Adam> for Optimizer {
    fn from(adam: Adam) -> Optimizer {
        adam.optimizer(false)
    }
}

/// [`Adam`] with weight decay apart from the gradient: the weight is first multiplied by `1 − rate · decay`.
///
/// ```
/// use situ_nn::optimizers::{AdamW, Optimizer, Schedule};
/// let rate = Schedule::cosine(3e-4, 100, 10_000);
/// let optimizer: Optimizer = AdamW { decay: 0.1, ..AdamW::new(rate) }.into();
/// ```
///
/// All weights decay, as PyTorch has it: [`AdamW::decay_only`] leaves biases and norms out.
#[derive(Clone, Debug)]
pub struct AdamW {
    /// The learning rate.
    pub rate: Schedule,
    /// How much of the mean stays.
    pub beta1: f64,
    /// How much of the mean square stays.
    pub beta2: f64,
    /// Added to the root of the corrected mean square.
    pub epsilon: f64,
    /// Weight decay: what a step takes away of a weight is this, times the rate, times the weight.
    pub decay: f64,
    /// What is done to gradients first.
    pub clip: Clip,
}

impl AdamW {
    /// Betas 0.9 and 0.999, epsilon 1e-8, decay 0.01: PyTorch's.
    pub fn new(rate: impl Into<Schedule>) -> AdamW {
        AdamW { rate: rate.into(), beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decay: 0.01, clip: Clip::None }
    }
}

impl From<AdamW> for Optimizer {
    fn from(adam: AdamW) -> Optimizer {
        let AdamW { rate, beta1, beta2, epsilon, decay, clip } = adam;
        Adam { rate, beta1, beta2, epsilon, decay, clip, lazy: false }.optimizer(true)
    }
}
