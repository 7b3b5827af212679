//! A closure over every element, in the scope and the runtime in which it was written.

use crate::cell::Cell;
use crate::element::Row;
use crate::fingerprint::Fingerprint;
use crate::stages::parallel::Parallel;
use crate::stop::Stop;
use crate::stream::{Context, Item, Length, Once, Stage, Stream};
use crate::threads::guarded;
use situ_core::{DeviceSpec, Result};
use situ_runtime::{Request, Runtime};
use situ_tensor::{current_runtime, scope, with_runtime};
use std::sync::Arc;

/// Where an element stands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) epoch: u64,
    /// Its number among all that reach the closure in this epoch.
    pub(crate) position: u64,
}

/// What is done to an element.
pub(crate) type Work = Arc<dyn Fn(Place, Row) -> Result<Row> + Send + Sync>;

/// Where closures run: what was around them when they were written.
#[derive(Clone)]
pub(crate) struct ClosureScope {
    runtime: Runtime,
    request: Request,
}

impl ClosureScope {
    /// Those of this call.
    pub(crate) fn here() -> ClosureScope {
        ClosureScope { runtime: current_runtime(), request: scope::current_request() }
    }

    /// With a device for what has none.
    pub(crate) fn or_on(&self, host: &DeviceSpec) -> ClosureScope {
        let mut own = self.clone();
        if own.request.spec.is_empty() {
            own.request.spec = host.clone();
        }
        own
    }

    /// Runs `body` in them.
    pub(crate) fn enter<T>(&self, body: impl FnOnce() -> T) -> T {
        with_runtime(&self.runtime, || {
            let _scope = scope::enter(self.request.clone());
            body()
        })
    }
}

/// How many threads a map has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workers {
    /// That of whoever pulls.
    Caller,
    /// Its own; elements come out in the order in which they went in.
    Ordered(usize),
    /// Its own; elements come out as they are ready.
    Unordered(usize),
}

pub(crate) struct Map {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) work: Work,
    pub(crate) closure_scope: ClosureScope,
    pub(crate) workers: Workers,
    /// Of the numbers that the closure is given, if it is.
    pub(crate) seed: Option<u64>,
}

impl Stage for Map {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        let apply = Apply {
            work: self.work.clone(),
            closure_scope: self.closure_scope.or_on(&context.host),
            epoch: context.epoch,
        };
        let (threads, ordered) = match self.workers {
            Workers::Caller => {
                let (from, stop) = (self.from.open(context), context.stop.clone());
                return Box::new(Serial { from, apply, stop, next: 0, pulled: Vec::new() });
            }
            Workers::Ordered(threads) => (threads, true),
            Workers::Unordered(threads) => (threads, false),
        };
        let stop = context.stop.part();
        let from = self.from.open(&Context { stop: stop.clone(), ..context.clone() });
        match Parallel::start(from, stop, apply, threads, ordered, context) {
            Ok(parallel) => Box::new(parallel),
            Err(error) => Box::new(Once(Some(Err(error)))),
        }
    }

    fn length(&self) -> Length {
        self.from.length()
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text("map");
        fingerprint.number(self.seed.map_or(0, |seed| seed.wrapping_add(1)));
    }
}

/// A closure that is ready to be applied.
pub(crate) struct Apply {
    work: Work,
    closure_scope: ClosureScope,
    epoch: u64,
}

impl Apply {
    /// Maps elements, the first of which is at `first`, until `stopped` says so.
    pub(crate) fn all(&self, first: u64, items: &mut [Item], stopped: impl Fn() -> bool) {
        self.closure_scope.enter(|| {
            for (offset, item) in items.iter_mut().enumerate() {
                if stopped() {
                    return;
                }
                let Ok(cell) = item else { continue };
                let origin = cell.origin;
                let place = Place { epoch: self.epoch, position: first + offset as u64 };
                let cell = std::mem::replace(cell, Cell { parts: Default::default(), origin });
                let made = guarded("map", || (self.work)(place, cell.into_row()?));
                *item = made.map(|row| Cell::of_row(row, origin)).map_err(|e| e.of_element("map", origin));
            }
        });
    }
}

struct Serial {
    from: Box<dyn Stream>,
    apply: Apply,
    stop: Arc<Stop>,
    next: u64,
    pulled: Vec<Item>,
}

impl Stream for Serial {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        self.from.fill(max, &mut self.pulled);
        self.apply.all(self.next, &mut self.pulled, || self.stop.is_set());
        if self.stop.is_set() {
            // Some may not have been mapped.
            self.pulled.clear();
        }
        self.next += self.pulled.len() as u64;
        out.append(&mut self.pulled);
    }
}
