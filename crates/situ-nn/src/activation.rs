//! Functions that layers end with.

use situ_core::Result;
use situ_tensor::Tensor;

/// What is applied to a layer's result.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Activation;
/// let x = situ_tensor::tensor([-2.0f32, 0.5])?;
/// assert_eq!(Activation::Relu.apply(&x)?.to_vec::<f32>()?, [0.0, 0.5]);
/// assert_eq!(Activation::LeakyRelu(0.1).apply(&x)?.to_vec::<f32>()?, [-0.2, 0.5]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Activation {
    /// The input as it is.
    #[default]
    Linear,
    /// max(x, 0).
    Relu,
    /// x between 0 and 6.
    Relu6,
    /// x, or that part of it below 0.
    LeakyRelu(f64),
    /// x, or that much of e^x − 1 below 0.
    Elu(f64),
    /// The elu that keeps mean and variance of normalised inputs.
    Selu,
    /// x·Φ(x).
    Gelu,
    /// 1/(1 + e^−x).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// e^x / Σ e^x over the last axis.
    Softmax,
    /// The logarithm of the softmax.
    LogSoftmax,
    /// log(1 + e^x).
    Softplus,
    /// x·sigmoid(x), also called silu.
    Swish,
}

/// The two numbers of selu, for which means of 0 and variances of 1 are kept.
const SELU: (f64, f64) = (1.050_700_987_355_480_5, 1.673_263_242_354_377_2);

impl Activation {
    /// The function of every element of `x`.
    #[track_caller]
    pub fn apply(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Activation::Linear => Ok(x.clone()),
            Activation::Relu => x.relu(),
            Activation::Relu6 => x.clip(0.0, 6.0),
            Activation::LeakyRelu(slope) => x.leaky_relu(slope),
            Activation::Elu(alpha) => x.elu(alpha),
            Activation::Selu => &x.elu(SELU.1)? * SELU.0,
            Activation::Gelu => x.gelu(),
            Activation::Sigmoid => x.sigmoid(),
            Activation::Tanh => x.tanh(),
            Activation::Softmax => x.softmax(-1),
            Activation::LogSoftmax => x.log_softmax(-1),
            Activation::Softplus => x.softplus(),
            Activation::Swish => x.silu(),
        }
    }
}
