//! The callbacks of a run: calling them, and keeping what they want kept.

use super::Training;
use crate::callbacks::{Callback, Run};
use situ_core::Result;
use situ_tensor::current_runtime;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What callbacks want kept, by their identities.
pub(crate) type States = BTreeMap<String, String>;

/// The callbacks of a run, with their identities, which differ.
pub(super) struct Callbacks<'c> {
    all: Vec<(String, Box<dyn Callback + 'c>)>,
    /// Whether one of them watches batches.
    pub(super) watched: bool,
}

impl<'c> Callbacks<'c> {
    pub(super) fn new(callbacks: Vec<Box<dyn Callback + 'c>>) -> Callbacks<'c> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut named = |callback: Box<dyn Callback + 'c>| {
            let mut name = callback.identity();
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                name = format!("{name} #{count}");
            }
            (name, callback)
        };
        let watched = callbacks.iter().any(|c| c.watches_batches());
        Callbacks { all: callbacks.into_iter().map(&mut named).collect(), watched }
    }

    fn states(&self) -> States {
        self.all.iter().filter_map(|(name, c)| Some((name.clone(), c.state()?))).collect()
    }

    /// Saves what was asked for, with the callbacks as they are now.
    fn save(&self, training: &mut Training, paths: Vec<PathBuf>) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        training.kept = self.states();
        paths.iter().try_for_each(|path| training.save(path))
    }

    /// Calls all; true if one of them asked to stop.
    pub(super) fn call(
        &mut self,
        training: &mut Training,
        mut each: impl FnMut(&mut dyn Callback, &mut Run<'_>) -> Result<()>,
    ) -> Result<bool> {
        let mut run = Run::new(training);
        for (_, callback) in &mut self.all {
            each(&mut **callback, &mut run)?;
        }
        let (stops, saves) = (run.stops(), run.requested());
        self.save(training, saves)?;
        Ok(stops)
    }

    /// [`Callbacks::call`], with what they keep taken down for whoever saves later.
    pub(super) fn call_and_keep(
        &mut self,
        training: &mut Training,
        each: impl FnMut(&mut dyn Callback, &mut Run<'_>) -> Result<()>,
    ) -> Result<bool> {
        let stops = self.call(training, each)?;
        training.kept = self.states();
        Ok(stops)
    }

    /// Tells all that training begins. On the same data as before, each gets what was kept of it, where
    /// training goes on that did not come to its end, or where it outlives that.
    pub(super) fn begin(&mut self, training: &mut Training, same_data: bool) -> Result<bool> {
        let kept = training.kept.clone();
        let resumes = training.resumes;
        if resumes && !same_data && !kept.is_empty() {
            current_runtime().say(
                "callbacks begin anew: what they had reached before was on other data, of training or of validation"
                    .to_string(),
            );
        }
        let mut run = Run::new(training);
        for (name, callback) in &mut self.all {
            callback.on_train_begin(&mut run)?;
            let goes_on = same_data && (resumes || callback.outlives_fit());
            if let (true, Some(state)) = (goes_on, kept.get(name)) {
                callback.resume(state)?;
            }
        }
        let (stops, saves) = (run.stops(), run.requested());
        training.kept = self.states();
        self.save(training, saves)?;
        Ok(stops)
    }

    /// Tells all that an epoch begins, or that it goes on: each is told of its beginning once.
    pub(super) fn begin_epoch(&mut self, training: &mut Training) -> Result<bool> {
        let mut run = Run::new(training);
        for (name, callback) in &mut self.all {
            if run.position.begun.contains(name) {
                callback.on_epoch_resume(&mut run)?;
            } else {
                callback.on_epoch_begin(&mut run)?;
                run.position.begun.insert(name.clone());
            }
        }
        let (stops, saves) = (run.stops(), run.requested());
        training.kept = self.states();
        self.save(training, saves)?;
        Ok(stops)
    }

    /// Tells all that training is over, and how. Gives the first error: that of training, else of one of
    /// them.
    pub(super) fn end(
        &mut self,
        training: &mut Training,
        interrupted: bool,
        mut done: Result<()>,
    ) -> Result<()> {
        let mut saves = Vec::new();
        for (_, callback) in &mut self.all {
            let mut run = Run::ended(training, interrupted, done.as_ref().err());
            let ended = callback.on_train_end(&mut run);
            saves.extend(run.requested());
            done = done.and(ended);
        }
        training.kept = self.states();
        let saved = self.save(training, saves);
        done.and(saved)
    }
}
