//! Byte limits and claims on them.
//!
//! A [`Budget`] is the limit of one logical device; a [`Reservation`] is a claim released on drop. A budget may
//! have a parent that is charged too: a software GPU lives in the host's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A byte limit, and how much of it is taken.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    taken: AtomicUsize,
    peak: AtomicUsize,
    parent: Option<Arc<Budget>>,
}

/// What is missing for a claim to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        })
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
