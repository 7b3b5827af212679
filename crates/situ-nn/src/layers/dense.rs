//! A layer in which every output depends on every input.

use super::kernel_and_bias::KernelAndBias;
use crate::{Activation, Fans, Identity, Initializer, Layer, Maker, Model, Pass, Penalty, Weight};
use situ_core::{Result, Shape, TensorType};
use situ_tensor::Tensor;

/// `activation(x · kernel + bias)` over the last axis.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Activation, Dense, Layer, Maker, Model, Pass, Penalty};
/// let hidden = Dense::new(128)
///     .activation(Activation::Relu)
///     .kernel_penalty(Penalty::l2(1e-4))
///     .named("hidden")
///     .built(&[784], &mut Maker::new(1))?;
/// let x = situ_tensor::zeros(&[32, 784], situ_core::DType::F32)?;
/// assert_eq!(hidden.forward(&x, &Pass::inference())?.shape().dims(), [32, 128]);
/// assert_eq!(hidden.weights()[1].name, "hidden/bias");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Dense {
    units: usize,
    weights: KernelAndBias,
    identity: Identity,
}

const KIND: &str = "Dense";

with_kernel_and_bias!(Dense);

impl Dense {
    /// With that many outputs, a bias of zeros, a kernel by Glorot, and no activation.
    #[track_caller]
    pub fn new(units: usize) -> Dense {
        Dense { units, weights: KernelAndBias::default(), identity: Identity::of_caller() }
    }

    fn refuse(&self, input: TensorType, wants: &str) -> situ_core::Error {
        self.identity.refuse(
            KIND,
            input,
            wants,
            "flatten, reshape or cast it, or make the layer for such inputs",
        )
    }
}

impl Model for Dense {
    fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
        let _here = self.identity.enter();
        let kernel = self.identity.value(KIND, &self.weights.kernel)?;
        let (shape, inputs) = (*input.shape(), kernel.shape()[0]);
        if shape.rank() < 2 || shape[shape.rank() - 1] != inputs || input.dtype() != kernel.dtype() {
            let wants = format!("{}[batch, .., {inputs}]", kernel.dtype());
            return Err(self.refuse(input.tensor_type(), &wants));
        }
        // Further axes before the last are more rows of the same product.
        let count: usize = shape.dims()[..shape.rank() - 1].iter().product();
        let rows = match shape.rank() {
            2 => input.clone(),
            _ => input.reshape(&[count as isize, inputs as isize])?,
        };
        let mut y = rows.matmul(&kernel)?;
        if self.weights.use_bias {
            y = y.bias_add(&self.identity.value(KIND, &self.weights.bias)?)?;
        }
        y = self.weights.activation.apply(&y)?;
        if shape.rank() > 2 {
            let mut dims: Vec<isize> = shape.dims().iter().map(|&d| d as isize).collect();
            dims[shape.rank() - 1] = self.units as isize;
            y = y.reshape(&dims)?;
        }
        Ok(y)
    }

    fn weights(&self) -> Vec<Weight> {
        self.weights.held(&self.identity)
    }
}

impl Layer for Dense {
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
        let rank = input.rank();
        if rank < 2 {
            return Err(self.refuse(TensorType::new(maker.dtype(), *input), "[batch, .., inputs]"));
        }
        let kernel = Shape::new(&[input[rank - 1], self.units])?;
        self.weights.make(maker, &kernel, Fans::of(&kernel), self.units)?;
        input.with_dim(rank - 1, self.units)
    }
}
