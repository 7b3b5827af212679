//! The trainer: a model, compiled, with the calls that people make.

use super::training::Held;
use super::{Figures, Fit, History, Input, Metrics, Training};
use crate::optimizers::Optimizer;
use crate::{Loss, Metric, Model, Sequential, Weight};
use situ_core::{Error, Location, Result, Shape};
use situ_tensor::Tensor;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A model that is ready to be trained.
#[derive(Debug)]
pub struct Trainer<M> {
    state: State<M>,
}

/// Weights are made for the first batch, where the model does not have them before; all that hangs on weights
/// waits for them.
enum State<M> {
    Waiting(Box<Parts<M>>),
    Ready {
        model: Arc<M>,
        training: Box<Training>,
    },
    /// Between the two.
    Changing,
}

/// What compile was given.
struct Parts<M> {
    model: M,
    optimizer: Optimizer,
    loss: Box<dyn Loss>,
    metrics: Vec<Box<dyn Metric>>,
    seed: u64,
    line: Location,
}

/// Joins a model with an optimizer, a loss and metrics. A model without its weights gets them for the first
/// batch.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::Result;
/// use situ_nn::optimizers::Adam;
/// use situ_nn::{Fit, Loss, Maker, Model, Pass, Penalty, Progress, Weight, compile};
/// use situ_tensor::{Tensor, tensor, zeros};
///
/// /// y = a · x + b
/// struct Line([Weight; 2]);
/// impl Model for Line {
///     fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
///         x.mul(&self.0[0].variable.value())?.add(&self.0[1].variable.value())
///     }
///     fn weights(&self) -> Vec<Weight> {
///         self.0.to_vec()
///     }
/// }
///
/// #[derive(Debug)]
/// struct Squares;
/// impl Loss for Squares {
///     fn name(&self) -> &'static str {
///         "squares"
///     }
///     fn of(&self, predicted: &Tensor, target: &Tensor) -> Result<Tensor> {
///         predicted.sub(target)?.square()
///     }
/// }
///
/// let mut maker = Maker::new(7);
/// let start = zeros(&[1], situ_core::DType::F32)?;
/// let mut weight = |name| maker.weight(name, &start, true, Penalty::default());
/// let line = Line([weight("a")?, weight("b")?]);
/// let mut trainer = compile(line, Adam::new(0.1), Squares, ())?;
///
/// let (x, y) = (tensor([0.0f32, 1.0, 2.0, 3.0])?, tensor([1.0f32, 3.0, 5.0, 7.0])?);
/// let fit = Fit { epochs: 300, batch_size: 4, progress: Progress::Silent, ..Fit::default() };
/// let history = trainer.fit((&x, &y), fit)?;
/// assert!(history.last("loss").unwrap() < 1e-2);
/// let at_ten = trainer.predict(&tensor([10.0f32])?)?.item::<f32>()?;
/// assert!((at_ten - 21.0).abs() < 0.5, "{at_ten}");
/// # Ok(()) }
/// ```
#[track_caller]
pub fn compile<M: Model + 'static>(
    model: M,
    optimizer: impl Into<Optimizer>,
    loss: impl Loss + 'static,
    metrics: impl Metrics,
) -> Result<Trainer<M>> {
    Trainer::new(model, optimizer, loss, metrics, 0)
}

impl Sequential {
    /// [`compile`], as a method.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::losses::SparseCategoricalCrossEntropy;
    /// use situ_nn::metrics::SparseAccuracy;
    /// use situ_nn::optimizers::Adam;
    /// use situ_nn::{Activation, Dense, Fit, Progress, Sequential};
    /// use situ_tensor::{constant, tensor};
    /// let mut trainer = Sequential::new()
    ///     .add(Dense::new(16).activation(Activation::Relu))
    ///     .add(Dense::new(2))
    ///     .compile(Adam::new(0.05), SparseCategoricalCrossEntropy::from_logits(), [SparseAccuracy::new()])?;
    /// let x = tensor([[0.0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])?;
    /// let exclusive_or = constant(&[0, 1, 1, 0], &[4])?;
    /// let fit = Fit { epochs: 200, progress: Progress::Silent, ..Fit::default() };
    /// let history = trainer.fit((&x, &exclusive_or), fit)?;
    /// assert!(history.last("loss").unwrap() < history.epochs[0].figures.loss());
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn compile(
        self,
        optimizer: impl Into<Optimizer>,
        loss: impl Loss + 'static,
        metrics: impl Metrics,
    ) -> Result<Trainer<Sequential>> {
        compile(self, optimizer, loss, metrics)
    }
}

impl<M: Model + 'static> Parts<M> {
    /// All that can fail about [`Parts::ready`].
    fn held(&self) -> Result<Held> {
        Held::new(&self.model, &self.optimizer, &self.metrics)
    }

    fn ready(self, held: Held) -> State<M> {
        let model = Arc::new(self.model);
        let training = Training::new(model.clone(), held, self.loss, self.metrics, self.seed, self.line);
        State::Ready { model, training: Box::new(training) }
    }
}

impl<M: Model + 'static> Trainer<M> {
    /// [`compile`], with a seed for the layers that draw random numbers while they are trained.
    #[track_caller]
    pub fn new(
        model: M,
        optimizer: impl Into<Optimizer>,
        loss: impl Loss + 'static,
        metrics: impl Metrics,
        seed: u64,
    ) -> Result<Trainer<M>> {
        let has_weights = !model.weights().is_empty();
        let parts = Parts {
            model,
            optimizer: optimizer.into(),
            loss: Box::new(loss),
            metrics: metrics.boxed(),
            seed,
            line: Location::here(),
        };
        let state = match has_weights {
            true => {
                let held = parts.held()?;
                parts.ready(held)
            }
            false => State::Waiting(Box::new(parts)),
        };
        Ok(Trainer { state })
    }

    /// The model that is trained.
    pub fn model(&self) -> Result<&M> {
        match &self.state {
            State::Waiting(parts) => Ok(&parts.model),
            State::Ready { model, .. } => Ok(model),
            State::Changing => Err(waiting()),
        }
    }

    /// The model back, with its weights as they are: to compile it anew, with another optimizer, or with
    /// other layers frozen.
    pub fn into_model(self) -> Result<M> {
        match self.state {
            State::Waiting(parts) => Ok(parts.model),
            State::Ready { model, training } => {
                // Its functions hold the model.
                drop(training);
                Arc::try_unwrap(model).map_err(|_| {
                    Error::argument(
                        "into_model",
                        "something else still holds the model",
                        "drop clones of Training::step_function first",
                    )
                })
            }
            State::Changing => Err(waiting()),
        }
    }

    /// Makes the weights of a model that does not have them, for inputs of that shape with the batch first:
    /// as the first batch would. Where that fails, the trainer is as it was, and can be built again.
    pub fn build(&mut self, input: &Shape) -> Result<()> {
        if let State::Waiting(parts) = &mut self.state {
            parts.model.prepare(input)?;
            let held = parts.held()?;
            if let State::Waiting(parts) = std::mem::replace(&mut self.state, State::Changing) {
                self.state = parts.ready(held);
            }
        }
        Ok(())
    }

    /// The steps, the weights, the optimizer and the position. An error where there are no weights yet.
    pub fn training(&self) -> Result<&Training> {
        match &self.state {
            State::Ready { training, .. } => Ok(training),
            State::Waiting(_) | State::Changing => Err(waiting()),
        }
    }

    /// [`Trainer::training`], to change it.
    pub fn training_mut(&mut self) -> Result<&mut Training> {
        match &mut self.state {
            State::Ready { training, .. } => Ok(training),
            State::Waiting(_) | State::Changing => Err(waiting()),
        }
    }

    /// `line` is where the program asked for what is done now.
    fn prepared(&mut self, input: &Input, line: Location) -> Result<&mut Training> {
        if let State::Waiting(_) = self.state {
            self.build(&input.first_shape()?)?;
        }
        let training = self.training_mut()?;
        training.line = line;
        Ok(training)
    }

    /// Trains on examples, epoch by epoch. An epoch that was begun before, and did not come to its end, is
    /// gone on with where it was left, if the data is the same by
    /// [`Dataset::fingerprint`](situ_data::Dataset::fingerprint): the same tensors (some of their rows are
    /// looked at), batches of the same size, in the same order. Else it begins anew, on the new data.
    #[track_caller]
    pub fn fit(&mut self, input: impl Into<Input>, fit: Fit<'_>) -> Result<History> {
        let (input, line) = (input.into(), Location::here());
        self.prepared(&input, line)?.fit(&input, fit)
    }

    /// One step on a batch; gives its loss and metrics.
    pub fn train_on_batch(&mut self, input: &Tensor, target: &Tensor) -> Result<Figures> {
        self.build(input.shape())?;
        self.training_mut()?.train_on_batch(input, target)
    }

    /// Loss and metrics of examples, in batches of that size.
    #[track_caller]
    pub fn evaluate(&mut self, input: impl Into<Input>, batch_size: usize) -> Result<Figures> {
        let (input, line) = (input.into(), Location::here());
        self.prepared(&input, line)?.evaluate(&input, batch_size)
    }

    /// What the model gives for examples, in batches of 32.
    pub fn predict(&self, input: &Tensor) -> Result<Tensor> {
        self.predict_batched(input, 32)
    }

    /// What the model gives for examples, in batches of that size.
    pub fn predict_batched(&self, input: &Tensor, batch_size: usize) -> Result<Tensor> {
        self.training()?.predicted(input, batch_size)
    }

    /// The model's weights; none where they are not made yet.
    pub fn weights(&self) -> &[Weight] {
        self.training().map_or(&[], Training::weights)
    }

    /// Epochs of training that are over.
    pub fn epochs(&self) -> u64 {
        self.training().map_or(0, Training::epochs)
    }

    /// Steps of training so far.
    pub fn steps(&self) -> u64 {
        self.training().map_or(0, Training::steps)
    }

    /// Writes weights, optimizer state and position to one file: the old file, or the new one, is there at
    /// any moment.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.training_mut()?.save(path.as_ref())
    }

    /// Goes on where a file was saved: weights, optimizer state, position, seed, a learning rate that had
    /// been set, and what callbacks keep. An epoch that was under way is finished by a `fit` on the same
    /// data; other data is trained on from its first batch.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.training_mut()?.load(path.as_ref())
    }
}

#[cold]
fn waiting() -> Error {
    Error::argument(
        "trainer",
        "the model has no weights yet",
        "call Trainer::build with the shape of a batch, or fit first",
    )
}

impl<M> fmt::Debug for State<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Waiting(_) => f.write_str("Waiting"),
            State::Ready { training, .. } => f.debug_tuple("Ready").field(training).finish(),
            State::Changing => f.write_str("Changing"),
        }
    }
}
