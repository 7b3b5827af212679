//! The seams: what can be trained, and what it is put together from.

use crate::{Identity, Maker, Pass, Weight};
use situ_core::{Result, Shape};
use situ_tensor::Tensor;
use std::fmt::Debug;

/// Anything that can be trained: a result for an input, and weights.
///
/// [`Sequential`](crate::Sequential) is one, every layer is one, and so is a struct of one's own:
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Activation, Dense, Layer, Maker, Model, Pass, Weight};
/// use situ_core::{DType, Result};
/// use situ_tensor::{Tensor, ones};
///
/// struct TwoHeads {
///     trunk: Dense,
///     mean: Dense,
///     spread: Dense,
/// }
///
/// impl TwoHeads {
///     fn new(inputs: usize, maker: &mut Maker) -> Result<TwoHeads> {
///         Ok(TwoHeads {
///             trunk: Dense::new(16).activation(Activation::Relu).built(&[inputs], maker)?,
///             mean: Dense::new(1).named("mean").built(&[16], maker)?,
///             spread: Dense::new(1).activation(Activation::Softplus).built(&[16], maker)?,
///         })
///     }
/// }
///
/// impl Model for TwoHeads {
///     fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
///         let trunk = self.trunk.forward(input, pass)?;
///         let (mean, spread) = (self.mean.forward(&trunk, pass)?, self.spread.forward(&trunk, pass)?);
///         situ_tensor::concat(&[&mean, &spread], -1)
///     }
///
///     fn weights(&self) -> Vec<Weight> {
///         [&self.trunk, &self.mean, &self.spread].iter().flat_map(|layer| layer.weights()).collect()
///     }
/// }
///
/// let model = TwoHeads::new(4, &mut Maker::new(7))?;
/// let y = model.forward(&ones(&[3, 4], DType::F32)?, &Pass::inference())?;
/// assert_eq!(y.shape().dims(), [3, 2]);
/// let names: Vec<String> = model.weights().into_iter().map(|w| w.name).collect();
/// assert_eq!(names[0..3], ["dense/kernel", "dense/bias", "mean/kernel"]);
/// assert_eq!(names[4], "dense_1/kernel");
/// # Ok(()) }
/// ```
pub trait Model: Send + Sync {
    /// The result for a batch.
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor>;

    /// Its weights, each once, under names that differ, in the order in which they were made.
    fn weights(&self) -> Vec<Weight>;

    /// Makes the weights that it does not have yet, for inputs of that shape, the first size of which is the
    /// batch. Training calls it with the first batch; a model that is made with its weights has nothing to
    /// do.
    fn prepare(&mut self, input: &Shape) -> Result<()> {
        let _ = input;
        Ok(())
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
        (**self).forward(input, pass)
    }

    fn weights(&self) -> Vec<Weight> {
        (**self).weights()
    }

    fn prepare(&mut self, input: &Shape) -> Result<()> {
        (**self).prepare(input)
    }
}

/// A part of a model: described first, given weights when the shape of its input is known, then applied.
pub trait Layer: Model + Debug {
    /// What it is, as summaries show it: `Dense`.
    fn kind(&self) -> &'static str;

    /// Its name and the scope it was made in; `None` for a layer that keeps neither.
    fn identity(&self) -> Option<&Identity> {
        None
    }

    /// [`Layer::identity`], to change it: what a layer with weights needs for
    /// [`Sequential::set_trainable`](crate::Sequential::set_trainable).
    fn identity_mut(&mut self) -> Option<&mut Identity> {
        None
    }

    /// Makes its weights for inputs of that shape, the first size of which is the batch, and says the shape
    /// of what it gives for them. A layer that has weights already keeps them, if they fit. Called by
    /// [`Maker::build`], which gives it a name first.
    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape>;

    /// The layer with weights for inputs of that shape, which is without the batch: for models of one's own.
    fn built(mut self, input: &[usize], maker: &mut Maker) -> Result<Self>
    where
        Self: Sized,
    {
        maker.build(&mut self, &batch_of(input)?)?;
        Ok(self)
    }
}

/// The shape of a batch of one.
pub(crate) fn batch_of(input: &[usize]) -> Result<Shape> {
    let mut dims = vec![1];
    dims.extend(input);
    Shape::new(&dims)
}
