//! A layer of one's own beside those of the crate: it has a name, weights, and the device it was made for.

use situ::nn::{Dense, Identity, Initializer, Layer, Maker, Model, Pass, Recipe, Sequential, Weight};
use situ::prelude::*;

/// `x · scale` over the last axis, with a scale for each feature that is learned.
#[derive(Debug)]
pub(crate) struct Scale {
    identity: Identity,
    scale: Option<Weight>,
}

impl Scale {
    #[track_caller]
    pub(crate) fn new() -> Scale {
        // The scope around this call is where its weights will be, and where its ops will run.
        Scale { identity: Identity::here(), scale: None }
    }
}

impl Model for Scale {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        input.mul(&self.identity.value("Scale", &self.scale)?)
    }

    fn weights(&self) -> Vec<Weight> {
        self.identity.held(self.scale.clone())
    }
}

impl Layer for Scale {
    fn kind(&self) -> &'static str {
        "Scale"
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn identity_mut(&mut self) -> Option<&mut Identity> {
        Some(&mut self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        let features = input[input.rank() - 1];
        maker.make(&mut self.scale, &Recipe::new("scale", &[features], Initializer::Ones)?)?;
        // The shape of what it gives.
        Ok(*input)
    }
}

pub(crate) fn program() -> Result<(Sequential, Tensor)> {
    // The layer on the CPU, the product behind it on the GPU if there is one.
    let scale = situ::with_device("/CPU:0", || Ok(Scale::new()))?;
    let dense = situ::with_device("/GPU:0", || Ok(Dense::new(4)))?;
    let model = Sequential::new().add(scale).add(dense).built(&[8], &mut Maker::new(1))?;
    let y = model.forward(&situ::ones(&[2, 8], DType::F32)?, &Pass::inference())?;
    Ok((model, y))
}

pub(crate) fn main() -> Result<()> {
    let (model, y) = program()?;
    println!("{}\n{y}", model.summary());
    for weight in model.weights() {
        println!("{} on {}", weight.name, weight.variable.device());
    }
    Ok(())
}
