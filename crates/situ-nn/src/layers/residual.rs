//! Layers whose input is added to their result.

use crate::{Activation, Identity, Layer, Maker, Model, Pass, Sequential, Weight};
use situ_core::{Result, Shape};
use situ_tensor::Tensor;

/// `activation(layers(x) + x)`, or `+ projection(x)` where the layers change the shape.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Activation, BatchNorm, Conv2D, Layer, Maker, Model, Pass, Residual};
/// use situ_tensor::Padding;
/// let block = Residual::new()
///     .add(Conv2D::new(32, [3, 3]).stride([2, 2]).padding(Padding::Same).use_bias(false))
///     .add(BatchNorm::new())
///     .projection(Conv2D::new(32, [1, 1]).stride([2, 2]))
///     .activation(Activation::Relu)
///     .built(&[16, 8, 8], &mut Maker::new(1))?;
/// let images = situ_tensor::zeros(&[4, 16, 8, 8], situ_core::DType::F32)?;
/// assert_eq!(block.forward(&images, &Pass::inference())?.shape().dims(), [4, 32, 4, 4]);
/// assert_eq!(block.weights()[0].name, "residual/conv2d/kernel");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Residual {
    body: Sequential,
    projection: Option<Box<dyn Layer>>,
    activation: Activation,
    identity: Identity,
}

const KIND: &str = "Residual";

impl Default for Residual {
    fn default() -> Residual {
        Residual::new()
    }
}

named_and_trainable!(Residual);

impl Residual {
    /// Without layers: twice its input.
    #[track_caller]
    pub fn new() -> Residual {
        Residual {
            body: Sequential::new(),
            projection: None,
            activation: Activation::Linear,
            identity: Identity::of_caller(),
        }
    }

    /// With one more layer at the end.
    #[expect(clippy::should_implement_trait, reason = "it adds a layer, as Sequential does, and no number")]
    pub fn add(self, layer: impl Layer + 'static) -> Residual {
        Residual { body: self.body.add(layer), ..self }
    }

    /// With a layer on the way past the others, which gives the input their result's shape.
    pub fn projection(self, layer: impl Layer + 'static) -> Residual {
        Residual { projection: Some(Box::new(layer)), ..self }
    }

    /// With a function applied to the sum.
    pub fn activation(self, activation: Activation) -> Residual {
        Residual { activation, ..self }
    }
}

impl Model for Residual {
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
        let _name = self.identity.enter_name();
        let _frozen = pass.through(&self.identity);
        let through = self.body.run(input, pass)?;
        let past = match &self.projection {
            Some(layer) => layer.forward(input, pass)?,
            None => input.clone(),
        };
        // The layers have scopes of their own; only the sum is this one's.
        let _site = self.identity.site().enter();
        let sum = through.add(&past).map_err(|error| self.identity.blame(error))?;
        self.activation.apply(&sum)
    }

    fn weights(&self) -> Vec<Weight> {
        let mut weights = self.body.weights();
        weights.extend(self.projection.iter().flat_map(|layer| layer.weights()));
        self.identity.held(weights)
    }
}

impl Layer for Residual {
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
        self.identity.take_path(maker);
        let through = self.body.build(input, maker)?;
        let past = match &mut self.projection {
            Some(layer) => maker.build(&mut **layer, input)?.1,
            None => *input,
        };
        if through != past {
            let why = format!("its layers make {through} of {input}, and what goes past them is {past}");
            let help = "keep the shape, or give the block a projection that changes it in the same way";
            return Err(self.identity.reject(KIND, &why, help));
        }
        Ok(through)
    }
}
