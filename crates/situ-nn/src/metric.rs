//! The seam of metrics.

use situ_core::Result;
use situ_tensor::Tensor;
use std::fmt::Debug;

/// A figure of a whole epoch that is made of sums over batches, so that it can be gathered on a device inside
/// of a compiled step and read once in a while.
pub trait Metric: Debug + Send + Sync {
    /// Its name in progress and history.
    fn name(&self) -> String;

    /// How many sums it needs.
    fn sums(&self) -> usize;

    /// What a batch adds to the sums: one tensor of [`Metric::sums`] f32.
    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor>;

    /// Whether its ops are called at lines of the program, which messages and profiles then show. Those of
    /// this crate's metrics are said to be of the line that compiled the model.
    #[doc(hidden)]
    fn has_lines(&self) -> bool {
        true
    }

    /// The figure, from the sums over all batches so far.
    fn figure(&self, sums: &[f32]) -> f64;
}
