//! Weights: variables of a model with a name, and how they are made.

use situ_core::{DType, Result};
use situ_tensor::random::Generator;
use situ_tensor::{Tensor, Variable};

/// What is added to the loss for a weight: `l1 · Σ|w| + l2 · Σw²`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Penalty {
    /// For the sum of magnitudes.
    pub l1: f64,
    /// For the sum of squares.
    pub l2: f64,
}

impl Penalty {
    /// Whether it adds nothing.
    pub fn is_none(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }

    /// What it adds for that value.
    #[track_caller]
    pub fn of(&self, value: &Tensor) -> Result<Tensor> {
        let squares = value.square()?.sum(&[])?;
        let squares = (&squares * self.l2)?;
        if self.l1 == 0.0 {
            return Ok(squares);
        }
        let magnitudes = value.abs()?.sum(&[])?;
        (&magnitudes * self.l1)?.add(&squares)
    }
}

/// A variable of a model. Clones are the same variable.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Its name in summaries and checkpoints: the layer's and its own, `dense/kernel`.
    pub name: String,
    /// What it holds.
    pub variable: Variable,
    /// Whether gradients change it. Running means, for one, are only assigned.
    pub trainable: bool,
    /// What the loss adds for it.
    pub penalty: Penalty,
}

/// Makes the weights of layers: from one seed, the same ones in the same order.
#[derive(Debug)]
pub struct Maker {
    generator: Generator,
    dtype: DType,
    layer: String,
}

impl Maker {
    /// For weights of f32.
    pub fn new(seed: u64) -> Maker {
        Maker { generator: Generator::new(seed), dtype: DType::F32, layer: String::new() }
    }

    /// For weights of another float dtype.
    pub fn of(self, dtype: DType) -> Maker {
        Maker { dtype, ..self }
    }

    /// The dtype of the weights.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where initialisers draw from.
    pub fn generator(&self) -> &Generator {
        &self.generator
    }

    /// Runs `body` with the names of what it makes below `layer`.
    pub fn within<T>(&mut self, layer: &str, body: impl FnOnce(&mut Maker) -> Result<T>) -> Result<T> {
        let before = self.layer.len();
        self.layer.push_str(layer);
        self.layer.push('/');
        let made = body(self);
        self.layer.truncate(before);
        made
    }

    /// A weight with that value, on the device of the scopes around the call.
    #[track_caller]
    pub fn weight(
        &mut self,
        name: &str,
        value: &Tensor,
        trainable: bool,
        penalty: Penalty,
    ) -> Result<Weight> {
        let variable = Variable::new(value)?;
        Ok(Weight { name: format!("{}{name}", self.layer), variable, trainable, penalty })
    }
}
