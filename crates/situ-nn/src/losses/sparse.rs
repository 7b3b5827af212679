//! Cross-entropy with class numbers.

use super::targets::{class_numbers, per_example};
use super::{LEAST, Prediction, check_smoothing};
use crate::{Loss, Site};
use situ_core::Result;
use situ_tensor::Tensor;

/// `−log p[label]`, where targets are class numbers: one for each row of the prediction, as i32, i64 or u8.
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
#[derive(Clone, Debug)]
pub struct SparseCategoricalCrossEntropy {
    prediction: Prediction,
    smoothing: f64,
    site: Site,
}

const NAME: &str = "sparse_categorical_cross_entropy";

impl SparseCategoricalCrossEntropy {
    /// Of predictions that are any numbers, as a dense layer gives them: exact, and one kernel.
    #[track_caller]
    pub fn from_logits() -> SparseCategoricalCrossEntropy {
        SparseCategoricalCrossEntropy {
            prediction: Prediction::Logits,
            smoothing: 0.0,
            site: Site::of_caller(),
        }
    }

    /// Of predictions that are probabilities, as a softmax gives them. Rows are scaled to sum to 1, and nothing counts as less likely than 1e-7.
    #[track_caller]
    pub fn from_probabilities() -> SparseCategoricalCrossEntropy {
        SparseCategoricalCrossEntropy { prediction: Prediction::Probabilities, ..Self::from_logits() }
    }

    /// With that part of every target given to all classes alike.
    pub fn label_smoothing(self, smoothing: f64) -> SparseCategoricalCrossEntropy {
        SparseCategoricalCrossEntropy { smoothing, ..self }
    }
}

impl Loss for SparseCategoricalCrossEntropy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let _here = (self.site.enter_line(), self.site.enter());
        check_smoothing(NAME, self.smoothing)?;
        let labels = class_numbers(NAME, predicted, target)?;
        let logits = match self.prediction {
            Prediction::Logits => predicted.clone(),
            Prediction::Probabilities => predicted.clip(LEAST, 1.0 - LEAST)?.log()?,
        };
        let mut each = logits.sparse_softmax_cross_entropy(&labels)?;
        if self.smoothing > 0.0 {
            let of_all = logits.log_softmax(-1)?.mean(&[-1])?;
            each = (&each * (1.0 - self.smoothing))?.sub(&(&of_all * self.smoothing)?)?;
        }
        per_example(NAME, &each)
    }
}
