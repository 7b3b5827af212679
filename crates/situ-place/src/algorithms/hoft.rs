//! HOFT: for machines with fast and slow devices. A node is taken the sooner, the more it matters to those
//! after it where they run; and it goes where it is done soonest, unless its fastest device costs its readers
//! less than is saved.
//!
//! The measure is the optimistic finish: when a node could be done on each device if nothing else ran.

use super::{Best, Constructive, Timed};
use crate::error::PlaceError;
use crate::orders::towards;
use crate::partial::{Direction, Partial};
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::ranks::{RankCost, upward};
use crate::timer::Timer;

/// From this many nodes on, one ranking must do.
const LARGE: usize = 3000;

/// See the module's page.
pub struct Hoft;

impl Constructive for Hoft {
    fn name(&self) -> &'static str {
        "hoft"
    }

    fn effort(&self) -> f64 {
        2.5
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let table = optimistic(problem, timer)?;
        let mut best = Best::default();
        let mut offer = |rank: &[f64]| {
            let list = list(problem, rank, share, timer);
            best.offer(list.and_then(|schedule| Timed::new(problem, schedule, timer)));
        };
        offer(&by_ratio(problem, &table));
        if problem.node_count() <= LARGE && !timer.is_over() {
            offer(&upward(problem, RankCost::Slots));
        }
        best.get(Constructive::name(self))
    }
}

/// Node × device → when the node could be done there at the earliest, were all devices idle.
fn optimistic(problem: &Problem, timer: &Timer) -> Result<Vec<f64>, PlaceError> {
    let count = problem.device_count();
    let mut table = vec![f64::INFINITY; problem.node_count() * count];
    for &node in &problem.order {
        let node = node as usize;
        for &device in problem.unit_of(node).allowed.iter() {
            let mut ready = 0.0f64;
            for &e in problem.in_edges.row(node) {
                let from = problem.edges[e as usize].from as usize;
                let allowed = problem.unit_of(from).allowed.iter();
                timer.spend(allowed.len())?;
                let sent =
                    allowed.map(|&d| table[from * count + d as usize] + problem.edge_copy(e, d, device));
                ready = ready.max(sent.fold(f64::INFINITY, f64::min));
            }
            table[node * count + device as usize] = ready + problem.seconds(node, device.into());
        }
    }
    Ok(table)
}

/// The longest way to the end, where a node weighs as much as its worst device is worse than its best.
fn by_ratio(problem: &Problem, table: &[f64]) -> Vec<f64> {
    let count = problem.device_count();
    let mut rank = vec![0.0f64; problem.node_count()];
    for &node in problem.order.iter().rev() {
        let node = node as usize;
        let row = table[node * count..(node + 1) * count].iter().copied().filter(|t| t.is_finite());
        let (least, most) = row.fold((f64::INFINITY, 0.0f64), |(l, m), t| (l.min(t), m.max(t)));
        let ratio = if least > 0.0 && least.is_finite() { most / least } else { 1.0 };
        let below = problem.readers.row(node).iter().map(|&to| rank[to as usize]).fold(0.0, f64::max);
        rank[node] = below + ratio;
    }
    rank
}

fn list(problem: &Problem, rank: &[f64], share: f64, timer: &Timer) -> Result<Schedule, PlaceError> {
    let mut partial = Partial::new(problem, share, Direction::Forward);
    for node in towards(problem, Direction::Forward, |n| rank[n]) {
        let node = node as usize;
        let readers_work = 2 * problem.readers.row(node).len() * problem.device_count();
        timer.spend(partial.work(node) + readers_work)?;
        // The device where it is done soonest, and the one that is done soonest of those that run it fastest.
        let mut soonest: Option<(f64, u16)> = None;
        let mut fastest: Option<(f64, f64, u16)> = None;
        for device in partial.choices(node) {
            let Some(probe) = partial.probe(node, device, f64::INFINITY) else { continue };
            let seconds = problem.seconds(node, device.into());
            if soonest.is_none_or(|s| probe.finish < s.0) {
                soonest = Some((probe.finish, device));
            }
            if fastest.is_none_or(|f| (seconds, probe.finish) < (f.0, f.1)) {
                fastest = Some((seconds, probe.finish, device));
            }
        }
        let (Some(soonest), Some(fastest)) = (soonest, fastest) else { return Err(partial.stuck(node)) };
        let saves = fastest.1 - soonest.0;
        let is_worth_it = saves > readers(problem, node, soonest.1) - readers(problem, node, fastest.2);
        partial.put(node, if is_worth_it { soonest.1 } else { fastest.2 });
    }
    Ok(partial.schedule())
}

/// The longest that a reader takes with its copy, each on the device that is best for it.
fn readers(problem: &Problem, node: usize, device: u16) -> f64 {
    let mut longest = 0.0f64;
    for &e in problem.out_edges.row(node) {
        let to = problem.edges[e as usize].to as usize;
        let allowed = problem.unit_of(to).allowed.iter();
        let way = allowed.map(|&d| problem.edge_copy(e, device, d) + problem.seconds(to, d.into()));
        longest = longest.max(way.fold(f64::INFINITY, f64::min));
    }
    longest
}
