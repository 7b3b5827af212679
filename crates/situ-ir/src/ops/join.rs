//! Ops that lay tensors side by side: concat, pad, tile.

use super::{Attributes, Given, Reduce, ReduceKind, Rule, Slice, arity, same_dtype};
use crate::gradient::{Application, Builder, Differentiability, Gradients, Terms};
use crate::work::{Work, WorkClass};
use situ_core::{Axes, Error, MAX_RANK, Result, Scalar, Shape, TensorType};
use std::hash::{Hash, Hasher};

/// Joins tensors along an existing axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Concat {
    /// The axis along which tensors are joined.
    pub axis: u8,
}

impl Rule for Concat {
    const NAMES: &'static [&'static str] = &["concat"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("axis", self.axis)
    }

    fn read(_: &str, given: &mut Given) -> Result<Concat> {
        Ok(Concat { axis: given.integer("axis")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let Some(first) = inputs.first() else {
            return Err(Error::operands("concat", inputs, "was given no tensor", "give at least one"));
        };
        let dtype = same_dtype("concat", inputs)?;
        let axis = usize::from(self.axis);
        let fits = |t: &TensorType| {
            t.shape.rank() == first.shape.rank()
                && (0..t.shape.rank()).all(|a| a == axis || t.shape[a] == first.shape[a])
        };
        if axis >= first.shape.rank() || !inputs.iter().all(fits) {
            return Err(Error::operands(
                "concat",
                inputs,
                format!("the shapes must be equal but for axis {axis}"),
                "reshape or pad them",
            ));
        }
        let joined = inputs.iter().try_fold(0usize, |sum, t| sum.checked_add(t.shape[axis]));
        let Some(joined) = joined else {
            return Err(Error::operands(
                "concat",
                inputs,
                "the joined axis is too long",
                "join fewer tensors",
            ));
        };
        Ok(TensorType { dtype, shape: first.shape.with_dim(axis, joined)? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 0.0, inputs, outputs)
    }

    fn moved(&self, elements: &[Scalar]) -> Option<Scalar> {
        let (first, others) = elements.split_first()?;
        others.iter().all(|other| other == first).then_some(*first)
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
        let shape = builder.shape(upstream);
        let axis = usize::from(self.axis);
        let mut from = 0;
        let mut list = Gradients::new();
        for (number, input) in at.inputs.iter().enumerate() {
            let size = builder.shape(input)[axis];
            let mut starts = [0; MAX_RANK];
            starts[axis] = from;
            from += size;
            list.push(if at.wants(number) {
                let part = shape.with_dim(axis, size)?;
                let slice = Slice::new(&starts[..shape.rank()], &[1; MAX_RANK][..shape.rank()], &part)?;
                Some(builder.emit(slice.into(), &[upstream])?)
            } else {
                None
            });
        }
        Ok(list)
    }
}

/// Adds elements of one value before and after each axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pad {
    before: [usize; MAX_RANK],
    after: [usize; MAX_RANK],
    rank: u8,
    /// The value of the added elements.
    pub value: Scalar,
}

impl Pad {
    /// How many elements are added before and after each axis.
    pub fn new(widths: &[(usize, usize)], value: Scalar) -> Result<Pad> {
        if widths.len() > MAX_RANK {
            return Err(Error::argument(
                "pad",
                format!("widths for {} axes", widths.len()),
                "a tensor has at most 8",
            ));
        }
        let mut pad = Pad { before: [0; MAX_RANK], after: [0; MAX_RANK], rank: widths.len() as u8, value };
        for (axis, &(before, after)) in widths.iter().enumerate() {
            pad.before[axis] = before;
            pad.after[axis] = after;
        }
        Ok(pad)
    }

    /// Elements added before each axis.
    pub fn before(&self) -> &[usize] {
        &self.before[..usize::from(self.rank)]
    }
    /// Elements added after each axis.
    pub fn after(&self) -> &[usize] {
        &self.after[..usize::from(self.rank)]
    }
}

impl Rule for Pad {
    const NAMES: &'static [&'static str] = &["pad"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("before", self.before()).with("after", self.after()).with("value", self.value)
    }

    fn read(_: &str, given: &mut Given) -> Result<Pad> {
        let (before, after) = (given.list("before")?, given.list("after")?);
        if before.len() != after.len() {
            return Err(Error::argument(
                "pad",
                format!("{} widths before and {} after", before.len(), after.len()),
                "give one of each for every axis",
            ));
        }
        let widths: Vec<(usize, usize)> = before.into_iter().zip(after).collect();
        Pad::new(&widths, given.scalar("value")?)
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("pad", inputs, 1)?;
        let TensorType { dtype, shape } = inputs[0];
        if shape.rank() != usize::from(self.rank) || self.value.dtype() != dtype {
            return Err(Error::operands(
                "pad",
                inputs,
                format!("widths are for {} axes and the value is {}", self.rank, self.value.dtype()),
                "give a pair of widths for every axis, and a value of the tensor's dtype",
            ));
        }
        let shape = grown("pad", inputs, |axis, size| {
            size.checked_add(self.before[axis])?.checked_add(self.after[axis])
        })?;
        Ok(TensorType { dtype, shape })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 0.0, inputs, outputs)
    }

    fn moved(&self, elements: &[Scalar]) -> Option<Scalar> {
        elements.first().copied().filter(|element| *element == self.value)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let shape = builder.shape(&at.inputs[0]);
        let inner = Slice::new(self.before(), &[1; MAX_RANK][..shape.rank()], &shape)?;
        Ok(Gradients::from_iter([Some(builder.emit(inner.into(), &[at.by_output()?])?)]))
    }
}

/// The shape of the first input with every axis made longer, or the error that one can't be.
fn grown(
    op: &'static str,
    inputs: &[TensorType],
    longer: impl Fn(usize, usize) -> Option<usize>,
) -> Result<Shape> {
    let shape = inputs[0].shape;
    let mut dims = [0; MAX_RANK];
    for (axis, size) in shape.iter().enumerate() {
        dims[axis] = longer(axis, *size).ok_or_else(|| {
            let why = format!("axis {axis} grows beyond memory");
            Error::operands(op, inputs, why, format!("{op} less"))
        })?;
    }
    Shape::new(&dims[..shape.rank()])
}

/// Repeats the tensor along each axis.
#[derive(Clone, Copy, Eq, Debug)]
pub struct Tile {
    /// How often along each axis, as many as the input has axes.
    pub repeats: [usize; MAX_RANK],
    /// How many axes.
    pub rank: u8,
}

impl Tile {
    fn used(&self) -> &[usize] {
        &self.repeats[..usize::from(self.rank).min(MAX_RANK)]
    }
}

// What stands behind the last axis means nothing.
impl PartialEq for Tile {
    fn eq(&self, other: &Tile) -> bool {
        self.used() == other.used()
    }
}

impl Hash for Tile {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.used().hash(hasher);
    }
}

impl Rule for Tile {
    const NAMES: &'static [&'static str] = &["tile"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("repeats", self.used())
    }

    fn read(_: &str, given: &mut Given) -> Result<Tile> {
        let given: Vec<usize> = given.list("repeats")?;
        if given.len() > MAX_RANK {
            return Err(Error::argument(
                "tile",
                format!("repeats for {} axes", given.len()),
                "a tensor has at most 8",
            ));
        }
        let mut repeats = [0; MAX_RANK];
        repeats[..given.len()].copy_from_slice(&given);
        Ok(Tile { repeats, rank: given.len() as u8 })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("tile", inputs, 1)?;
        let TensorType { dtype, shape } = inputs[0];
        if shape.rank() != usize::from(self.rank) {
            return Err(Error::operands(
                "tile",
                inputs,
                format!("{} repeats for {} axes", self.rank, shape.rank()),
                "give one for every axis",
            ));
        }
        let shape = grown("tile", inputs, |axis, size| size.checked_mul(self.repeats[axis]))?;
        Ok(TensorType { dtype, shape })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 0.0, inputs, outputs)
    }

    fn moved(&self, elements: &[Scalar]) -> Option<Scalar> {
        elements.first().copied()
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let shape = builder.shape(&at.inputs[0]);
        let mut back = at.by_output()?.clone();
        for axis in 0..shape.rank() {
            let repeats = self.repeats[axis];
            if repeats == 1 {
                continue;
            }
            let now = builder.shape(&back);
            let outer: usize = now[..axis].iter().product();
            let inner: usize = now[axis + 1..].iter().product();
            let apart = builder.reshaped(&back, Shape::new(&[outer, repeats, shape[axis], inner])?)?;
            let sum = Reduce { kind: ReduceKind::Sum, axes: Axes::one(1), keep_dims: false };
            let sum = builder.emit(sum.into(), &[&apart])?;
            back = builder.reshaped(&sum, now.with_dim(axis, shape[axis])?)?;
        }
        Ok(Gradients::from_iter([Some(back)]))
    }
}
