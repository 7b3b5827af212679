//! Cross-entropy of logits, without ever forming the probabilities.

use super::{Given, OneHot, Rule, Softmax, arity, float_only, same_dtype};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{Axes, Error, Result, Scalar, TensorType};

/// `−Σ labels · log_softmax(logits)` over the last axis; inputs are logits and labels of the same shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CrossEntropy;

impl Rule for CrossEntropy {
    const NAMES: &'static [&'static str] = &["softmax_cross_entropy"];

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

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let [logits, labels] = at.inputs else { return Err(undefined(self.name())) };
        let shape = builder.shape(logits);
        let axis = shape.rank() - 1;
        let upstream = builder.reshaped(at.by_output()?, shape.with_dim(axis, 1)?)?;
        let by_logits = if at.wants(0) {
            let shares = builder.emit(Softmax { axis: axis as u8, log: false }.into(), &[logits])?;
            // The labels of a row may sum to something other than one.
            let total = builder.sum_keep(labels, Axes::one(axis))?;
            Some(builder.elementwise(&Back::Dense, &[&shares, &total, labels, &upstream])?)
        } else {
            None
        };
        let by_labels = if at.wants(1) {
            let log = builder.emit(Softmax { axis: axis as u8, log: true }.into(), &[logits])?;
            Some(builder.elementwise(&Back::Labels, &[&log, &upstream])?)
        } else {
            None
        };
        Ok(Gradients::from_iter([by_logits, by_labels]))
    }
}

/// `−log_softmax(logits)[label]` over the last axis; inputs are logits and integer labels. A label out of
/// range is an error naming label and row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SparseCrossEntropy;

impl Rule for SparseCrossEntropy {
    const NAMES: &'static [&'static str] = &["sparse_softmax_cross_entropy"];

    fn read(_: &str, _: &mut Given) -> Result<SparseCrossEntropy> {
        Ok(SparseCrossEntropy)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 2)?;
        let TensorType { dtype, shape } = inputs[0];
        float_only(op, inputs, dtype)?;
        if !inputs[1].dtype.is_index() {
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

    fn may_find_bad_data(&self, _: &[TensorType]) -> bool {
        true
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let [logits, labels] = at.inputs else { return Err(undefined(self.name())) };
        let TensorType { dtype, shape } = builder.type_of(logits);
        let axis = shape.rank() - 1;
        let upstream = builder.reshaped(at.by_output()?, shape.with_dim(axis, 1)?)?;
        let shares = builder.emit(Softmax { axis: axis as u8, log: false }.into(), &[logits])?;
        let (on, off) = (Scalar::of(dtype, 1.0), Scalar::of(dtype, 0.0));
        let right = builder.emit(OneHot { depth: shape[axis], on, off }.into(), &[labels])?;
        let by_logits = builder.elementwise(&Back::Sparse, &[&shares, &right, &upstream])?;
        Ok(Gradients::from_iter([Some(by_logits), None]))
    }
}

/// The last step back, of elements.
enum Back {
    /// (shares · total − labels) · upstream
    Dense,
    /// −log · upstream
    Labels,
    /// (shares − right) · upstream
    Sparse,
}

impl Elementwise for Back {
    fn kept(&self) -> Option<&'static Kept> {
        static DENSE: Kept = Kept::new();
        static LABELS: Kept = Kept::new();
        static SPARSE: Kept = Kept::new();
        Some(match self {
            Back::Dense => &DENSE,
            Back::Labels => &LABELS,
            Back::Sparse => &SPARSE,
        })
    }

    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
        match (self, inputs) {
            (Back::Dense, [shares, total, labels, upstream]) => {
                let given = builder.mul(shares, total)?;
                let off = builder.sub(&given, labels)?;
                builder.mul(&off, upstream)
            }
            (Back::Labels, [log, upstream]) => {
                let against = builder.neg(log)?;
                builder.mul(&against, upstream)
            }
            (Back::Sparse, [shares, right, upstream]) => {
                let off = builder.sub(shares, right)?;
                builder.mul(&off, upstream)
            }
            _ => Err(undefined("softmax_cross_entropy")),
        }
    }
}
