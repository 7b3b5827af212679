//! A loss that is a closure.

use super::targets::per_example;
use crate::{Loss, Site};
use situ_core::Result;
use situ_tensor::Tensor;
use std::fmt;

/// A loss of one's own: a closure of predictions and targets. It gives a number for each example, or any
/// numbers whose first axis are the examples, of which each one's mean is taken.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::losses::Custom;
/// use situ_nn::optimizers::Adam;
/// use situ_nn::{Dense, Sequential};
/// // The 90% quantile: what is too low counts nine times as much as what is too high.
/// let pinball = Custom::new("pinball", |predicted, target| {
///     let below = target.sub(predicted)?;
///     (&below.relu()? * 0.9)?.add(&(&below.neg()?.relu()? * 0.1)?)
/// });
/// let mut trainer = Sequential::new().add(Dense::new(1)).compile(Adam::new(0.1), pinball, ())?;
/// let x = situ_tensor::tensor([[1.0f32], [2.0]])?;
/// let before = trainer.evaluate((&x, &x), 2)?.loss();
/// for _ in 0..20 {
///     trainer.train_on_batch(&x, &x)?;
/// }
/// assert!(trainer.evaluate((&x, &x), 2)?.loss() < before);
/// # Ok(()) }
/// ```
pub struct Custom<F> {
    name: &'static str,
    of: F,
    site: Site,
}

impl<F: Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync> Custom<F> {
    /// With a name, for messages.
    #[track_caller]
    pub fn new(name: &'static str, of: F) -> Custom<F> {
        Custom { name, of, site: Site::of_caller() }
    }
}

impl<F: Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync> Loss for Custom<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
        let _here = self.site.enter();
        let each = (self.of)(predicted, target)?;
        let _line = self.site.enter_line();
        // One number for all of a batch is its mean already.
        if each.rank() == 0 { Ok(each) } else { per_example(self.name, &each) }
    }
}

impl<F> fmt::Debug for Custom<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}
