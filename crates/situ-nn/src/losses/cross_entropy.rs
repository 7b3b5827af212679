//! What losses of classes have in common: predictions that are logits or probabilities, and targets that may
//! be smoothed.

use crate::Site;
use situ_core::{Error, Result};

/// What a prediction of classes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prediction {
    /// Any numbers, larger for what is likelier.
    Logits,
    /// Numbers from 0 to 1.
    Probabilities,
}

/// Probabilities nearer to 0 or 1 than this count as this: their logarithm must be finite.
pub(super) const LEAST: f64 = 1e-7;

/// How a loss of classes takes predictions and targets, and where it runs.
#[derive(Clone, Debug)]
pub(super) struct CrossEntropy {
    pub(super) prediction: Prediction,
    pub(super) smoothing: f64,
    pub(super) site: Site,
}

impl CrossEntropy {
    #[track_caller]
    pub(super) fn of(prediction: Prediction) -> CrossEntropy {
        CrossEntropy { prediction, smoothing: 0.0, site: Site::of_caller() }
    }

    /// How much targets are smoothed; an error that names the loss where that can't be.
    pub(super) fn smoothing(&self, loss: &'static str) -> Result<f64> {
        if (0.0..=1.0).contains(&self.smoothing) {
            return Ok(self.smoothing);
        }
        let why = format!("a label smoothing of {}", self.smoothing);
        Err(Error::argument(loss, why, "give a number from 0 to 1"))
    }
}

/// A loss of classes by the function that computes it: of the name, the settings, the prediction and the
/// target.
macro_rules! cross_entropy {
    ($(#[$doc:meta])* $loss:ident $name:literal $of:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $loss(CrossEntropy);

        impl $loss {
            /// Of predictions that are any numbers, as a dense layer gives them: exact, whatever their size.
            #[track_caller]
            pub fn from_logits() -> $loss {
                $loss(CrossEntropy::of(Prediction::Logits))
            }

            /// Of predictions that are probabilities; none counts as nearer to 0 or 1 than 1e-7.
            #[track_caller]
            pub fn from_probabilities() -> $loss {
                $loss(CrossEntropy::of(Prediction::Probabilities))
            }

            /// With that part of every target given to all classes alike.
            pub fn label_smoothing(mut self, smoothing: f64) -> $loss {
                self.0.smoothing = smoothing;
                self
            }
        }

        impl Loss for $loss {
            fn name(&self) -> &'static str {
                $name
            }

            fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
                let _here = (self.0.site.enter_line(), self.0.site.enter());
                per_example($name, &$of($name, &self.0, predicted, target)?)
            }
        }
    };
}
