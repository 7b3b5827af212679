//! Event files that TensorBoard reads: of records, of figures, and of `fit` while it goes on.

pub use situ_observe::tensorboard::*;

use crate::Result;
use crate::nn::Figures;
use crate::nn::callbacks::{Callback, Run};
use crate::observe::{Profiler, Profiling};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

/// Writes what `fit` learns to a folder that TensorBoard is pointed at: loss and metrics of every epoch,
/// those of validation as a run of their own, so that both are in one chart; the learning rate; and the steps
/// of a second.
///
/// Files are written after every epoch, so that TensorBoard can follow. Curves of a run that goes on in the
/// same folder go on, too: they are by the number of epochs, or steps, since training began.
///
/// ```
/// # fn main() -> situ::Result<()> {
/// use situ::nn::losses::MeanSquaredError;
/// use situ::nn::optimizers::Sgd;
/// use situ::nn::{Dense, Fit, Progress, Sequential};
/// use situ::observe::tensorboard::TensorBoard;
///
/// # let folder = std::env::temp_dir().join(format!("situ-curves-{}", std::process::id()));
/// let x = situ::random::normal(&[64, 4])?;
/// let y = x.sum(&[-1])?.reshape(&[-1, 1])?;
/// let mut trainer =
///     Sequential::new().add(Dense::new(1)).compile(Sgd::new(0.1), MeanSquaredError::new(), ())?;
/// let board = TensorBoard::new(&folder).every_steps(2).profile(1..3);
/// let (callbacks, progress) = (vec![Box::new(board) as Box<_>], Progress::Silent);
/// trainer.fit((&x, &y), Fit { epochs: 3, callbacks, progress, ..Fit::default() })?;
/// assert!(folder.join("train").is_dir());
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct TensorBoard {
    folder: PathBuf,
    every: Option<u64>,
    profiled: Range<u64>,
    train: Option<Writer>,
    validation: Option<Writer>,
    profiling: Option<Profiling>,
    /// When the epoch began, and how many steps there were by then.
    since: Option<(Instant, u64)>,
}

impl TensorBoard {
    /// Curves by epoch, in a folder that is made if it is not there.
    pub fn new(folder: impl Into<PathBuf>) -> TensorBoard {
        TensorBoard {
            folder: folder.into(),
            every: None,
            profiled: 0..0,
            train: None,
            validation: None,
            profiling: None,
            since: None,
        }
    }

    /// Also curves by step, with a point after every so many: the figures of the epoch so far. Each point
    /// waits for the device.
    pub fn every_steps(self, steps: u64) -> TensorBoard {
        TensorBoard { every: Some(steps.max(1)), ..self }
    }

    /// Records these steps, counted since training began, and writes what TensorBoard can show of them: the
    /// graph coloured by device, with the times of its ops.
    pub fn profile(self, steps: Range<u64>) -> TensorBoard {
        TensorBoard { profiled: steps, ..self }
    }

    fn run<'w>(
        writer: &'w mut Option<Writer>,
        folder: &std::path::Path,
        name: &str,
    ) -> Result<&'w mut Writer> {
        match writer {
            Some(writer) => Ok(writer),
            None => Ok(writer.insert(Writer::create(folder.join(name))?)),
        }
    }

    fn begin_profile(&mut self, steps: u64) {
        if self.profiling.is_none() && self.profiled.contains(&steps) {
            self.profiling = Some(Profiler::new().detailed().title("training").start());
        }
    }

    fn end_profile(&mut self) -> Result<()> {
        let Some(profiling) = self.profiling.take() else { return Ok(()) };
        Self::run(&mut self.train, &self.folder, "train")?.record(&profiling.finish())
    }
}

impl Callback for TensorBoard {
    fn on_epoch_begin(&mut self, run: &mut Run<'_>) -> Result<()> {
        self.since = Some((Instant::now(), run.steps()));
        self.begin_profile(run.steps());
        Ok(())
    }

    /// What is left of an epoch has its own speed.
    fn on_epoch_resume(&mut self, run: &mut Run<'_>) -> Result<()> {
        self.on_epoch_begin(run)
    }

    fn watches_batches(&self) -> bool {
        self.every.is_some() || !self.profiled.is_empty()
    }

    fn on_batch_end(&mut self, run: &mut Run<'_>) -> Result<()> {
        let steps = run.steps();
        if self.profiling.is_some() && !self.profiled.contains(&steps) {
            self.end_profile()?;
        }
        self.begin_profile(steps);
        if self.every.is_some_and(|every| steps.is_multiple_of(every)) {
            let figures = run.figures()?;
            let train = Self::run(&mut self.train, &self.folder, "train")?;
            for (name, value) in figures.iter() {
                train.scalar(&format!("step/{name}"), steps, value)?;
            }
            train.flush()?;
        }
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Run<'_>, figures: &Figures) -> Result<()> {
        let epoch = run.epochs();
        for (name, value) in figures.iter() {
            let (writer, folder, name) = match name.strip_prefix("val_") {
                Some(name) => (&mut self.validation, "validation", name),
                None => (&mut self.train, "train", name),
            };
            Self::run(writer, &self.folder, folder)?.scalar(&format!("epoch/{name}"), epoch, value)?;
        }
        let train = Self::run(&mut self.train, &self.folder, "train")?;
        train.scalar("epoch/learning_rate", epoch, run.stepper().rate())?;
        if let Some((began, before)) = self.since.take() {
            let steps = run.steps().saturating_sub(before) as f64;
            train.scalar("epoch/steps_per_second", epoch, steps / began.elapsed().as_secs_f64().max(1e-9))?;
        }
        train.flush()?;
        self.validation.as_mut().map_or(Ok(()), Writer::flush)
    }

    fn on_train_end(&mut self, _: &mut Run<'_>) -> Result<()> {
        self.end_profile()?;
        self.train.as_mut().map_or(Ok(()), Writer::flush)
    }
}
