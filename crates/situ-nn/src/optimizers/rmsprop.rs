//! RMSprop.

use super::rule::Fused;
use super::{Clip, Optimizer, Schedule};
use situ_core::Real;
use situ_ir::ops::UpdateKind;
use std::sync::Arc;

/// Steps by the gradient over the root of its mean square.
///
/// ```
/// use situ_nn::optimizers::{Optimizer, RmsProp};
/// let like_keras: Optimizer = RmsProp { rho: 0.9, epsilon: 1e-7, ..RmsProp::new(1e-3) }.into();
/// ```
#[derive(Clone, Debug)]
pub struct RmsProp {
    /// The learning rate.
    pub rate: Schedule,
    /// How much of the mean square stays.
    pub rho: f64,
    /// Added to the root.
    pub epsilon: f64,
    /// Weight decay: so much of the weight is added to its gradient.
    pub decay: f64,
    /// What is done to gradients first.
    pub clip: Clip,
}

impl RmsProp {
    /// Rho 0.99, epsilon 1e-8: PyTorch's.
    pub fn new(rate: impl Into<Schedule>) -> RmsProp {
        RmsProp { rate: rate.into(), rho: 0.99, epsilon: 1e-8, decay: 0.0, clip: Clip::None }
    }
}

impl From<RmsProp> for Optimizer {
    fn from(rms: RmsProp) -> Optimizer {
        let kind = UpdateKind::RmsProp { rho: Real(rms.rho), epsilon: Real(rms.epsilon) };
        Optimizer { rule: Arc::new(Fused::new(kind, rms.decay, false)), rate: rms.rate, clip: rms.clip }
    }
}
