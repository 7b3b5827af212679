//! How many of the found are right, and how many of the right are found.

use super::accuracy::above;
use super::counts::{ratio, total};
use crate::Metric;
use crate::losses::same_shape;
use situ_core::Result;
use situ_tensor::{Tensor, concat};

macro_rules! of_positives {
    ($($(#[$doc:meta])* $name:ident $text:literal $whole:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            threshold: f64,
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new()
            }
        }

        impl $name {
            /// With a threshold of 0.5, for probabilities.
            pub fn new() -> $name {
                $name { threshold: 0.5 }
            }

            /// With another threshold: 0 for logits.
            pub fn threshold(self, threshold: f64) -> $name {
                $name { threshold }
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
                let target = same_shape($text, predicted, target)?;
                let sides = [above(predicted, self.threshold)?, above(&target, 0.5)?];
                let both = total(&sides[0].logical_and(&sides[1])?)?;
                concat(&[&both, &total(&sides[$whole])?], 0)
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

of_positives! {
    /// Of what is predicted above the threshold, the part that is so: 0 if nothing is.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Metric;
    /// use situ_nn::metrics::Precision;
    /// use situ_tensor::tensor;
    /// let batch = Precision::new().batch(&tensor([0.9f32, 0.8, 0.1, 0.2])?, &tensor([1, 0, 1, 1])?)?;
    /// assert_eq!(Precision::new().figure(&batch.to_vec::<f32>()?), 0.5);
    /// # Ok(()) }
    /// ```
    Precision "precision" 0;
    /// Of what is so, the part that is predicted above the threshold: 0 if nothing is.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Metric;
    /// use situ_nn::metrics::Recall;
    /// use situ_tensor::tensor;
    /// let batch = Recall::new().batch(&tensor([0.9f32, 0.8, 0.1, 0.2])?, &tensor([1, 0, 0, 1])?)?;
    /// assert_eq!(Recall::new().figure(&batch.to_vec::<f32>()?), 0.5);
    /// # Ok(()) }
    /// ```
    Recall "recall" 1;
}
