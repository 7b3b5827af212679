//! The loop over epochs and batches.

use super::called::Callbacks;
use super::definition::examples;
use super::input::count;
use super::progress::{Display, Progress};
use super::{Data, Epoch, Figures, History, Input, Position, Training};
use crate::callbacks::Callback;
use crate::interrupt::Interrupt;
use situ_core::{DeviceId, Error, Result};
use situ_data::Dataset;
use situ_tensor::{Tensor, current_runtime};
use std::time::{Duration, Instant};

/// How to fit. Write what differs, and end with `..Fit::default()`: further fields may come.
///
/// ```
/// use situ_nn::Fit;
/// let fit = Fit { epochs: 5, batch_size: 64, ..Fit::default() };
/// assert_eq!(fit.shuffle, Some(0));
/// ```
pub struct Fit<'c> {
    /// How many epochs to train. One that was begun before on the same data, and interrupted, is finished as
    /// the first of them.
    pub epochs: usize,
    /// Examples of a batch, where tensors are given.
    pub batch_size: usize,
    /// Examples to test on after each epoch.
    pub validation: Option<Input>,
    /// The seed of the order of examples, which is another in each epoch; `None`: as they are. Only where
    /// tensors are given.
    pub shuffle: Option<u64>,
    /// What is called on the way.
    pub callbacks: Vec<Box<dyn Callback + 'c>>,
    /// What is shown on the way.
    pub progress: Progress,
    /// What ends it after the current step.
    pub interrupt: Interrupt,
}

impl Default for Fit<'_> {
    /// One epoch in batches of 32, shuffled by seed 0, with a bar on a terminal and lines elsewhere.
    fn default() -> Self {
        Fit {
            epochs: 1,
            batch_size: 32,
            validation: None,
            shuffle: Some(0),
            callbacks: Vec::new(),
            progress: Progress::Auto,
            interrupt: Interrupt::default(),
        }
    }
}

/// How an epoch ended.
enum End {
    Over { steps: u64, time: Duration, busy: Vec<(DeviceId, f64)> },
    Interrupted,
    Stopped,
}

impl Training {
    pub(super) fn evaluate(&mut self, input: &Input, batch_size: usize) -> Result<Figures> {
        let batches = input.batches(batch_size, None, self.home(), self.line)?;
        self.tested(batches.dataset.epoch(0))
    }

    pub(super) fn fit(&mut self, input: &Input, fit: Fit<'_>) -> Result<History> {
        let batches = input.batches(fit.batch_size, fit.shuffle, self.home(), self.line)?;
        let validation = match &fit.validation {
            Some(input) => Some(input.batches(fit.batch_size, None, self.home(), self.line)?),
            None => None,
        };
        let data =
            Data { training: batches.fingerprint, validation: validation.as_ref().map(|v| v.fingerprint) };
        let same_data = self.turn_to(data);
        let mut display = Display::new(fit.progress);
        let mut callbacks = Callbacks::new(fit.callbacks);
        let mut history = History::default();
        let last = self.position.epoch.saturating_add(fit.epochs as u64);
        let done = callbacks.begin(self, same_data).and_then(|stopped| {
            history.stopped = stopped;
            self.epochs_to(
                last,
                &batches.dataset,
                validation.as_ref().map(|v| &v.dataset),
                &fit.interrupt,
                &mut callbacks,
                &mut display,
                &mut history,
            )
        });
        self.resumes = history.interrupted || done.is_err();
        let done = callbacks.end(self, history.interrupted, done);
        display.done(history.interrupted);
        done.map(|()| history)
    }

    /// Goes to the data of a fit. The position within an epoch belongs to the data it was reached in: other
    /// data begins at its first batch. Gives whether what callbacks had reached is of this data.
    fn turn_to(&mut self, data: Data) -> bool {
        // A file of the first format does not say.
        let same = self.data.is_none_or(|before| before.training == data.training);
        if self.position.batch > 0 && !same {
            current_runtime().say(format!(
                "epoch {} begins anew: it was left after {} batches of other data",
                self.position.epoch, self.position.batch
            ));
            self.position.batch = 0;
        }
        self.data.replace(data) == Some(data)
    }

    fn epochs_to(
        &mut self,
        last: u64,
        batches: &Dataset<(Tensor, Tensor)>,
        validation: Option<&Dataset<(Tensor, Tensor)>>,
        interrupt: &Interrupt,
        callbacks: &mut Callbacks<'_>,
        display: &mut Display,
        history: &mut History,
    ) -> Result<()> {
        let mut told = false;
        while self.position.epoch < last && !history.stopped && !history.interrupted {
            if self.position.batch == 0 {
                self.begin_figures()?;
            }
            history.stopped = callbacks.begin_epoch(self)?;
            if history.stopped {
                break;
            }
            let number = self.position.epoch;
            display.begin(number, last, self.position.batch, count(batches));
            match self.epoch(batches, interrupt, callbacks, display)? {
                End::Interrupted => history.interrupted = true,
                End::Stopped => history.stopped = true,
                End::Over { steps, time, busy } => {
                    let mut figures = self.figures()?;
                    let rate = self.stepper.rate_of(self.steps().saturating_sub(1));
                    self.position = Position { epoch: number + 1, ..Position::default() };
                    if let Some(validation) = validation {
                        display.validating();
                        let tested = self.tested(validation.epoch(0))?;
                        figures = figures.joined("val_", &tested);
                    }
                    display.end(&figures, steps, time, &busy);
                    if !figures.loss().is_finite() && !told {
                        told = true;
                        current_runtime().say(no_number(number, figures.loss()));
                    }
                    history.stopped =
                        callbacks.call_and_keep(self, |c, run| c.on_epoch_end(run, &figures))?;
                    history.epochs.push(Epoch { number, figures, rate, steps, time });
                }
            }
        }
        Ok(())
    }

    /// The steps of one epoch, from where it was left.
    fn epoch(
        &mut self,
        batches: &Dataset<(Tensor, Tensor)>,
        interrupt: &Interrupt,
        callbacks: &mut Callbacks<'_>,
        display: &mut Display,
    ) -> Result<End> {
        let start = Instant::now();
        let mut steps = 0u64;
        let done = self.position.batch as usize;
        let mut first = None;
        for batch in batches.epoch(self.position.epoch).skip(done) {
            if interrupt.is_set() {
                return Ok(End::Interrupted);
            }
            let (x, y) = batch?;
            examples(&x)?;
            self.step(&x, &y)?;
            self.position.batch += 1;
            steps += 1;
            self.after_step()?;
            if callbacks.watched && callbacks.call(self, |c, run| c.on_batch_end(run))? {
                return Ok(End::Stopped);
            }
            if display.is_due() {
                let figures = self.figures()?;
                let busy = self.step_function().busy(&[&x, &y])?;
                display.show(self.position.batch, &figures, steps, start.elapsed(), &busy);
            }
            if display.is_shown() && steps == 1 {
                // One of full size: the last one may be smaller.
                first = Some((x, y));
            }
        }
        if self.position.batch == 0 {
            return Err(Error::argument(
                "fit",
                "the input has no batches",
                "give it at least one example; batch_exact drops what is less than a batch",
            ));
        }
        // The time of steps, with what devices still have to do.
        self.figures()?;
        let time = start.elapsed();
        let busy = match &first {
            Some((x, y)) => self.step_function().busy(&[x, y])?,
            None => Vec::new(),
        };
        Ok(End::Over { steps, time, busy })
    }
}

#[cold]
fn no_number(epoch: u64, loss: f64) -> String {
    format!(
        "the loss of epoch {} is {loss}: training goes on, and most likely for nothing; lower the learning rate, clip the gradients, look \
         for such values in the data; callbacks::StopOnNan ends it at the first one",
        epoch + 1
    )
}
