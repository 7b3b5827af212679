//! One pass through a model: what layers must know besides their input.

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
}

impl Pass {
    /// A pass that uses the model as it is: nothing is dropped, and known statistics normalise.
    pub fn inference() -> Pass {
        Pass::default()
    }

    /// A pass of training. `step`, one i32 that counts the steps, makes a compiled pass draw other numbers each time.
    pub fn training(seed: u64, step: Option<Tensor>) -> Pass {
        Pass { training: true, seed, step, ..Pass::default() }
    }

    /// Whether weights are being trained.
    pub fn is_training(&self) -> bool {
        self.training
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
