//! The seam between a model and its parts.

use crate::{Maker, Pass, Weight};
use situ_core::{Result, Shape};
use situ_tensor::Tensor;
use std::fmt::Debug;

/// A part of a model: described first, given weights when the shape of its input is known, then applied.
pub trait Layer: Debug + Send + Sync {
    /// What it is, as summaries show it: `Dense`.
    fn kind(&self) -> &'static str;

    /// The name it was given, if it was.
    fn name(&self) -> Option<&str> {
        None
    }

    /// Makes its weights for inputs of that shape, the first size of which is the batch, and says the shape of what it gives for them. A
    /// layer that has weights already keeps them, if they fit.
    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape>;

    /// Applies it. A layer without its weights is an error that says to build it.
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor>;

    /// Its weights, in the order in which they were made.
    fn weights(&self) -> Vec<Weight> {
        Vec::new()
    }
}

/// Anything that can be trained: a result for an input, and weights.
pub trait Model: Send + Sync {
    /// The result for a batch.
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor>;

    /// Its weights, each once, under names that differ.
    fn weights(&self) -> Vec<Weight>;
}
