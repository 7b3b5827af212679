//! A layer in which every output depends on every input.

use crate::{Activation, Identity, Initializer, Layer, Maker, Model, Pass, Penalty, Recipe, Weight};
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
    activation: Activation,
    use_bias: bool,
    kernel_initializer: Initializer,
    bias_initializer: Initializer,
    kernel_penalty: Penalty,
    bias_penalty: Penalty,
    identity: Identity,
    kernel: Option<Weight>,
    bias: Option<Weight>,
}

const KIND: &str = "Dense";

impl Dense {
    /// With that many outputs, a bias of zeros, a kernel by Glorot, and no activation.
    #[track_caller]
    pub fn new(units: usize) -> Dense {
        Dense {
            units,
            activation: Activation::Linear,
            use_bias: true,
            kernel_initializer: Initializer::GlorotUniform,
            bias_initializer: Initializer::Zeros,
            kernel_penalty: Penalty::default(),
            bias_penalty: Penalty::default(),
            identity: Identity::of_caller(),
            kernel: None,
            bias: None,
        }
    }

    /// With a function applied to its result.
    pub fn activation(self, activation: Activation) -> Dense {
        Dense { activation, ..self }
    }

    /// With a bias, or without.
    pub fn use_bias(self, use_bias: bool) -> Dense {
        Dense { use_bias, ..self }
    }

    /// How the kernel begins.
    pub fn kernel_initializer(self, kernel_initializer: Initializer) -> Dense {
        Dense { kernel_initializer, ..self }
    }

    /// How the bias begins.
    pub fn bias_initializer(self, bias_initializer: Initializer) -> Dense {
        Dense { bias_initializer, ..self }
    }

    /// What the loss adds for the kernel.
    pub fn kernel_penalty(self, kernel_penalty: Penalty) -> Dense {
        Dense { kernel_penalty, ..self }
    }

    /// What the loss adds for the bias.
    pub fn bias_penalty(self, bias_penalty: Penalty) -> Dense {
        Dense { bias_penalty, ..self }
    }

    /// With a name.
    pub fn named(self, name: impl Into<String>) -> Dense {
        Dense { identity: self.identity.named(name), ..self }
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
        let kernel = self.identity.value(KIND, &self.kernel)?;
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
        if self.use_bias {
            y = y.bias_add(&self.identity.value(KIND, &self.bias)?)?;
        }
        y = self.activation.apply(&y)?;
        if shape.rank() > 2 {
            let mut dims: Vec<isize> = shape.dims().iter().map(|&d| d as isize).collect();
            dims[shape.rank() - 1] = self.units as isize;
            y = y.reshape(&dims)?;
        }
        Ok(y)
    }

    fn weights(&self) -> Vec<Weight> {
        self.kernel.iter().chain(&self.bias).cloned().collect()
    }
}

impl Layer for Dense {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        let _here = self.identity.build(maker);
        let rank = input.rank();
        if rank < 2 {
            return Err(self.refuse(TensorType::new(maker.dtype(), *input), "[batch, .., inputs]"));
        }
        let kernel = Recipe::new("kernel", &[input[rank - 1], self.units], self.kernel_initializer)?;
        maker.make(&mut self.kernel, &Recipe { penalty: self.kernel_penalty, ..kernel })?;
        if self.use_bias {
            let bias = Recipe::new("bias", &[self.units], self.bias_initializer)?;
            maker.make(&mut self.bias, &Recipe { penalty: self.bias_penalty, ..bias })?;
        }
        input.with_dim(rank - 1, self.units)
    }
}
