//! When to give up: a clock that work looks at as it goes along.
//!
//! Whoever does something that may take long says how much of it he has done, in steps of a few nanoseconds;
//! every so many steps the clock is read, and once the time is over, or somebody asked to stop, the next word
//! is an error.
//!
//! Promised: a budget that is not in seconds reads no clock. Left to others: what to do with what is half
//! done.

use crate::error::PlaceError;
use crate::placer::{Budget, Deadline};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Steps between two looks at the clock: a fraction of a millisecond.
const BETWEEN_LOOKS: usize = 50_000;

#[derive(Clone)]
pub(crate) struct Timer {
    end: End,
    stop: Option<Arc<AtomicBool>>,
    /// For whom, and of how many seconds: what the error says.
    algorithm: &'static str,
    seconds: Option<f64>,
    /// Steps until the next look.
    left: Cell<usize>,
    over: Cell<bool>,
    #[cfg(test)]
    steps: Cell<usize>,
}

#[derive(Clone)]
enum End {
    Never,
    At(Deadline),
    /// After so many looks: time that does not depend on the machine.
    #[cfg(test)]
    Looks(Cell<usize>),
}

impl Timer {
    /// For an algorithm that must be done before a deadline, if the budget is in seconds.
    pub(crate) fn new(algorithm: &'static str, budget: &Budget, end: Deadline) -> Timer {
        let end = if budget.seconds.is_some() { End::At(end) } else { End::Never };
        Timer::with(algorithm, end, budget.stop.clone(), budget.seconds)
    }

    /// For what must be done however long it takes.
    pub(crate) fn never() -> Timer {
        Timer::with("", End::Never, None, None)
    }

    fn with(algorithm: &'static str, end: End, stop: Option<Arc<AtomicBool>>, seconds: Option<f64>) -> Timer {
        Timer {
            end,
            stop,
            algorithm,
            seconds,
            left: Cell::new(0),
            over: Cell::new(false),
            #[cfg(test)]
            steps: Cell::new(0),
        }
    }

    /// Says that so many steps were done, or are done next; an error if the time is over.
    #[inline]
    pub(crate) fn spend(&self, steps: usize) -> Result<(), PlaceError> {
        #[cfg(test)]
        self.steps.set(self.steps.get() + steps);
        match self.left.get().checked_sub(steps.max(1)) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.look(),
        }
    }

    #[cold]
    fn look(&self) -> Result<(), PlaceError> {
        if self.is_over() {
            let seconds = self.seconds.filter(|_| !self.is_stopped());
            return Err(PlaceError::Time { algorithm: self.algorithm.to_owned(), seconds });
        }
        self.left.set(BETWEEN_LOOKS);
        Ok(())
    }

    /// Whether the time is over now, or somebody asked to stop.
    pub(crate) fn is_over(&self) -> bool {
        if !self.over.get() {
            self.over.set(self.has_passed() || self.is_stopped());
            if self.over.get() {
                self.left.set(0);
            }
        }
        self.over.get()
    }

    /// An error if what takes so many seconds at a stretch would not be done in time.
    pub(crate) fn require(&self, seconds: f64) -> Result<(), PlaceError> {
        match &self.end {
            End::At(end) if end.sooner(seconds).passed() => self.over.set(true),
            _ => {}
        }
        self.look()
    }

    fn has_passed(&self) -> bool {
        match &self.end {
            End::Never => false,
            End::At(end) => end.passed(),
            #[cfg(test)]
            End::Looks(looks) => {
                let left = looks.get();
                looks.set(left.saturating_sub(1));
                left == 0
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
impl Timer {
    /// Over after so many looks.
    pub(crate) fn after(looks: usize) -> Timer {
        Timer::with("test", End::Looks(Cell::new(looks)), None, None)
    }

    /// The steps that were done so far.
    pub(crate) fn steps(&self) -> usize {
        self.steps.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_over_for_good_once_its_looks_are_used_up() {
        let timer = Timer::after(2);
        let mut done = 0;
        while timer.spend(100).is_ok() {
            done += 100;
        }
        assert!((BETWEEN_LOOKS..3 * BETWEEN_LOOKS).contains(&done), "{done}");
        assert!(timer.is_over() && timer.spend(1).is_err());
    }

    #[test]
    fn without_seconds_only_a_stop_ends_the_time() {
        let stop = Arc::new(AtomicBool::new(false));
        let budget = Budget::moves(1).stop_when(stop.clone());
        let timer = Timer::new("heft", &budget, Deadline::new(&budget));
        assert!(timer.spend(10 * BETWEEN_LOOKS).is_ok() && timer.require(1e9).is_ok());
        stop.store(true, Ordering::Relaxed);
        let error = timer.spend(10 * BETWEEN_LOOKS).unwrap_err();
        assert_eq!(error.to_string(), "heft was stopped before it had an answer");
    }
}
