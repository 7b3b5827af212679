//! Memory-aware ETF: of all ready nodes and devices with memory left, always the pair that can start soonest;
//! of those, the node with the longest way to the end.
//!
//! In large graphs, when a node's inputs can be on each device is found once, when it becomes ready: what
//! other nodes then send over the same links is left out of the choice, though not of the times.

use super::{Constructive, Timed};
use crate::error::PlaceError;
use crate::partial::{Direction, Partial};
use crate::problem::Problem;
use crate::ranks::{RankCost, upward};
use crate::timer::Timer;
use smallvec::SmallVec;

/// How many of the most urgent ready nodes are looked at: what is beyond rarely starts soonest, and the work
/// would grow with the square of the graph's width.
const WIDTH: usize = 48;

/// From this many nodes on, starts are estimates.
const LARGE: usize = 2500;

/// More nodes than this that become ready at once are sorted in together: one by one, each would move the
/// others.
const MANY: usize = 32;

/// See the module's page.
pub struct Etf;

/// A node whose inputs are done, and when they can be on each device that it may run on.
struct Ready {
    node: u32,
    arrival: SmallVec<[(u16, f64); 8]>,
}

impl Constructive for Etf {
    fn name(&self) -> &'static str {
        "etf"
    }

    fn effort(&self) -> f64 {
        5.0
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let rank = upward(problem, RankCost::Mean);
        let mut waiting: Vec<u32> =
            (0..problem.node_count()).map(|n| problem.in_edges.row(n).len() as u32).collect();
        let urgent = |a: u32, b: u32| rank[b as usize].total_cmp(&rank[a as usize]).then(a.cmp(&b));
        let exact = problem.node_count() <= LARGE;
        let mut partial = Partial::new(problem, share, Direction::Forward);
        let sources = (0..waiting.len() as u32).filter(|&n| waiting[n as usize] == 0);
        let new = |partial: &Partial<'_>, node: u32| -> Result<Ready, PlaceError> {
            timer.spend(partial.work(node as usize))?;
            Ok(Ready::new(partial, node))
        };
        // The most urgent last: what is taken out is near the end.
        let mut ready =
            sources.map(|node| new(&partial, node)).collect::<Result<Vec<Ready>, PlaceError>>()?;
        ready.sort_by(|a, b| urgent(b.node, a.node));
        let mut fresh: Vec<Ready> = Vec::new();
        while let Some(first) = ready.last() {
            let mut best: Option<(f64, f64, usize, u16)> = None;
            for (i, Ready { node, arrival }) in ready.iter().rev().take(WIDTH).enumerate() {
                timer.spend(if exact { partial.work(*node as usize) } else { arrival.len() })?;
                for &(device, there) in arrival {
                    let start = if exact {
                        partial
                            .probe(*node as usize, device, f64::INFINITY)
                            .map_or(f64::INFINITY, |p| p.start)
                    } else {
                        there.max(partial.free(device))
                    };
                    let sooner = best.is_none_or(|b| start < b.0 || (start == b.0 && i == b.2));
                    if !sooner || !partial.may_go(*node as usize, device) {
                        continue;
                    }
                    let finish = start + problem.seconds(*node as usize, device.into());
                    if best.is_none_or(|b| start < b.0 || finish < b.1) {
                        best = Some((start, finish, i, device));
                    }
                }
            }
            let Some((_, _, i, device)) = best else { return Err(partial.stuck(first.node as usize)) };
            let node = ready.remove(ready.len() - 1 - i).node;
            partial.put(node as usize, device);
            fresh.clear();
            for edge in problem.outs(node as usize) {
                waiting[edge.to as usize] -= 1;
                if waiting[edge.to as usize] == 0 {
                    fresh.push(new(&partial, edge.to)?);
                }
            }
            if fresh.len() > MANY {
                ready.append(&mut fresh);
                timer.spend(4 * ready.len())?;
                ready.sort_by(|a, b| urgent(b.node, a.node));
            }
            for item in fresh.drain(..) {
                let at = ready.partition_point(|r| urgent(r.node, item.node).is_gt());
                timer.spend(ready.len() - at)?;
                ready.insert(at, item);
            }
        }
        Timed::new(problem, partial.schedule(), timer)
    }
}

impl Ready {
    fn new(partial: &Partial<'_>, node: u32) -> Ready {
        let choices = partial.choices(node as usize).into_iter();
        let arrival = choices.map(|d| (d, partial.ready(node as usize, d))).filter(|a| a.1.is_finite());
        Ready { node, arrival: arrival.collect() }
    }
}
