//! Means over all examples.

use super::counts::{ratio, sum_and_count};
use crate::Metric;
use crate::losses::same_shape;
use situ_core::Result;
use situ_tensor::Tensor;

/// The mean of what is predicted, whatever the targets are.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Metric;
/// use situ_nn::metrics::Mean;
/// use situ_tensor::tensor;
/// let batch = Mean::new().batch(&tensor([[1.0f32], [3.0]])?, &tensor([0, 0])?)?;
/// assert_eq!(Mean::new().figure(&batch.to_vec::<f32>()?), 2.0);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean;

impl Mean {
    /// Makes one.
    pub fn new() -> Mean {
        Mean
    }
}

impl Metric for Mean {
    fn name(&self) -> String {
        "mean".into()
    }

    fn sums(&self) -> usize {
        2
    }

    #[track_caller]
    fn batch(&self, predicted: &Tensor, _: &Tensor) -> Result<Tensor> {
        sum_and_count(predicted)
    }

    fn has_lines(&self) -> bool {
        false
    }

    fn figure(&self, sums: &[f32]) -> f64 {
        ratio(sums)
    }
}

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident $text:literal $method:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl $name {
            /// Makes one.
            pub fn new() -> $name {
                $name
            }
        }

        impl Metric for $name {
            fn name(&self) -> String {
                $text.into()
            }

            fn sums(&self) -> usize {
                2
            }

            #[track_caller]
            fn batch(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
                let away = predicted.sub(&same_shape($text, predicted, target)?)?;
                sum_and_count(&away.$method()?)
            }

            fn has_lines(&self) -> bool {
                false
            }

            fn figure(&self, sums: &[f32]) -> f64 {
                ratio(sums)
            }
        }
    )*};
}

errors! {
    /// The mean of `(predicted − target)²`.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Metric;
    /// use situ_nn::metrics::MeanSquaredError;
    /// use situ_tensor::tensor;
    /// let metric = MeanSquaredError::new();
    /// let batch = metric.batch(&tensor([[1.0f32], [3.0]])?, &tensor([[1.0f32], [1.0]])?)?;
    /// assert_eq!(metric.figure(&batch.to_vec::<f32>()?), 2.0);
    /// # Ok(()) }
    /// ```
    MeanSquaredError "mean_squared_error" square;
    /// The mean of `|predicted − target|`.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Metric;
    /// use situ_nn::metrics::MeanAbsoluteError;
    /// use situ_tensor::tensor;
    /// let metric = MeanAbsoluteError::new();
    /// let batch = metric.batch(&tensor([[1.0f32], [3.0]])?, &tensor([[1.0f32], [1.0]])?)?;
    /// assert_eq!(metric.figure(&batch.to_vec::<f32>()?), 1.0);
    /// # Ok(()) }
    /// ```
    MeanAbsoluteError "mean_absolute_error" abs;
}
