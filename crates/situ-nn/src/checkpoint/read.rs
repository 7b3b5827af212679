//! Reading: everything is looked at before anything is changed.

use super::rate::SavedRate;
use super::saved::Saved;
use super::{STATE, state_name, to_file};
use crate::Weight;
use crate::train::{Position, Training};
use safetensors::SafeTensors;
use situ_core::{Error, Result};
use situ_tensor::{Tensor, Variable, clear_device, current_runtime, written};
use std::collections::HashSet;
use std::path::Path;

/// The bytes of a file.
fn bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| {
        Error::file(path.to_string_lossy(), "", format!("it can't be read: {e}"), "check the path")
    })
}

fn parsed<'b>(path: &Path, bytes: &'b [u8]) -> Result<SafeTensors<'b>> {
    SafeTensors::deserialize(bytes).map_err(|e| {
        Error::file(path.to_string_lossy(), "", format!("it is no safetensors file: {e}"), "save it again")
    })
}

/// Finds a tensor for every variable, or says all that is wrong. Tensors that `ignored` says so of may be too
/// many.
fn matched<'v>(
    path: &Path,
    file: &SafeTensors<'_>,
    wanted: Vec<(String, &'v Variable)>,
    ignored: impl Fn(&str) -> bool,
) -> Result<Vec<(&'v Variable, Tensor)>> {
    let (mut missing, mut other, mut found) = (vec![], vec![], vec![]);
    let names: HashSet<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    let mut extra: Vec<&str> =
        file.names().into_iter().filter(|n| !names.contains(n) && !ignored(n)).collect();
    extra.sort_unstable();
    for (name, variable) in &wanted {
        let Ok(view) = file.tensor(name) else {
            missing.push(name.as_str());
            continue;
        };
        let ty = variable.tensor_type();
        if view.dtype() != to_file(ty.dtype) || view.shape() != ty.shape.dims() {
            other.push(format!("{name} is {:?}{:?} and should be {ty}", view.dtype(), view.shape()));
            continue;
        }
        found.push((*variable, view));
    }
    let faults: Vec<String> = [
        ("it lacks ", missing.join(", ")),
        ("it has what the model has not: ", extra.join(", ")),
        ("of other types: ", other.join(", ")),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(what, names)| format!("{what}{names}"))
    .collect();
    if !faults.is_empty() {
        return Err(Error::file(
            path.to_string_lossy(),
            "",
            faults.join("; "),
            "build the same model as the one that was saved; its weights are unchanged",
        ));
    }
    let _anywhere = clear_device();
    let read = found.into_iter().map(|(variable, view)| {
        let tensor = written(variable.tensor_type(), |to| {
            to.copy_from_slice(view.data());
            Ok(())
        })?;
        Ok((variable, tensor))
    });
    read.collect()
}

fn assign(read: Vec<(&Variable, Tensor)>) -> Result<()> {
    read.iter().try_for_each(|(variable, tensor)| variable.assign(tensor))
}

/// Reads weights from a safetensors file, each to where it lives. An optimizer's state in the file is passed
/// over.
pub fn load_weights(path: impl AsRef<Path>, weights: &[Weight]) -> Result<()> {
    let path = path.as_ref();
    let bytes = bytes(path)?;
    let wanted = weights.iter().map(|w| (w.name.clone(), &w.variable)).collect();
    assign(matched(path, &parsed(path, &bytes)?, wanted, |name| name.starts_with(STATE))?)
}

impl Training {
    /// Goes on where a file was saved: weights, optimizer state, position, seed, what callbacks keep, and the
    /// learning rate if it had been set (by [`Training::set_rate`], as callbacks do; else it is the
    /// optimizer's, of which this program may have another). Weights stay on the devices they are on; where
    /// they were on others when they were saved, it is said.
    pub fn load(&mut self, path: &Path) -> Result<()> {
        let bytes = bytes(path)?;
        let file = parsed(path, &bytes)?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes)
            .map_err(|e| Error::file(path.to_string_lossy(), "metadata", e.to_string(), "save it again"))?;
        let saved = Saved::read(path, metadata.metadata())?;
        let bound = self.stepper.bound().clone();
        if saved.rule != bound.rule() {
            return Err(Error::file(
                path.to_string_lossy(),
                "metadata",
                format!("it was trained by {}, and this is {}", saved.rule, bound.rule()),
                "compile with the same optimizer, or use load_weights",
            ));
        }
        let mut wanted: Vec<(String, &Variable)> =
            self.weights.iter().map(|w| (w.name.clone(), &w.variable)).collect();
        wanted.extend(bound.state().map(|(weight, state, v)| (state_name(state, weight), v)));
        assign(matched(path, &file, wanted, |_| false)?)?;
        self.note_places(&saved);
        self.resume(&saved)
    }

    fn resume(&mut self, saved: &Saved) -> Result<()> {
        let sums = saved.sums.iter().map(|bits| f64::from_bits(*bits)).collect();
        self.resume_figures(&saved.figures, sums, saved.examples)?;
        self.position = Position { epoch: saved.epoch, batch: saved.batch, begun: saved.begun.clone() };
        (self.data, self.kept, self.resumes) = (saved.data, saved.callbacks.clone(), true);
        match saved.rate.as_ref().map(SavedRate::schedule) {
            None => {}
            Some(Some(schedule)) => self.set_rate(schedule),
            Some(None) => current_runtime().say(
                "the learning rate had been set to a closure when this file was saved, which is not in it: \
                 training goes on with the rate as it is; set it again"
                    .to_string(),
            ),
        }
        self.stepper.resume_at(saved.steps);
        self.set_seed(saved.seed);
        // As the step counts: i32, and round again after the last.
        self.counter().assign(&situ_tensor::tensor(saved.steps as i32)?)
    }

    fn note_places(&self, saved: &Saved) {
        let moved: Vec<String> = self
            .weights
            .iter()
            .filter_map(|w| {
                let (then, now) = (saved.placement.get(&w.name)?, w.variable.device().to_string());
                (*then != now).then(|| format!("{} ({then}, now {now})", w.name))
            })
            .collect();
        if !moved.is_empty() {
            current_runtime()
                .say(format!("weights were elsewhere when they were saved: {}", moved.join(", ")));
        }
    }
}
