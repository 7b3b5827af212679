//! Cross-entropy with class numbers.

use super::cross_entropy::{CrossEntropy, LEAST, Prediction};
use super::targets::{class_numbers, per_example};
use crate::Loss;
use situ_core::Result;
use situ_tensor::Tensor;

cross_entropy! {
    /// `−log p[label]`, where targets are class numbers: one for each row of the prediction, as i32, i64 or
    /// u8. Rows of probabilities are scaled to sum to 1.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Loss;
    /// use situ_nn::losses::SparseCategoricalCrossEntropy;
    /// use situ_tensor::tensor;
    /// let loss = SparseCategoricalCrossEntropy::from_logits();
    /// let each = loss.of(&tensor([[0.0f32, 0.0], [9.0, 0.0]])?, &tensor([1, 0])?)?.to_vec::<f32>()?;
    /// assert!((each[0] - 2.0f32.ln()).abs() < 1e-6 && each[1] < 1e-3);
    /// # Ok(()) }
    /// ```
    SparseCategoricalCrossEntropy "sparse_categorical_cross_entropy" of_labels
}

fn of_labels(name: &'static str, loss: &CrossEntropy, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
    let smoothing = loss.smoothing(name)?;
    let labels = class_numbers(name, predicted, target)?;
    let logits = match loss.prediction {
        Prediction::Logits => predicted.clone(),
        Prediction::Probabilities => predicted.clip(LEAST, 1.0 - LEAST)?.log()?,
    };
    let each = logits.sparse_softmax_cross_entropy(&labels)?;
    if smoothing == 0.0 {
        return Ok(each);
    }
    let of_all = logits.log_softmax(-1)?.mean(&[-1])?;
    (&each * (1.0 - smoothing))?.sub(&(&of_all * smoothing)?)
}
