//! Examples normalised by themselves.

use crate::{Identity, Initializer, Layer, Maker, Model, Pass, Recipe, Weight};
use situ_core::{Result, Shape, TensorType};
use situ_tensor::Tensor;

/// The last axis with mean 0 and variance 1, then scaled and shifted by what is learned.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Layer, LayerNorm, Maker, Model, Pass};
/// let norm = LayerNorm::new().built(&[2], &mut Maker::new(0))?;
/// let y = norm.forward(&situ_tensor::tensor([[1.0f32, 9.0]])?, &Pass::inference())?.to_vec::<f32>()?;
/// assert!((y[0] + 1.0).abs() < 1e-3 && (y[1] - 1.0).abs() < 1e-3);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct LayerNorm {
    epsilon: f64,
    identity: Identity,
    scale: Option<Weight>,
    shift: Option<Weight>,
}

const KIND: &str = "LayerNorm";

impl Default for LayerNorm {
    fn default() -> LayerNorm {
        LayerNorm::new()
    }
}

impl LayerNorm {
    /// With an epsilon of 0.001.
    #[track_caller]
    pub fn new() -> LayerNorm {
        LayerNorm { epsilon: 1e-3, identity: Identity::of_caller(), scale: None, shift: None }
    }

    /// What is added to the variance.
    pub fn epsilon(self, epsilon: f64) -> LayerNorm {
        LayerNorm { epsilon, ..self }
    }

    /// With a name.
    pub fn named(self, name: impl Into<String>) -> LayerNorm {
        LayerNorm { identity: self.identity.named(name), ..self }
    }

    fn check(&self, input: TensorType, size: Option<usize>) -> Result<()> {
        let last = input.shape.dims().last().filter(|_| input.shape.rank() >= 2);
        if last.is_some_and(|last| size.is_none_or(|size| size == *last)) {
            return Ok(());
        }
        let size = size.map_or_else(|| "numbers".into(), |size| size.to_string());
        let wants = format!("[batch, .., {size}]");
        Err(self.identity.refuse(KIND, input, &wants, "reshape the input, or make the layer for it"))
    }
}

impl Model for LayerNorm {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        let scale = self.identity.value(KIND, &self.scale)?;
        let shift = self.identity.value(KIND, &self.shift)?;
        self.check(input.tensor_type(), Some(scale.elements()))?;
        input.layer_norm(&scale, &shift, self.epsilon).map_err(|error| self.identity.blame(error))
    }

    fn weights(&self) -> Vec<Weight> {
        self.scale.iter().chain(&self.shift).cloned().collect()
    }
}

impl Layer for LayerNorm {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        self.check(TensorType::new(maker.dtype(), *input), None)?;
        let size = input[input.rank() - 1];
        maker.make(&mut self.scale, &Recipe::new("scale", &[size], Initializer::Ones)?)?;
        maker.make(&mut self.shift, &Recipe::new("shift", &[size], Initializer::Zeros)?)?;
        Ok(*input)
    }
}
