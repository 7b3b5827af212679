//! The losses. Each remembers the scope in which it was made, and runs there, forward and backward, unless a scope at the call says
//! otherwise. Adding one: a struct with a [`Site`](crate::Site) that is a [`Loss`](crate::Loss), and a line here.

mod binary;
mod categorical;
mod regression;
mod sparse;
mod targets;

pub use binary::BinaryCrossEntropy;
pub use categorical::CategoricalCrossEntropy;
pub use regression::{Huber, MeanAbsoluteError, MeanSquaredError};
pub use sparse::SparseCategoricalCrossEntropy;

pub(crate) use targets::{class_numbers, same_shape};

use situ_core::{Error, Result};

/// What a prediction of classes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prediction {
    /// Any numbers, larger for what is likelier.
    Logits,
    /// Numbers from 0 to 1.
    Probabilities,
}

/// Probabilities nearer to 0 or 1 than this count as this: their logarithm must be finite.
const LEAST: f64 = 1e-7;

fn check_smoothing(loss: &'static str, smoothing: f64) -> Result<()> {
    if (0.0..=1.0).contains(&smoothing) {
        return Ok(());
    }
    let why = format!("a label smoothing of {smoothing}");
    Err(Error::argument(loss, why, "give a number from 0 to 1"))
}
