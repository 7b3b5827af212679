//! The portfolio: every constructive algorithm, then local search from the best of them, for as long as the budget
//! lasts. Never worse than any of them.

use super::{Best, CONSTRUCTIVE, Timed, within_memory};
use crate::bounds::lower_bound;
use crate::error::PlaceError;
use crate::placement::Placement;
use crate::placer::{Budget, Deadline, Placer};
use crate::problem::Problem;
use crate::random::Random;
use crate::search::{Purse, Search};

/// See the module's page.
pub struct Auto;

impl Placer for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
        let clock = Deadline::new(budget);
        problem.require_placeable()?;
        let mut best = Best::default();
        if let Some(start) = &budget.start {
            best.offer(Timed::new(problem, start.checked_for(problem)?));
        }
        for algorithm in CONSTRUCTIVE {
            best.offer(within_memory(algorithm, problem));
        }
        let start = best.get(self.name())?.schedule;
        let bound = lower_bound(problem, &[]);
        let mut purse = Purse { moves: budget.moves, spent: 0, clock };
        let mut search = Search::new(problem, &start, Random::new(budget.seed, 1))?;
        let mut round = 4000;
        while !purse.is_empty() && search.best().0 > bound * (1.0 + 1e-8) {
            search.round(&mut purse, round, bound * (1.0 + 1e-8));
            search.return_to_best()?;
            round = (round * 3 / 2).min(400_000);
        }
        let (_, schedule) = search.best();
        Placement::finish(problem, schedule, self.name(), purse.spent, clock, None)
    }
}
