//! Ending a pipeline from outside: a flag that everybody who waits looks at, and a bell for each place where
//! somebody may wait.
//!
//! A stage with threads gives the stages before it a [`Stop`] of their own, which the one around it sets too:
//! so it can end them alone, where its elements are no longer wanted but the iteration goes on.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

/// A place where threads wait.
pub(crate) trait Bell: Send + Sync {
    /// Wakes them, after any that is about to wait has begun to.
    fn ring(&self);
}

/// The end of one iteration, or of a part of it.
#[derive(Default)]
pub(crate) struct Stop {
    flag: AtomicBool,
    bells: Mutex<Vec<Weak<dyn Bell>>>,
}

/// A part ends with the whole.
impl Bell for Stop {
    fn ring(&self) {
        self.set();
    }
}

impl Stop {
    /// The end of a part of what this one ends.
    pub(crate) fn part(&self) -> Arc<Stop> {
        let part = Arc::<Stop>::default();
        let bell: Weak<dyn Bell> = Arc::downgrade(&(part.clone() as Arc<dyn Bell>));
        self.register(bell);
        part
    }

    pub(crate) fn is_set(&self) -> bool {
        self.flag.load(SeqCst)
    }

    pub(crate) fn set(&self) {
        self.flag.store(true, SeqCst);
        // Rung without the lock: the last owner of what a bell belongs to may be this list, and letting it go
        // ends threads.
        let bells: Vec<Arc<dyn Bell>> = self.bells().iter().filter_map(Weak::upgrade).collect();
        for bell in bells {
            bell.ring();
        }
    }

    /// Rings this bell too, once it is set.
    pub(crate) fn register(&self, bell: Weak<dyn Bell>) {
        {
            let mut bells = self.bells();
            // Every pass of a repeated part brings bells of its own.
            bells.retain(|old| old.strong_count() > 0);
            bells.push(bell.clone());
        }
        // Set in the meantime: by one who may not have seen this bell.
        if self.is_set()
            && let Some(bell) = bell.upgrade()
        {
            bell.ring();
        }
    }

    fn bells(&self) -> std::sync::MutexGuard<'_, Vec<Weak<dyn Bell>>> {
        self.bells.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Ends an iteration from another thread, a handler of Ctrl-C for one: a `next` that waits returns `None` at
/// once.
#[derive(Clone)]
pub struct StopHandle(pub(crate) Arc<Stop>);

impl StopHandle {
    /// Ends the iteration.
    pub fn stop(&self) {
        self.0.set();
    }

    /// Whether it was ended by a handle, rather than by its last element.
    pub fn is_stopped(&self) -> bool {
        self.0.is_set()
    }
}
