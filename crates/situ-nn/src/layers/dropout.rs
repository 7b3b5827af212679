//! Numbers left out at random while a model is trained.

use crate::{Identity, Layer, Maker, Model, Pass, Weight};
use situ_core::{Result, Shape};
use situ_tensor::Tensor;

/// In training, each number zero with probability `rate`, else divided by `1 − rate`; otherwise nothing.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Dropout, Model, Pass};
/// let x = situ_tensor::ones(&[4, 100], situ_core::DType::F32)?;
/// let layer = Dropout::new(0.5);
/// assert_eq!(layer.forward(&x, &Pass::inference())?.to_vec::<f32>()?, [1.0; 400]);
/// let y = layer.forward(&x, &Pass::training(7, None))?.to_vec::<f32>()?;
/// assert!(y.iter().all(|v| *v == 0.0 || *v == 2.0));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Dropout {
    rate: f64,
    identity: Identity,
}

const KIND: &str = "Dropout";

named!(Dropout);

impl Dropout {
    /// That leaves out this part of the numbers: from 0 to below 1.
    #[track_caller]
    pub fn new(rate: f64) -> Dropout {
        Dropout { rate, identity: Identity::of_caller() }
    }

    fn check(&self) -> Result<()> {
        if (0.0..1.0).contains(&self.rate) {
            return Ok(());
        }
        let why = format!("a rate of {}", self.rate);
        Err(self.identity.reject(KIND, &why, "give a number from 0 to below 1"))
    }
}

impl Model for Dropout {
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.check()?;
        // A draw is taken even where nothing is dropped, so that other layers draw the same whatever this
        // one's rate is.
        let draw = pass.draw();
        if !pass.is_training() || self.rate == 0.0 {
            return Ok(input.clone());
        }
        let _here = self.identity.enter();
        input.dropout(self.rate, draw, pass.step()).map_err(|error| self.identity.blame(error))
    }

    fn weights(&self) -> Vec<Weight> {
        Vec::new()
    }
}

impl Layer for Dropout {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        self.check()?;
        Ok(*input)
    }
}
