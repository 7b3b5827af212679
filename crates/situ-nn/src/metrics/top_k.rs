//! Whether the target is among the best.

use super::accuracy::number;
use super::counts::{ratio, sum_and_count};
use crate::Metric;
use crate::losses::class_numbers;
use situ_core::{DType, Error, Result};
use situ_tensor::{Tensor, where_};

/// How often fewer than `k` classes are predicted above the one that is the target, which is a class number
/// or one-hot.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Metric;
/// use situ_nn::metrics::TopK;
/// use situ_tensor::tensor;
/// let top = TopK::new(2);
/// let batch = top.batch(&tensor([[0.1f32, 0.7, 0.2], [0.5, 0.3, 0.2]])?, &tensor([2, 2])?)?;
/// assert_eq!((top.name().as_str(), top.figure(&batch.to_vec::<f32>()?)), ("top_2", 0.5));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TopK {
    k: usize,
}

impl TopK {
    /// Among the first `k`.
    pub fn new(k: usize) -> TopK {
        TopK { k }
    }
}

impl Metric for TopK {
    fn name(&self) -> String {
        format!("top_{}", self.k)
    }

    fn sums(&self) -> usize {
        2
    }

    #[track_caller]
    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let Some(&classes) = predicted.shape().dims().last().filter(|_| predicted.rank() >= 2) else {
            return Err(Error::operands(
                "top_k",
                &[predicted.tensor_type()],
                "the last axis of the prediction must be the classes",
                "reshape it to [batch, classes]",
            ));
        };
        let numbers = if predicted.shape() == target.shape() {
            target.argmax(&[-1])?
        } else {
            class_numbers("top_k", predicted, target)?
        };
        let here = numbers.one_hot(classes, predicted.dtype())?;
        let zero = number(0.0, &here)?;
        // Chosen, and not multiplied: 0 times an infinite prediction is no number.
        let its = where_(&here.greater(&zero)?, predicted, &zero)?.sum_keep(&[-1])?;
        let better = predicted.greater(&its)?.cast(DType::F32)?.sum(&[-1])?;
        let limit = number(self.k as f64, &better)?;
        let known = its.is_nan()?.logical_not()?.squeeze(&[-1])?;
        sum_and_count(&better.less(&limit)?.logical_and(&known)?)
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn figure(&self, sums: &[f32]) -> f64 {
        ratio(sums)
    }
}
