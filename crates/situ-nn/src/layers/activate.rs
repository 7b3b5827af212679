//! An activation as a layer of its own.

use crate::{Activation, Identity, Layer, Maker, Model, Pass, Weight};
use situ_core::{Result, Shape};
use situ_tensor::Tensor;

/// Applies an activation: where it is to stand apart from the layer before it, or to run somewhere else.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Activate, Activation, Dense, Sequential};
/// let on_the_cpu = situ_tensor::with_device("/CPU:0", || Ok(Activate::new(Activation::Softmax)))?;
/// let model = Sequential::new().add(Dense::new(365)).add(on_the_cpu);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Activate {
    activation: Activation,
    identity: Identity,
}

named!(Activate);

impl Activate {
    /// A layer that applies that activation.
    #[track_caller]
    pub fn new(activation: Activation) -> Activate {
        Activate { activation, identity: Identity::of_caller() }
    }
}

impl Model for Activate {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        self.activation.apply(input).map_err(|error| self.identity.blame(error))
    }

    fn weights(&self) -> Vec<Weight> {
        Vec::new()
    }
}

impl Layer for Activate {
    fn kind(&self) -> &'static str {
        "Activate"
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        Ok(*input)
    }
}
