//! One iteration over a dataset.

use crate::element::Elements;
use crate::stop::{Stop, StopHandle};
use crate::stream::{Context, Stage, Stream};
use situ_core::{DeviceSpec, Result};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The elements of one epoch. Dropping it ends every thread of the pipeline, at the latest after the element
/// each is at work on.
///
/// An element that failed is an `Err` with its index; the elements after it still come.
pub struct Iter<E> {
    stream: Option<Box<dyn Stream>>,
    stop: Arc<Stop>,
    waits: Arc<AtomicU64>,
    ready: Vec<crate::stream::Item>,
    _elements: PhantomData<fn() -> E>,
}

impl<E: Elements> Iter<E> {
    pub(crate) fn new(stage: &dyn Stage, epoch: u64) -> Iter<E> {
        let stop = Arc::<Stop>::default();
        let waits = Arc::<AtomicU64>::default();
        let (host, cores) = (DeviceSpec::default(), None);
        let context = Context { epoch, stop: stop.clone(), host, cores, waits: waits.clone() };
        let stream = Some(stage.open(&context));
        Iter { stream, stop, waits, ready: Vec::new(), _elements: PhantomData }
    }

    /// How often an element was asked for that the prefetching stage at the end did not have ready: more than
    /// the first few mean that input takes longer than what is done with it.
    pub fn waits(&self) -> u64 {
        self.waits.load(Relaxed)
    }

    /// What ends this iteration from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.stop.clone())
    }
}

impl<E: Elements> Iterator for Iter<E> {
    type Item = Result<E>;

    fn next(&mut self) -> Option<Result<E>> {
        let stream = self.stream.as_mut()?;
        stream.fill(1, &mut self.ready);
        match self.ready.pop() {
            Some(item) if !self.stop.is_set() => Some(item.and_then(|cell| {
                let origin = cell.origin;
                cell.into_row().and_then(E::from_row).map_err(|e| e.of_element("next", origin))
            })),
            _ => {
                // Threads and what they hold are let go at the end, not with the iterator.
                self.stream = None;
                None
            }
        }
    }
}

impl<E> Drop for Iter<E> {
    fn drop(&mut self) {
        // Before the stages: each waits for its threads, which must not wait for anything any more.
        if self.stream.is_some() {
            self.stop.set();
        }
    }
}
