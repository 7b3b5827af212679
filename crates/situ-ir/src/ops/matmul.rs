//! Matrix products, and the bias that usually follows.

use super::{Attributes, Binary, BinaryKind, Given, Register, Rule, Step, arity, same_dtype};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, MAX_RANK, Result, Shape, TensorType};

/// The product of the last two axes; leading axes are batches and broadcast. A transposed side is read in
/// place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Matmul {
    /// Whether the left side's last two axes are swapped.
    pub transpose_a: bool,
    /// Whether the right side's last two axes are swapped.
    pub transpose_b: bool,
}

/// Rows, inner size and columns of one product, and the batch's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dims {
    /// Rows of the result.
    pub m: usize,
    /// The size that is summed over.
    pub k: usize,
    /// Columns of the result.
    pub n: usize,
    /// The broadcast leading axes.
    pub batch: Shape,
}

impl Matmul {
    /// The sizes of the product of tensors of these types, or why they do not fit.
    pub fn dims(&self, inputs: &[TensorType]) -> Result<Dims> {
        arity("matmul", inputs, 2)?;
        let [a, b] = [inputs[0].shape, inputs[1].shape];
        if a.rank() < 2 || b.rank() < 2 {
            return Err(Error::operands(
                "matmul",
                inputs,
                "both sides need at least two axes",
                "reshape a vector to a matrix with one row or one column",
            ));
        }
        let side = |s: &Shape, transposed: bool| {
            let (rows, columns) = (s[s.rank() - 2], s[s.rank() - 1]);
            if transposed { (columns, rows) } else { (rows, columns) }
        };
        let (m, k) = side(&a, self.transpose_a);
        let (k_right, n) = side(&b, self.transpose_b);
        if k != k_right {
            return Err(Error::operands(
                "matmul",
                inputs,
                format!("the inner sizes differ: {k} columns on the left, {k_right} rows on the right"),
                "transpose one side, or check the layer's sizes",
            ));
        }
        let batch = a.without(|axis| axis + 2 >= a.rank()).broadcast(&b.without(|axis| axis + 2 >= b.rank()));
        match batch {
            Some(batch) => Ok(Dims { m, k, n, batch: batch? }),
            None => Err(Error::operands(
                "matmul",
                inputs,
                "the leading (batch) axes do not broadcast",
                "make them equal, or 1",
            )),
        }
    }
}

impl Rule for Matmul {
    const NAMES: &'static [&'static str] = &["matmul"];

    fn attributes(&self) -> Attributes {
        Attributes::none().flag("transpose_a", self.transpose_a).flag("transpose_b", self.transpose_b)
    }

    fn read(_: &str, given: &mut Given) -> Result<Matmul> {
        Ok(Matmul { transpose_a: given.flag("transpose_a")?, transpose_b: given.flag("transpose_b")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let Dims { m, n, batch, .. } = self.dims(inputs)?;
        let dtype = same_dtype("matmul", inputs)?;
        if dtype == DType::Bool {
            return Err(Error::operands(
                "matmul",
                inputs,
                "is defined for numbers, not bool",
                "cast to a number first",
            ));
        }
        let mut dims = [0; MAX_RANK];
        let lead = batch.rank();
        dims[..lead].copy_from_slice(&batch);
        dims[lead] = m;
        dims[lead + 1] = n;
        Ok(TensorType { dtype, shape: Shape::new(&dims[..lead + 2])? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let k = self.dims(inputs).map_or(0, |d| d.k);
        Work::streaming(WorkClass::Matmul, 2.0 * k as f64, inputs, outputs)
    }

    fn broadcasts(&self) -> bool {
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
        let upstream = at.by_output()?;
        let [a, b] = at.inputs else { return Err(undefined("matmul")) };
        let by_a = if at.wants(0) {
            let part = match (self.transpose_a, self.transpose_b) {
                (false, tb) => product(builder, upstream, b, false, !tb)?,
                (true, tb) => product(builder, b, upstream, tb, true)?,
            };
            Some(builder.summed_to(&part, builder.shape(a))?)
        } else {
            None
        };
        let by_b = if at.wants(1) { Some(self.by_right(builder, a, b, upstream)?) } else { None };
        Ok(Gradients::from_iter([by_a, by_b]))
    }
}

fn product<B: Builder>(
    builder: &mut B,
    a: &B::Value,
    b: &B::Value,
    transpose_a: bool,
    transpose_b: bool,
) -> Result<B::Value> {
    builder.emit(Matmul { transpose_a, transpose_b }.into(), &[a, b])
}

impl Matmul {
    /// The gradient by the right side.
    fn by_right<B: Builder>(
        &self,
        builder: &mut B,
        a: &B::Value,
        b: &B::Value,
        upstream: &B::Value,
    ) -> Result<B::Value> {
        let (left, shape) = (builder.shape(a), builder.shape(b));
        let (mut a, mut upstream) = (a.clone(), upstream.clone());
        if shape.rank() == 2 && left.rank() > 2 && !self.transpose_a {
            // One matrix for a whole batch of rows: one product over all of them sums over the batch by the
            // way.
            let rows = |s: &Shape| Shape::new(&[s.elements() / s[s.rank() - 1].max(1), s[s.rank() - 1]]);
            if left.elements() > 0 && builder.shape(&upstream).elements() > 0 {
                a = builder.reshaped(&a, rows(&left)?)?;
                upstream = builder.reshaped(&upstream, rows(&builder.shape(&upstream))?)?;
            }
        }
        let part = match (self.transpose_a, self.transpose_b) {
            (ta, false) => product(builder, &a, &upstream, !ta, false)?,
            (ta, true) => product(builder, &upstream, &a, true, ta)?,
        };
        builder.summed_to(&part, shape)
    }
}

/// `x + bias`, where the bias runs along the last axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BiasAdd;

impl Rule for BiasAdd {
    const NAMES: &'static [&'static str] = &["bias_add"];

    fn read(_: &str, _: &mut Given) -> Result<BiasAdd> {
        Ok(BiasAdd)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("bias_add", inputs, 2)?;
        let dtype = same_dtype("bias_add", inputs)?;
        let [x, bias] = [inputs[0].shape, inputs[1].shape];
        if dtype == DType::Bool {
            return Err(Error::operands(
                "bias_add",
                inputs,
                "is defined for numbers, not bool",
                "cast to a number first",
            ));
        }
        if bias.rank() != 1 || x.rank() == 0 || x[x.rank() - 1] != bias[0] {
            return Err(Error::operands(
                "bias_add",
                inputs,
                "the bias must have one axis, as long as the last axis of the first input",
                "reshape the bias, or use add for other broadcasts",
            ));
        }
        Ok(inputs[0])
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Elementwise, 1.0, inputs, outputs)
    }

    // To the elements it is an addition; only its shapes are stricter.
    fn step(&self, reads: &[Register]) -> Option<Step> {
        Binary { kind: BinaryKind::Add }.step(reads)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let upstream = at.by_output()?;
        let by_x = at.wants(0).then(|| upstream.clone());
        let by_bias =
            if at.wants(1) { Some(builder.summed_to(upstream, builder.shape(&at.inputs[1]))?) } else { None };
        Ok(Gradients::from_iter([by_x, by_bias]))
    }
}
