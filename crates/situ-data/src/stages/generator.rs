//! Elements from an iterator of the program, made anew for every pass.

use crate::cell::Cell;
use crate::element::Row;
use crate::fingerprint::Fingerprint;
use crate::stop::Stop;
use crate::stream::{Context, Item, Length, Stage, Stream};
use crate::threads::guarded;
use situ_core::Result;
use std::sync::Arc;

/// The program's elements.
pub(crate) type Rows = Box<dyn Iterator<Item = Result<Row>> + Send>;

pub(crate) struct Generator {
    pub(crate) make: Arc<dyn Fn() -> Result<Rows> + Send + Sync>,
}

impl Stage for Generator {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        Box::new(Running { make: Some(self.make.clone()), rows: None, next: 0, stop: context.stop.clone() })
    }

    fn length(&self) -> Length {
        Length::Unknown
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        fingerprint.text("generator");
    }
}

/// The iterator is made on the thread that pulls it.
struct Running {
    make: Option<Arc<dyn Fn() -> Result<Rows> + Send + Sync>>,
    rows: Option<Rows>,
    next: usize,
    stop: Arc<Stop>,
}

impl Stream for Running {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        if let Some(make) = self.make.take() {
            match guarded("from_generator", || make()) {
                Ok(rows) => self.rows = Some(rows),
                Err(error) => return out.push(Err(error.of_element("from_generator", 0))),
            }
        }
        for _ in 0..max {
            let Some(rows) = &mut self.rows else { return };
            if self.stop.is_set() {
                return;
            }
            let origin = self.next;
            self.next += 1;
            match guarded("from_generator", || rows.next().transpose()) {
                Ok(Some(row)) => out.push(Ok(Cell::of_row(row, origin))),
                Ok(None) => self.rows = None,
                // An iterator that failed is not asked again: many would say the same for ever.
                Err(error) => {
                    self.rows = None;
                    out.push(Err(error.of_element("from_generator", origin)));
                }
            }
        }
    }
}
