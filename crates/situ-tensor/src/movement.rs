//! Shapes, views and joins.

use crate::apply::apply;
use crate::operators::number_beside;
use crate::span::Span;
use crate::tensor::Tensor;
use situ_core::{Error, MAX_RANK, Result, Shape};
use situ_ir::ops::{Concat, Expand, Pad, Permute, Reshape, Slice, Tile};

impl Tensor {
    /// The same elements under another shape; one size may be −1, which is then worked out.
    #[track_caller]
    pub fn reshape(&self, dims: &[isize]) -> Result<Tensor> {
        let shape = self.resolve_dims(dims)?;
        apply(Reshape { shape }, &[self])
    }

    fn resolve_dims(&self, dims: &[isize]) -> Result<Shape> {
        let bad = |why: String| {
            Error::operands(
                "reshape",
                &[self.tensor_type()],
                why,
                "give sizes that multiply to the element count",
            )
        };
        let mut sizes = [0usize; MAX_RANK];
        if dims.len() > MAX_RANK {
            return Err(bad(format!("{dims:?} has {} axes, a tensor has at most {MAX_RANK}", dims.len())));
        }
        let mut free = None;
        for (axis, &d) in dims.iter().enumerate() {
            match d {
                -1 if free.is_none() => {
                    free = Some(axis);
                    sizes[axis] = 1;
                }
                d if d >= 0 => sizes[axis] = d as usize,
                _ => return Err(bad(format!("{dims:?} has a negative size, or −1 twice"))),
            }
        }
        if let Some(axis) = free {
            let known = self.shape_for("reshape", &sizes[..dims.len()])?.elements();
            if known == 0 || !self.elements().is_multiple_of(known) {
                return Err(bad(format!("{} elements do not divide into {dims:?}", self.elements())));
            }
            sizes[axis] = self.elements() / known;
        }
        self.shape_for("reshape", &sizes[..dims.len()])
    }

    /// A shape for a view of this tensor; an error that names the op where it can't be.
    fn shape_for(&self, op: &'static str, dims: &[usize]) -> Result<Shape> {
        Shape::new(dims).map_err(|error| error.of_op(op, &[self.tensor_type()]))
    }

    /// The axes in another order; an empty list reverses them.
    #[track_caller]
    pub fn transpose(&self, order: &[isize]) -> Result<Tensor> {
        let rank = self.rank();
        let mut perm = [0usize; MAX_RANK];
        if order.is_empty() {
            for (axis, from) in perm.iter_mut().zip((0..rank).rev()) {
                *axis = from;
            }
        } else {
            if order.len() != rank {
                return Err(Error::operands(
                    "transpose",
                    &[self.tensor_type()],
                    format!("the order {order:?} names {} axes, the tensor has {rank}", order.len()),
                    "name every axis exactly once",
                ));
            }
            for (to, &from) in order.iter().enumerate() {
                perm[to] = self.unseen_shape().axis("transpose", from)?;
            }
        }
        apply(Permute::new(&perm[..rank])?, &[self])
    }

    /// Broadcast to a larger shape, as a view.
    #[track_caller]
    pub fn expand(&self, dims: &[usize]) -> Result<Tensor> {
        apply(Expand { shape: self.shape_for("expand", dims)? }, &[self])
    }

    /// Without the named axes, which must have size 1; an empty list means all of size 1.
    #[track_caller]
    pub fn squeeze(&self, axes: &[isize]) -> Result<Tensor> {
        let shape = *self.shape();
        let mut dropped = [false; MAX_RANK];
        for &axis in axes {
            let index = shape.axis("squeeze", axis)?;
            if shape[index] != 1 {
                return Err(Error::operands(
                    "squeeze",
                    &[self.tensor_type()],
                    format!("axis {axis} has size {}, not 1", shape[index]),
                    "name axes of size 1",
                ));
            }
            dropped[index] = true;
        }
        let shape = shape.without(|axis| if axes.is_empty() { shape[axis] == 1 } else { dropped[axis] });
        apply(Reshape { shape }, &[self])
    }

    /// With a new axis of size 1 at `axis` (negative: from the end of the result).
    #[track_caller]
    pub fn expand_dims(&self, axis: isize) -> Result<Tensor> {
        let rank = self.rank() as isize + 1;
        let at = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&at) || rank as usize > MAX_RANK {
            return Err(Error::operands(
                "expand_dims",
                &[self.tensor_type()],
                format!("there is no place {axis} for a new axis"),
                format!("use {} to {}, in tensors of at most {} axes", -rank, rank - 1, MAX_RANK - 1),
            ));
        }
        let at = at as usize;
        let mut dims = [1; MAX_RANK];
        dims[..at].copy_from_slice(&self.shape()[..at]);
        dims[at + 1..rank as usize].copy_from_slice(&self.shape()[at..]);
        apply(Reshape { shape: Shape::new(&dims[..rank as usize])? }, &[self])
    }

    /// Part of the tensor, one span for each leading axis, as a view; axes without a span are taken whole.
    #[track_caller]
    pub fn slice(&self, spans: &[Span]) -> Result<Tensor> {
        let shape = self.shape();
        if spans.len() > shape.rank() {
            return Err(Error::operands(
                "slice",
                &[self.tensor_type()],
                format!("{} spans for {} axes", spans.len(), shape.rank()),
                "give at most one for every axis",
            ));
        }
        let (mut starts, mut steps, mut sizes) = ([0; MAX_RANK], [1; MAX_RANK], [0; MAX_RANK]);
        for axis in 0..shape.rank() {
            let span = spans.get(axis).copied().unwrap_or(Span::ALL);
            let Some((start, count)) = span.resolve(shape[axis]) else {
                return Err(Error::operands(
                    "slice",
                    &[self.tensor_type()],
                    format!("the step of axis {axis} is 0"),
                    "use another step",
                ));
            };
            (starts[axis], steps[axis], sizes[axis]) = (start, span.step, count);
            if count <= 1 {
                // A step that is never taken may be beyond any stride.
                steps[axis] = 1;
            }
        }
        let rank = shape.rank();
        apply(Slice::new(&starts[..rank], &steps[..rank], &sizes[..rank])?, &[self])
    }

    /// Elements `start` to before `stop` of one axis, as a view.
    #[track_caller]
    pub fn narrow(&self, axis: isize, start: usize, stop: usize) -> Result<Tensor> {
        let index = self.shape().axis("slice", axis)?;
        if start > stop || stop > self.shape()[index] {
            return Err(Error::operands(
                "slice",
                &[self.tensor_type()],
                format!("{start} to {stop} is no part of axis {axis}"),
                format!("stay within 0 to {}", self.shape()[index]),
            ));
        }
        let mut spans = [Span::ALL; MAX_RANK];
        spans[index] = Span { start: Some(start as isize), stop: Some(stop as isize), step: 1 };
        self.slice(&spans[..=index])
    }

    /// Equal parts along an axis, as views: each has at least one element, but for the single part of an
    /// empty axis.
    #[track_caller]
    pub fn split(&self, parts: usize, axis: isize) -> Result<Vec<Tensor>> {
        let index = self.shape().axis("split", axis)?;
        let size = self.shape()[index];
        if parts == 0 || !size.is_multiple_of(parts) || parts > size.max(1) {
            return Err(Error::operands(
                "split",
                &[self.tensor_type()],
                format!("axis {axis} of size {size} does not split into {parts} equal parts"),
                "choose a number that divides it, or use slice",
            ));
        }
        let each = size / parts;
        // In a closure, the caller's line would be lost.
        let mut made = Vec::with_capacity(parts);
        for part in 0..parts {
            made.push(self.narrow(index as isize, part * each, (part + 1) * each)?);
        }
        Ok(made)
    }

    /// With elements of one value, which the dtype must have, added before and after each axis.
    #[track_caller]
    pub fn pad(&self, widths: &[(usize, usize)], value: f64) -> Result<Tensor> {
        apply(Pad::new(widths, number_beside("pad", self, value)?)?, &[self])
    }

    /// Repeated along each axis.
    #[track_caller]
    pub fn tile(&self, repeats: &[usize]) -> Result<Tensor> {
        let mut held = [1; MAX_RANK];
        if repeats.len() > MAX_RANK {
            return Err(Error::argument(
                "tile",
                format!("{} repeats", repeats.len()),
                "a tensor has at most 8 axes",
            ));
        }
        held[..repeats.len()].copy_from_slice(repeats);
        apply(Tile { repeats: held, rank: repeats.len() as u8 }, &[self])
    }
}

/// Joins tensors along an existing axis.
#[track_caller]
pub fn concat(tensors: &[&Tensor], axis: isize) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::argument("concat", "was given no tensor", "give at least one"));
    };
    let axis = first.unseen_shape().axis("concat", axis)? as u8;
    apply(Concat { axis }, tensors)
}

/// Joins tensors of one shape along a new axis.
#[track_caller]
pub fn stack(tensors: &[&Tensor], axis: isize) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::argument("stack", "was given no tensor", "give at least one"));
    };
    if tensors.iter().any(|t| t.shape() != first.shape()) {
        let types: Vec<_> = tensors.iter().map(|t| t.tensor_type()).collect();
        return Err(Error::operands("stack", &types, "the shapes differ", "reshape or pad them"));
    }
    let grown: Vec<Tensor> = tensors.iter().map(|t| t.expand_dims(axis)).collect::<Result<_>>()?;
    concat(&grown.iter().collect::<Vec<_>>(), axis)
}
