//! Reductions over any axes.

use super::{Attributes, BinaryKind, Given, Rule, arity, float_only, unknown};
use crate::gradient::elementwise::Kept;
use crate::gradient::{Application, Builder, Differentiability, Elementwise, Gradients, Terms, undefined};
use crate::work::{Work, WorkClass};
use situ_core::{Axes, DType, Error, Result, Scalar, Shape, TensorType};

/// What the elements are reduced to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ReduceKind {
    /// The sum; integers wrap. Of nothing: 0.
    Sum,
    /// The mean, of floats. Of nothing: NaN.
    Mean,
    /// The largest; NaN if any is. Of nothing: an error.
    Max,
    /// The smallest; NaN if any is. Of nothing: an error.
    Min,
    /// The product; integers wrap. Of nothing: 1.
    Prod,
    /// Whether any holds. Of nothing: false.
    Any,
    /// Whether all hold. Of nothing: true.
    All,
    /// The position of the largest, the first of equals; NaN counts as largest. i32. Of nothing: an error.
    ArgMax,
    /// The position of the smallest, the first of equals; NaN counts as smallest. i32. Of nothing: an error.
    ArgMin,
}

impl ReduceKind {
    /// Every reduction.
    pub const ALL: [ReduceKind; 9] = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Prod,
        ReduceKind::Any,
        ReduceKind::All,
        ReduceKind::ArgMax,
        ReduceKind::ArgMin,
    ];

    /// Its name in graphs, errors and tables.
    pub const fn name(self) -> &'static str {
        match self {
            ReduceKind::Sum => "sum",
            ReduceKind::Mean => "mean",
            ReduceKind::Max => "max",
            ReduceKind::Min => "min",
            ReduceKind::Prod => "prod",
            ReduceKind::Any => "any",
            ReduceKind::All => "all",
            ReduceKind::ArgMax => "argmax",
            ReduceKind::ArgMin => "argmin",
        }
    }
}

/// Reduces over a set of axes. `argmax` and `argmin` over several axes give the row-major position among
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reduce {
    /// What elements are reduced to.
    pub kind: ReduceKind,
    /// Over which axes; an empty set reduces nothing and copies.
    pub axes: Axes,
    /// Whether the reduced axes stay, with size 1.
    pub keep_dims: bool,
}

impl Rule for Reduce {
    const NAMES: &'static [&'static str] =
        &["sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin"];

    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn attributes(&self) -> Attributes {
        Attributes::none().with("axes", self.axes).flag("keep_dims", self.keep_dims)
    }

    fn read(name: &str, given: &mut Given) -> Result<Reduce> {
        let Some(kind) = ReduceKind::ALL.into_iter().find(|kind| kind.name() == name) else {
            return Err(unknown(name));
        };
        Ok(Reduce { kind, axes: given.axes("axes")?, keep_dims: given.flag("keep_dims")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        let op = self.name();
        arity(op, inputs, 1)?;
        let TensorType { dtype, shape } = inputs[0];
        if let Some(axis) = self.axes.iter().find(|&a| a >= shape.rank()) {
            return Err(Error::operands(
                op,
                inputs,
                format!("there is no axis {axis}"),
                "name axes of the input",
            ));
        }
        let count: usize = self.axes.iter().map(|a| shape[a]).product();
        let dtype = match self.kind {
            ReduceKind::Mean => {
                float_only(op, inputs, dtype)?;
                dtype
            }
            ReduceKind::Any | ReduceKind::All if dtype != DType::Bool => {
                return Err(Error::operands(
                    op,
                    inputs,
                    format!("is defined for bool, not {dtype}"),
                    "compare first",
                ));
            }
            ReduceKind::Any | ReduceKind::All => dtype,
            _ if dtype == DType::Bool => {
                return Err(Error::operands(
                    op,
                    inputs,
                    "is defined for numbers, not bool",
                    "cast to a number first",
                ));
            }
            ReduceKind::ArgMax | ReduceKind::ArgMin => {
                if count > i32::MAX as usize {
                    return Err(Error::operands(
                        op,
                        inputs,
                        "positions pass what i32 can hold",
                        "reduce in two steps",
                    ));
                }
                DType::I32
            }
            ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min | ReduceKind::Prod => dtype,
        };
        let out = if self.keep_dims {
            let mut kept = [0; situ_core::MAX_RANK];
            for (axis, size) in shape.iter().enumerate() {
                kept[axis] = if self.axes.contains(axis) { 1 } else { *size };
            }
            Shape::new(&kept[..shape.rank()])?
        } else {
            shape.without(|axis| self.axes.contains(axis))
        };
        let needs_one =
            matches!(self.kind, ReduceKind::Max | ReduceKind::Min | ReduceKind::ArgMax | ReduceKind::ArgMin);
        if needs_one && count == 0 && out.elements() > 0 {
            return Err(Error::operands(op, inputs, "has no value for no elements", "skip empty tensors"));
        }
        Ok(TensorType { dtype, shape: out })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let mut work = Work::streaming(WorkClass::Reduce, 0.0, inputs, outputs);
        work.flops = inputs[0].shape.elements() as f64;
        work
    }

    fn moved(&self, elements: &[Scalar]) -> Option<Scalar> {
        match self.kind {
            ReduceKind::Max | ReduceKind::Min | ReduceKind::Any | ReduceKind::All => {
                elements.first().copied()
            }
            ReduceKind::Sum
            | ReduceKind::Mean
            | ReduceKind::Prod
            | ReduceKind::ArgMax
            | ReduceKind::ArgMin => None,
        }
    }

    fn differentiability(&self) -> Differentiability {
        match self.kind {
            ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Max | ReduceKind::Min | ReduceKind::Prod => {
                Differentiability::Smooth
            }
            ReduceKind::Any | ReduceKind::All | ReduceKind::ArgMax | ReduceKind::ArgMin => {
                Differentiability::Flat
            }
        }
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let x = &at.inputs[0];
        let shape = builder.shape(x);
        let mut kept = [0; situ_core::MAX_RANK];
        for (axis, size) in shape.iter().enumerate() {
            kept[axis] = if self.axes.contains(axis) { 1 } else { *size };
        }
        let kept = Shape::new(&kept[..shape.rank()])?;
        let count: usize = self.axes.iter().map(|a| shape[a]).product();
        let upstream = builder.reshaped(at.by_output()?, kept)?;
        let back = match self.kind {
            ReduceKind::Sum => builder.expanded(&upstream, shape)?,
            ReduceKind::Mean => {
                let share = builder.scaled(&upstream, 1.0 / count as f64)?;
                builder.expanded(&share, shape)?
            }
            ReduceKind::Max | ReduceKind::Min => {
                // Equals share evenly.
                let y = builder.reshaped(&at.outputs[0], kept)?;
                let reached = builder.elementwise(&Reached, &[x, &y])?;
                let sharers = builder.sum_keep(&reached, self.axes)?;
                builder.elementwise(&Shared, &[&reached, &sharers, &upstream])?
            }
            ReduceKind::Prod => {
                // The product of the others, which y / x is only where x is not zero.
                let others = builder.elementwise(&OneForZero, &[x])?;
                let product = Reduce { keep_dims: true, ..*self };
                let others = builder.emit(product.into(), &[&others])?;
                let zero = builder.elementwise(&IsZero, &[x])?;
                let zeros = builder.sum_keep(&zero, self.axes)?;
                builder.elementwise(&Others, &[x, &others, &zeros, &upstream])?
            }
            ReduceKind::Any | ReduceKind::All | ReduceKind::ArgMax | ReduceKind::ArgMin => {
                return Err(undefined(self.kind.name()));
            }
        };
        Ok(Gradients::from_iter([Some(back)]))
    }
}

macro_rules! function {
    ($($(#[$doc:meta])* $name:ident |$builder:ident, $($input:ident),+| $body:block)*) => {$(
        $(#[$doc])*
        struct $name;

        impl Elementwise for $name {
            fn kept(&self) -> Option<&'static Kept> {
                static KEPT: Kept = Kept::new();
                Some(&KEPT)
            }

            fn build<B: Builder>(&self, $builder: &mut B, inputs: &[B::Value]) -> Result<B::Value> {
                let [$($input),+] = inputs else { return Err(undefined("reduce")) };
                $body
            }
        }
    )*};
}

function! {
    /// 1 where x is the extreme, else 0.
    Reached |b, x, y| {
        let equal = b.binary(BinaryKind::Equal, x, y)?;
        b.cast(&equal, b.dtype(x))
    }
    /// The upstream gradient, shared between those that reached the extreme.
    Shared |b, reached, sharers, upstream| {
        let part = b.mul(reached, upstream)?;
        b.div(&part, sharers)
    }
    /// x, but 1 where it is 0.
    OneForZero |b, x| {
        let zero = b.scalar(x, 0.0)?;
        let is_zero = b.binary(BinaryKind::Equal, x, &zero)?;
        let one = b.scalar(x, 1.0)?;
        b.select(&is_zero, &one, x)
    }
    /// 1 where x is 0, else 0.
    IsZero |b, x| {
        let zero = b.scalar(x, 0.0)?;
        let is_zero = b.binary(BinaryKind::Equal, x, &zero)?;
        b.cast(&is_zero, b.dtype(x))
    }
    /// The product of the other elements, from the product of those that are not 0 and the number of those
    /// that are.
    Others |b, x, product, zeros, upstream| {
        let zero = b.scalar(x, 0.0)?;
        let one = b.scalar(x, 1.0)?;
        let is_zero = b.binary(BinaryKind::Equal, x, &zero)?;
        let no_zero = b.binary(BinaryKind::Equal, zeros, &zero)?;
        let one_zero = b.binary(BinaryKind::Equal, zeros, &one)?;
        let divisor = b.select(&is_zero, &one, x)?;
        let divided = b.div(product, &divisor)?;
        let of_others = b.where_or_zero(&no_zero, &divided)?;
        let of_zero = b.where_or_zero(&one_zero, product)?;
        let others = b.select(&is_zero, &of_zero, &of_others)?;
        b.mul(&others, upstream)
    }
}
