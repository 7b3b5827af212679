//! Normalisation over the last axis.

use super::{Attributes, Given, Rule, arity, float_only, same_dtype};
use crate::work::{Work, WorkClass};
use situ_core::{Error, Real, Result, TensorType};

/// `(x − mean) / √(variance + epsilon) · scale + shift` over the last axis; inputs are x, scale and shift.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LayerNorm {
    /// Added to the variance.
    pub epsilon: Real,
}

impl Rule for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn names() -> &'static [&'static str] {
        &["layer_norm"]
    }

    fn attributes(&self) -> Attributes {
        Attributes::none().with("epsilon", self.epsilon)
    }

    fn read(_: &str, given: &mut Given) -> Result<LayerNorm> {
        Ok(LayerNorm { epsilon: given.real("epsilon")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 3)?;
        let dtype = same_dtype(op, inputs)?;
        float_only(op, inputs, dtype)?;
        let x = inputs[0].shape;
        let fits = |t: &TensorType| x.rank() > 0 && t.shape.rank() == 1 && t.shape[0] == x[x.rank() - 1];
        if !fits(&inputs[1]) || !fits(&inputs[2]) {
            return Err(Error::operands(
                op,
                inputs,
                "scale and shift must have one axis, as long as the last axis of the first input",
                "make them the size of the last axis",
            ));
        }
        if !self.epsilon.0.is_finite() || self.epsilon.0 < 0.0 {
            return Err(Error::operands(
                op,
                inputs,
                format!("epsilon is {}", self.epsilon.0),
                "give a small number that is not negative, such as 1e-5",
            ));
        }
        Ok(inputs[0])
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Reduce, 8.0, inputs, outputs)
    }
}
