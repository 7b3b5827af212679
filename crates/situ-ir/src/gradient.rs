//! The place of gradient rules: one per op, generic over a [`Builder`], so that a rule is written once and
//! serves graphs and the eager tape alike.

use crate::Op;
use situ_core::{Error, Result, TensorType};
use smallvec::SmallVec;

/// Something that ops can be emitted into: a graph under construction, or the eager runtime.
pub trait Builder {
    /// A handle to a result.
    type Value: Clone;

    /// Applies `op` and returns its first output.
    fn emit(&mut self, op: Op, inputs: &[&Self::Value]) -> Result<Self::Value>;

    /// The type of a value.
    fn type_of(&self, value: &Self::Value) -> TensorType;
}

/// One application of an op, as its gradient rule sees it.
#[derive(Debug)]
pub struct Application<'a, V> {
    /// The op's inputs.
    pub inputs: &'a [V],
    /// Its outputs.
    pub outputs: &'a [V],
    /// The gradient of the result by each output; `None` where nothing depends on it.
    pub upstream: &'a [Option<V>],
}

/// The gradient by each input; `None` where the input has no influence that can be differentiated.
pub type Gradients<V> = SmallVec<[Option<V>; 3]>;

/// The error of an op without a gradient rule.
#[cold]
pub fn undefined(op: &'static str) -> Error {
    Error::argument(
        op,
        "this op has no gradient",
        "keep it out of the differentiated part, or stop the gradient before it",
    )
}
