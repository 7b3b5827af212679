//! A map on threads of its own.
//!
//! Workers take turns at the stream before, each taking a lot of elements with its number; the lots come out
//! in that order, or as they are ready. A lot grows while it takes little time, so that locks are taken a few
//! times per batch, and stays one element where elements take long, so that all workers have some. At most
//! [`LOTS_PER_WORKER`] lots per worker are under way or waiting.

use crate::stages::map::Apply;
use crate::stop::{Bell, Stop};
use crate::stream::{Context, Item, Stream};
use crate::threads::{Threads, guarded};
use situ_core::{Error, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

const LOTS_PER_WORKER: usize = 3;
const LARGEST_LOT: usize = 64;
/// What a lot should take: long against a lock, short against a step.
const LOT_TIME: Duration = Duration::from_micros(100);

struct Source {
    stream: Box<dyn Stream>,
    next_lot: u64,
    next_position: u64,
    ended: bool,
}

#[derive(Default)]
struct Ready {
    lots: BTreeMap<u64, Vec<Item>>,
    /// The lot that comes out next, in order.
    next: u64,
    /// Lots taken from the source and not yet handed out.
    under_way: usize,
    working: usize,
}

struct Shared {
    source: Mutex<Source>,
    ready: Mutex<Ready>,
    filled: Condvar,
    drained: Condvar,
    lot: AtomicUsize,
    closed: AtomicBool,
    stop: Arc<Stop>,
    apply: Apply,
    window: usize,
}

impl Bell for Shared {
    fn ring(&self) {
        let _after_checks = self.ready();
        self.filled.notify_all();
        self.drained.notify_all();
    }
}

fn entered<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Shared {
    fn ready(&self) -> MutexGuard<'_, Ready> {
        entered(&self.ready)
    }

    fn over(&self) -> bool {
        self.closed.load(Relaxed) || self.stop.is_set()
    }

    fn work(&self) {
        let _ends = Worker(self);
        while self.begin_lot() {
            let lot = self.pull();
            let Some((number, first, mut items)) = lot else {
                self.ready().under_way -= 1;
                break;
            };
            let start = Instant::now();
            // Closures' panics are caught one by one. Should anything else panic, who waits for this lot is
            // told.
            if let Err(error) = guarded("map", || {
                self.apply.all(first, &mut items, || self.over());
                Ok(())
            }) {
                items = vec![Err(error)];
            }
            self.learn(items.len(), start.elapsed());
            self.ready().lots.insert(number, items);
            self.filled.notify_one();
        }
    }

    /// Waits for room for one more lot; false at the end.
    fn begin_lot(&self) -> bool {
        let mut ready = self.ready();
        loop {
            if self.over() {
                return false;
            }
            if ready.under_way < self.window {
                ready.under_way += 1;
                return true;
            }
            ready = self.drained.wait(ready).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The next lot: its number, the position of its first element, its elements.
    fn pull(&self) -> Option<(u64, u64, Vec<Item>)> {
        let mut source = entered(&self.source);
        if source.ended {
            return None;
        }
        let mut items = Vec::new();
        let lot = self.lot.load(Relaxed);
        // The stages before catch what closures do. Should one panic all the same, the consumer is told
        // rather than left to wait.
        if let Err(error) = guarded("map", || {
            source.stream.fill(lot, &mut items);
            Ok(())
        }) {
            source.ended = true;
            items.push(Err(error));
        }
        if items.is_empty() {
            source.ended = true;
            return None;
        }
        let (number, first) = (source.next_lot, source.next_position);
        source.next_lot += 1;
        source.next_position += items.len() as u64;
        Some((number, first, items))
    }

    fn learn(&self, count: usize, took: Duration) {
        let lot = self.lot.load(Relaxed);
        if took < LOT_TIME / 2 && count == lot {
            self.lot.store((lot * 2).min(LARGEST_LOT), Relaxed);
        } else if took > LOT_TIME * 2 {
            self.lot.store((lot / 2).max(1), Relaxed);
        }
    }
}

/// A worker at work: whoever waits for its elements is told when it ends, however it does.
struct Worker<'s>(&'s Shared);

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.0.ready().working -= 1;
        self.0.filled.notify_all();
        self.0.drained.notify_all();
    }
}

pub(crate) struct Parallel {
    shared: Arc<Shared>,
    /// Ends the stages before.
    before: Arc<Stop>,
    threads: Threads,
    ordered: bool,
    /// What is left of the lot that is being handed out, in reverse.
    current: Vec<Item>,
}

impl Parallel {
    pub(crate) fn start(
        stream: Box<dyn Stream>,
        before: Arc<Stop>,
        apply: Apply,
        threads: usize,
        ordered: bool,
        context: &Context,
    ) -> Result<Parallel> {
        if threads == 0 {
            return Err(Error::argument("map_parallel", "no worker maps nothing", "use at least 1"));
        }
        let shared = Arc::new(Shared {
            source: Mutex::new(Source { stream, next_lot: 0, next_position: 0, ended: false }),
            ready: Mutex::new(Ready { working: threads, ..Ready::default() }),
            filled: Condvar::new(),
            drained: Condvar::new(),
            lot: AtomicUsize::new(1),
            closed: AtomicBool::new(false),
            stop: context.stop.clone(),
            apply,
            window: threads.saturating_mul(LOTS_PER_WORKER),
        });
        let bell: Weak<dyn Bell> = Arc::downgrade(&(shared.clone() as Arc<dyn Bell>));
        context.stop.register(bell);
        let mut parallel =
            Parallel { shared, before, threads: Threads::default(), ordered, current: Vec::new() };
        for _ in 0..threads {
            let shared = parallel.shared.clone();
            // Dropping `parallel` ends those that were started.
            parallel.threads.start(context, move || shared.work())?;
        }
        Ok(parallel)
    }

    fn next_lot(&self) -> Option<Vec<Item>> {
        let shared = &*self.shared;
        let mut ready = shared.ready();
        loop {
            if shared.stop.is_set() {
                return None;
            }
            let next = ready.next;
            let lot = match self.ordered {
                true => ready.lots.remove(&next),
                false => ready.lots.pop_first().map(|(_, lot)| lot),
            };
            if let Some(lot) = lot {
                ready.next += 1;
                ready.under_way -= 1;
                shared.drained.notify_one();
                return Some(lot);
            }
            if ready.working == 0 {
                return None;
            }
            ready = shared.filled.wait(ready).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl Stream for Parallel {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        if self.current.is_empty() {
            let Some(lot) = self.next_lot() else { return };
            self.current = lot;
            self.current.reverse();
        }
        let keep = self.current.len().saturating_sub(max);
        out.extend(self.current.drain(keep..).rev());
    }
}

impl Drop for Parallel {
    fn drop(&mut self) {
        self.shared.closed.store(true, Relaxed);
        self.shared.ring();
        // A worker may be looking for an element that never comes.
        self.before.set();
        self.threads.join();
    }
}
