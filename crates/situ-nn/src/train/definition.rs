//! What a compiled step is made of, and what it does: the closures that functions trace.

use super::sums::Sums;
use crate::optimizers::Bound;
use crate::{Loss, Metric, Model, Pass, Weight};
use situ_core::{DType, Error, Location, Result};
use situ_tensor::scope::line_scope;
use situ_tensor::{Tape, Tensor, Variable, current_runtime, name_scope, tensor};
use std::fmt;
use std::sync::Arc;

/// A model with all that training it takes.
pub(crate) struct Definition {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) loss: Box<dyn Loss>,
    pub(crate) metrics: Vec<Box<dyn Metric>>,
    pub(crate) bound: Arc<Bound>,
    /// Weights that the loss adds something for.
    pub(crate) penalised: Vec<Weight>,
    /// Steps so far, for layers that draw numbers: written only if one does.
    pub(crate) counter: Variable,
    /// The line that compiled it: ops that no layer, loss or metric of the program is the line of are said to
    /// be of this one.
    pub(crate) line: Location,
    pub(crate) trained: Sums,
    pub(crate) tested: Sums,
}

impl Definition {
    /// One step of training on a batch.
    pub(crate) fn train(&self, input: &Tensor, target: &Tensor, seed: u64) -> Result<()> {
        let pass = Pass::training(seed, Some(self.counter.value()));
        let tape = Tape::new();
        let predicted = self.model.forward(input, &pass)?;
        let (losses, loss) = self.losses(&predicted, target)?;
        let weights = self.bound.weights();
        let gradients = tape.gradients(&loss, weights.iter().map(|w| &w.variable))?;
        let aside: Vec<&str> = weights
            .iter()
            .zip(&gradients)
            .filter(|(_, g)| g.is_none())
            .map(|(w, _)| w.name.as_str())
            .collect();
        if !aside.is_empty() {
            current_runtime().say(format!(
                "training leaves {} as they are: the loss does not depend on them; is a layer left out of forward?",
                aside.join(", ")
            ));
        }
        if pass.uses_step() {
            let _line = line_scope(self.line);
            let _there = self.counter.device_scope();
            self.counter.assign_add(&tensor(1i32)?)?;
        }
        self.bound.apply(&gradients, self.line)?;
        self.add(&self.trained, &losses, &loss, input, &predicted, target)
    }

    /// The loss and the metrics of a batch, without training.
    pub(crate) fn test(&self, input: &Tensor, target: &Tensor) -> Result<()> {
        let predicted = self.model.forward(input, &Pass::inference())?;
        let (losses, loss) = self.losses(&predicted, target)?;
        self.add(&self.tested, &losses, &loss, input, &predicted, target)
    }

    /// The losses of the examples, and that of the batch: their mean, with what weights add to it.
    fn losses(&self, predicted: &Tensor, target: &Tensor) -> Result<(Tensor, Tensor)> {
        let _name = name_scope("loss");
        let losses = self.loss.of(predicted, target)?;
        let _line = line_scope(self.line);
        let mean = if losses.rank() == 0 { losses.clone() } else { losses.mean(&[])? };
        let loss = self.penalty(mean)?;
        Ok((losses, loss))
    }

    /// Adds a batch to sums: the losses of its examples, or their mean with penalties as often as there are
    /// examples.
    fn add(
        &self,
        sums: &Sums,
        losses: &Tensor,
        loss: &Tensor,
        input: &Tensor,
        predicted: &Tensor,
        target: &Tensor,
    ) -> Result<()> {
        let _name = name_scope("metrics");
        let examples = examples(input)?;
        let line = line_scope(self.line);
        // The sum is one op, where the mean (of which gradients need no value) would have to be multiplied.
        let sum = match losses.elements() == examples && self.penalised.is_empty() {
            true => losses.cast(DType::F32)?.sum(&[])?,
            false => (&loss.cast(DType::F32)? * examples as f64)?,
        };
        drop(line);
        sums.add(&self.metrics, &sum, predicted, target, self.line)
    }

    /// The loss with what weights add to it. Each part is computed where its weight lives.
    fn penalty(&self, mut loss: Tensor) -> Result<Tensor> {
        for weight in &self.penalised {
            let added = {
                let _there = weight.variable.device_scope();
                weight.penalty.of(&weight.variable.value())?
            };
            loss = loss.add(&added.cast(loss.dtype())?)?;
        }
        Ok(loss)
    }
}

/// How many examples a batch has.
pub(super) fn examples(input: &Tensor) -> Result<usize> {
    input.shape().dims().first().copied().filter(|n| *n > 0).ok_or_else(|| {
        Error::operands(
            "fit",
            &[input.tensor_type()],
            "a batch has examples along its first axis, one at least",
            "give batches, or let fit make them of tensors",
        )
    })
}

/// The counter of steps, beside a variable.
pub(super) fn counter(weight: Option<&Variable>) -> Result<Variable> {
    let none = || situ_tensor::zeros(&[], DType::I32);
    match weight {
        Some(weight) => weight.new_beside(none),
        None => Variable::new(&none()?),
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("loss", &self.loss)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}
