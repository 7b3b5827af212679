//! HEFT: nodes by the longest way to the end, each where it is done soonest, among the devices with memory left.

use super::{Best, Constructive};
use crate::error::PlaceError;
use crate::orders::by_key;
use crate::partial::{Partial, Probe};
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::ranks::{Currency, upward};

/// See the module's page.
pub struct Heft;

impl Constructive for Heft {
    fn name(&self) -> &'static str {
        "heft"
    }

    fn schedule(&self, problem: &Problem) -> Result<Schedule, PlaceError> {
        let mut best = Best::default();
        for currency in [Currency::Mean, Currency::Best, Currency::Worst] {
            best.offer(problem, in_order(problem, &upward(problem, currency)));
        }
        best.into_schedule(Constructive::name(self))
    }
}

/// Takes ready nodes by rank, the largest first, and puts each where it is done soonest.
pub(crate) fn in_order(problem: &Problem, rank: &[f64]) -> Result<Schedule, PlaceError> {
    let order = by_key(problem, |n| rank[n]);
    let mut partial = Partial::new(problem);
    for &node in &order {
        let node = node as usize;
        let choices = partial.choices(node);
        let probes = choices.iter().filter_map(|&d| partial.probe(node, d));
        let Some(best) = probes.reduce(sooner) else { return Err(partial.stuck(node)) };
        partial.put(node, best.device);
    }
    Ok(partial.schedule())
}

fn sooner(a: Probe, b: Probe) -> Probe {
    if b.finish < a.finish { b } else { a }
}
