//! The seam by which passes run ops on constants: the runtime has the tensors and the kernels, this crate has
//! neither.

use crate::ops::Op;
use situ_core::{Result, Scalar, TensorType};

/// A tensor whose value is known when a function is traced.
#[derive(Clone, Copy, Debug)]
pub enum Constant<'a> {
    /// A captured tensor, by its number.
    Capture(u32),
    /// The result of an op without inputs: a fill, a range, an identity matrix.
    Made(&'a Op),
}

/// Runs ops on constants, and keeps the results as further captured tensors of the function.
pub trait Evaluate {
    /// Runs `op` and keeps its results as captured tensors, the numbers of which follow on those there are.
    /// Returns the first of the numbers, or `None` if it would rather not. An error leaves the op in the
    /// graph, to be met when it runs.
    fn evaluate(&mut self, op: &Op, inputs: &[Constant<'_>], outputs: &[TensorType]) -> Result<Option<u32>>;

    /// The element of a captured tensor that has one element, if it can be read without much ado.
    fn scalar(&mut self, capture: u32) -> Option<Scalar> {
        let _ = capture;
        None
    }
}

/// Runs nothing: only what is exact without a kernel is folded.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvaluation;

impl Evaluate for NoEvaluation {
    fn evaluate(&mut self, _: &Op, _: &[Constant<'_>], _: &[TensorType]) -> Result<Option<u32>> {
        Ok(None)
    }
}
