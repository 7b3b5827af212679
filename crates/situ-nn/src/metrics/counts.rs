//! Sums of a batch, and ratios of them.

use situ_core::{DType, Result};
use situ_tensor::Tensor;

/// The sum of all values (bools count as 0 and 1), and how many there are, as two f32.
#[track_caller]
pub(super) fn sum_and_count(values: &Tensor) -> Result<Tensor> {
    // Padding with the count makes the pair without a constant of its own.
    total(values)?.pad(&[(0, 1)], values.elements() as f64)
}

/// The sum of all values, as one f32 on one axis.
#[track_caller]
pub(super) fn total(values: &Tensor) -> Result<Tensor> {
    values.cast(DType::F32)?.sum(&[])?.reshape(&[1])
}

/// The first sum by the second; 0 where that is 0, as before the first batch.
pub(super) fn ratio(sums: &[f32]) -> f64 {
    match sums {
        [part, whole, ..] if *whole != 0.0 => f64::from(*part) / f64::from(*whole),
        _ => 0.0,
    }
}
