//! The placement algorithms, one file each, and the table of them.
//!
//! A constructive algorithm makes one schedule and stops; being a [`Placer`] follows from that. To add one: its file,
//! and its line in the table.

mod auto;
mod etf;
mod greedy;
pub(crate) mod heft;
pub(crate) mod peft;
mod rules;
pub(crate) mod segments;
pub(crate) mod single;

use crate::error::PlaceError;
use crate::placement::{Placement, Schedule};
use crate::placer::{Budget, Deadline, Placer};
use crate::problem::Problem;
use crate::simulate::simulate;
pub use auto::Auto;
pub use etf::Etf;
pub use greedy::Greedy;
pub use heft::Heft;
pub use peft::Peft;
pub use rules::Rules;
pub use segments::Segments;
pub use single::Single;

/// Every algorithm.
static ALL: [&dyn Placer; 8] = [&Rules, &Single, &Greedy, &Heft, &Peft, &Etf, &Segments, &Auto];

/// Those that make one schedule and stop.
pub(crate) static CONSTRUCTIVE: [&dyn Constructive; 6] = [&Segments, &Heft, &Peft, &Single, &Greedy, &Etf];

/// An algorithm that makes one schedule and stops.
pub(crate) trait Constructive: Send + Sync {
    fn name(&self) -> &'static str;

    fn schedule(&self, problem: &Problem) -> Result<Schedule, PlaceError>;
}

impl<C: Constructive> Placer for C {
    fn name(&self) -> &'static str {
        Constructive::name(self)
    }

    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
        let clock = Deadline::new(budget);
        problem.require_placeable()?;
        let schedule = self.schedule(problem)?;
        Placement::finish(problem, &schedule, Constructive::name(self), 0, clock, None)
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

/// Keeps the best of several schedules, by their simulated makespans; the first error if none has one.
#[derive(Default)]
pub(crate) struct Best {
    pub found: Option<(f64, Schedule)>,
    error: Option<PlaceError>,
}

impl Best {
    pub(crate) fn offer(&mut self, problem: &Problem, schedule: Result<Schedule, PlaceError>) {
        let timed = schedule.and_then(|s| Ok((simulate(problem, &s)?.makespan, s)));
        match timed {
            Ok((makespan, schedule)) => {
                if self.found.as_ref().is_none_or(|best| makespan < best.0) {
                    self.found = Some((makespan, schedule));
                }
            }
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    pub(crate) fn into_schedule(self, algorithm: &str) -> Result<Schedule, PlaceError> {
        let nothing =
            || PlaceError::Algorithm { algorithm: algorithm.to_owned(), why: "found nothing".to_owned() };
        match self.found {
            Some((_, schedule)) => Ok(schedule),
            None => Err(self.error.unwrap_or_else(nothing)),
        }
    }
}
