//! A matrix product with the bias and the activation that follow it. Only grouping makes it; see
//! `passes::matmul_bias`.

use super::biased::{Biased, read_activation};
use super::{Attributes, BiasAdd, Given, Matmul, Part, Rule, Unary, arity};
use crate::gradient::{Application, Builder, Differentiability, Gradients};
use crate::work::Work;
use situ_core::{Result, TensorType};

/// `activation(a · b + bias)`; inputs are a, b and the bias, which runs along the last axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatmulBias {
    /// The product that the bias is added to.
    pub matmul: Matmul,
    /// What is applied to each element of the sum, which must keep its dtype.
    pub activation: Option<Unary>,
}

impl MatmulBias {
    fn biased(&self) -> Biased {
        Biased {
            name: "matmul_bias",
            of: self.matmul.into(),
            add: BiasAdd.into(),
            activation: self.activation,
        }
    }
}

impl Rule for MatmulBias {
    const NAMES: &'static [&'static str] = &["matmul_bias"];

    fn attributes(&self) -> Attributes {
        self.biased().attributes()
    }

    fn read(_: &str, given: &mut Given) -> Result<MatmulBias> {
        let matmul = Matmul::read("matmul", given)?;
        Ok(MatmulBias { matmul, activation: read_activation("matmul_bias", given)? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("matmul_bias", inputs, 3)?;
        let product = self.matmul.infer(&inputs[..2])?;
        let sum = BiasAdd.infer(&[product, inputs[2]])?;
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
