//! A metric that is a closure.

use super::counts::{ratio, sum_and_count};
use crate::Metric;
use situ_core::{Location, Result};
use situ_tensor::Tensor;
use situ_tensor::scope::line_scope;
use std::fmt;

/// A metric of one's own: the mean, over all examples, of the numbers (or truths, as 0 and 1) that a closure
/// makes of predictions and targets.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Metric;
/// use situ_nn::metrics::Custom;
/// use situ_tensor::tensor;
/// let too_low = Custom::new("too_low", |predicted, target| predicted.less(target));
/// let batch = too_low.batch(&tensor([1.0f32, 3.0])?, &tensor([2.0f32, 2.0])?)?;
/// assert_eq!(too_low.figure(&batch.to_vec::<f32>()?), 0.5);
/// # Ok(()) }
/// ```
pub struct Custom<F> {
    name: String,
    of: F,
    line: Location,
}

impl<F: Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync> Custom<F> {
    /// With its name in progress and history.
    #[track_caller]
    pub fn new(name: impl Into<String>, of: F) -> Custom<F> {
        Custom { name: name.into(), of, line: Location::here() }
    }
}

impl<F: Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync> Metric for Custom<F> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn sums(&self) -> usize {
        2
    }

    fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let made = (self.of)(predicted, target)?;
        let _line = line_scope(self.line);
        sum_and_count(&made)
    }

    fn figure(&self, sums: &[f32]) -> f64 {
        ratio(sums)
    }
}

impl<F> fmt::Debug for Custom<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}
