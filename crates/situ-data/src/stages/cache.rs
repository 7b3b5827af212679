//! Elements kept in memory by the first pass that comes to its end without an error.

use crate::cell::Cell;
use crate::fingerprint::Fingerprint;
use crate::stream::{Context, Item, Length, Stage, Stream};
use std::sync::{Arc, OnceLock};

pub(crate) struct Cache {
    from: Arc<dyn Stage>,
    kept: Arc<OnceLock<Vec<Cell>>>,
}

impl Cache {
    pub(crate) fn new(from: Arc<dyn Stage>) -> Cache {
        Cache { from, kept: Arc::default() }
    }
}

impl Stage for Cache {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        match self.kept.get() {
            Some(_) => Box::new(Kept { kept: self.kept.clone(), next: 0 }),
            None => Box::new(Keeping {
                from: self.from.open(context),
                seen: Some(Vec::new()),
                kept: self.kept.clone(),
                stop: context.stop.clone(),
            }),
        }
    }

    fn length(&self) -> Length {
        match self.kept.get() {
            Some(kept) => Length::Known(kept.len()),
            None => self.from.length(),
        }
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
    }
}

struct Keeping {
    from: Box<dyn Stream>,
    /// `None` once an element has failed, or all are kept.
    seen: Option<Vec<Cell>>,
    kept: Arc<OnceLock<Vec<Cell>>>,
    stop: Arc<crate::stop::Stop>,
}

impl Stream for Keeping {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        let before = out.len();
        self.from.fill(max, out);
        let new = &out[before..];
        if new.is_empty() {
            // A stream that was stopped looks as if it had ended.
            if let (Some(seen), false) = (self.seen.take(), self.stop.is_set()) {
                let _ = self.kept.set(seen);
            }
        } else if new.iter().any(Result::is_err) {
            self.seen = None;
        } else if let Some(seen) = &mut self.seen {
            seen.extend(new.iter().flatten().cloned());
        }
    }
}

struct Kept {
    kept: Arc<OnceLock<Vec<Cell>>>,
    next: usize,
}

impl Stream for Kept {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        let Some(kept) = self.kept.get() else { return };
        let end = kept.len().min(self.next.saturating_add(max));
        out.extend(kept[self.next..end].iter().cloned().map(Ok));
        self.next = end;
    }
}
