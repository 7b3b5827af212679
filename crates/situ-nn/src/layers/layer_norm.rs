//! Examples normalised by themselves.

use super::scale_and_shift::ScaleAndShift;
use crate::{Identity, Layer, Maker, Model, Pass, Weight};
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
    weights: ScaleAndShift,
}

const KIND: &str = "LayerNorm";

impl Default for LayerNorm {
    fn default() -> LayerNorm {
        LayerNorm::new()
    }
}

with_scale_and_shift!(LayerNorm);

impl LayerNorm {
    /// With an epsilon of 0.001.
    #[track_caller]
    pub fn new() -> LayerNorm {
        LayerNorm { epsilon: 1e-3, identity: Identity::of_caller(), weights: ScaleAndShift::default() }
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
        self.check(input.tensor_type(), self.weights.size())?;
        let size = input.shape()[input.rank() - 1];
        let [scale, shift] = self.weights.values(KIND, &self.identity, size, input.dtype())?;
        input.layer_norm(&scale, &shift, self.epsilon).map_err(|error| self.identity.blame(error))
    }

    fn weights(&self) -> Vec<Weight> {
        self.identity.held(self.weights.iter().cloned())
    }
}

impl Layer for LayerNorm {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn identity_mut(&mut self) -> Option<&mut Identity> {
        Some(&mut self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        self.check(TensorType::new(maker.dtype(), *input), None)?;
        self.weights.make(maker, input[input.rank() - 1])?;
        Ok(*input)
    }
}
