//! Byte limits and claims on them.
//!
//! A [`Budget`] is the limit of one logical device; a [`Reservation`] is a claim released on drop. A budget
//! may have a parent that is charged too: a software GPU lives in the host's memory. Who keeps claims that it
//! could do without is enrolled with the parent, and lets go of them when another one's claim does not fit.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A byte limit, and how much of it is taken.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    taken: AtomicUsize,
    peak: AtomicUsize,
    parent: Option<Arc<Budget>>,
    holders: Mutex<Vec<Weak<dyn Holder>>>,
}

/// Who keeps claims on a budget that it could do without: memory kept for later.
pub trait Holder: Send + Sync + fmt::Debug {
    /// Gives back what it does not need. Called on any thread, with no lock of a budget held.
    fn let_go(&self);
}

/// What is missing for a claim to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortfall {
    /// The limit that would be passed: this budget's, or its parent's.
    pub limit: usize,
    /// What is taken of it.
    pub taken: usize,
}

impl Budget {
    /// A budget of `limit` bytes; `None` has no limit.
    pub fn new(limit: Option<usize>) -> Arc<Budget> {
        Budget::within(limit, None)
    }

    /// A budget whose claims are charged to `parent` as well.
    pub fn within(limit: Option<usize>, parent: Option<Arc<Budget>>) -> Arc<Budget> {
        Arc::new(Budget {
            limit: AtomicUsize::new(limit.unwrap_or(usize::MAX)),
            taken: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            parent,
            holders: Mutex::default(),
        })
    }

    fn holders(&self) -> MutexGuard<'_, Vec<Weak<dyn Holder>>> {
        self.holders.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// From now on, `holder` is asked to let go where a claim on this budget does not fit.
    pub fn enroll(&self, holder: Weak<dyn Holder>) {
        let mut holders = self.holders();
        holders.retain(|known| known.strong_count() > 0);
        holders.push(holder);
    }

    /// Makes room with the parent for a claim of `bytes`, if this budget's own limit has room: true if it
    /// fits both now. The caller must hold no lock that a holder takes.
    pub fn make_room(&self, bytes: usize) -> bool {
        let Some(parent) = &self.parent else { return false };
        if self.room() < bytes {
            return false;
        }
        if parent.room() < bytes {
            self.relieve();
        }
        parent.room() >= bytes
    }

    /// Asks all who are enrolled with the parent to let go: true if that gave bytes back. The caller must
    /// hold no lock that a holder takes.
    pub fn relieve(&self) -> bool {
        let Some(parent) = &self.parent else { return false };
        // Asked without the lock: one of them may be dropped here, or enroll another.
        let holders: Vec<Arc<dyn Holder>> = parent.holders().iter().filter_map(Weak::upgrade).collect();
        let before = parent.taken();
        holders.iter().for_each(|holder| holder.let_go());
        parent.taken() < before
    }

    /// Bytes left of its own limit.
    fn room(&self) -> usize {
        self.limit.load(Relaxed).saturating_sub(self.taken())
    }

    /// Claims `bytes`, here and in the parents, or claims nothing.
    pub fn reserve(self: &Arc<Budget>, bytes: usize) -> Result<Reservation, Shortfall> {
        self.take(bytes)?;
        Ok(Reservation { budget: self.clone(), bytes })
    }

    fn take(&self, bytes: usize) -> Result<(), Shortfall> {
        let limit = self.limit.load(Relaxed);
        let before = self
            .taken
            .fetch_update(Relaxed, Relaxed, |taken| taken.checked_add(bytes).filter(|&sum| sum <= limit))
            .map_err(|taken| Shortfall { limit, taken })?;
        if let Some(parent) = &self.parent
            && let Err(short) = parent.take(bytes)
        {
            self.taken.fetch_sub(bytes, Relaxed);
            return Err(short);
        }
        self.peak.fetch_max(before + bytes, Relaxed);
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
        if let Some(parent) = &self.parent {
            parent.give_back(bytes);
        }
    }

    /// The limit, if there is one.
    pub fn limit(&self) -> Option<usize> {
        match self.limit.load(Relaxed) {
            usize::MAX => None,
            limit => Some(limit),
        }
    }

    /// Bytes taken now.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// The most that was ever taken at once.
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
}

/// A claim on a budget, released on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    /// How many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_beyond_the_limit_takes_nothing_and_a_drop_gives_back() {
        let budget = Budget::new(Some(100));
        let held = budget.reserve(60).unwrap();
        assert_eq!(budget.reserve(41).unwrap_err(), Shortfall { limit: 100, taken: 60 });
        assert_eq!(budget.taken(), 60);
        drop(held);
        assert_eq!((budget.taken(), budget.peak()), (0, 60));
        assert!(budget.reserve(usize::MAX).is_err());
    }

    /// Holds a claim until it is asked to let go.
    #[derive(Debug)]
    struct Keeper(Mutex<Option<Reservation>>);

    impl Holder for Keeper {
        fn let_go(&self) {
            *self.0.lock().unwrap() = None;
        }
    }

    #[test]
    fn who_keeps_claims_for_later_makes_room_for_others() {
        let host = Budget::new(Some(100));
        let [a, b] = [Some(100), Some(50)].map(|limit| Budget::within(limit, Some(host.clone())));
        let keeper = Arc::new(Keeper(Mutex::new(Some(a.reserve(90).unwrap()))));
        let weak: Weak<dyn Holder> = Arc::downgrade(&(keeper.clone() as Arc<dyn Holder>));
        host.enroll(weak);
        assert!(!b.make_room(51) && a.taken() == 90, "its own limit is what is missed");
        assert!(b.reserve(40).is_err());
        assert!(b.make_room(40));
        assert_eq!((a.taken(), host.taken()), (0, 0));
        drop(keeper);
        assert!(b.make_room(40) && !host.make_room(1), "nobody is left to ask");
    }

    #[test]
    fn a_parent_that_is_full_refuses_for_its_child() {
        let host = Budget::new(Some(50));
        let gpu = Budget::within(Some(100), Some(host.clone()));
        assert!(gpu.reserve(60).is_err());
        assert_eq!((gpu.taken(), host.taken()), (0, 0));
        let held = gpu.reserve(40).unwrap();
        assert_eq!(host.taken(), 40);
        drop(held);
        assert_eq!(host.taken(), 0);
    }
}
