//! Cross-entropy with a distribution as target.

use super::targets::{per_example, same_shape};
use super::{LEAST, Prediction, check_smoothing};
use crate::{Loss, Site};
use situ_core::Result;
use situ_tensor::Tensor;

/// `−Σ target · log p` over the last axis, where targets are distributions: one-hot ones, most of the time.
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
#[derive(Clone, Debug)]
pub struct CategoricalCrossEntropy {
    prediction: Prediction,
    smoothing: f64,
    site: Site,
}

const NAME: &str = "categorical_cross_entropy";

impl CategoricalCrossEntropy {
    /// Of predictions that are any numbers, as a dense layer gives them: exact, and one kernel.
    #[track_caller]
    pub fn from_logits() -> CategoricalCrossEntropy {
        CategoricalCrossEntropy { prediction: Prediction::Logits, smoothing: 0.0, site: Site::of_caller() }
    }

    /// Of predictions that are probabilities, as a softmax gives them. Rows are scaled to sum to 1, and nothing counts as less likely than 1e-7.
    #[track_caller]
    pub fn from_probabilities() -> CategoricalCrossEntropy {
        CategoricalCrossEntropy { prediction: Prediction::Probabilities, ..Self::from_logits() }
    }

    /// With that part of every target given to all classes alike.
    pub fn label_smoothing(self, smoothing: f64) -> CategoricalCrossEntropy {
        CategoricalCrossEntropy { smoothing, ..self }
    }
}

impl Loss for CategoricalCrossEntropy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let _here = (self.site.enter_line(), self.site.enter());
        check_smoothing(NAME, self.smoothing)?;
        let mut target = same_shape(NAME, predicted, target)?;
        if self.smoothing > 0.0 {
            let classes = predicted.shape().dims().last().map_or(1.0, |&classes| classes as f64);
            target = (&(&target * (1.0 - self.smoothing))? + self.smoothing / classes)?;
        }
        let each = match self.prediction {
            Prediction::Logits => predicted.softmax_cross_entropy(&target)?,
            Prediction::Probabilities => {
                let shares = predicted.div(&predicted.sum_keep(&[-1])?)?.clip(LEAST, 1.0 - LEAST)?;
                target.mul(&shares.log()?)?.sum(&[-1])?.neg()?
            }
        };
        per_example(NAME, &each)
    }
}
