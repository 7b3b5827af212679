//! Gradients: one rule per op, generic over a [`Builder`], so that a rule is written once and serves graphs
//! and the eager tape alike.
//!
//! - here: what a rule is given and gives, and how ops are classified;
//! - [`terms`]: the words in which rules are written;
//! - [`elementwise`]: derivatives of elements as one fused op, for builders that run at once;
//! - [`erased`]: any builder behind one type, for rules of ops from outside;
//! - [`mod@sweep`]: the reverse walk over what was recorded, whoever recorded it;
//! - [`rows`]: gradients of lookups, which are rows of a table;
//! - [`graph`]: that walk over a graph, and the gradients of conditions.
//!
//! Promises: a rule reads types and values only through its builder; an input that nobody wants a gradient of
//! costs nothing; where there is none, the error names the op. Leaves to others: recording (`situ-tensor`),
//! and where gradient ops run.

pub mod elementwise;
pub mod erased;
pub mod graph;
mod program;
pub mod rows;
pub mod sweep;
pub mod terms;

pub use elementwise::Elementwise;
pub use graph::gradients;
pub use rows::{Part, Rows};
pub use sweep::{History, Made, Recorded, ValueId, sweep};
pub use terms::Terms;

use crate::Op;
use situ_core::{Error, Result, TensorType};
use smallvec::SmallVec;

/// Whether, and how, an op can be differentiated. Every op says so: there is no default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Differentiability {
    /// It has a rule for its float inputs.
    Smooth,
    /// Its result moves in steps, or is no number: comparisons, roundings, positions. There is no gradient
    /// through it.
    Flat,
    /// It stops gradients on purpose.
    Stop,
    /// It has no inputs to differentiate by.
    Source,
}

/// Results of one op: nearly always a single one.
pub type Values<V> = SmallVec<[V; 1]>;

/// Something that ops can be emitted into: a graph under construction, or the eager runtime.
pub trait Builder {
    /// A handle to a result.
    type Value: Clone;

    /// Applies `op` and returns its first output.
    fn emit(&mut self, op: Op, inputs: &[&Self::Value]) -> Result<Self::Value>;

    /// Applies `op` and returns all its outputs.
    fn emit_all(&mut self, op: Op, inputs: &[&Self::Value]) -> Result<Values<Self::Value>>;

    /// The type of a value.
    fn type_of(&self, value: &Self::Value) -> TensorType;

    /// A function of elements. Builders that run ops at once do it in one.
    fn elementwise<E: Elementwise>(&mut self, function: &E, inputs: &[&Self::Value]) -> Result<Self::Value>
    where
        Self: Sized,
    {
        let values: SmallVec<[Self::Value; 4]> = inputs.iter().map(|v| (*v).clone()).collect();
        function.build(self, &values)
    }
}

/// One application of an op, as its gradient rule sees it.
#[derive(Debug)]
pub struct Application<'a, V> {
    /// The op's inputs.
    pub inputs: &'a [V],
    /// The values that it gave.
    pub outputs: &'a [V],
    /// The gradient of the result by each output; `None` where nothing depends on it.
    pub upstream: &'a [Option<V>],
    /// Of which inputs the gradient is wanted; the others may stay `None`.
    pub wanted: &'a [bool],
}

impl<V> Application<'_, V> {
    /// Whether the gradient by that input is wanted.
    #[inline]
    pub fn wants(&self, input: usize) -> bool {
        self.wanted.get(input).copied().unwrap_or(false)
    }

    /// The gradient by the first output. A rule is only asked where some output has one; rules of ops with
    /// several outputs look at [`Application::upstream`] themselves.
    pub fn by_output(&self) -> Result<&V> {
        match self.upstream.first() {
            Some(Some(upstream)) => Ok(upstream),
            _ => Err(Error::argument(
                "gradient",
                "a rule was asked without a gradient to go on from",
                "this is a defect of what asked it",
            )),
        }
    }
}

/// The gradient by each input; `None` where the input has no influence that can be differentiated.
pub type Gradients<V> = SmallVec<[Option<V>; 3]>;

/// No gradient by any of `count` inputs.
pub fn none<V>(count: usize) -> Gradients<V> {
    (0..count).map(|_| None).collect()
}

/// The error of a gradient that was asked for through an op that has none.
#[cold]
pub fn undefined(op: &'static str) -> Error {
    Error::argument(
        op,
        "there is no gradient through this op",
        "keep it out of the differentiated part, or call stop_gradient before it",
    )
}
