//! Softmax over one axis.

use super::{Attributes, Given, Rule, UnaryKind, arity, float_only};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{Axes, Error, Result, TensorType};

/// `e^x / Σ e^x` over an axis, shifted by the maximum so that it never overflows; or its logarithm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Softmax {
    /// The axis that sums to one.
    pub axis: u8,
    /// Whether the logarithm is wanted.
    pub log: bool,
}

impl Rule for Softmax {
    const NAMES: &'static [&'static str] = &["softmax", "log_softmax"];

    fn name(&self) -> &'static str {
        if self.log { "log_softmax" } else { "softmax" }
    }

    fn attributes(&self) -> Attributes {
        Attributes::none().with("axis", self.axis)
    }

    fn read(name: &str, given: &mut Given) -> Result<Softmax> {
        Ok(Softmax { axis: given.integer("axis")?, log: name == "log_softmax" })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 1)?;
        float_only(op, inputs, inputs[0].dtype)?;
        if usize::from(self.axis) >= inputs[0].shape.rank() {
            return Err(Error::operands(
                op,
                inputs,
                format!("there is no axis {}", self.axis),
                "name an axis of the input",
            ));
        }
        Ok(inputs[0])
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Reduce, 18.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let (upstream, y) = (at.by_output()?, &at.outputs[0]);
        let axes = Axes::one(usize::from(self.axis));
        let back = if self.log {
            let sum = builder.sum_keep(upstream, axes)?;
            builder.elementwise(&Back { log: true }, &[y, &sum, upstream])?
        } else {
            let weighted = builder.mul(upstream, y)?;
            let sum = builder.sum_keep(&weighted, axes)?;
            builder.elementwise(&Back { log: false }, &[y, &sum, upstream])?
        };
        Ok(Gradients::from_iter([Some(back)]))
    }
}

/// The last step back, from the result, a sum over the axis and the upstream gradient.
struct Back {
    log: bool,
}

impl Elementwise for Back {
    fn kept(&self) -> Option<&'static Kept> {
        static KEPT: [Kept; 2] = [const { Kept::new() }; 2];
        KEPT.get(usize::from(self.log))
    }

    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        let [y, sum, upstream] = inputs else { return Err(undefined("softmax")) };
        if self.log {
            let share = builder.unary(UnaryKind::Exp, y)?;
            let common = builder.mul(&share, sum)?;
            return builder.sub(upstream, &common);
        }
        let own = builder.sub(upstream, sum)?;
        builder.mul(y, &own)
    }
}
