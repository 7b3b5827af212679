//! What a file says of training besides its tensors.

use super::KEY;
use super::rate::SavedRate;
use crate::train::{Data, Position, States, Training};
use serde::{Deserialize, Serialize};
use situ_core::{Error, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// The version of the form below.
const FORMAT: u32 = 2;
/// The first version: without rates, callbacks and data.
const FIRST: u32 = 1;

/// More than anything can have been counted.
const MOST: u64 = 1 << 53;

/// Position, seed and places.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    format: u32,
    /// The optimizer's rule.
    pub(super) rule: String,
    pub(super) steps: u64,
    pub(super) epoch: u64,
    pub(super) batch: u64,
    pub(super) seed: u64,
    /// Sums of the epoch under way, as the bits of f64: decimal digits are not read back exactly by every
    /// reader.
    pub(super) sums: Vec<u64>,
    pub(super) examples: u64,
    /// The names of the loss and the metrics that the sums are of.
    #[serde(default)]
    pub(super) figures: Vec<String>,
    /// The device of each weight.
    pub(super) placement: BTreeMap<String, String>,
    /// The learning rate, if it was set.
    #[serde(default)]
    pub(super) rate: Option<SavedRate>,
    /// The callbacks that were told of the beginning of the epoch under way.
    #[serde(default)]
    pub(super) begun: BTreeSet<String>,
    /// What callbacks want kept.
    #[serde(default)]
    pub(super) callbacks: States,
    /// What all of this is of.
    #[serde(default)]
    pub(super) data: Option<Data>,
}

impl Saved {
    pub(super) fn of(training: &Training) -> Saved {
        let Position { epoch, batch, begun } = training.position.clone();
        let place = |w: &crate::Weight| (w.name.clone(), w.variable.device().to_string());
        Saved {
            format: FORMAT,
            rule: training.stepper.bound().rule().into(),
            steps: training.steps(),
            epoch,
            batch,
            seed: training.seed(),
            sums: training.totals.sums.iter().map(|s| s.to_bits()).collect(),
            examples: training.totals.examples,
            figures: training.names().to_vec(),
            placement: training.weights.iter().map(place).collect(),
            rate: training.stepper.set_schedule().map(SavedRate::of),
            begun,
            callbacks: training.kept.clone(),
            data: training.data,
        }
    }

    pub(super) fn into_metadata(self) -> Result<HashMap<String, String>> {
        let text = serde_json::to_string(&self).map_err(|e| {
            Error::argument("save", format!("the position can't be written: {e}"), "report this")
        })?;
        Ok(HashMap::from([(KEY.to_string(), text)]))
    }

    pub(super) fn read(path: &Path, metadata: &Option<HashMap<String, String>>) -> Result<Saved> {
        let file = |why: String, help: &str| Error::file(path.to_string_lossy(), "metadata", why, help);
        let Some(text) = metadata.as_ref().and_then(|m| m.get(KEY)) else {
            return Err(file(
                "it has weights, but does not say where training was".into(),
                "use load_weights for files of weights alone",
            ));
        };
        let saved: Saved = serde_json::from_str(text)
            .map_err(|e| file(format!("what it says of training can't be read: {e}"), "save it again"))?;
        // Counts are added to, and nobody has trained for that long.
        let counts = [saved.steps, saved.epoch, saved.batch, saved.examples];
        if let Some(count) = counts.into_iter().find(|count| *count > MOST) {
            return Err(file(
                format!("it counts {count} steps, epochs, batches or examples"),
                "save it again",
            ));
        }
        match saved.format {
            FIRST | FORMAT => Ok(saved),
            other => Err(file(
                format!("it has format {other}, and this version reads formats {FIRST} to {FORMAT}"),
                "read it with the version that wrote it",
            )),
        }
    }
}
