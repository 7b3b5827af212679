//! The words in which gradient rules are written: short names for the ops they are made of.

use super::Builder;
use crate::ops::{
    Binary, BinaryKind, Cast, Expand, Fill, Reduce, ReduceKind, Reshape, Unary, UnaryKind, Where,
};
use situ_core::{Axes, DType, MAX_RANK, Result, Scalar, Shape};

/// Ops by name, on any builder.
pub trait Terms: Builder {
    /// The dtype of a value.
    fn dtype(&self, value: &Self::Value) -> DType {
        self.type_of(value).dtype
    }

    /// The shape of a value.
    fn shape(&self, value: &Self::Value) -> Shape {
        self.type_of(value).shape
    }

    /// A function of each element.
    fn unary(&mut self, kind: UnaryKind, x: &Self::Value) -> Result<Self::Value> {
        self.emit(Unary::new(kind).into(), &[x])
    }

    /// A function of each pair of elements.
    fn binary(&mut self, kind: BinaryKind, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.emit(Binary { kind }.into(), &[a, b])
    }

    /// a + b
    fn add(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.binary(BinaryKind::Add, a, b)
    }

    /// a − b
    fn sub(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.binary(BinaryKind::Sub, a, b)
    }

    /// a · b
    fn mul(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.binary(BinaryKind::Mul, a, b)
    }

    /// a / b
    fn div(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.binary(BinaryKind::Div, a, b)
    }

    /// −x
    fn neg(&mut self, x: &Self::Value) -> Result<Self::Value> {
        self.unary(UnaryKind::Neg, x)
    }

    /// One number, in the dtype of another value.
    fn scalar(&mut self, like: &Self::Value, number: f64) -> Result<Self::Value> {
        self.filled(like, Shape::SCALAR, number)
    }

    /// A tensor of one number, in the dtype of another value.
    fn filled(&mut self, like: &Self::Value, shape: Shape, number: f64) -> Result<Self::Value> {
        let value = Scalar::of(self.dtype(like), number);
        self.emit(Fill { shape, value }.into(), &[])
    }

    /// x · number
    fn scaled(&mut self, x: &Self::Value, number: f64) -> Result<Self::Value> {
        let number = self.scalar(x, number)?;
        self.mul(x, &number)
    }

    /// x + number
    fn plus(&mut self, x: &Self::Value, number: f64) -> Result<Self::Value> {
        let number = self.scalar(x, number)?;
        self.add(x, &number)
    }

    /// `a` where the condition holds, else `b`.
    fn select(&mut self, condition: &Self::Value, a: &Self::Value, b: &Self::Value) -> Result<Self::Value> {
        self.emit(Where.into(), &[condition, a, b])
    }

    /// `x` where the condition holds, else 0.
    fn where_or_zero(&mut self, condition: &Self::Value, x: &Self::Value) -> Result<Self::Value> {
        let zero = self.scalar(x, 0.0)?;
        self.select(condition, x, &zero)
    }

    /// 0 where the condition holds, else `x`.
    fn zero_or(&mut self, condition: &Self::Value, x: &Self::Value) -> Result<Self::Value> {
        let zero = self.scalar(x, 0.0)?;
        self.select(condition, &zero, x)
    }

    /// The same values in another dtype.
    fn cast(&mut self, x: &Self::Value, to: DType) -> Result<Self::Value> {
        if self.dtype(x) == to { Ok(x.clone()) } else { self.emit(Cast { to }.into(), &[x]) }
    }

    /// The sum over some axes, which stay with size 1.
    fn sum_keep(&mut self, x: &Self::Value, axes: Axes) -> Result<Self::Value> {
        self.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dims: true }.into(), &[x])
    }

    /// The mean over some axes, which stay with size 1.
    fn mean_keep(&mut self, x: &Self::Value, axes: Axes) -> Result<Self::Value> {
        self.emit(Reduce { kind: ReduceKind::Mean, axes, keep_dims: true }.into(), &[x])
    }

    /// The same elements under another shape.
    fn reshaped(&mut self, x: &Self::Value, shape: Shape) -> Result<Self::Value> {
        if self.shape(x) == shape { Ok(x.clone()) } else { self.emit(Reshape { shape }.into(), &[x]) }
    }

    /// Broadcast to a larger shape.
    fn expanded(&mut self, x: &Self::Value, shape: Shape) -> Result<Self::Value> {
        if self.shape(x) == shape { Ok(x.clone()) } else { self.emit(Expand { shape }.into(), &[x]) }
    }

    /// The sum over all that broadcasting from `shape` has repeated: the gradient of a broadcast.
    fn summed_to(&mut self, x: &Self::Value, shape: Shape) -> Result<Self::Value> {
        let from = self.shape(x);
        if from == shape {
            return Ok(x.clone());
        }
        let lead = from.rank().saturating_sub(shape.rank());
        let mut axes = [0isize; MAX_RANK];
        let mut count = 0;
        for axis in 0..from.rank() {
            if axis < lead || (shape[axis - lead] == 1 && from[axis] != 1) {
                axes[count] = axis as isize;
                count += 1;
            }
        }
        let axes = Axes::of("sum", &from, &axes[..count])?;
        // Without the kept axes the result often has the shape already.
        let keep_dims = axes.iter().any(|axis| axis >= lead);
        let sum = self.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dims }.into(), &[x])?;
        self.reshaped(&sum, shape)
    }
}

impl<B: Builder> Terms for B {}
