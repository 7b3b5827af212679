//! Conversion between dtypes.

use super::{Attributes, Given, Register, Rule, Step, arity};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Result, TensorType};

/// Converts each element. Float to integer rounds toward zero, saturates, and takes NaN to 0; integers narrow
/// by wrapping; anything to bool is "not zero".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cast {
    /// The dtype of the result.
    pub to: DType,
}

impl Rule for Cast {
    const NAMES: &'static [&'static str] = &["cast"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("to", self.to)
    }

    fn read(_: &str, given: &mut Given) -> Result<Cast> {
        Ok(Cast { to: given.dtype("to")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("cast", inputs, 1)?;
        Ok(TensorType { dtype: self.to, shape: inputs[0].shape })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Elementwise, 1.0, inputs, outputs)
    }

    fn step(&self, reads: &[Register]) -> Option<Step> {
        match reads {
            [a] => Some(Step::Cast(*self, *a)),
            _ => None,
        }
    }

    fn differentiability(&self) -> Differentiability {
        // To integers and bools it rounds; the sweep never comes here from them.
        if self.to.is_float() { Differentiability::Smooth } else { Differentiability::Flat }
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let upstream = at.by_output()?;
        let back = builder.cast(upstream, builder.dtype(&at.inputs[0]))?;
        Ok(Gradients::from_iter([Some(back)]))
    }
}
