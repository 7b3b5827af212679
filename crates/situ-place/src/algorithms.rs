//! The placement algorithms, one file each, and the table of them.

mod rules;

use crate::error::PlaceError;
use crate::placement::Placement;
use crate::placer::{Budget, Placer};
use crate::problem::Problem;
pub use rules::Rules;

/// Every algorithm.
static ALL: [&dyn Placer; 1] = [&Rules];

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
