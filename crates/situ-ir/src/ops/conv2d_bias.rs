//! A convolution with the bias and the activation that follow it. Only grouping makes it; see
//! `passes::matmul_bias`.

use super::window::Format;
use super::{Attributes, Binary, BinaryKind, Conv2d, Given, Op, Part, Read, Rule, Unary, arity, same_dtype};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms, none, undefined};
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
        let list = Op::from(self.conv).attributes();
        match self.activation {
            Some(activation) => list.with("activation", Op::from(activation)),
            None => list,
        }
    }

    fn read(_: &str, given: &mut Given) -> Result<Conv2dBias> {
        let conv = <Conv2d as Rule>::read("conv2d", given)?;
        let activation = match given.op("activation")? {
            None => None,
            Some(Op::Unary(op)) => Some(op),
            Some(other) => {
                return Err(Error::argument(
                    "conv2d_bias",
                    format!("{} is no activation", other.name()),
                    "give a function of one input, such as relu()",
                ));
            }
        };
        Ok(Conv2dBias { conv, activation })
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
        let out = self.activation.map_or(Ok(sum), |op| op.infer(&[sum]))?;
        if out != sum {
            return Err(Error::operands(
                "conv2d_bias",
                inputs,
                format!("the activation gives {out}"),
                "use one that keeps the dtype",
            ));
        }
        Ok(out)
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Op::from(self.conv).work(&inputs[..2], outputs);
        work.bytes += inputs[2].bytes() as f64;
        let unit = outputs.first().map_or(0, |t| t.shape.elements()) as f64;
        work.flops += unit + self.activation.map_or(0.0, |op| op.work(outputs, outputs).flops);
        work
    }

    fn parts(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part> {
        let ([x, filter, bias], [out]) = (inputs, outputs) else { return Vec::new() };
        let part = |op: Op, reads: Vec<Read>, inputs: Vec<TensorType>| Part {
            op,
            reads,
            gives: Vec::new(),
            inputs,
            outputs: vec![*out],
        };
        let sum = Op::from(Binary { kind: BinaryKind::Add });
        let mut parts = vec![
            part(self.conv.into(), vec![Read::Input(0), Read::Input(1)], vec![*x, *filter]),
            part(sum, vec![Read::Part(0), Read::Input(2)], vec![*out, *bias]),
        ];
        parts.extend(self.activation.map(|op| part(op.into(), vec![Read::Part(1)], vec![*out])));
        if let Some(last) = parts.last_mut() {
            last.gives.push(0);
        }
        parts
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let [x, filter, bias] = at.inputs else { return Err(undefined("conv2d_bias")) };
        let mut upstream = at.by_output()?.clone();
        let product = builder.emit(self.conv.into(), &[x, filter])?;
        if let Some(activation) = self.activation {
            let sum = builder.emit(Binary { kind: BinaryKind::Add }.into(), &[&product, bias])?;
            let at = Application {
                inputs: &[sum],
                outputs: at.outputs,
                upstream: &[Some(upstream)],
                wanted: &[true],
            };
            match Op::from(activation).gradient(builder, &at)?.pop().flatten() {
                Some(before) => upstream = before,
                None => return Ok(none(3)),
            }
        }
        let sides = Application {
            inputs: &at.inputs[..2],
            outputs: &[product],
            upstream: &[Some(upstream.clone())],
            wanted: &at.wanted[..2],
        };
        let mut list = Rule::gradient(&self.conv, builder, &sides)?;
        list.push(if at.wants(2) { Some(builder.summed_to(&upstream, builder.shape(bias))?) } else { None });
        Ok(list)
    }
}
