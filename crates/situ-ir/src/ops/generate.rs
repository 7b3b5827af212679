//! Tensors made from nothing: constants, ranges, identity matrices.

use super::{Attributes, Given, Register, Rule, Step, arity};
use crate::gradient::Differentiability;
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, Scalar, Shape, TensorType};

/// Every element the same value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fill {
    /// The shape of the result.
    pub shape: Shape,
    /// The value, which gives the dtype.
    pub value: Scalar,
}

impl Rule for Fill {
    const NAMES: &'static [&'static str] = &["fill"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("value", self.value).with("shape", self.shape)
    }

    fn read(_: &str, given: &mut Given) -> Result<Fill> {
        Ok(Fill { value: given.scalar("value")?, shape: given.shape("shape")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("fill", inputs, 0)?;
        Ok(TensorType { dtype: self.value.dtype(), shape: self.shape })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 0.0, inputs, outputs)
    }

    fn constant(&self) -> Option<Scalar> {
        Some(self.value)
    }

    fn step(&self, reads: &[Register]) -> Option<Step> {
        reads.is_empty().then_some(Step::Constant(self.value))
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Source
    }
}

/// `start + i · step` for i from 0 to `count` − 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Range {
    /// The first value, which gives the dtype.
    pub start: Scalar,
    /// The difference of neighbours.
    pub step: Scalar,
    /// How many elements there are.
    pub count: usize,
}

impl Rule for Range {
    const NAMES: &'static [&'static str] = &["range"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("start", self.start).with("step", self.step).with("count", self.count)
    }

    fn read(_: &str, given: &mut Given) -> Result<Range> {
        Ok(Range {
            start: given.scalar("start")?,
            step: given.scalar("step")?,
            count: given.integer("count")?,
        })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("range", inputs, 0)?;
        let dtype = self.start.dtype();
        if dtype == DType::Bool || self.step.dtype() != dtype {
            return Err(Error::argument(
                "range",
                format!("start is {dtype} and step is {}", self.step.dtype()),
                "give both as numbers of one dtype",
            ));
        }
        Ok(TensorType { dtype, shape: Shape::new(&[self.count])? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 1.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Source
    }
}

/// Ones on the diagonal, zeros elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Eye {
    /// How many rows there are.
    pub rows: usize,
    /// How many columns there are.
    pub columns: usize,
    /// The dtype of the result.
    pub dtype: DType,
}

impl Rule for Eye {
    const NAMES: &'static [&'static str] = &["eye"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("rows", self.rows).with("columns", self.columns).with("dtype", self.dtype)
    }

    fn read(_: &str, given: &mut Given) -> Result<Eye> {
        Ok(Eye {
            rows: given.integer("rows")?,
            columns: given.integer("columns")?,
            dtype: given.dtype("dtype")?,
        })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("eye", inputs, 0)?;
        Ok(TensorType { dtype: self.dtype, shape: Shape::new(&[self.rows, self.columns])? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        Work::streaming(WorkClass::Move, 0.0, inputs, outputs)
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Source
    }
}
