//! Indexed reads and writes. An index out of range is an error naming the index and its position.

use super::{Attributes, Given, Rule, arity, same_dtype};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, MAX_RANK, Result, Scalar, Shape, TensorType};

pub(super) fn integers(op: &'static str, inputs: &[TensorType], which: usize) -> Result<()> {
    if inputs[which].dtype.is_index() {
        return Ok(());
    }
    Err(Error::operands(op, inputs, "indices must be i32 or i64", "cast the indices"))
}

/// `shape` with `axis` replaced by the axes of `indices`.
fn spliced(
    op: &'static str,
    inputs: &[TensorType],
    shape: &Shape,
    axis: usize,
    indices: &Shape,
) -> Result<Shape> {
    let rank = (shape.rank() + indices.rank()).saturating_sub(1);
    if axis >= shape.rank() || rank > MAX_RANK {
        return Err(Error::operands(
            op,
            inputs,
            format!("axis {axis} replaced by {indices} is no shape of at most {MAX_RANK} axes"),
            "name an axis of the first input, or reshape the indices",
        ));
    }
    let mut dims = [0; MAX_RANK];
    dims[..axis].copy_from_slice(&shape[..axis]);
    dims[axis..axis + indices.rank()].copy_from_slice(indices);
    dims[axis + indices.rank()..rank].copy_from_slice(&shape[axis + 1..]);
    Shape::new(&dims[..rank])
}

/// Takes slices of the first input along an axis, at the indices of the second; the indices' axes take the
/// place of that axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gather {
    /// The axis that indices count along.
    pub axis: u8,
}

impl Rule for Gather {
    const NAMES: &'static [&'static str] = &["gather"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("axis", self.axis)
    }

    fn read(_: &str, given: &mut Given) -> Result<Gather> {
        Ok(Gather { axis: given.integer("axis")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("gather", inputs, 2)?;
        integers("gather", inputs, 1)?;
        let shape = spliced("gather", inputs, &inputs[0].shape, usize::from(self.axis), &inputs[1].shape)?;
        Ok(TensorType { dtype: inputs[0].dtype, shape })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Work::streaming(WorkClass::Gather, 1.0, outputs, outputs);
        work.bytes += inputs[1].bytes() as f64;
        work
    }

    fn may_find_bad_data(&self, _: &[TensorType]) -> bool {
        true
    }

    fn looks_at_data_for_nothing(&self) -> bool {
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
        let by_data = if at.wants(0) {
            let zeros = builder.filled(upstream, builder.shape(&at.inputs[0]), 0.0)?;
            Some(builder.emit(ScatterAdd { axis: self.axis }.into(), &[&zeros, &at.inputs[1], upstream])?)
        } else {
            None
        };
        Ok(Gradients::from_iter([by_data, None]))
    }
}

/// The first input with the slices of the third added along an axis at the indices of the second. Indices may
/// repeat; they are added in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScatterAdd {
    /// The axis that indices count along.
    pub axis: u8,
}

impl Rule for ScatterAdd {
    const NAMES: &'static [&'static str] = &["scatter_add"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("axis", self.axis)
    }

    fn read(_: &str, given: &mut Given) -> Result<ScatterAdd> {
        Ok(ScatterAdd { axis: given.integer("axis")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 3)?;
        integers(op, inputs, 1)?;
        let dtype = same_dtype(op, &[inputs[0], inputs[2]])?;
        if dtype == DType::Bool {
            return Err(Error::operands(
                op,
                inputs,
                "is defined for numbers, not bool",
                "cast to a number first",
            ));
        }
        let want = spliced(op, inputs, &inputs[0].shape, usize::from(self.axis), &inputs[1].shape)?;
        if want != inputs[2].shape {
            return Err(Error::operands(
                op,
                inputs,
                format!("the updates must have shape {want}"),
                "reshape them",
            ));
        }
        Ok(inputs[0])
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Work::streaming(WorkClass::Gather, 0.0, inputs, outputs);
        work.flops = inputs[2].shape.elements() as f64;
        work
    }

    fn may_find_bad_data(&self, _: &[TensorType]) -> bool {
        true
    }

    fn looks_at_data_for_nothing(&self) -> bool {
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
        let by_data = at.wants(0).then(|| upstream.clone());
        let by_updates = if at.wants(2) {
            Some(builder.emit(Gather { axis: self.axis }.into(), &[upstream, &at.inputs[1]])?)
        } else {
            None
        };
        Ok(Gradients::from_iter([by_data, None, by_updates]))
    }
}

/// A new last axis of `depth` in which the element at the index is `on` and the others are `off`. An index
/// out of range gives a row of `off`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OneHot {
    /// The size of the new axis.
    pub depth: usize,
    /// The value at the index.
    pub on: Scalar,
    /// The value elsewhere.
    pub off: Scalar,
}

impl Rule for OneHot {
    const NAMES: &'static [&'static str] = &["one_hot"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("depth", self.depth).with("on", self.on).with("off", self.off)
    }

    fn read(_: &str, given: &mut Given) -> Result<OneHot> {
        Ok(OneHot { depth: given.integer("depth")?, on: given.scalar("on")?, off: given.scalar("off")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("one_hot", inputs, 1)?;
        integers("one_hot", inputs, 0)?;
        let shape = inputs[0].shape;
        if self.on.dtype() != self.off.dtype() || shape.rank() == MAX_RANK {
            return Err(Error::operands(
                "one_hot",
                inputs,
                format!(
                    "on is {}, off is {}, and the result has one axis more",
                    self.on.dtype(),
                    self.off.dtype()
                ),
                "give on and off one dtype, and indices of at most 7 axes",
            ));
        }
        let mut dims = [0; MAX_RANK];
        dims[..shape.rank()].copy_from_slice(&shape);
        dims[shape.rank()] = self.depth;
        Ok(TensorType { dtype: self.on.dtype(), shape: Shape::new(&dims[..=shape.rank()])? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 0.0, inputs, outputs)
    }

    fn kernel_dtype(&self, _: &[TensorType], _: &[TensorType]) -> DType {
        self.on.dtype()
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Flat
    }
}
