//! Memory-aware ETF: of all ready nodes and devices with memory left, always the pair that can start soonest; of
//! those, the node with the longest way to the end.

use super::{Constructive, Timed};
use crate::error::PlaceError;
use crate::partial::{Partial, Probe};
use crate::problem::Problem;
use crate::ranks::{Currency, upward};

/// How many of the most urgent ready nodes are looked at: what is beyond rarely starts soonest, and the work would
/// grow with the square of the graph's width.
const WIDTH: usize = 48;

/// See the module's page.
pub struct Etf;

impl Constructive for Etf {
    fn name(&self) -> &'static str {
        "etf"
    }

    fn schedule(&self, problem: &Problem, share: f64) -> Result<Timed, PlaceError> {
        let rank = upward(problem, Currency::Mean);
        let mut waiting: Vec<u32> =
            (0..problem.node_count()).map(|n| problem.in_edges.row(n).len() as u32).collect();
        let mut ready: Vec<u32> = (0..waiting.len() as u32).filter(|&n| waiting[n as usize] == 0).collect();
        let urgent = |a: &u32, b: &u32| rank[*b as usize].total_cmp(&rank[*a as usize]).then(a.cmp(b));
        ready.sort_by(urgent);
        let mut partial = Partial::new(problem, share);
        while !ready.is_empty() {
            let mut best: Option<(usize, Probe)> = None;
            for (i, &node) in ready.iter().take(WIDTH).enumerate() {
                for device in partial.choices(node as usize) {
                    let Some(probe) = partial.probe(node as usize, device) else { continue };
                    let better = best.is_none_or(|(_, b)| {
                        probe.start < b.start
                            || (probe.start == b.start
                                && i == best.map_or(0, |b| b.0)
                                && probe.finish < b.finish)
                    });
                    if better {
                        best = Some((i, probe));
                    }
                }
            }
            let Some((i, probe)) = best else { return Err(partial.stuck(ready[0] as usize)) };
            let node = ready.remove(i);
            partial.put(node as usize, probe.device);
            for edge in problem.outs(node as usize) {
                waiting[edge.to as usize] -= 1;
                if waiting[edge.to as usize] == 0 {
                    let at = ready.partition_point(|r| urgent(r, &edge.to).is_lt());
                    ready.insert(at, edge.to);
                }
            }
        }
        Timed::new(problem, partial.schedule())
    }
}
