//! Running sums along an axis.

use super::{Attributes, Given, Rule, arity};
use crate::gradient::{Application, Builder, Differentiability, Gradients};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, TensorType};

/// Each element with all before it along an axis added up; integers wrap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cumsum {
    /// The axis along which is summed.
    pub axis: u8,
    /// Whether an element is left out of its own sum, so that the first is 0.
    pub exclusive: bool,
    /// Whether sums run from the end of the axis to its beginning.
    pub reverse: bool,
}

impl Rule for Cumsum {
    const NAMES: &'static [&'static str] = &["cumsum"];

    fn attributes(&self) -> Attributes {
        let list = Attributes::none().with("axis", self.axis);
        list.flag("exclusive", self.exclusive).flag("reverse", self.reverse)
    }

    fn read(_: &str, given: &mut Given) -> Result<Cumsum> {
        Ok(Cumsum {
            axis: given.integer("axis")?,
            exclusive: given.flag("exclusive")?,
            reverse: given.flag("reverse")?,
        })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("cumsum", inputs, 1)?;
        let [input] = inputs else { return Err(Error::operands("cumsum", inputs, "takes one tensor", "")) };
        if input.dtype == DType::Bool {
            let why = "is defined for numbers, not bool";
            return Err(Error::operands("cumsum", inputs, why, "cast to a number first"));
        }
        if usize::from(self.axis) >= input.shape.rank() {
            let why = format!("there is no axis {}", self.axis);
            return Err(Error::operands("cumsum", inputs, why, "name an axis of the input"));
        }
        Ok(*input)
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Reduce, 1.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        // An element is in the sums behind it: those of the gradient, added up from the other end.
        let back = Cumsum { reverse: !self.reverse, ..*self };
        Ok(Gradients::from_iter([Some(builder.emit(back.into(), &[at.by_output()?])?)]))
    }
}
