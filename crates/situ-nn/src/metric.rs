//! The seam of metrics.

use situ_core::Result;
use situ_tensor::Tensor;
use std::fmt::Debug;

/// A figure of a whole epoch that is made of sums over batches, so that it can be gathered on a device inside of a compiled step and
/// read once in a while.
pub trait Metric: Debug + Send + Sync {
    /// Its name in progress and history.
    fn name(&self) -> String;

    /// How many sums it needs.
    fn sums(&self) -> usize;

    /// What a batch adds to the sums: one tensor of [`Metric::sums`] f32.
    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor>;

    /// The figure, from the sums over all batches so far.
    fn figure(&self, sums: &[f32]) -> f64;
}
