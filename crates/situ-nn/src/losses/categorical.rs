//! Cross-entropy with a distribution as target.

use super::cross_entropy::{CrossEntropy, LEAST, Prediction};
use super::targets::{per_example, same_shape};
use crate::Loss;
use situ_core::Result;
use situ_tensor::Tensor;

cross_entropy! {
    /// `−Σ target · log p` over the last axis, where targets are distributions: one-hot ones, most of the
    /// time. Rows of probabilities are scaled to sum to 1.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Loss;
    /// use situ_nn::losses::CategoricalCrossEntropy;
    /// use situ_tensor::tensor;
    /// let loss = CategoricalCrossEntropy::from_probabilities();
    /// let each = loss.of(&tensor([[0.25f32, 0.75]])?, &tensor([[0.0f32, 1.0]])?)?;
    /// assert!((each.to_vec::<f32>()?[0] + 0.75f32.ln()).abs() < 1e-6);
    /// # Ok(()) }
    /// ```
    CategoricalCrossEntropy "categorical_cross_entropy" of_distributions
}

fn of_distributions(
    name: &'static str,
    loss: &CrossEntropy,
    predicted: &Tensor,
    target: &Tensor,
) -> Result<Tensor> {
    let smoothing = loss.smoothing(name)?;
    let mut target = same_shape(name, predicted, target)?;
    if smoothing > 0.0 {
        let classes = predicted.shape().dims().last().map_or(1.0, |&classes| classes as f64);
        target = (&(&target * (1.0 - smoothing))? + smoothing / classes)?;
    }
    match loss.prediction {
        Prediction::Logits => predicted.softmax_cross_entropy(&target),
        Prediction::Probabilities => {
            let shares = predicted.div(&predicted.sum_keep(&[-1])?)?.clip(LEAST, 1.0 - LEAST)?;
            target.mul(&shares.log()?)?.sum(&[-1])?.neg()
        }
    }
}
