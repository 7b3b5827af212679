//! The seam between stages: a stage is a description that can be opened, any number of times, as a stream of
//! elements.

use crate::cell::Cell;
use crate::fingerprint::Fingerprint;
use crate::stages::tensors::Tensors;
use crate::stop::Stop;
use situ_core::{DeviceSpec, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// An element, or what became of it.
pub(crate) type Item = Result<Cell>;

/// Elements in order.
pub(crate) trait Stream: Send {
    /// Appends at least one element and at most `max`; none at the end, and none after it. `max` is
    /// at least 1. How elements are dealt to calls says nothing: only their order counts.
    fn fill(&mut self, max: usize, out: &mut Vec<Item>);

    /// As [`Stream::fill`], for elements that are rows of tensors and nothing else: appends their numbers,
    /// and gives the tensors. `None`, always, from a stream of other elements. Fewer than `max` are the last.
    fn fill_rows(&mut self, max: usize, out: &mut Vec<usize>) -> Option<&Tensors> {
        let _ = (max, out);
        None
    }
}

/// One step of a pipeline, with those before it.
pub(crate) trait Stage: Send + Sync {
    /// The elements of one epoch. A fault in the stage's description is its first element.
    fn open(&self, context: &Context) -> Box<dyn Stream>;

    /// How many elements an epoch has.
    fn length(&self) -> Length;

    /// Adds what the elements depend on, as far as it can be told.
    fn identify(&self, fingerprint: &mut Fingerprint);

    /// The tensors whose rows are the elements, if they are just that: their order can then be chosen without
    /// looking at them.
    fn rows(&self) -> Option<&Tensors> {
        None
    }
}

/// What the stages of one iteration have in common.
#[derive(Clone)]
pub(crate) struct Context {
    /// Distinguishes the passes over a dataset.
    pub(crate) epoch: u64,
    pub(crate) stop: Arc<Stop>,
    /// Where work without a scope of its own runs, and batches lie; empty: the first CPU.
    pub(crate) host: DeviceSpec,
    /// The cores of the threads that are started; `None`: any.
    pub(crate) cores: Option<Arc<[usize]>>,
    /// How often who pulls found nothing made ahead. A stage with a thread gives those before it another:
    /// that thread's waits are its own.
    pub(crate) waits: Arc<AtomicU64>,
}

/// How many elements a dataset has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Exactly so many elements.
    Known(usize),
    /// It never ends.
    Infinite,
    /// It depends on the elements.
    Unknown,
}

impl Length {
    /// The same change of a known number.
    pub(crate) fn map(self, change: impl FnOnce(usize) -> usize) -> Length {
        match self {
            Length::Known(n) => Length::Known(change(n)),
            other => other,
        }
    }
}

/// A stream of one element: an error, for a stage that can't be.
pub(crate) struct Once(pub(crate) Option<Item>);

impl Stream for Once {
    fn fill(&mut self, _: usize, out: &mut Vec<Item>) {
        out.extend(self.0.take());
    }
}

/// Elements pulled from a stream in lots and handed on one by one.
pub(crate) struct Pulled {
    from: Box<dyn Stream>,
    /// Elements that were pulled and not handed on, in reverse.
    ready: Vec<Item>,
    lot: usize,
}

impl Pulled {
    /// Pulls up to `lot` at once.
    pub(crate) fn new(from: Box<dyn Stream>, lot: usize) -> Pulled {
        Pulled { from, ready: Vec::new(), lot }
    }

    pub(crate) fn next(&mut self) -> Option<Item> {
        if self.ready.is_empty() {
            self.from.fill(self.lot, &mut self.ready);
            self.ready.reverse();
        }
        self.ready.pop()
    }
}
