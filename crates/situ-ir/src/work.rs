//! What an op costs, before any device is known: arithmetic and bytes.

use situ_core::{DType, TensorType};

/// The sort of work an op does. Devices have one speed for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum WorkClass {
    /// One cheap operation per element.
    Elementwise,
    /// Polynomials per element: exp, tanh, erf, random numbers.
    Transcendental,
    /// Dense products, bound by arithmetic.
    Matmul,
    /// Reductions, softmax, normalisation.
    Reduce,
    /// Moving elements without computing.
    Move,
    /// Indexed reads and writes.
    Gather,
}

impl WorkClass {
    /// Every class, in the order of their discriminants.
    pub const ALL: [WorkClass; 6] = [
        WorkClass::Elementwise,
        WorkClass::Transcendental,
        WorkClass::Matmul,
        WorkClass::Reduce,
        WorkClass::Move,
        WorkClass::Gather,
    ];
}

/// The work of one op on given types.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Work {
    /// The sort of work, by which devices have a speed.
    pub class: WorkClass,
    /// Arithmetic operations, of its dtype.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// The dtype it computes in: the wider of its first operand and its first result.
    pub dtype: DType,
}

impl Work {
    /// Work that reads every input once, writes every output once, and does `per_element` operations for each
    /// element of the first output.
    #[inline]
    pub fn streaming(
        class: WorkClass,
        per_element: f64,
        inputs: &[TensorType],
        outputs: &[TensorType],
    ) -> Work {
        let bytes: usize = inputs.iter().chain(outputs).map(TensorType::bytes).sum();
        let elements = outputs.first().map_or(0, |t| t.shape.elements());
        // Conditions, comparisons and indices have an operand or a result beside what they compute on, and it
        // is the narrower.
        let first = [outputs.first(), inputs.first()].into_iter().flatten().map(|t| t.dtype);
        let dtype = first.max_by_key(|dtype| dtype.size()).unwrap_or(DType::F32);
        Work { class, flops: per_element * elements as f64, bytes: bytes as f64, dtype }
    }
}
