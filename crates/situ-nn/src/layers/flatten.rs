//! All numbers of an example in one row.

use crate::{Identity, Layer, Maker, Model, Pass, Weight};
use situ_core::{Result, Shape, TensorType};
use situ_tensor::Tensor;

/// `[batch, ..]` as `[batch, numbers]`.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Flatten, Model, Pass};
/// let images = situ_tensor::zeros(&[8, 28, 28], situ_core::DType::F32)?;
/// assert_eq!(Flatten::new().forward(&images, &Pass::inference())?.shape().dims(), [8, 784]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Flatten(Identity);

const KIND: &str = "Flatten";

impl Default for Flatten {
    fn default() -> Flatten {
        Flatten::new()
    }
}

impl Flatten {
    /// A layer that keeps the batch, and joins all other axes.
    #[track_caller]
    pub fn new() -> Flatten {
        Flatten(Identity::of_caller())
    }

    /// With a name.
    pub fn named(self, name: impl Into<String>) -> Flatten {
        Flatten(self.0.named(name))
    }

    fn sizes(&self, input: TensorType) -> Result<[usize; 2]> {
        match input.shape.dims() {
            [] => Err(self.0.refuse(KIND, input, "[batch, ..]", "give it the axis of the batch")),
            [batch, rest @ ..] => Ok([*batch, rest.iter().product()]),
        }
    }
}

impl Model for Flatten {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.0.enter();
        let [batch, numbers] = self.sizes(input.tensor_type())?;
        input.reshape(&[batch as isize, numbers as isize])
    }

    fn weights(&self) -> Vec<Weight> {
        Vec::new()
    }
}

impl Layer for Flatten {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.0)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.0.build(maker);
        Shape::new(&self.sizes(TensorType::new(maker.dtype(), *input))?)
    }
}
