//! HEFT: nodes by the longest way to the end, each where it is done soonest, among the devices with memory left.

use super::{Best, Constructive, Timed};
use crate::error::PlaceError;
use crate::orders::by_key;
use crate::partial::{Partial, Probe};
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

    fn schedule(&self, problem: &Problem, share: f64) -> Result<Timed, PlaceError> {
        let mut best = Best::default();
        let large = problem.node_count() > LARGE;
        for &currency in if large { &[Currency::Mean][..] } else { &[Currency::Mean, Currency::Best] } {
            best.offer(in_order(problem, &upward(problem, currency), share));
        }
        best.get(Constructive::name(self))
    }
}

/// Takes ready nodes by rank, the largest first, and puts each where it is done soonest.
pub(crate) fn in_order(problem: &Problem, rank: &[f64], share: f64) -> Result<Timed, PlaceError> {
    let order = by_key(problem, |n| rank[n]);
    let mut partial = Partial::new(problem, share);
    for &node in &order {
        let node = node as usize;
        let choices = partial.choices(node);
        let probes = choices.iter().filter_map(|&d| partial.probe(node, d));
        let Some(best) = probes.reduce(sooner) else { return Err(partial.stuck(node)) };
        partial.put(node, best.device);
    }
    Timed::new(problem, partial.schedule())
}

fn sooner(a: Probe, b: Probe) -> Probe {
    if b.finish < a.finish { b } else { a }
}
