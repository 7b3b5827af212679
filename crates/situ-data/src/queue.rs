//! The bounded queue between a thread that makes elements and the one that takes them.

use crate::stop::{Bell, Stop};
use crate::stream::{Context, Item};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    /// The maker has no more.
    ended: bool,
    /// The taker wants no more.
    closed: bool,
}

/// Elements made ahead.
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    drained: Condvar,
    capacity: usize,
    stop: Arc<Stop>,
    /// How often the taker found nothing.
    waits: Arc<AtomicU64>,
}

impl Bell for Queue {
    fn ring(&self) {
        let _after_checks = self.lock();
        self.filled.notify_all();
        self.drained.notify_all();
    }
}

impl Queue {
    pub(crate) fn new(capacity: usize, context: &Context) -> Arc<Queue> {
        let stop = &context.stop;
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            filled: Condvar::new(),
            drained: Condvar::new(),
            capacity,
            stop: stop.clone(),
            waits: context.waits.clone(),
        });
        let bell: std::sync::Weak<dyn Bell> = Arc::downgrade(&(queue.clone() as Arc<dyn Bell>));
        stop.register(bell);
        queue
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until there is room, and says how much; `None` once nobody wants more.
    pub(crate) fn wait_for_room(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.closed || self.stop.is_set() {
                return None;
            }
            if state.items.len() < self.capacity {
                return Some(self.capacity - state.items.len());
            }
            state = self.drained.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    pub(crate) fn push(&self, items: &mut Vec<Item>) {
        let mut state = self.lock();
        state.items.extend(items.drain(..));
        self.filled.notify_one();
    }

    /// Says that no more will come.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.filled.notify_all();
    }

    /// Says that no more is wanted.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.items.clear();
        self.drained.notify_all();
    }

    /// Takes up to `max`, waiting for the first; none at the end.
    pub(crate) fn take(&self, max: usize, out: &mut Vec<Item>) {
        let mut state = self.lock();
        let nothing = |state: &State| state.items.is_empty() && !state.ended && !self.stop.is_set();
        if nothing(&state) {
            self.waits.fetch_add(1, Relaxed);
        }
        while nothing(&state) {
            state = self.filled.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        if self.stop.is_set() {
            return;
        }
        let count = max.min(state.items.len());
        out.extend(state.items.drain(..count));
        self.drained.notify_one();
    }
}
