//! A matrix product with the bias and the activation that follow it. Only grouping makes it; see
//! `passes::matmul_bias`.

use super::{Attributes, BiasAdd, Given, Matmul, Op, Part, Read, Rule, Unary, arity};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms, none, undefined};
use crate::work::Work;
use situ_core::{Error, Result, TensorType};

/// `activation(a · b + bias)`; inputs are a, b and the bias, which runs along the last axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatmulBias {
    /// The product that the bias is added to.
    pub matmul: Matmul,
    /// What is applied to each element of the sum, which must keep its dtype.
    pub activation: Option<Unary>,
}

impl Rule for MatmulBias {
    const NAMES: &'static [&'static str] = &["matmul_bias"];

    fn attributes(&self) -> Attributes {
        let list = self.matmul.attributes();
        match self.activation {
            Some(activation) => list.with("activation", Op::from(activation)),
            None => list,
        }
    }

    fn read(_: &str, given: &mut Given) -> Result<MatmulBias> {
        let matmul = Matmul::read("matmul", given)?;
        let activation = match given.op("activation")? {
            None => None,
            Some(Op::Unary(op)) => Some(op),
            Some(other) => {
                return Err(Error::argument(
                    "matmul_bias",
                    format!("{} is no activation", other.name()),
                    "give a function of one input, such as relu()",
                ));
            }
        };
        Ok(MatmulBias { matmul, activation })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("matmul_bias", inputs, 3)?;
        let product = self.matmul.infer(&inputs[..2])?;
        let sum = BiasAdd.infer(&[product, inputs[2]])?;
        let out = self.activation.map_or(Ok(sum), |op| op.infer(&[sum]))?;
        if out != sum {
            return Err(Error::operands(
                "matmul_bias",
                inputs,
                format!("the activation gives {out}"),
                "use one that keeps the dtype",
            ));
        }
        Ok(out)
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = self.matmul.work(&inputs[..2], outputs);
        work.bytes += inputs[2].bytes() as f64;
        let unit = outputs.first().map_or(0, |t| t.shape.elements()) as f64;
        work.flops += unit + self.activation.map_or(0.0, |op| op.work(outputs, outputs).flops);
        work
    }

    fn parts(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part> {
        let ([a, b, bias], [out]) = (inputs, outputs) else { return Vec::new() };
        let part = |op: Op, reads: Vec<Read>, inputs: Vec<TensorType>| Part {
            op,
            reads,
            gives: Vec::new(),
            inputs,
            outputs: vec![*out],
        };
        let mut parts = vec![
            part(self.matmul.into(), vec![Read::Input(0), Read::Input(1)], vec![*a, *b]),
            part(BiasAdd.into(), vec![Read::Part(0), Read::Input(2)], vec![*out, *bias]),
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
        let [a, b, bias] = at.inputs else { return Err(undefined("matmul_bias")) };
        let mut upstream = at.by_output()?.clone();
        let product = builder.emit(self.matmul.into(), &[a, b])?;
        if let Some(activation) = self.activation {
            let sum = builder.emit(BiasAdd.into(), &[&product, bias])?;
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
        let mut list = self.matmul.gradient(builder, &sides)?;
        list.push(if at.wants(2) { Some(builder.summed_to(&upstream, builder.shape(bias))?) } else { None });
        Ok(list)
    }
}
