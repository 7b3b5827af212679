//! Elements in random order: each is drawn from a buffer of those that come next.
//!
//! Directly behind a tensor source, the buffer holds row numbers alone. The order is the same either way.

use crate::fingerprint::Fingerprint;
use crate::random::Rng;
use crate::stages::tensors::Tensors;
use crate::stop::Stop;
use crate::stream::{Context, Item, Length, Pulled, Stage, Stream};
use std::ops::Range;
use std::sync::Arc;

pub(crate) struct Shuffle {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) buffer: usize,
    pub(crate) seed: u64,
    pub(crate) anew_each_epoch: bool,
}

impl Stage for Shuffle {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        let rng = Rng::new(self.seed, if self.anew_each_epoch { context.epoch } else { 0 });
        match self.from.rows() {
            Some(tensors) => Box::new(OfRows {
                tensors: tensors.clone(),
                next: 0..tensors.count(),
                buffer: Buffer::new(self.buffer, rng),
            }),
            None => Box::new(OfElements {
                from: Pulled::new(self.from.open(context), self.buffer.clamp(1, 64)),
                stop: context.stop.clone(),
                buffer: Buffer::new(self.buffer, rng),
            }),
        }
    }

    fn length(&self) -> Length {
        self.from.length()
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text("shuffle");
        fingerprint.size(self.buffer);
        fingerprint.number(self.seed);
        fingerprint.number(u64::from(self.anew_each_epoch));
    }
}

struct Buffer<T> {
    held: Vec<T>,
    size: usize,
    rng: Rng,
}

impl<T> Buffer<T> {
    fn new(size: usize, rng: Rng) -> Buffer<T> {
        Buffer { held: Vec::new(), size, rng }
    }

    /// Fills up from `source`, then draws one.
    fn draw(&mut self, mut source: impl FnMut() -> Option<T>) -> Option<T> {
        while self.held.len() < self.size {
            match source() {
                Some(next) => self.held.push(next),
                None => break,
            }
        }
        if self.held.is_empty() {
            return None;
        }
        let drawn = self.rng.below(self.held.len());
        Some(self.held.swap_remove(drawn))
    }
}

struct OfRows {
    tensors: Tensors,
    next: Range<usize>,
    buffer: Buffer<usize>,
}

impl Stream for OfRows {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        for _ in 0..max {
            let Some(row) = self.buffer.draw(|| self.next.next()) else { return };
            out.push(Ok(self.tensors.cell(row)));
        }
    }

    fn fill_rows(&mut self, max: usize, out: &mut Vec<usize>) -> Option<&Tensors> {
        let OfRows { tensors, next, buffer } = self;
        out.extend(std::iter::from_fn(|| buffer.draw(|| next.next())).take(max));
        Some(tensors)
    }
}

struct OfElements {
    from: Pulled,
    stop: Arc<Stop>,
    buffer: Buffer<Item>,
}

impl Stream for OfElements {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        for _ in 0..max {
            // A buffer that never fills can still be ended.
            let next = || if self.stop.is_set() { None } else { self.from.next() };
            let Some(item) = self.buffer.draw(next) else { return };
            out.push(item);
        }
    }
}
