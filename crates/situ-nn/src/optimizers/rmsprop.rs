//! RMSprop.

use super::rule::Fused;
use super::{Clip, Optimizer, Schedule, State, UpdateRule};
use situ_core::{Error, Real, Result};
use situ_ir::ops::UpdateKind;
use situ_tensor::{Tensor, Variable};
use std::sync::Arc;

/// Steps by the gradient over the root of its mean square.
///
/// ```
/// use situ_nn::optimizers::{Optimizer, RmsProp};
/// let like_keras: Optimizer = RmsProp { rho: 0.9, epsilon: 1e-7, ..RmsProp::new(1e-3) }.into();
/// let for_long_runs: Optimizer = RmsProp { momentum: 0.9, centered: true, ..RmsProp::new(1e-3) }.into();
/// ```
#[derive(Clone, Debug)]
pub struct RmsProp {
    /// The learning rate.
    pub rate: Schedule,
    /// How much of the mean square stays.
    pub rho: f64,
    /// Added to the root.
    pub epsilon: f64,
    /// How much of the velocity stays. 0: no velocity is kept.
    pub momentum: f64,
    /// Whether the root is of the variance: of the mean square less the square of the mean, which is then
    /// kept, too.
    pub centered: bool,
    /// Weight decay: so much of the weight is added to its gradient.
    pub decay: f64,
    /// What is done to gradients first.
    pub clip: Clip,
}

impl RmsProp {
    /// Rho 0.99, epsilon 1e-8, neither momentum nor centered: PyTorch's.
    pub fn new(rate: impl Into<Schedule>) -> RmsProp {
        let (momentum, centered, decay) = (0.0, false, 0.0);
        RmsProp { rate: rate.into(), rho: 0.99, epsilon: 1e-8, momentum, centered, decay, clip: Clip::None }
    }
}

impl From<RmsProp> for Optimizer {
    fn from(rms: RmsProp) -> Optimizer {
        let (rate, clip) = (rms.rate.clone(), rms.clip);
        let rule: Arc<dyn UpdateRule> = if rms.momentum == 0.0 && !rms.centered {
            let kind = UpdateKind::RmsProp { rho: Real(rms.rho), epsilon: Real(rms.epsilon) };
            Arc::new(Fused::new(kind, rms.decay, false))
        } else {
            let RmsProp { rho, epsilon, momentum, centered, decay, .. } = rms;
            Arc::new(Extended { rho, epsilon, momentum, centered, decay })
        };
        Optimizer { rule, rate, clip, decays: None }
    }
}

/// RMSprop with momentum, centered, or both: of elementwise ops, which a compiled step fuses.
#[derive(Debug)]
struct Extended {
    rho: f64,
    epsilon: f64,
    momentum: f64,
    centered: bool,
    decay: f64,
}

impl UpdateRule for Extended {
    fn without_decay(&self) -> Option<Arc<dyn UpdateRule>> {
        Some(Arc::new(Extended { decay: 0.0, ..*self }))
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn name(&self) -> &'static str {
        match (self.momentum != 0.0, self.centered) {
            (true, true) => "rmsprop_centered_momentum",
            (true, false) => "rmsprop_momentum",
            (false, _) => "rmsprop_centered",
        }
    }

    fn state(&self) -> Vec<State> {
        let mut names = vec!["mean_square"];
        names.extend(self.centered.then_some("mean"));
        names.extend((self.momentum != 0.0).then_some("velocity"));
        names.into_iter().map(|name| State { name, initial: 0.0 }).collect()
    }

    fn step(&self, weight: &Variable, gradient: &Tensor, rates: &Tensor, state: &[&Variable]) -> Result<()> {
        let rate = rates.narrow(0, 0, 1)?.reshape(&[])?;
        let mut gradient = gradient.clone();
        if self.decay != 0.0 {
            gradient = gradient.add(&(&weight.value() * self.decay)?)?;
        }
        let wanted = self.state().len();
        let (Some((mean_square, further)), true) = (state.split_first(), state.len() == wanted) else {
            let why = format!("{} variables of state, and it keeps {wanted}", state.len());
            return Err(Error::argument("rmsprop", why, "give those of UpdateRule::state, in that order"));
        };
        let follow = |mean: &Variable, value: &Tensor| -> Result<Tensor> {
            let moved = (&mean.value() * self.rho)?.add(&(value * (1.0 - self.rho))?)?;
            mean.assign(&moved)?;
            Ok(moved)
        };
        let mut spread = follow(mean_square, &gradient.square()?)?;
        if self.centered {
            let mean = follow(further[0], &gradient)?;
            // Rounding must not leave a variance below zero.
            spread = spread.sub(&mean.square()?)?.relu()?;
        }
        let mut step = gradient.div(&(&spread.sqrt()? + self.epsilon)?)?;
        if self.momentum != 0.0 {
            let velocity = further[further.len() - 1];
            step = (&velocity.value() * self.momentum)?.add(&step)?;
            velocity.assign(&step)?;
        }
        weight.assign_sub(&step.mul(&rate)?)
    }
}
