//! What a search has left to spend: moves, time, and whether somebody asked it to stop.

use crate::placer::{Budget, Deadline};
use crate::timer::Timer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone)]
pub(crate) struct RemainingBudget {
    pub moves: u64,
    pub spent: u64,
    /// How long one list schedule takes, about, in seconds.
    pub one: f64,
    clock: Deadline,
    stop: Option<Arc<AtomicBool>>,
    /// The next count of moves at which the clock is read, the moves between two looks, and when the last
    /// was.
    look: u64,
    between: u64,
    looked: f64,
    over: bool,
    seconds: Option<f64>,
}

/// Moves between two looks at the clock, at most; fewer where they take longer than a look should be apart,
/// in seconds.
const BETWEEN_LOOKS: u64 = 32;
const APART: f64 = 1e-3;

impl RemainingBudget {
    pub(crate) fn new(budget: &Budget, clock: Deadline, one: f64) -> RemainingBudget {
        RemainingBudget {
            moves: budget.moves,
            spent: 0,
            one,
            clock,
            stop: budget.stop.clone(),
            look: 0,
            between: 1,
            looked: 0.0,
            over: false,
            seconds: budget.seconds,
        }
    }

    /// A budget with some of the moves, for one of several searches.
    pub(crate) fn part(&self, moves: u64) -> RemainingBudget {
        RemainingBudget { moves, spent: 0, look: 0, ..self.clone() }
    }

    /// A budget with a share of what is left, for something that comes first.
    pub(crate) fn share(&self, share: f64) -> RemainingBudget {
        let moves = (self.left() as f64 * share) as u64;
        RemainingBudget { clock: self.clock.share(share), ..self.part(moves) }
    }

    pub(crate) fn left(&self) -> u64 {
        self.moves.saturating_sub(self.spent)
    }

    pub(crate) fn spend(&mut self, moves: u64) {
        self.spent += moves;
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        if self.spent >= self.look {
            self.over |= self.is_over();
            self.pace();
            self.look = self.spent + self.between;
        }
        self.over || self.spent >= self.moves
    }

    /// Looks more often where moves are slow. Without seconds nothing depends on when it is looked.
    fn pace(&mut self) {
        if self.seconds.is_none() {
            self.between = BETWEEN_LOOKS;
            return;
        }
        let now = self.elapsed();
        let slow = now - std::mem::replace(&mut self.looked, now) > APART;
        self.between = if slow { self.between.div_ceil(4) } else { (2 * self.between).min(BETWEEN_LOOKS) };
    }

    /// A timer that is over when the budget's time is.
    pub(crate) fn timer(&self, name: &'static str) -> Timer {
        let budget = Budget { seconds: self.seconds, stop: self.stop.clone(), ..Budget::default() };
        Timer::new(name, &budget, self.clock)
    }

    /// Whether something that takes so many seconds would not be done in time.
    pub(crate) fn is_short_of(&self, seconds: f64) -> bool {
        self.clock.sooner(seconds).passed()
    }

    /// Whether the time is over, or somebody asked to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.clock.passed() || self.is_stopped()
    }

    pub(crate) fn elapsed(&self) -> f64 {
        self.clock.elapsed()
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
