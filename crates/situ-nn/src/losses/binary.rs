//! Cross-entropy of yes or no.

use super::targets::{per_example, same_shape};
use super::{LEAST, Prediction, check_smoothing};
use crate::{Loss, Site};
use situ_core::Result;
use situ_tensor::Tensor;

/// `−t · log p − (1 − t) · log(1 − p)`, the mean over all numbers of an example: targets are 0 or 1, or between.
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
#[derive(Clone, Debug)]
pub struct BinaryCrossEntropy {
    prediction: Prediction,
    smoothing: f64,
    site: Site,
}

const NAME: &str = "binary_cross_entropy";

impl BinaryCrossEntropy {
    /// Of predictions that are any numbers.
    #[track_caller]
    pub fn from_logits() -> BinaryCrossEntropy {
        BinaryCrossEntropy { prediction: Prediction::Logits, smoothing: 0.0, site: Site::of_caller() }
    }

    /// Of predictions that are probabilities, as a sigmoid gives them; none counts as nearer to 0 or 1 than 1e-7.
    #[track_caller]
    pub fn from_probabilities() -> BinaryCrossEntropy {
        BinaryCrossEntropy { prediction: Prediction::Probabilities, ..Self::from_logits() }
    }

    /// With targets moved that part of the way to a half.
    pub fn label_smoothing(self, smoothing: f64) -> BinaryCrossEntropy {
        BinaryCrossEntropy { smoothing, ..self }
    }
}

impl Loss for BinaryCrossEntropy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let _here = (self.site.enter_line(), self.site.enter());
        check_smoothing(NAME, self.smoothing)?;
        let mut target = same_shape(NAME, predicted, target)?;
        if self.smoothing > 0.0 {
            target = (&(&target * (1.0 - self.smoothing))? + 0.5 * self.smoothing)?;
        }
        let each = match self.prediction {
            // log(1 + e^x) − t·x: its derivative is sigmoid(x) − t everywhere, also at 0, where forms with |x| have none.
            Prediction::Logits => predicted.softplus()?.sub(&predicted.mul(&target)?)?,
            Prediction::Probabilities => {
                let yes = predicted.clip(LEAST, 1.0 - LEAST)?;
                let no = (&yes.neg()? + 1.0)?;
                let against = (&target.neg()? + 1.0)?;
                target.mul(&yes.log()?)?.add(&against.mul(&no.log()?)?)?.neg()?
            }
        };
        per_example(NAME, &each)
    }
}
