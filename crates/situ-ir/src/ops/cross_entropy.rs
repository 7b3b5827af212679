//! Cross-entropy of logits, without ever forming the probabilities.

use super::{Given, Rule, arity, float_only, same_dtype};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, TensorType};

/// `−Σ labels · log_softmax(logits)` over the last axis; inputs are logits and labels of the same shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CrossEntropy;

impl Rule for CrossEntropy {
    fn name(&self) -> &'static str {
        "softmax_cross_entropy"
    }

    fn names() -> &'static [&'static str] {
        &["softmax_cross_entropy"]
    }

    fn read(_: &str, _: &mut Given) -> Result<CrossEntropy> {
        Ok(CrossEntropy)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 2)?;
        let dtype = same_dtype(op, inputs)?;
        float_only(op, inputs, dtype)?;
        let shape = inputs[0].shape;
        if shape != inputs[1].shape || shape.rank() == 0 {
            return Err(Error::operands(
                op,
                inputs,
                "logits and labels must have the same shape, with classes on the last axis",
                "one-hot the labels, or use sparse_softmax_cross_entropy for class numbers",
            ));
        }
        Ok(TensorType { dtype, shape: shape.without(|axis| axis + 1 == shape.rank()) })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Work::streaming(WorkClass::Reduce, 0.0, inputs, outputs);
        work.flops = 18.0 * inputs[0].shape.elements() as f64;
        work
    }
}

/// `−log_softmax(logits)[label]` over the last axis; inputs are logits and integer labels. A label out of range
/// is an error naming label and row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SparseCrossEntropy;

impl Rule for SparseCrossEntropy {
    fn name(&self) -> &'static str {
        "sparse_softmax_cross_entropy"
    }

    fn names() -> &'static [&'static str] {
        &["sparse_softmax_cross_entropy"]
    }

    fn read(_: &str, _: &mut Given) -> Result<SparseCrossEntropy> {
        Ok(SparseCrossEntropy)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 2)?;
        let TensorType { dtype, shape } = inputs[0];
        float_only(op, inputs, dtype)?;
        if !matches!(inputs[1].dtype, DType::I32 | DType::I64) {
            return Err(Error::operands(op, inputs, "labels must be i32 or i64", "cast the labels"));
        }
        let rows = shape.without(|axis| axis + 1 == shape.rank());
        if shape.rank() == 0 || rows != inputs[1].shape {
            return Err(Error::operands(
                op,
                inputs,
                "there must be one label for each row of logits: labels have the logits' shape without the last axis",
                "reshape the labels, or use softmax_cross_entropy for one-hot labels",
            ));
        }
        Ok(TensorType { dtype, shape: rows })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Work::streaming(WorkClass::Reduce, 0.0, inputs, outputs);
        work.flops = 18.0 * inputs[0].shape.elements() as f64;
        work
    }
}
