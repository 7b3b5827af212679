//! PEFT: like HEFT, but a node's place is judged by when it is done there plus the least that its readers
//! still need from there to the end.

use super::{Constructive, Timed};
use crate::error::PlaceError;
use crate::list::{self, Penalties};
use crate::partial::Direction;
use crate::problem::Problem;
use crate::timer::Timer;

/// See the module's page.
pub struct Peft;

impl Constructive for Peft {
    fn name(&self) -> &'static str {
        "peft"
    }

    fn effort(&self) -> f64 {
        1.5
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let count = problem.device_count();
        let table = optimistic(problem, timer)?;
        let mean = |n: usize| {
            let allowed = &problem.unit_of(n).allowed;
            allowed.iter().map(|&d| table[n * count + d as usize]).sum::<f64>() / allowed.len().max(1) as f64
        };
        let penalties = Penalties { table: &table, weight: 1.0 };
        let list =
            list::schedule(problem, Direction::Forward, mean, Some(&penalties), |_| None, share, timer)?;
        Timed::new(problem, list.schedule(), timer)
    }
}

/// Node × device → the least time from the end of the node there to the end of everything, each reader on its
/// best device and all devices idle. Infinite where a reader can't be reached from.
pub(crate) fn optimistic(problem: &Problem, timer: &Timer) -> Result<Vec<f64>, PlaceError> {
    let count = problem.device_count();
    let mut table = vec![0.0; problem.node_count() * count];
    for &node in problem.order.iter().rev() {
        let node = node as usize;
        for &home in problem.unit_of(node).allowed.iter() {
            let mut longest = 0.0f64;
            for &e in problem.out_edges.row(node) {
                let to = problem.edges[e as usize].to as usize;
                timer.spend(problem.unit_of(to).allowed.len())?;
                let same = problem.nodes[to].unit == problem.nodes[node].unit;
                let mut least = f64::INFINITY;
                for &d in problem.unit_of(to).allowed.iter() {
                    if same && d != home {
                        continue;
                    }
                    let way = problem.edge_copy(e, home, d)
                        + problem.seconds(to, d.into())
                        + table[to * count + d as usize];
                    least = least.min(way);
                }
                longest = longest.max(least);
            }
            table[node * count + home as usize] = longest;
        }
    }
    Ok(table)
}
