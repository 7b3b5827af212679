//! The seam between those who ask for a placement and the algorithms, and what an algorithm may spend.

use crate::error::PlaceError;
use crate::placement::{Placement, Schedule};
use crate::problem::Problem;
use std::sync::Arc;
use std::time::Instant;

/// A placement algorithm: a pure function of the problem and the budget, unless the budget is in seconds.
pub trait Placer: Send + Sync {
    /// Its name, as in `--algorithm`.
    fn name(&self) -> &'static str;

    /// Places every node, or says what makes that impossible.
    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError>;
}

/// What a search may spend, and where its random numbers begin. Algorithms that build one answer and stop ignore it.
#[derive(Clone, Debug)]
pub struct Budget {
    /// How many moves may be tried.
    pub moves: u64,
    /// How long it may take, in seconds. An answer under such a limit is not repeatable.
    pub seconds: Option<f64>,
    /// The seed of every random choice.
    pub seed: u64,
    pub(crate) start: Option<Arc<Schedule>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::moves(10_000)
    }
}

impl Budget {
    /// A repeatable budget.
    pub fn moves(moves: u64) -> Budget {
        Budget { moves, seconds: None, seed: 0, start: None }
    }

    /// A budget of wall time.
    pub fn seconds(seconds: f64) -> Budget {
        Budget { moves: u64::MAX, seconds: Some(seconds), seed: 0, start: None }
    }

    /// With another seed.
    pub fn seed(self, seed: u64) -> Budget {
        Budget { seed, ..self }
    }

    /// Begins from an earlier placement of the same nodes: for costs that changed a little.
    pub fn starting_from(self, placement: &Placement) -> Budget {
        Budget { start: Some(Arc::new(placement.schedule())), ..self }
    }
}

/// A clock that is read only where the budget is in seconds, so that other runs do not depend on time.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    begun: Instant,
    seconds: Option<f64>,
}

impl Deadline {
    pub(crate) fn new(budget: &Budget) -> Deadline {
        Deadline { begun: Instant::now(), seconds: budget.seconds }
    }

    pub(crate) fn passed(&self) -> bool {
        self.seconds.is_some_and(|s| self.begun.elapsed().as_secs_f64() >= s)
    }

    pub(crate) fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}
