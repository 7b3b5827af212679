//! HEFT with prices: nodes by urgency, each where it is done soonest plus what it costs the others there.
//!
//! The prices are those of the area bound: a node that gains little from a fast device leaves it to those
//! that gain much, even if it would be done there a little sooner.

use super::{Best, Constructive, Timed};
use crate::bounds::{Classes, area};
use crate::error::PlaceError;
use crate::list::{self, Penalties};
use crate::partial::Direction;
use crate::problem::Problem;
use crate::ranks::{RankCost, upward};
use crate::sweep::slots;
use crate::timer::Timer;

/// How much the prices weigh, as a share of the slots that the work is spread over.
const WEIGHTS: [f64; 3] = [0.4, 1.0, 2.0];
/// From this many nodes on, one weight and one ranking must do.
const LARGE: usize = 3000;

/// See the module's page.
pub struct Prices;

impl Constructive for Prices {
    fn name(&self) -> &'static str {
        "prices"
    }

    fn effort(&self) -> f64 {
        2.5
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let table = area::reduced_costs(problem, &Classes::new(problem), timer)?;
        let slots = slots(problem);
        let mut best = Best::default();
        let large = problem.node_count() > LARGE;
        let weights = if large { &WEIGHTS[1..2] } else { &WEIGHTS[..] };
        for &rank_cost in if large { &[RankCost::Mean][..] } else { &[RankCost::Mean, RankCost::Best] } {
            let rank = upward(problem, rank_cost);
            for weight in weights {
                let penalties = Penalties { table: &table, weight: weight * slots };
                let list = list::schedule(
                    problem,
                    Direction::Forward,
                    |n| rank[n],
                    Some(&penalties),
                    |_| None,
                    share,
                    timer,
                );
                best.offer(list.and_then(|list| Timed::new(problem, list.schedule(), timer)));
                if timer.is_over() {
                    return best.get(Constructive::name(self));
                }
            }
        }
        best.get(Constructive::name(self))
    }
}
