//! How often a prediction is right.

use super::counts::{ratio, sum_and_count};
use crate::Metric;
use crate::losses::{class_numbers, same_shape};
use situ_core::{Error, Result};
use situ_tensor::{Tensor, zeros};

/// How often the largest prediction is where the largest target is: for one-hot targets.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Metric;
/// use situ_nn::metrics::Accuracy;
/// use situ_tensor::tensor;
/// let accuracy = Accuracy::new();
/// let batch = accuracy.batch(&tensor([[0.1f32, 0.9], [0.8, 0.2]])?, &tensor([[0, 1], [0, 1]])?)?;
/// assert_eq!(accuracy.figure(&batch.to_vec::<f32>()?), 0.5);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Accuracy;

impl Accuracy {
    /// The metric, under the name `accuracy`.
    pub fn new() -> Accuracy {
        Accuracy
    }
}

impl Metric for Accuracy {
    fn name(&self) -> String {
        "accuracy".into()
    }

    fn sums(&self) -> usize {
        2
    }

    #[track_caller]
    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        if predicted.rank() < 2 || predicted.shape() != target.shape() {
            return Err(Error::operands(
                "accuracy",
                &[predicted.tensor_type(), target.tensor_type()],
                "predictions and targets must have the same shape, the last axis of which are the classes",
                "use SparseAccuracy for class numbers, or BinaryAccuracy for yes and no",
            ));
        }
        sum_and_count(&predicted.argmax(&[-1])?.equal(&target.argmax(&[-1])?)?)
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn figure(&self, sums: &[f32]) -> f64 {
        ratio(sums)
    }
}

/// How often the largest prediction is at the class number that is the target.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Metric;
/// use situ_nn::metrics::SparseAccuracy;
/// use situ_tensor::tensor;
/// let accuracy = SparseAccuracy::new();
/// let batch = accuracy.batch(&tensor([[0.1f32, 0.9], [0.8, 0.2]])?, &tensor([1, 1])?)?;
/// assert_eq!(accuracy.figure(&batch.to_vec::<f32>()?), 0.5);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SparseAccuracy;

impl SparseAccuracy {
    /// The metric, under the name `accuracy`.
    pub fn new() -> SparseAccuracy {
        SparseAccuracy
    }
}

impl Metric for SparseAccuracy {
    fn name(&self) -> String {
        "accuracy".into()
    }

    fn sums(&self) -> usize {
        2
    }

    #[track_caller]
    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let labels = class_numbers("sparse_accuracy", predicted, target)?;
        let found = predicted.argmax(&[-1])?.cast(labels.dtype())?;
        sum_and_count(&found.equal(&labels)?)
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn figure(&self, sums: &[f32]) -> f64 {
        ratio(sums)
    }
}

/// How often a prediction is on the target's side of a threshold.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Metric;
/// use situ_nn::metrics::BinaryAccuracy;
/// use situ_tensor::tensor;
/// let accuracy = BinaryAccuracy::new();
/// let batch = accuracy.batch(&tensor([[0.9f32], [0.2], [0.6]])?, &tensor([1, 0, 0])?)?;
/// assert_eq!(batch.to_vec::<f32>()?, [2.0, 3.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BinaryAccuracy {
    threshold: f64,
}

impl Default for BinaryAccuracy {
    fn default() -> BinaryAccuracy {
        BinaryAccuracy::new()
    }
}

impl BinaryAccuracy {
    /// With a threshold of 0.5, for probabilities.
    pub fn new() -> BinaryAccuracy {
        BinaryAccuracy { threshold: 0.5 }
    }

    /// With another threshold: 0 for logits.
    pub fn threshold(self, threshold: f64) -> BinaryAccuracy {
        BinaryAccuracy { threshold }
    }
}

impl Metric for BinaryAccuracy {
    fn name(&self) -> String {
        "binary_accuracy".into()
    }

    fn sums(&self) -> usize {
        2
    }

    #[track_caller]
    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let target = same_shape("binary_accuracy", predicted, target)?;
        sum_and_count(&above(predicted, self.threshold)?.equal(&above(&target, 0.5)?)?)
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn figure(&self, sums: &[f32]) -> f64 {
        ratio(sums)
    }
}

/// Whether each value is above a threshold.
#[track_caller]
pub(super) fn above(values: &Tensor, threshold: f64) -> Result<Tensor> {
    values.greater(&number(threshold, values)?)
}

/// A number of the dtype of what it is compared with.
#[track_caller]
pub(super) fn number(value: f64, beside: &Tensor) -> Result<Tensor> {
    &zeros(&[], beside.dtype())? + value
}
