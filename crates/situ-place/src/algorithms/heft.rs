//! HEFT: nodes by the longest way to the end, each where it is done soonest, among the devices with memory
//! left.
//!
//! It always has an answer: once the time is over it looks at a few devices for each node that is left, not
//! at all.

use super::{Best, Constructive, Timed};
use crate::error::PlaceError;
use crate::list;
use crate::problem::Problem;
use crate::ranks::{RankCost, upward};
use crate::timer::Timer;

/// From this many nodes on, one ranking must do.
const LARGE: usize = 3000;

/// See the module's page.
pub struct Heft;

impl Constructive for Heft {
    fn name(&self) -> &'static str {
        "heft"
    }

    fn effort(&self) -> f64 {
        1.0
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let mut best = Best::default();
        let large = problem.node_count() > LARGE;
        for &rank_cost in
            if large { &[RankCost::Mean][..] } else { &[RankCost::Mean, RankCost::Slots, RankCost::Best] }
        {
            let rank = upward(problem, rank_cost);
            let list = list::in_a_hurry(problem, |n| rank[n], share, timer);
            // What others may do without is due from this one: an answer, however late.
            best.offer(list.and_then(|list| Timed::new(problem, list.schedule(), &Timer::never())));
            if timer.is_over() {
                break;
            }
        }
        best.get(Constructive::name(self))
    }
}
