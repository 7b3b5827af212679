//! The state of training: compiled steps, the optimizer, where in the data they are. Callbacks and
//! checkpoints see this.

use super::definition::{Definition, counter, examples};
use super::sums::{Sums, Totals};
use super::{Figures, States};
use crate::optimizers::{Optimizer, Schedule, Stepper};
use crate::{Loss, Metric, Model, Weight};
use serde::{Deserialize, Serialize};
use situ_core::{DeviceId, Error, Location, Result};
use situ_tensor::{Function, Tensor, Variable, concat, current_runtime};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Where training is in its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Position {
    /// Epochs that are over.
    pub(crate) epoch: u64,
    /// Batches of this epoch that are over.
    pub(crate) batch: u64,
    /// The callbacks that were told of the beginning of this epoch.
    pub(crate) begun: BTreeSet<String>,
}

/// The data that a position is in, by the fingerprints of datasets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Data {
    pub(crate) training: u64,
    pub(crate) validation: Option<u64>,
}

/// A model in training: its weights, its compiled steps, the optimizer and the position in the data.
#[derive(Debug)]
pub struct Training {
    pub(crate) definition: Arc<Definition>,
    pub(crate) weights: Vec<Weight>,
    pub(crate) stepper: Stepper,
    step: Function,
    seed: u64,
    test: Function,
    predict: Function,
    names: Arc<[String]>,
    pub(crate) position: Position,
    /// What the position is in; `None` where that is not known.
    pub(crate) data: Option<Data>,
    /// What callbacks want kept.
    pub(crate) kept: States,
    /// Whether the next fit goes on with what callbacks had: training was loaded, or did not come to its end.
    pub(crate) resumes: bool,
    pub(crate) totals: Totals,
    tested: Totals,
    /// The line of the program that what is done now is done for: that of `fit`, or that which made this.
    pub(super) line: Location,
}

/// What training holds on devices beside the model: all of it that making can fail.
pub(super) struct Held {
    weights: Vec<Weight>,
    stepper: Stepper,
    trained: Sums,
    tested: Sums,
    counter: Variable,
}

impl Held {
    pub(super) fn new(model: &dyn Model, optimizer: &Optimizer, metrics: &[Box<dyn Metric>]) -> Result<Held> {
        let weights = model.weights();
        check_names(&weights)?;
        let (first, last) = (weights.first().map(|w| &w.variable), weights.last().map(|w| &w.variable));
        Ok(Held {
            stepper: optimizer.bind(&weights)?,
            trained: Sums::new(metrics, last)?,
            tested: Sums::new(metrics, last)?,
            counter: counter(first)?,
            weights,
        })
    }
}

impl Training {
    pub(super) fn new(
        model: Arc<dyn Model>,
        held: Held,
        loss: Box<dyn Loss>,
        metrics: Vec<Box<dyn Metric>>,
        seed: u64,
        line: Location,
    ) -> Training {
        let Held { weights, stepper, trained, tested, counter } = held;
        let names: Vec<String> =
            std::iter::once("loss".to_string()).chain(metrics.iter().map(|m| m.name())).collect();
        let definition = Arc::new(Definition {
            model,
            loss,
            metrics,
            bound: stepper.bound().clone(),
            penalised: weights.iter().filter(|w| w.trainable && !w.penalty.is_none()).cloned().collect(),
            counter,
            line,
            trained,
            tested,
        });
        let (of_test, of_predict) = (definition.clone(), definition.clone());
        Training {
            step: step_of(&definition, seed),
            seed,
            test: of_pairs(move |input, target| of_test.test(input, target)).named("test step"),
            predict: Function::new(move |x| of_predict.model.forward(x, &crate::Pass::inference()))
                .named("predict"),
            definition,
            weights,
            stepper,
            names: names.into(),
            position: Position::default(),
            data: None,
            kept: States::new(),
            resumes: false,
            totals: Totals::default(),
            tested: Totals::default(),
            line,
        }
    }

    /// The model's weights.
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// The optimizer with its state.
    pub fn stepper(&self) -> &Stepper {
        &self.stepper
    }

    /// Another learning rate from the next step on. It is saved in checkpoints (a rate that is a closure is
    /// not), and comes back with them.
    pub fn set_rate(&mut self, rate: impl Into<Schedule>) {
        self.stepper.set_rate(rate);
    }

    /// Steps of training so far.
    pub fn steps(&self) -> u64 {
        self.stepper.steps()
    }

    /// Epochs of training that are over.
    pub fn epochs(&self) -> u64 {
        self.position.epoch
    }

    /// Batches of the epoch under way that are over: 0 between epochs.
    pub fn batch(&self) -> u64 {
        self.position.batch
    }

    /// The function that is a step of training on a batch of inputs and targets: to see what it does where
    /// ([`Function::places`], [`Function::explain`]). Calling it would leave the host's count of steps
    /// behind: [`Training::train_on_batch`] is for that.
    pub fn step_function(&self) -> &Function {
        &self.step
    }

    /// Where the first weight lives: inputs are wanted there.
    pub(super) fn home(&self) -> DeviceId {
        self.weights.first().map_or(DeviceId::CPU0, |w| w.variable.device())
    }

    /// One step. Its loss and metrics stay on the device.
    #[inline]
    pub(super) fn step(&mut self, input: &Tensor, target: &Tensor) -> Result<()> {
        if self.stepper.weights().is_empty() {
            return Err(Error::argument(
                "fit",
                "the model has no weights to train",
                "build it before it is compiled, or give it layers that have weights",
            ));
        }
        self.stepper.before_for(self.line.into())?;
        self.step.call_many(&[input, target])?;
        self.stepper.after();
        self.totals.count(input.shape().dims().first().copied().unwrap_or(0));
        Ok(())
    }

    /// After a step, when it is counted: reads the sums if the device can't count much further.
    #[inline]
    pub(super) fn after_step(&mut self) -> Result<()> {
        self.totals.read_if_full(&self.definition.trained, self.line)
    }

    /// One step on a batch; gives its loss and metrics.
    pub fn train_on_batch(&mut self, input: &Tensor, target: &Tensor) -> Result<Figures> {
        self.begin_figures()?;
        self.step(input, target)?;
        let figures = self.figures()?;
        self.begin_figures()?;
        Ok(figures)
    }

    /// Loss and metrics of the epoch so far. It waits for the devices.
    pub fn figures(&mut self) -> Result<Figures> {
        self.totals.read(&self.definition.trained, self.line)?;
        Ok(self.totals.figures(&self.names, &self.definition.metrics))
    }

    /// The names of the figures: the loss and the metrics.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Goes on with the sums of an epoch under way, if they are of the same figures; else those of the rest
    /// of it are all there are.
    pub(crate) fn resume_figures(&mut self, names: &[String], sums: Vec<f64>, examples: u64) -> Result<()> {
        self.begin_figures()?;
        // The first format of files has no names.
        let fits = names.is_empty() || names == &self.names[..];
        let count = 1 + self.definition.metrics.iter().map(|m| m.sums()).sum::<usize>();
        if fits && sums.len() == count {
            (self.totals.sums, self.totals.examples) = (sums, examples);
        } else if examples > 0 {
            current_runtime().say(
                "the loss and the metrics of the epoch under way begin anew: when it was saved, they were others"
                    .to_string(),
            );
        }
        Ok(())
    }

    pub(crate) fn begin_figures(&mut self) -> Result<()> {
        self.totals.reset(&self.definition.trained, self.line)
    }

    /// Loss and metrics of batches, without training.
    pub(super) fn tested(
        &mut self,
        batches: impl Iterator<Item = Result<(Tensor, Tensor)>>,
    ) -> Result<Figures> {
        self.tested.reset(&self.definition.tested, self.line)?;
        for batch in batches {
            let (x, y) = batch?;
            let count = examples(&x)?;
            self.test.call_many(&[&x, &y])?;
            self.tested.count(count);
            self.tested.read_if_full(&self.definition.tested, self.line)?;
        }
        self.tested.read(&self.definition.tested, self.line)?;
        Ok(self.tested.figures(&self.names, &self.definition.metrics))
    }

    /// What the model gives for examples, computed `size` at a time.
    pub(super) fn predicted(&self, input: &Tensor, size: usize) -> Result<Tensor> {
        let count = examples(input)?;
        if size == 0 {
            return Err(Error::argument("predict", "a batch of 0 examples", "use at least 1"));
        }
        if count <= size {
            return self.predict.call(input);
        }
        let mut parts = Vec::new();
        for start in (0..count).step_by(size) {
            parts.push(self.predict.call(&input.narrow(0, start, count.min(start + size))?)?);
        }
        concat(&parts.iter().collect::<Vec<_>>(), 0)
    }

    /// The seed of layers that draw numbers.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Another seed. It is a constant of the compiled step, which is traced again if it changes.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        if seed != self.seed {
            self.seed = seed;
            self.step = step_of(&self.definition, seed);
        }
    }

    /// The counter of steps on the device.
    pub(crate) fn counter(&self) -> &Variable {
        &self.definition.counter
    }
}

fn step_of(definition: &Arc<Definition>, seed: u64) -> Function {
    let definition = definition.clone();
    of_pairs(move |input, target| definition.train(input, target, seed)).named("train step")
}

/// A function of a batch of inputs and one of targets that gives nothing: programs may call it too, with
/// anything.
fn of_pairs(body: impl Fn(&Tensor, &Tensor) -> Result<()> + Send + Sync + 'static) -> Function {
    Function::many(move |batch| match batch {
        [input, target] => body(input, target).map(|()| Vec::new()),
        other => {
            let types: Vec<_> = other.iter().map(Tensor::tensor_type).collect();
            let why =
                format!("a step takes a batch of inputs and one of targets, and was given {}", types.len());
            Err(Error::operands("step", &types, why, "give it both, in that order"))
        }
    })
}

fn check_names(weights: &[Weight]) -> Result<()> {
    let mut seen = HashSet::new();
    match weights.iter().find(|w| !seen.insert(w.name.as_str())) {
        None => Ok(()),
        Some(twice) => Err(Error::argument(
            "compile",
            format!("two weights have the name {}", twice.name),
            "give layers names that differ: checkpoints go by them",
        )),
    }
}
