//! The seam of losses.

use situ_core::Result;
use situ_tensor::Tensor;
use std::fmt::Debug;

/// How far predictions are from their targets.
pub trait Loss: Debug + Send + Sync {
    /// Its name in progress and history.
    fn name(&self) -> &'static str;

    /// The loss of each example: as many numbers as the batch has examples. The mean of them is what training
    /// lowers.
    fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor>;
}
