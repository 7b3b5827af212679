//! What a product and a convolution have in common once the bias and the activation that follow them are part
//! of the op.

use super::{Attributes, Given, Op, Part, Read, Rule, Unary};
use crate::gradient::{Application, Builder, Gradients, Terms, none, undefined};
use crate::work::Work;
use situ_core::{Error, Result, TensorType};

/// `activation(of(a, b) + bias)`, of three inputs.
pub(super) struct Biased {
    /// The name of the whole.
    pub(super) name: &'static str,
    /// What the bias is added to the result of.
    pub(super) of: Op,
    /// What adds the bias.
    pub(super) add: Op,
    /// What is applied to each element of the sum.
    pub(super) activation: Option<Unary>,
}

/// The activation among attributes.
pub(super) fn read_activation(name: &'static str, given: &mut Given) -> Result<Option<Unary>> {
    match given.op("activation")? {
        None => Ok(None),
        Some(Op::Unary(op)) => Ok(Some(op)),
        Some(other) => Err(Error::argument(
            name,
            format!("{} is no activation", other.name()),
            "give a function of one input, such as relu()",
        )),
    }
}

impl Biased {
    pub(super) fn attributes(&self) -> Attributes {
        let list = self.of.attributes();
        match self.activation {
            Some(activation) => list.with("activation", Op::from(activation)),
            None => list,
        }
    }

    /// The type of the result, of that of the sum.
    pub(super) fn activated(&self, inputs: &[TensorType], sum: TensorType) -> Result<TensorType> {
        let out = self.activation.map_or(Ok(sum), |op| op.infer(&[sum]))?;
        if out != sum {
            return Err(Error::operands(
                self.name,
                inputs,
                format!("the activation gives {out}"),
                "use one that keeps the dtype",
            ));
        }
        Ok(out)
    }

    pub(super) fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = self.of.work(&inputs[..2], outputs);
        work.bytes += inputs[2].bytes() as f64;
        let unit = outputs.first().map_or(0, |t| t.shape.elements()) as f64;
        work.flops += unit + self.activation.map_or(0.0, |op| op.work(outputs, outputs).flops);
        work
    }

    pub(super) fn parts(self, inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part> {
        let ([a, b, bias], [out]) = (inputs, outputs) else { return Vec::new() };
        let part = |op: Op, reads: Vec<Read>, inputs: Vec<TensorType>| Part {
            op,
            reads,
            gives: Vec::new(),
            inputs,
            outputs: vec![*out],
        };
        let mut parts = vec![
            part(self.of, vec![Read::Input(0), Read::Input(1)], vec![*a, *b]),
            part(self.add, vec![Read::Part(0), Read::Input(2)], vec![*out, *bias]),
        ];
        parts.extend(self.activation.map(|op| part(op.into(), vec![Read::Part(1)], vec![*out])));
        if let Some(last) = parts.last_mut() {
            last.gives.push(0);
        }
        parts
    }

    pub(super) fn gradient<B: Builder>(
        self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let [a, b, bias] = at.inputs else { return Err(undefined(self.name)) };
        let mut upstream = at.by_output()?.clone();
        let product = builder.emit(self.of.clone(), &[a, b])?;
        if let Some(activation) = self.activation {
            let sum = builder.emit(self.add, &[&product, bias])?;
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
        let mut list = self.of.gradient(builder, &sides)?;
        list.push(if at.wants(2) { Some(builder.summed_to(&upstream, builder.shape(bias))?) } else { None });
        Ok(list)
    }
}
