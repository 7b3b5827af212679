//! Every op, one file each; families (elementwise, reductions) are tables.
//!
//! Adding an op: a file here with a type that implements [`Rule`], and one line in the list below.

pub mod attributes;
pub mod batch_norm;
mod biased;
pub mod binary;
mod carried;
pub mod cast;
pub mod conv2d;
pub mod conv2d_bias;
pub mod cross_entropy;
pub mod cumsum;
pub mod custom;
pub mod dropout;
pub mod fused;
pub mod generate;
pub mod index;
pub mod join;
pub mod layer_norm;
pub mod matmul;
pub mod matmul_bias;
pub mod matmul_integer;
pub mod pool2d;
pub mod random;
pub mod reduce;
pub mod rows;
pub mod rule;
pub mod select;
pub mod softmax;
pub mod stop_gradient;
pub mod unary;
pub mod update;
pub mod view;
pub mod window;

use crate::gradient::{Application, Builder, Differentiability, Gradients};
use crate::work::Work;
use situ_core::{DType, Layout, Result, Scalar, TensorType};

pub use attributes::{Attribute, Attributes, Given};
pub use batch_norm::BatchNorm;
pub use binary::{Binary, BinaryKind};
pub use cast::Cast;
pub use conv2d::{Conv2d, Conv2dByFilter, Conv2dByInput};
pub use conv2d_bias::Conv2dBias;
pub use cross_entropy::{CrossEntropy, SparseCrossEntropy};
pub use cumsum::Cumsum;
pub use custom::{Custom, Foreign};
pub use dropout::Dropout;
pub use fused::{Fused, Program, Register, Step};
pub use generate::{Eye, Fill, Range};
pub use index::{Gather, OneHot, ScatterAdd};
pub use join::{Concat, Pad, Tile};
pub use layer_norm::LayerNorm;
pub use matmul::{BiasAdd, Matmul};
pub use matmul_bias::MatmulBias;
pub use matmul_integer::MatmulInteger;
pub use pool2d::{Pool2d, Pool2dByInput, PoolKind};
pub use random::{Distribution, Random};
pub use reduce::{Reduce, ReduceKind};
pub use rows::{Distinct, PutRows};
pub use rule::{Outputs, Part, Read, Rule, Viewing};
pub use select::Where;
pub use softmax::Softmax;
pub use stop_gradient::StopGradient;
pub use unary::{Unary, UnaryKind};
pub use update::{Update, UpdateKind};
pub use view::{Dense, Expand, Permute, Reshape, Slice};
pub use window::{Format, Window};

macro_rules! ops {
    ($($variant:ident)*) => {
        /// One operation with its attributes.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "each variant is documented at its type")]
        pub enum Op { $($variant($variant)),* }

        /// The family of an op, without attributes: the row of a kernel table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each variant is documented at its type")]
        #[repr(u8)]
        pub enum OpKind { $($variant),* }

        impl OpKind {
            /// Every family of ops.
            pub const ALL: &'static [OpKind] = &[$(OpKind::$variant),*];
        }

        impl Op {
            /// The family that it belongs to.
            #[inline]
            pub fn kind(&self) -> OpKind {
                match self { $(Op::$variant(_) => OpKind::$variant),* }
            }

            /// Its name in messages, files and profiles.
            #[inline]
            pub fn name(&self) -> &'static str {
                match self { $(Op::$variant(op) => op.name()),* }
            }

            /// What makes it this op among those of its name.
            pub fn attributes(&self) -> Attributes {
                match self { $(Op::$variant(op) => op.attributes()),* }
            }

            /// The op of that name with those attributes, or the error that says what is wrong with them.
            pub fn read(name: &str, attributes: Vec<(String, Attribute)>) -> Result<Op> {
                $(if let Some(own) = $variant::NAMES.iter().find(|own| **own == name) {
                    let mut given = Given::new(own, attributes);
                    let op = $variant::read(own, &mut given)?;
                    given.finish()?;
                    return Ok(Op::$variant(op));
                })*
                custom::read(name, attributes).unwrap_or_else(|| Err(unknown(name)))
            }

            /// The names of all ops but those from outside.
            pub fn names() -> impl Iterator<Item = &'static str> {
                [$($variant::NAMES),*].into_iter().flatten().copied()
            }

            /// The types of its outputs, or the error that says why the inputs do not fit.
            #[inline]
            pub fn infer(&self, inputs: &[TensorType]) -> Result<Outputs> {
                let types = match self { $(Op::$variant(op) => op.outputs(inputs)),* };
                types.map_err(|error| error.of_op(self.name(), inputs))
            }

            /// Its arithmetic and bytes.
            #[inline]
            pub fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
                match self { $(Op::$variant(op) => op.work(inputs, outputs)),* }
            }

            /// The dtype by which its kernels are registered.
            #[inline]
            pub fn kernel_dtype(&self, inputs: &[TensorType], outputs: &[TensorType]) -> DType {
                match self { $(Op::$variant(op) => op.kernel_dtype(inputs, outputs)),* }
            }

            /// Whether it only looks at its input differently.
            #[inline]
            pub fn viewing(&self) -> Viewing {
                match self { $(Op::$variant(op) => op.viewing()),* }
            }

            /// For views: the layout of the result in the input's memory, if strides allow one.
            #[inline]
            pub fn view(&self, input: &Layout, output: &TensorType) -> Option<Layout> {
                match self { $(Op::$variant(op) => op.view(input, output)),* }
            }

            /// Whether a run of it may meet data that it has no result for.
            pub fn may_find_bad_data(&self, inputs: &[TensorType]) -> bool {
                match self { $(Op::$variant(op) => op.may_find_bad_data(inputs)),* }
            }

            /// Whether it looks at its inputs even where no output has an element.
            #[inline]
            pub fn looks_at_data_for_nothing(&self) -> bool {
                match self { $(Op::$variant(op) => op.looks_at_data_for_nothing()),* }
            }

            /// The stream of random numbers that it draws from, if it draws any.
            #[inline]
            pub fn stream(&self) -> Option<u64> {
                match self { $(Op::$variant(op) => op.stream()),* }
            }

            /// The same op on another stream; itself if it draws from none.
            pub fn with_stream(&self, stream: u64) -> Op {
                match self { $(Op::$variant(op) => Op::$variant(op.with_stream(stream))),* }
            }

            /// Whether inputs broadcast against each other, so that none need be broadcast for it.
            pub fn broadcasts(&self) -> bool {
                match self { $(Op::$variant(op) => op.broadcasts()),* }
            }

            /// Whether its two inputs may change places, on inputs of this dtype, without a bit of the result
            /// changing.
            pub fn commutes(&self, dtype: DType) -> bool {
                match self { $(Op::$variant(op) => op.commutes(dtype)),* }
            }

            /// The element that every element of its result is, if that is known without inputs.
            pub fn constant(&self) -> Option<Scalar> {
                match self { $(Op::$variant(op) => op.constant()),* }
            }

            /// The element that every element of its result is where all elements of input n are
            /// `elements[n]`, if it moves elements and makes none.
            pub fn moved(&self, elements: &[Scalar]) -> Option<Scalar> {
                match self { $(Op::$variant(op) => op.moved(elements)),* }
            }

            /// What it does to each element, as a step of a fused program on these registers.
            pub fn step(&self, reads: &[Register]) -> Option<Step> {
                match self { $(Op::$variant(op) => op.step(reads)),* }
            }

            /// What it does to each element, if that is several steps.
            pub fn program(&self) -> Option<&Program> {
                match self { $(Op::$variant(op) => op.program()),* }
            }

            /// Why it is never a step of a fused program, though it computes element by element.
            pub fn stays_alone(&self, outputs: &[TensorType]) -> Option<&'static str> {
                match self { $(Op::$variant(op) => op.stays_alone(outputs)),* }
            }

            /// The ops that it stands for, where a pass made it of others; else none.
            pub fn parts(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part> {
                match self { $(Op::$variant(op) => op.parts(inputs, outputs)),* }
            }

            /// Whether it has a gradient.
            pub fn differentiability(&self) -> Differentiability {
                match self { $(Op::$variant(op) => op.differentiability()),* }
            }

            /// The gradient by each wanted input, from the gradients by the outputs. Of an op that is not
            /// smooth: none.
            pub fn gradient<B: Builder>(
                &self,
                builder: &mut B,
                at: &Application<'_, B::Value>,
            ) -> Result<Gradients<B::Value>> {
                if self.differentiability() != Differentiability::Smooth {
                    return Ok(crate::gradient::none(at.inputs.len()));
                }
                match self { $(Op::$variant(op) => op.gradient(builder, at)),* }
            }
        }

        $(impl From<$variant> for Op {
            fn from(op: $variant) -> Op { Op::$variant(op) }
        })*
    };
}

ops! {
    Unary Binary Where Cast
    Matmul MatmulInteger BiasAdd LayerNorm
    Conv2d Conv2dByInput Conv2dByFilter Pool2d Pool2dByInput BatchNorm Dropout
    Update
    Reduce Cumsum Softmax CrossEntropy SparseCrossEntropy
    Reshape Permute Expand Slice Dense StopGradient
    Concat Pad Tile
    Gather ScatterAdd OneHot Distinct PutRows
    Fill Range Eye Random
    Fused MatmulBias Conv2dBias
    Custom
}

/// The error of a name that no op has.
#[cold]
fn unknown(name: &str) -> situ_core::Error {
    let shared = |other: &str| other.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    // Of the names that begin alike, the shortest.
    let likeness = |other: &&str| (shared(other), std::cmp::Reverse(other.len()));
    let help = match Op::names().filter(|other| shared(other) > 1).max_by_key(likeness) {
        Some(near) => format!("did you mean {near}?"),
        None => "name an op of situ".to_string(),
    };
    situ_core::Error::argument("op", format!("there is no op {name}"), help)
}

/// An error unless there are exactly `n` inputs.
#[inline]
fn arity(op: &'static str, inputs: &[TensorType], n: usize) -> Result<()> {
    if inputs.len() == n {
        return Ok(());
    }
    Err(situ_core::Error::operands(op, inputs, format!("takes {n} inputs, was given {}", inputs.len()), ""))
}

/// An error unless all inputs have one dtype.
#[inline]
fn same_dtype(op: &'static str, inputs: &[TensorType]) -> Result<DType> {
    let first = inputs.first().map_or(DType::F32, |t| t.dtype);
    if inputs.iter().all(|t| t.dtype == first) {
        return Ok(first);
    }
    Err(situ_core::Error::operands(op, inputs, "the inputs have different dtypes", "cast them to one dtype"))
}

/// An error unless `dtype` is a float.
fn float_only(op: &'static str, inputs: &[TensorType], dtype: DType) -> Result<()> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(situ_core::Error::operands(
        op,
        inputs,
        format!("is defined for floats, not {dtype}"),
        "cast to f32 or f64",
    ))
}

/// The error of shapes that do not broadcast, or the shape that they do broadcast to.
#[inline]
fn broadcast(op: &'static str, inputs: &[TensorType]) -> Result<situ_core::Shape> {
    let mut shape = inputs[0].shape;
    for t in &inputs[1..] {
        shape = match shape.broadcast(&t.shape) {
            Some(joined) => joined?,
            None => {
                return Err(situ_core::Error::operands(
                    op,
                    inputs,
                    "the shapes do not broadcast: sizes must be equal, or 1, from the last axis on",
                    "reshape or expand one of them",
                ));
            }
        };
    }
    Ok(shape)
}
