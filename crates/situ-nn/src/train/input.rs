//! What fit and evaluate are given: tensors of examples, or batches.

use situ_core::{DeviceId, Error, Location, Result, Shape};
use situ_data::{Dataset, Length};
use situ_tensor::scope::line_scope;
use situ_tensor::{Tensor, current_runtime};

/// Examples with their targets: two tensors, which are cut into batches, or a dataset of batches, which is
/// used as it is.
#[derive(Clone)]
pub enum Input {
    /// Inputs and targets, an example to a row.
    Tensors(Tensor, Tensor),
    /// Batches, an epoch at a time.
    Batches(Dataset<(Tensor, Tensor)>),
}

impl From<(&Tensor, &Tensor)> for Input {
    fn from((x, y): (&Tensor, &Tensor)) -> Input {
        Input::Tensors(x.clone(), y.clone())
    }
}
impl From<(Tensor, Tensor)> for Input {
    fn from((x, y): (Tensor, Tensor)) -> Input {
        Input::Tensors(x, y)
    }
}
impl From<&Dataset<(Tensor, Tensor)>> for Input {
    fn from(batches: &Dataset<(Tensor, Tensor)>) -> Input {
        Input::Batches(batches.clone())
    }
}
impl From<Dataset<(Tensor, Tensor)>> for Input {
    fn from(batches: Dataset<(Tensor, Tensor)>) -> Input {
        Input::Batches(batches)
    }
}

/// Batches, and what tells them from those of other data.
pub(super) struct Batches {
    pub(super) dataset: Dataset<(Tensor, Tensor)>,
    pub(super) fingerprint: u64,
}

impl Batches {
    fn new(dataset: &Dataset<(Tensor, Tensor)>) -> Batches {
        Batches { dataset: dataset.clone(), fingerprint: dataset.fingerprint() }
    }
}

impl Input {
    /// The shape of a batch of inputs, to make weights for.
    pub(super) fn first_shape(&self) -> Result<Shape> {
        match self {
            Input::Tensors(x, _) => Ok(*x.shape()),
            Input::Batches(batches) => match batches.epoch(0).next() {
                Some(batch) => Ok(*batch?.0.shape()),
                None => {
                    Err(Error::argument("fit", "the input has no batches", "give it at least one example"))
                }
            },
        }
    }

    /// As batches of that size, in the order of a seed if there is one. Inputs are brought to `device` ahead
    /// of their use if that is a GPU; targets are small, and go where the loss is with the step.
    ///
    /// `line` is where the program asked for them.
    pub(super) fn batches(
        &self,
        size: usize,
        shuffled: Option<u64>,
        device: DeviceId,
        line: Location,
    ) -> Result<Batches> {
        let (x, y) = match self {
            Input::Batches(batches) => return Ok(Batches::new(batches)),
            Input::Tensors(x, y) => (x, y),
        };
        let rows = x.shape().dims().first().copied().unwrap_or(0);
        let mut examples = Dataset::from_tensors((x.clone(), y.clone()))?;
        if let Some(seed) = shuffled
            && rows > 0
        {
            examples = examples.shuffle(rows, seed);
        }
        let mut batches = Batches::new(&examples.batch(size));
        let is_on_host = current_runtime().capabilities(device).is_some_and(|can| can.host_addressable);
        if !is_on_host {
            let name = device.to_string();
            // The same data wherever it is brought to: its fingerprint stays.
            let bring = move |(x, y): (Tensor, Tensor)| {
                let _line = line_scope(line);
                Ok((x.to_device(&name)?, y))
            };
            batches.dataset = batches.dataset.map(bring).prefetch(2);
        }
        Ok(batches)
    }
}

/// How many batches an epoch has, if that is known.
pub(super) fn count(batches: &Dataset<(Tensor, Tensor)>) -> Option<u64> {
    match batches.length() {
        Length::Known(count) => Some(count as u64),
        _ => None,
    }
}
