//! Losses of numbers.

use super::targets::{per_example, same_shape};
use crate::{Loss, Site};
use situ_core::{Error, Result};
use situ_tensor::Tensor;

macro_rules! of_differences {
    ($($(#[$doc:meta])* $name:ident $text:literal $method:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Site);

        impl Default for $name {
            fn default() -> $name {
                $name::new()
            }
        }

        impl $name {
            /// The loss, which runs in the scope around this call.
            #[track_caller]
            pub fn new() -> $name {
                $name(Site::of_caller())
            }
        }

        impl Loss for $name {
            fn name(&self) -> &'static str {
                $text
            }

            fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
                let _here = (self.0.enter_line(), self.0.enter());
                let away = predicted.sub(&same_shape($text, predicted, target)?)?;
                per_example($text, &away.$method()?)
            }
        }
    )*};
}

of_differences! {
    /// The mean of `(predicted − target)²` over all numbers of an example.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Loss;
    /// use situ_nn::losses::MeanSquaredError;
    /// use situ_tensor::tensor;
    /// let each = MeanSquaredError::new().of(&tensor([[1.0f32, 2.0]])?, &tensor([[0.0f32, 5.0]])?)?;
    /// assert_eq!(each.to_vec::<f32>()?, [5.0]);
    /// # Ok(()) }
    /// ```
    MeanSquaredError "mean_squared_error" square;
    /// The mean of `|predicted − target|` over all numbers of an example.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::Loss;
    /// use situ_nn::losses::MeanAbsoluteError;
    /// use situ_tensor::tensor;
    /// let each = MeanAbsoluteError::new().of(&tensor([[1.0f32, 2.0]])?, &tensor([[0.0f32, 5.0]])?)?;
    /// assert_eq!(each.to_vec::<f32>()?, [2.0]);
    /// # Ok(()) }
    /// ```
    MeanAbsoluteError "mean_absolute_error" abs;
}

/// Half the square of a difference up to `delta`, and a straight line beyond: the mean over all numbers of an
/// example.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::Loss;
/// use situ_nn::losses::Huber;
/// use situ_tensor::tensor;
/// let each = Huber::new(1.0).of(&tensor([[0.5f32], [3.0]])?, &tensor([0, 0])?)?;
/// assert_eq!(each.to_vec::<f32>()?, [0.125, 2.5]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Huber {
    delta: f64,
    site: Site,
}

const HUBER: &str = "huber";

impl Huber {
    /// With the line beginning at that difference.
    #[track_caller]
    pub fn new(delta: f64) -> Huber {
        Huber { delta, site: Site::of_caller() }
    }
}

impl Loss for Huber {
    fn name(&self) -> &'static str {
        HUBER
    }

    fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let _here = (self.site.enter_line(), self.site.enter());
        if !self.delta.is_finite() || self.delta <= 0.0 {
            let why = format!("a delta of {}", self.delta);
            return Err(Error::argument(HUBER, why, "give a number above 0"));
        }
        let away = predicted.sub(&same_shape(HUBER, predicted, target)?)?.abs()?;
        let near = away.clip(0.0, self.delta)?;
        let curve = (&near.square()? * 0.5)?;
        let line = (&away.sub(&near)? * self.delta)?;
        per_example(HUBER, &curve.add(&line)?)
    }
}
