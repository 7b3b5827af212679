//! A convolution with the bias and the activation that follow it. Only grouping makes it; see
//! `passes::matmul_bias`.

use super::biased::{Biased, read_activation};
use super::window::Format;
use super::{Attributes, Binary, BinaryKind, Conv2d, Given, Part, Rule, Unary, arity, same_dtype};
use crate::gradient::{Application, Builder, Differentiability, Gradients};
use crate::work::Work;
use situ_core::{Error, Result, Shape, TensorType};

/// `activation(x ∗ filter + bias)`; inputs are the images, the filters and the bias, which has a number for
/// each channel of the result and broadcasts to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Conv2dBias {
    /// The convolution.
    pub conv: Conv2d,
    /// What is applied to each element of the sum, which must keep its dtype.
    pub activation: Option<Unary>,
}

impl Conv2dBias {
    fn biased(&self) -> Biased {
        Biased {
            name: "conv2d_bias",
            of: self.conv.into(),
            add: Binary { kind: BinaryKind::Add }.into(),
            activation: self.activation,
        }
    }

    /// Whether a tensor of this shape has a number for each channel of a result of that one, and broadcasts
    /// along its channels.
    pub fn is_bias(&self, bias: &Shape, result: &Shape) -> bool {
        let channels = match self.conv.window.format {
            Format::ChannelsFirst => 1,
            Format::ChannelsLast => result.rank() - 1,
        };
        let from_last = result.rank() - channels;
        bias.rank() >= from_last
            && bias.rank() <= result.rank()
            && bias[bias.rank() - from_last] == result[channels]
            && bias.elements() == result[channels]
    }
}

impl Rule for Conv2dBias {
    const NAMES: &'static [&'static str] = &["conv2d_bias"];

    fn attributes(&self) -> Attributes {
        self.biased().attributes()
    }

    fn read(_: &str, given: &mut Given) -> Result<Conv2dBias> {
        let conv = <Conv2d as Rule>::read("conv2d", given)?;
        Ok(Conv2dBias { conv, activation: read_activation("conv2d_bias", given)? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("conv2d_bias", inputs, 3)?;
        same_dtype("conv2d_bias", inputs)?;
        let sum = self.conv.infer(&inputs[..2])?;
        if !self.is_bias(&inputs[2].shape, &sum.shape) {
            return Err(Error::operands(
                "conv2d_bias",
                inputs,
                format!("{} is no bias of {sum}", inputs[2].shape),
                "give a number for each channel, along the axis of channels",
            ));
        }
        self.biased().activated(inputs, sum)
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        self.biased().work(inputs, outputs)
    }

    fn parts(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part> {
        self.biased().parts(inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        self.biased().gradient(builder, at)
    }
}
