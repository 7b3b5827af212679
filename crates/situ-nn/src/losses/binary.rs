//! Cross-entropy of yes or no.

use super::cross_entropy::{CrossEntropy, LEAST, Prediction};
use super::targets::{per_example, same_shape};
use crate::Loss;
use situ_core::Result;
use situ_tensor::Tensor;

cross_entropy! {
    /// `−t · log p − (1 − t) · log(1 − p)`, the mean over all numbers of an example: targets are 0 or 1, or
    /// between.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Loss;
    /// use situ_nn::losses::BinaryCrossEntropy;
    /// use situ_tensor::tensor;
    /// let loss = BinaryCrossEntropy::from_logits();
    /// let each = loss.of(&tensor([[0.0f32], [-20.0]])?, &tensor([1, 0])?)?.to_vec::<f32>()?;
    /// assert!((each[0] - 2.0f32.ln()).abs() < 1e-6 && each[1] < 1e-6);
    /// # Ok(()) }
    /// ```
    BinaryCrossEntropy "binary_cross_entropy" of_yes_or_no
}

fn of_yes_or_no(
    name: &'static str,
    loss: &CrossEntropy,
    predicted: &Tensor,
    target: &Tensor,
) -> Result<Tensor> {
    let smoothing = loss.smoothing(name)?;
    let mut target = same_shape(name, predicted, target)?;
    if smoothing > 0.0 {
        target = (&(&target * (1.0 - smoothing))? + 0.5 * smoothing)?;
    }
    match loss.prediction {
        // log(1 + e^x) − t·x: its derivative is sigmoid(x) − t everywhere, also at 0, where forms with |x|
        // have none.
        Prediction::Logits => predicted.softplus()?.sub(&predicted.mul(&target)?),
        Prediction::Probabilities => {
            let yes = predicted.clip(LEAST, 1.0 - LEAST)?;
            let no = (&yes.neg()? + 1.0)?;
            let against = (&target.neg()? + 1.0)?;
            target.mul(&yes.log()?)?.add(&against.mul(&no.log()?)?)?.neg()
        }
    }
}
