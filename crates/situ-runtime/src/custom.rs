//! Ops from outside the workspace: their names and kernels, registered with every device crate at once.

use situ_core::{DType, Result, TensorType};
use situ_ir::ops::Foreign;
use std::marker::PhantomData;

pub use situ_cpu::custom::CpuCall;

/// The kernel of a type of ops on GPUs, as text.
///
/// The text has a function `fn result(e: u32) -> ..` that gives element `e` of the output, row-major: floats
/// as `f32`, integers as `i32` or `u32` (those of 64 bits as `i64` or `u64`), truth as `bool`. It finds
/// element `i` of its inputs, of which there are three at most, by `in0(i)`,
/// `in1(i)` and `in2(i)`, and the op's four words by `own()`. WGSL may assume that there is no NaN;
/// `is_nan(x)` and `nan()` know better.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Wgsl<T> {
    /// The text for an op. It may depend on the op's attributes; sizes belong in the words, so that it is
    /// compiled once for all of them.
    pub text: fn(&T) -> String,
    /// The op's own four words, from the types of its inputs and outputs.
    pub words: fn(&T, &[TensorType], &[TensorType]) -> [u32; 4],
    /// How many trips its loops make for one element: drivers end a loop early without a word, so an op whose
    /// loops are too long for that runs elsewhere, and says why. Of a text without loops: 0.
    pub trips: fn(&T, &[TensorType]) -> usize,
}

impl<T> Wgsl<T> {
    /// A text and the trips of its loops; its four words are 0.
    pub const fn new(text: fn(&T) -> String, trips: fn(&T, &[TensorType]) -> usize) -> Wgsl<T> {
        Wgsl { text, words: |_, _, _| [0; 4], trips }
    }

    /// The same with words of its own.
    pub const fn with_words(mut self, words: fn(&T, &[TensorType], &[TensorType]) -> [u32; 4]) -> Wgsl<T> {
        self.words = words;
        self
    }
}

/// A type of ops whose name is known: what its kernels are given to.
#[derive(Clone, Copy, Debug)]
pub struct Registered<T>(PhantomData<fn() -> T>);

/// Makes a type of ops known by its names, so that text with them can be read; its kernels follow. An error
/// where a name is that of another op. To register a type again changes nothing.
pub fn register<T: Foreign>() -> Result<Registered<T>> {
    situ_ir::ops::custom::register::<T>()?;
    Ok(Registered(PhantomData))
}

impl<T: Foreign> Registered<T> {
    /// Its kernel on CPUs, for these dtypes (of the first input, unless the op's rule names another).
    pub fn cpu(self, dtypes: &[DType], kernel: fn(&T, &mut CpuCall<'_>) -> Result<()>) -> Self {
        situ_cpu::custom::register(dtypes, kernel);
        self
    }

    /// Its kernel on GPUs, for these dtypes. Without the cargo feature `gpu` there are none, and this does
    /// nothing.
    pub fn gpu(self, dtypes: &[DType], kernel: Wgsl<T>) -> Self {
        #[cfg(feature = "gpu")]
        situ_gpu::custom::register(dtypes, kernel.text, kernel.words, kernel.trips);
        #[cfg(not(feature = "gpu"))]
        let _ = (dtypes, kernel);
        self
    }
}
