//! One pass through a model: what layers must know besides their input.

use crate::Identity;
use situ_tensor::Tensor;
use std::cell::Cell;

/// Whether a pass is for training, and the numbers by which its random layers draw.
#[derive(Debug, Default)]
pub struct Pass {
    training: bool,
    seed: u64,
    step: Option<Tensor>,
    draws: Cell<u64>,
    counts: Cell<bool>,
    frozen: Cell<bool>,
}

/// The end of a frozen layer's part of a pass: when this is dropped.
#[must_use = "the layers stay frozen until this is dropped: bind it to a name"]
#[derive(Debug)]
pub struct Frozen<'p> {
    pass: &'p Pass,
    before: bool,
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.pass.frozen.set(self.before);
    }
}

impl Pass {
    /// A pass that uses the model as it is: nothing is dropped, and known statistics normalise.
    pub fn inference() -> Pass {
        Pass::default()
    }

    /// A pass of training. `step`, one i32 that counts the steps, makes a compiled pass draw other numbers
    /// each time.
    pub fn training(seed: u64, step: Option<Tensor>) -> Pass {
        Pass { training: true, seed, step, ..Pass::default() }
    }

    /// Whether weights are being trained.
    pub fn is_training(&self) -> bool {
        self.training
    }

    /// The part of the pass that goes through a layer of layers: for its `forward`, so that those inside know
    /// of it if it is frozen.
    pub fn through(&self, layers: &Identity) -> Frozen<'_> {
        let before = self.frozen.get();
        self.frozen.set(before || !layers.is_trainable());
        Frozen { pass: self, before }
    }

    /// Whether a layer is to learn from this pass: it is one of training, and neither the layer nor one
    /// around it is frozen.
    pub fn trains(&self, layer: &Identity) -> bool {
        self.training && !self.frozen.get() && layer.is_trainable()
    }

    /// The counter of steps, if there is one.
    pub fn step(&self) -> Option<&Tensor> {
        self.counts.set(true);
        self.step.as_ref()
    }

    /// Whether anybody asked for the counter of steps.
    pub(crate) fn uses_step(&self) -> bool {
        self.counts.get()
    }

    /// A seed and a stream for a layer that draws random numbers; each call gives another stream.
    pub fn draw(&self) -> (u64, u64) {
        let number = self.draws.get();
        self.draws.set(number + 1);
        // The step is added to the stream by the op: streams of one step must be further apart than steps.
        (self.seed, (number + 1) << 40)
    }
}
