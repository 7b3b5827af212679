//! Optimizers: how weights change by their gradients.
//!
//! An optimizer is data: a rule (the arithmetic), a schedule (the learning rate of each step) and clipping.
//! [`Stepper`] binds it to weights, and holds their state.
//!
//! # Promises
//! - The state of a weight lives on the weight's device; a step of a weight is one kernel there.
//! - The learning rate and the number of the step are values, not constants of a compiled step: a schedule
//!   traces nothing again.
//! - Arithmetic is PyTorch's, down to where epsilon is added: behind the root (`√v + ε`), and for Adam behind
//!   the root of the corrected mean square (`√(v / (1 − β₂ᵗ)) + ε`). Keras' Adam puts it before the
//!   correction, and its momentum holds the learning rate: the first differs in the last digits, the second
//!   only while the rate changes.
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
pub(crate) use stepper::Bound;
pub use stepper::Stepper;

use crate::Weight;
use situ_core::{Result, Shape};
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
    /// Which weights the rule's weight decay is for; `None`: all. See [`Optimizer::decay_only`].
    pub decays: Option<Decays>,
}

/// Whether a weight decays, by its name (`block/dense/kernel`) and its shape.
#[derive(Clone)]
pub struct Decays(Arc<Decide>);

type Decide = dyn Fn(&str, &Shape) -> bool + Send + Sync;

impl std::fmt::Debug for Decays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decays")
    }
}

/// Whether a weight is a kernel or an embedding, and no bias, nor the scale or shift of a norm: it has two
/// axes or more. For [`Optimizer::decay_only`].
///
/// ```
/// use situ_core::Shape;
/// use situ_nn::optimizers::kernels;
/// assert!(kernels("dense/kernel", &Shape::new(&[784, 128]).unwrap()));
/// assert!(!kernels("dense/bias", &Shape::new(&[128]).unwrap()));
/// ```
pub fn kernels(_name: &str, shape: &Shape) -> bool {
    shape.rank() >= 2
}

macro_rules! decay_only {
    ($($optimizer:ident)*) => {$(
        impl $optimizer {
            /// With weight decay for those weights alone of which `decays` says so, by name and shape: see
            /// [`Optimizer::decay_only`].
            pub fn decay_only(self, decays: impl Fn(&str, &Shape) -> bool + Send + Sync + 'static) -> Optimizer {
                Optimizer::from(self).decay_only(decays)
            }
        }
    )*};
}
decay_only! { Adagrad Adam AdamW RmsProp Sgd }

impl Optimizer {
    /// For the program's own rule.
    pub fn new(rule: impl UpdateRule + 'static, rate: impl Into<Schedule>) -> Optimizer {
        Optimizer { rule: Arc::new(rule), rate: rate.into(), clip: Clip::None, decays: None }
    }

    /// With weight decay for those weights alone of which `decays` says so, by name and shape. By default all
    /// weights decay, as in PyTorch; for large models it is usual to leave out biases and the scales and
    /// shifts of norms, as [`kernels`] does.
    ///
    /// ```
    /// use situ_nn::optimizers::{AdamW, kernels};
    /// let usual = AdamW { decay: 0.1, ..AdamW::new(3e-4) }.decay_only(kernels);
    /// let but_the_head =
    ///     AdamW::new(3e-4).decay_only(|name, shape| kernels(name, shape) && !name.starts_with("head/"));
    /// ```
    pub fn decay_only(self, decays: impl Fn(&str, &Shape) -> bool + Send + Sync + 'static) -> Optimizer {
        Optimizer { decays: Some(Decays(Arc::new(decays))), ..self }
    }

    /// The optimizer with state for the trainable ones of these weights.
    pub fn bind(&self, weights: &[Weight]) -> Result<Stepper> {
        Stepper::new(self, weights)
    }
}
