//! The placement algorithms, one file each, and the table of them.
//!
//! A constructive algorithm makes one schedule and stops; being a [`Placer`] follows from that. To add one:
//! its file, and its line in the table.

mod affinity;
mod auto;
pub(crate) mod blocks;
mod cut;
mod etf;
mod greedy;
pub(crate) mod heft;
mod hoft;
pub(crate) mod peft;
mod prices;
mod rules;
pub(crate) mod segments;
pub(crate) mod single;

use crate::bounds::quick_bound;
use crate::error::PlaceError;
use crate::placement::{Bound, Draft, Placement, Schedule};
use crate::placer::{Budget, Deadline, Placer};
use crate::problem::Problem;
use crate::simulate::makespan_in;
use crate::timer::Timer;
pub use affinity::Affinity;
pub use auto::{Auto, Sweep, Walk};
pub use blocks::Blocks;
pub use cut::Cut;
pub use etf::Etf;
pub use greedy::Greedy;
pub use heft::Heft;
pub use hoft::Hoft;
pub use peft::Peft;
pub use prices::Prices;
pub use rules::Rules;
pub use segments::Segments;
pub use single::Single;

/// Every algorithm.
static ALL: [&dyn Placer; 15] = [
    &Rules, &Single, &Greedy, &Heft, &Peft, &Hoft, &Prices, &Affinity, &Etf, &Blocks, &Segments, &Cut,
    &Sweep, &Walk, &Auto,
];

/// Those that make one schedule and stop, the most useful first.
pub(crate) static CONSTRUCTIVE: [&dyn Constructive; 11] =
    [&Heft, &Segments, &Prices, &Hoft, &Peft, &Affinity, &Blocks, &Single, &Greedy, &Etf, &Cut];

/// A schedule with its makespan within the memory limits.
#[derive(Clone)]
pub(crate) struct Timed {
    pub makespan: f64,
    pub schedule: Schedule,
}

impl Timed {
    pub(crate) fn new(problem: &Problem, schedule: Schedule, timer: &Timer) -> Result<Timed, PlaceError> {
        Ok(Timed { makespan: makespan_in(problem, &schedule, timer)?, schedule })
    }
}

/// An algorithm that makes one schedule and stops.
pub(crate) trait Constructive: Send + Sync {
    fn name(&self) -> &'static str;

    /// About how long it takes, in times of the first of them, and rather too much: what would not be done in
    /// time is not begun.
    fn effort(&self) -> f64;

    /// A schedule that fills no more than this share of any limited memory with what stays there; the rest is
    /// for tensors that come and go. Not done when the time is over: the best of what it has, else
    /// [`PlaceError::Time`].
    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError>;
}

/// The shares that are tried one after the other, until what comes and goes fits too.
const SHARES: [f64; 5] = [1.0, 0.9, 0.7, 0.45, 0.2];

/// An algorithm's schedule within the memory limits.
pub(crate) fn within_memory(
    algorithm: &dyn Constructive,
    problem: &Problem,
    timer: &Timer,
) -> Result<Timed, PlaceError> {
    let mut result = algorithm.schedule(problem, SHARES[0], timer);
    if problem.outputs_count() {
        for &share in &SHARES[1..] {
            if !matches!(result, Err(PlaceError::Memory(_))) {
                break;
            }
            // The first error is the one to report: the others are of a smaller memory than there is.
            result = algorithm.schedule(problem, share, timer).or(result);
        }
    }
    result
}

/// The share of the time that an algorithm has to itself; the rest is for its answer's bound and reasons.
const ALONE: f64 = 0.8;

impl<C: Constructive> Placer for C {
    fn name(&self) -> &'static str {
        Constructive::name(self)
    }

    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
        let clock = Deadline::new(budget);
        problem.require_placeable()?;
        let timer = Timer::new(Constructive::name(self), budget, clock.share(ALONE));
        let timed = within_memory(self, problem, &timer)?;
        // Who asked to stop does not wait for a bound.
        let bound = if budget.is_stopped() { Bound::Is(quick_bound(problem)) } else { Bound::Unknown };
        Draft { bound, ..Draft::new(&timed.schedule, Constructive::name(self), clock) }.finish(problem)
    }
}

/// The algorithms' names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|p| p.name())
}

/// The algorithm of that name.
pub fn placer(name: &str) -> Result<&'static dyn Placer, PlaceError> {
    ALL.iter().copied().find(|p| p.name() == name).ok_or_else(|| PlaceError::Algorithm {
        algorithm: name.to_owned(),
        why: format!("there is no such algorithm; there are {}", names().collect::<Vec<_>>().join(", ")),
    })
}

/// Places a problem by the algorithm of that name.
pub fn place(name: &str, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
    placer(name)?.place(problem, budget)
}

/// Keeps the best of several schedules; if none has a makespan, that one was not done in time, else the first
/// error.
#[derive(Default)]
pub(crate) struct Best {
    found: Option<Timed>,
    error: Option<PlaceError>,
}

impl Best {
    pub(crate) fn offer(&mut self, timed: Result<Timed, PlaceError>) {
        match timed {
            Ok(timed) => {
                if self.found.as_ref().is_none_or(|best| timed.makespan < best.makespan) {
                    self.found = Some(timed);
                }
            }
            // What was not done might have been found: this says more than the error of something else.
            Err(late @ PlaceError::Time { .. }) => self.error = Some(late),
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    pub(crate) fn is_found(&self) -> bool {
        self.found.is_some()
    }

    pub(crate) fn get(self, algorithm: &str) -> Result<Timed, PlaceError> {
        let nothing =
            || PlaceError::Algorithm { algorithm: algorithm.to_owned(), why: "found nothing".to_owned() };
        self.found.ok_or_else(|| self.error.unwrap_or_else(nothing))
    }
}

#[cfg(test)]
mod tests;
