//! The trait that every op implements: all that the rest of situ knows of an op, apart from its kernels.
//!
//! What most ops are is the default; an op says only what it is besides.

use super::{Attributes, Given, Op, Program, Register, Step};
use crate::gradient::{Application, Builder, Differentiability, Gradients, undefined};
use crate::work::Work;
use situ_core::{DType, Layout, Result, Scalar, TensorType};
use smallvec::SmallVec;

/// The types of an op's outputs.
pub type Outputs = SmallVec<[TensorType; 1]>;

/// Whether an op only looks at its input differently. No kernel runs then, and nothing is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Viewing {
    /// Its result is computed, into memory of its own.
    Never,
    /// Whatever strides its input has.
    Always,
    /// If the input's strides allow it; they do where it is dense.
    OfDense,
}

/// What a part of a joined op reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// An input of the joined op.
    Input(usize),
    /// What a part before it makes.
    Part(usize),
}

/// One of the ops that a joined op stands for. Each makes one tensor.
#[derive(Clone, Debug)]
pub struct Part {
    /// The op that it stands for.
    pub op: Op,
    /// What it reads.
    pub reads: Vec<Read>,
    /// The outputs of the joined op that it makes.
    pub gives: Vec<usize>,
    /// The types of its inputs.
    pub inputs: Vec<TensorType>,
    /// The types of its outputs.
    pub outputs: Vec<TensorType>,
}

/// What an op is, apart from any device.
///
/// ```
/// use situ_core::{DType, Error, Result, Shape, TensorType};
/// use situ_ir::ops::Given;
/// use situ_ir::{Differentiability, Rule, Work, WorkClass};
///
/// /// How many elements are not zero.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct CountNonzero;
///
/// impl Rule for CountNonzero {
///     const NAMES: &'static [&'static str] = &["count_nonzero"];
///
///     // It has no attributes, so there is none to read.
///     fn read(_: &str, _: &mut Given) -> Result<CountNonzero> {
///         Ok(CountNonzero)
///     }
///
///     fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
///         match inputs {
///             [_] => Ok(TensorType::new(DType::I32, Shape::SCALAR)),
///             _ => Err(Error::operands(self.name(), inputs, "it takes one tensor", "give one")),
///         }
///     }
///
///     // One comparison and one addition for each element that is read.
///     fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
///         let flops = 2.0 * inputs[0].shape.elements() as f64;
///         Work { flops, ..Work::streaming(WorkClass::Reduce, 0.0, inputs, outputs) }
///     }
///
///     fn differentiability(&self) -> Differentiability {
///         Differentiability::Flat
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let inputs = [TensorType::new(DType::F32, Shape::new(&[3, 5])?)];
/// let output = CountNonzero.infer(&inputs)?;
/// assert_eq!(output.to_string(), "i32[]");
/// assert_eq!(CountNonzero.work(&inputs, &[output]).flops, 30.0);
/// # Ok(()) }
/// ```
pub trait Rule {
    /// Every name that [`Rule::name`] may give.
    const NAMES: &'static [&'static str];

    /// Its name in messages, files and profiles: the only one, unless the op has several.
    #[inline]
    fn name(&self) -> &'static str {
        Self::NAMES[0]
    }

    /// What makes it this op among those of its name, as the text form writes it.
    fn attributes(&self) -> Attributes {
        Attributes::none()
    }

    /// The op of one of its names, from what [`Rule::attributes`] wrote.
    fn read(name: &str, given: &mut Given) -> Result<Self>
    where
        Self: Sized;

    /// The type of its first output, or the error that says why the inputs do not fit.
    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType>;

    /// The types of all its outputs: one, unless the op says otherwise.
    fn outputs(&self, inputs: &[TensorType]) -> Result<Outputs> {
        Ok(Outputs::from_buf([self.infer(inputs)?]))
    }

    /// Its arithmetic and bytes.
    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work;

    /// The dtype by which kernels are registered: that of the first input, or of the output if there is none.
    #[inline]
    fn kernel_dtype(&self, inputs: &[TensorType], outputs: &[TensorType]) -> DType {
        inputs.first().or(outputs.first()).map_or(DType::F32, |t| t.dtype)
    }

    /// For ops that only look at their input differently: the layout of the result in the input's memory, if
    /// the input's strides allow one.
    #[inline]
    fn view(&self, input: &Layout, output: &TensorType) -> Option<Layout> {
        let _ = (input, output);
        None
    }

    /// Whether it only looks at its input differently. Ops that do say where the result lies, by
    /// [`Rule::view`].
    #[inline]
    fn viewing(&self) -> Viewing {
        Viewing::Never
    }

    /// Whether a run of it may meet data that it has no result for: an index out of range, an integer divided
    /// by zero. Devices with a queue give such a launch a check, and plans keep a place for it.
    #[inline]
    fn may_find_bad_data(&self, inputs: &[TensorType]) -> bool {
        let _ = inputs;
        false
    }

    /// Whether it looks at its inputs even where no output has an element, because they may be bad all the
    /// same.
    #[inline]
    fn looks_at_data_for_nothing(&self) -> bool {
        false
    }

    /// The stream of random numbers that it draws from, if each run draws others. Such an op is never merged
    /// with its like, nor computed ahead.
    #[inline]
    fn stream(&self) -> Option<u64> {
        None
    }

    /// The same op on another stream: how each call of a function draws numbers of its own.
    #[inline]
    fn with_stream(&self, stream: u64) -> Self
    where
        Self: Clone,
    {
        let _ = stream;
        self.clone()
    }

    /// Whether its inputs broadcast against each other, so that none need be broadcast for it.
    fn broadcasts(&self) -> bool {
        false
    }

    /// Whether its two inputs may change places, on inputs of this dtype, without a bit of the result
    /// changing.
    fn commutes(&self, dtype: DType) -> bool {
        let _ = dtype;
        false
    }

    /// The element that every element of its result is, if that is known without inputs.
    fn constant(&self) -> Option<Scalar> {
        None
    }

    /// The element that every element of its result is where all elements of input n are `elements[n]`: for
    /// ops that move elements or choose among them, and make none.
    fn moved(&self, elements: &[Scalar]) -> Option<Scalar> {
        match (self.viewing(), elements) {
            (Viewing::Never, _) => None,
            (Viewing::Always | Viewing::OfDense, [element]) => Some(*element),
            (Viewing::Always | Viewing::OfDense, _) => None,
        }
    }

    /// What it does to each element, as a step of a fused program on these registers, one for each input. An
    /// op that gives one can be fused, and is folded and differentiated as the step is.
    fn step(&self, reads: &[Register]) -> Option<Step> {
        let _ = reads;
        None
    }

    /// What it does to each element, if that is several steps.
    fn program(&self) -> Option<&Program> {
        None
    }

    /// Why it is never a step of a fused program, though it computes element by element.
    fn stays_alone(&self, outputs: &[TensorType]) -> Option<&'static str> {
        let _ = outputs;
        None
    }

    /// The ops that it stands for, each after what it reads, where a pass made it of others. On a device that
    /// has all of these and not the whole, they run in its place. They give its results, to the bit.
    fn parts(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Vec<Part> {
        let _ = (inputs, outputs);
        Vec::new()
    }

    /// Whether it has a gradient. If it is smooth, [`Rule::gradient`] says what it is.
    fn differentiability(&self) -> Differentiability;

    /// The gradient by each wanted input, from the gradients by the outputs.
    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        let _ = (builder, at);
        Err(undefined(self.name()))
    }
}
