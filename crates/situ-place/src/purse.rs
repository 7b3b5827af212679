//! What a search has left to spend: moves, time, and whether somebody asked it to stop.

use crate::placer::{Budget, Deadline};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone)]
pub(crate) struct Purse {
    pub moves: u64,
    pub spent: u64,
    /// How long one list schedule takes, about, in seconds.
    pub one: f64,
    clock: Deadline,
    stop: Option<Arc<AtomicBool>>,
    /// The next count of moves at which the clock is read.
    look: u64,
    over: bool,
}

/// Moves between two looks at the clock.
const BETWEEN_LOOKS: u64 = 32;

impl Purse {
    pub(crate) fn new(budget: &Budget, clock: Deadline, one: f64) -> Purse {
        Purse { moves: budget.moves, spent: 0, one, clock, stop: budget.stop.clone(), look: 0, over: false }
    }

    /// A purse with some of the moves, for one of several searches.
    pub(crate) fn part(&self, moves: u64) -> Purse {
        Purse { moves, spent: 0, look: 0, ..self.clone() }
    }

    /// A purse with a share of what is left, for something that comes first.
    pub(crate) fn share(&self, share: f64) -> Purse {
        let moves = (self.left() as f64 * share) as u64;
        Purse { clock: self.clock.share(share), ..self.part(moves) }
    }

    pub(crate) fn left(&self) -> u64 {
        self.moves.saturating_sub(self.spent)
    }

    pub(crate) fn spend(&mut self, moves: u64) {
        self.spent += moves;
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        if self.spent >= self.look {
            self.look = self.spent + BETWEEN_LOOKS;
            self.over |= self.is_over();
        }
        self.over || self.spent >= self.moves
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
