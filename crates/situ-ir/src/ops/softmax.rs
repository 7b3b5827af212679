//! Softmax over one axis.

use super::{Attributes, Given, Rule, arity, float_only};
use crate::work::{Work, WorkClass};
use situ_core::{Error, Result, TensorType};

/// `e^x / Σ e^x` over an axis, shifted by the maximum so that it never overflows; or its logarithm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Softmax {
    /// The axis that sums to one.
    pub axis: u8,
    /// Whether the logarithm is wanted.
    pub log: bool,
}

impl Rule for Softmax {
    fn name(&self) -> &'static str {
        if self.log { "log_softmax" } else { "softmax" }
    }

    fn names() -> &'static [&'static str] {
        &["softmax", "log_softmax"]
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
}
