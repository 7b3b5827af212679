//! Choosing between two tensors element by element.

use super::{Given, Rule, arity, broadcast, same_dtype};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, TensorType};

/// `where(condition, a, b)`: a where the condition holds, else b; all three broadcast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Where;

impl Rule for Where {
    fn name(&self) -> &'static str {
        "where"
    }

    fn names() -> &'static [&'static str] {
        &["where"]
    }

    fn read(_: &str, _: &mut Given) -> Result<Where> {
        Ok(Where)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("where", inputs, 3)?;
        if inputs[0].dtype != DType::Bool {
            return Err(Error::operands(
                "where",
                inputs,
                "the condition must be bool",
                "compare it with something",
            ));
        }
        let dtype = same_dtype("where", &inputs[1..])?;
        Ok(TensorType { dtype, shape: broadcast("where", inputs)? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Elementwise, 1.0, inputs, outputs)
    }

    fn kernel_dtype(&self, inputs: &[TensorType], _: &[TensorType]) -> DType {
        inputs[1].dtype
    }
}
