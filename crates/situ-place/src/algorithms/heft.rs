//! HEFT: nodes by the longest way to the end, each where it is done soonest, among the devices with memory left.

use super::{Best, Constructive, Timed};
use crate::error::PlaceError;
use crate::list;
use crate::partial::Direction;
use crate::problem::Problem;
use crate::ranks::{Currency, upward};

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

    fn schedule(&self, problem: &Problem, share: f64) -> Result<Timed, PlaceError> {
        let mut best = Best::default();
        let large = problem.node_count() > LARGE;
        for &currency in
            if large { &[Currency::Mean][..] } else { &[Currency::Mean, Currency::Slots, Currency::Best] }
        {
            let rank = upward(problem, currency);
            let list = list::schedule(problem, Direction::Forward, |n| rank[n], None, |_| None, share);
            best.offer(list.and_then(|list| Timed::new(problem, list.schedule())));
        }
        best.get(Constructive::name(self))
    }
}
