//! One step of an optimizer for one variable, in one pass over memory.

use super::{Attributes, Given, Outputs, Rule, float_only, unknown};
use crate::gradient::Differentiability;
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Real, Result, TensorType};

/// How a step is made from the gradient.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UpdateKind {
    /// Gradient descent, with momentum: `v ← momentum · v + g`, then `p − rate · v`, or with Nesterov's
    /// `g + momentum · v` in place of v. State: the velocity, if there is momentum.
    Sgd {
        /// 0 for none.
        momentum: Real,
        /// Whether the step looks ahead.
        nesterov: bool,
    },
    /// Adam: means of g and of g², corrected for their start at zero. State: the two means.
    Adam {
        /// How much of the mean stays.
        beta1: Real,
        /// How much of the mean square stays.
        beta2: Real,
        /// Added to the root.
        epsilon: Real,
    },
    /// `g / √(mean of g²)`. State: the mean square.
    RmsProp {
        /// How much of the mean square stays.
        rho: Real,
        /// Added to the root.
        epsilon: Real,
    },
    /// `g / √(sum of g²)`. State: the sum.
    Adagrad {
        /// Added to the root.
        epsilon: Real,
    },
}

/// A step. Inputs are the parameter, its gradient, the rates (two numbers: the learning rate, and the number
/// of this step from 1 on), and the state; outputs the new parameter and the new state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Update {
    /// How the step is made from the gradient.
    pub kind: UpdateKind,
    /// Part of the parameter that is taken off.
    pub decay: Real,
    /// Whether decay is apart from the gradient (AdamW's way: `p − rate · decay · p`) or added to it
    /// (`g + decay · p`).
    pub decoupled: bool,
}

impl Update {
    /// How many tensors of state it has.
    pub fn states(&self) -> usize {
        match self.kind {
            UpdateKind::Sgd { momentum, .. } => usize::from(momentum.0 != 0.0),
            UpdateKind::Adam { .. } => 2,
            UpdateKind::RmsProp { .. } | UpdateKind::Adagrad { .. } => 1,
        }
    }

    /// Whether an element whose gradient is zero stays as it is, and so does its state: then a step by a
    /// gradient that is zero but for some rows is a step of these rows.
    pub fn is_local(&self) -> bool {
        let local = match self.kind {
            UpdateKind::Sgd { momentum, .. } => momentum.0 == 0.0,
            // Zero over zero is no number.
            UpdateKind::Adagrad { epsilon } => epsilon.0 > 0.0,
            UpdateKind::Adam { .. } | UpdateKind::RmsProp { .. } => false,
        };
        local && self.decay.0 == 0.0
    }

    /// The numbers of the kind: what kernels are given.
    pub fn numbers(&self) -> [f64; 3] {
        match self.kind {
            UpdateKind::Sgd { momentum, .. } => [momentum.0, 0.0, 0.0],
            UpdateKind::Adam { beta1, beta2, epsilon } => [beta1.0, beta2.0, epsilon.0],
            UpdateKind::RmsProp { rho, epsilon } => [rho.0, 0.0, epsilon.0],
            UpdateKind::Adagrad { epsilon } => [0.0, 0.0, epsilon.0],
        }
    }
}

impl Rule for Update {
    const NAMES: &'static [&'static str] = &["sgd", "adam", "rmsprop", "adagrad"];

    fn name(&self) -> &'static str {
        match self.kind {
            UpdateKind::Sgd { .. } => "sgd",
            UpdateKind::Adam { .. } => "adam",
            UpdateKind::RmsProp { .. } => "rmsprop",
            UpdateKind::Adagrad { .. } => "adagrad",
        }
    }

    fn attributes(&self) -> Attributes {
        let list = Attributes::none();
        let list = match self.kind {
            UpdateKind::Sgd { momentum, nesterov } => {
                list.with("momentum", momentum).flag("nesterov", nesterov)
            }
            UpdateKind::Adam { beta1, beta2, epsilon } => {
                list.with("beta1", beta1).with("beta2", beta2).with("epsilon", epsilon)
            }
            UpdateKind::RmsProp { rho, epsilon } => list.with("rho", rho).with("epsilon", epsilon),
            UpdateKind::Adagrad { epsilon } => list.with("epsilon", epsilon),
        };
        list.with("decay", self.decay).flag("decoupled", self.decoupled)
    }

    fn read(name: &str, given: &mut Given) -> Result<Update> {
        let kind = match name {
            "sgd" => UpdateKind::Sgd { momentum: given.real("momentum")?, nesterov: given.flag("nesterov")? },
            "adam" => UpdateKind::Adam {
                beta1: given.real("beta1")?,
                beta2: given.real("beta2")?,
                epsilon: given.real("epsilon")?,
            },
            "rmsprop" => UpdateKind::RmsProp { rho: given.real("rho")?, epsilon: given.real("epsilon")? },
            "adagrad" => UpdateKind::Adagrad { epsilon: given.real("epsilon")? },
            other => return Err(unknown(other)),
        };
        Ok(Update { kind, decay: given.real("decay")?, decoupled: given.flag("decoupled")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        let wanted = 3 + self.states();
        let fits = inputs.len() == wanted
            && inputs.iter().enumerate().all(|(n, t)| n == 2 || t.shape == inputs[0].shape)
            && inputs[2].shape.dims() == [2];
        if !fits {
            return Err(Error::operands(
                op,
                inputs,
                format!(
                    "takes the parameter, its gradient, two rates and {} tensors of state, all but the rates of one shape",
                    self.states()
                ),
                "give the rates as [learning rate, step], and state that begins with zeros",
            ));
        }
        // Floats of 16 bits can't count steps: the rates beside them are f32.
        let rates = if inputs[0].dtype.is_half() { DType::F32 } else { inputs[0].dtype };
        let same =
            inputs.iter().enumerate().all(|(n, t)| t.dtype == if n == 2 { rates } else { inputs[0].dtype });
        if !same {
            return Err(Error::operands(
                op,
                inputs,
                format!("the rates must be {rates}, and the others of one dtype"),
                "cast them",
            ));
        }
        float_only(op, inputs, inputs[0].dtype)?;
        let numbers = self.numbers();
        if numbers.iter().chain([&self.decay.0]).any(|n| !n.is_finite()) {
            return Err(Error::operands(
                op,
                inputs,
                format!("its numbers are {numbers:?} and {}", self.decay.0),
                "give finite ones",
            ));
        }
        Ok(inputs[0])
    }

    fn outputs(&self, inputs: &[TensorType]) -> Result<Outputs> {
        let parameter = self.infer(inputs)?;
        Ok((0..=self.states()).map(|_| parameter).collect())
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Elementwise, 12.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Flat
    }
}
