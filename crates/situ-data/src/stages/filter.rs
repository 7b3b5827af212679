//! The elements that a closure lets pass; and those that did not fail.

use crate::cell::Cell;
use crate::element::Row;
use crate::fingerprint::Fingerprint;
use crate::stages::map::ClosureScope;
use crate::stream::{Context, Item, Length, Stage, Stream};
use crate::threads::guarded;
use situ_core::Result;
use std::sync::Arc;

/// Whether an element passes.
pub(crate) type Test = Arc<dyn Fn(Row) -> Result<bool> + Send + Sync>;

pub(crate) struct Filter {
    pub(crate) from: Arc<dyn Stage>,
    /// `None`: everything passes that is no error.
    pub(crate) test: Option<Test>,
    pub(crate) closure_scope: ClosureScope,
}

impl Stage for Filter {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        Box::new(Passing {
            from: self.from.open(context),
            test: self.test.clone(),
            closure_scope: self.closure_scope.or_on(&context.host),
            stop: context.stop.clone(),
            pulled: Vec::new(),
        })
    }

    fn length(&self) -> Length {
        match self.from.length() {
            Length::Infinite => Length::Infinite,
            _ => Length::Unknown,
        }
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text(if self.test.is_some() { "filter" } else { "ignore_errors" });
    }
}

struct Passing {
    from: Box<dyn Stream>,
    test: Option<Test>,
    closure_scope: ClosureScope,
    stop: Arc<crate::stop::Stop>,
    pulled: Vec<Item>,
}

impl Passing {
    /// The cell if it passes.
    fn check(&self, cell: Cell) -> Result<Option<Cell>> {
        let Some(test) = &self.test else { return Ok(Some(cell)) };
        let origin = cell.origin;
        let passes = guarded("filter", || test(cell.clone().into_row()?));
        Ok(passes.map_err(|e| e.of_element("filter", origin))?.then_some(cell))
    }
}

impl Stream for Passing {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        let before = out.len();
        // A test that nothing passes can still be ended.
        while out.len() == before && !self.stop.is_set() {
            let mut pulled = std::mem::take(&mut self.pulled);
            self.from.fill(max, &mut pulled);
            if pulled.is_empty() {
                return;
            }
            self.closure_scope.enter(|| {
                for item in pulled.drain(..) {
                    if self.stop.is_set() {
                        return;
                    }
                    match item.and_then(|cell| self.check(cell)) {
                        Ok(cell) => out.extend(cell.map(Ok)),
                        Err(error) if self.test.is_some() => out.push(Err(error)),
                        Err(_) => {}
                    }
                }
            });
            self.pulled = pulled;
        }
    }
}
