//! A dataset for every element, several of them open at a time and taken from in turn.

use crate::element::Row;
use crate::fingerprint::Fingerprint;
use crate::stages::map::ClosureScope;
use crate::stream::{Context, Item, Length, Pulled, Stage, Stream};
use crate::threads::guarded;
use situ_core::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// The dataset of an element.
pub(crate) type Make = Arc<dyn Fn(Row) -> Result<Arc<dyn Stage>> + Send + Sync>;

pub(crate) struct Interleave {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) make: Make,
    /// How many are open at a time.
    pub(crate) cycle: usize,
    /// How many elements of one come before the next one's.
    pub(crate) block: usize,
    pub(crate) closure_scope: ClosureScope,
}

impl Stage for Interleave {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        Box::new(Interleaved {
            from: Some(Pulled::new(self.from.open(context), 1)),
            make: self.make.clone(),
            closure_scope: self.closure_scope.or_on(&context.host),
            context: context.clone(),
            open: VecDeque::new(),
            cycle: self.cycle,
            block: self.block,
            taken: 0,
        })
    }

    fn length(&self) -> Length {
        Length::Unknown
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text("interleave");
        fingerprint.size(self.cycle);
        fingerprint.size(self.block);
    }
}

struct Interleaved {
    /// `None` once it has ended.
    from: Option<Pulled>,
    make: Make,
    closure_scope: ClosureScope,
    context: Context,
    /// The one whose turn it is comes first.
    open: VecDeque<Pulled>,
    cycle: usize,
    block: usize,
    taken: usize,
}

impl Interleaved {
    fn next(&mut self) -> Option<Item> {
        while !self.context.stop.is_set() {
            while let (Some(from), true) = (&mut self.from, self.open.len() < self.cycle) {
                if self.context.stop.is_set() {
                    return None;
                }
                let Some(item) = from.next() else {
                    self.from = None;
                    break;
                };
                let made = item.and_then(|cell| {
                    let origin = cell.origin;
                    let make = || guarded("interleave", || (self.make)(cell.into_row()?));
                    self.closure_scope.enter(make).map_err(|e| e.of_element("interleave", origin))
                });
                match made {
                    Ok(stage) => {
                        self.open.push_back(Pulled::new(stage.open(&self.context), self.block.min(64)))
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
            let first = self.open.front_mut()?;
            match first.next() {
                Some(item) => {
                    self.taken += 1;
                    if self.taken == self.block {
                        self.taken = 0;
                        self.open.rotate_left(1);
                    }
                    return Some(item);
                }
                None => {
                    self.taken = 0;
                    self.open.pop_front();
                }
            }
        }
        None
    }
}

impl Stream for Interleaved {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        for _ in 0..max {
            let Some(item) = self.next() else { return };
            out.push(item);
        }
    }
}
