//! Blocks: what a fork leads to and a join gathers, such as one head of an attention layer, and chains, are
//! placed as one node where they are small beside what it takes to copy tensors; list scheduling then shares
//! out the blocks.
//!
//! Done node by node, list scheduling scatters such a block: each node goes where it is done soonest, and the
//! copies between them are noticed too late. How small a block must be is tried.

use super::{Best, Constructive, Etf, Heft, Peft, Timed, within_memory};
use crate::coarse::Coarse;
use crate::dominators::Dominators;
use crate::error::PlaceError;
use crate::partial::Direction;
use crate::problem::{Csr, NONE, Problem};
use crate::timer::Timer;
use std::sync::Arc;

/// The most work in a block, in times of a mean copy.
const SIZES: [f64; 5] = [1.5, 3.0, 6.0, 16.0, 48.0];
/// Blocks are worth a look if they are fewer than what there was before by this much.
const WORTH: f64 = 0.9;
/// The most nodes in a block.
const LARGEST: usize = 64;

/// See the module's page.
pub struct Blocks;

impl Constructive for Blocks {
    fn name(&self) -> &'static str {
        "blocks"
    }

    fn effort(&self) -> f64 {
        8.0
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let mut best = Best::default();
        for grouping in groupings(problem, timer)? {
            match Coarse::new(problem, grouping.of, timer) {
                Ok(Some(coarse)) => offer(&mut best, problem, &coarse, share, timer),
                Ok(None) => {}
                Err(late) => best.offer(Err(late)),
            }
            if timer.is_over() {
                break;
            }
        }
        best.get(Constructive::name(self))
    }
}

fn offer(best: &mut Best, problem: &Problem, coarse: &Coarse, share: f64, timer: &Timer) {
    for algorithm in [&Heft as &dyn Constructive, &Etf, &Peft] {
        match algorithm.schedule(&coarse.problem, share, timer) {
            Ok(found) => best.offer(coarse.lift(problem, &found.schedule, timer)),
            Err(late @ PlaceError::Time { .. }) => best.offer(Err(late)),
            // It is of a problem that nobody has.
            Err(_) => {}
        }
        if timer.is_over() {
            break;
        }
    }
}

/// The nodes in blocks: which are together.
pub(crate) struct Grouping {
    pub of: Vec<u32>,
    pub members: Csr,
}

/// The nodes in smaller and in larger blocks; none where there are none of more than one node.
pub(crate) fn groupings(problem: &Problem, timer: &Timer) -> Result<Vec<Grouping>, PlaceError> {
    let copy = mean_copy(problem, timer)?;
    let blocks = Finder::new(problem);
    let mut last = problem.node_count();
    let mut found = Vec::new();
    for size in SIZES {
        let of = blocks.clusters(size * copy, timer)?;
        let count = of.iter().max().map_or(0, |&c| c as usize + 1);
        if (count as f64) < WORTH * last as f64 {
            last = count;
            let members = Csr::new(count, of.iter().copied().zip(0..));
            found.push(Grouping { of, members });
        }
    }
    Ok(found)
}

/// Of the problems with blocks for nodes the one with the best schedule, and that schedule of blocks; none
/// where blocks are worse by more than `worse` than a makespan, or were not found in time.
pub(crate) fn promising(
    problem: &Problem,
    makespan: f64,
    worse: f64,
    timer: &Timer,
) -> Option<(Coarse, Timed)> {
    let mut best: Option<(f64, Coarse, Timed)> = None;
    for grouping in groupings(problem, timer).ok()? {
        if timer.is_over() {
            break;
        }
        let Ok(Some(coarse)) = Coarse::new(problem, grouping.of, timer) else { continue };
        let found = [&Heft as &dyn Constructive, &Etf].map(|a| within_memory(a, &coarse.problem, timer));
        let lifted = found.into_iter().flatten().filter_map(|found| {
            let lifted = coarse.lift(problem, &found.schedule, timer).ok()?;
            Some((lifted.makespan, found))
        });
        let Some((lifted, found)) = lifted.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        if lifted <= makespan * (1.0 + worse) && best.as_ref().is_none_or(|b| lifted < b.0) {
            best = Some((lifted, coarse, found));
        }
    }
    best.map(|(_, coarse, found)| (coarse, found))
}

/// The mean over edges of the dearest copy between two devices.
fn mean_copy(problem: &Problem, timer: &Timer) -> Result<f64, PlaceError> {
    let slowest = problem.routes.slowest();
    timer.spend(problem.device_count() * problem.device_count())?;
    let mut sum = 0.0;
    for (e, edge) in problem.edges.iter().enumerate() {
        sum += if edge.price == NONE {
            timer.spend(slowest.len())?;
            slowest.iter().map(|way| way.0 + edge.bytes * way.1).fold(0.0, f64::max)
        } else {
            dearest(problem, e as u32, timer)?
        };
    }
    Ok(sum / problem.edges.len().max(1) as f64)
}

/// The dearest copy of an edge that has prices of its own.
fn dearest(problem: &Problem, edge: u32, timer: &Timer) -> Result<f64, PlaceError> {
    let count = problem.device_count() as u16;
    let mut most = 0.0f64;
    for a in 0..count {
        timer.spend(2 * count as usize)?;
        let seconds = (0..count).map(|b| problem.edge_copy(edge, a, b)).filter(|s| s.is_finite());
        most = seconds.fold(most, f64::max);
    }
    Ok(most)
}

struct Finder<'p> {
    problem: &'p Problem,
    forward: Dominators,
    backward: Dominators,
}

impl<'p> Finder<'p> {
    fn new(problem: &'p Problem) -> Finder<'p> {
        let (forward, backward) = (Direction::Forward, Direction::Backward);
        Finder {
            problem,
            forward: Dominators::new(problem, forward),
            backward: Dominators::new(problem, backward),
        }
    }

    /// The cluster of each node; blocks have at most so much work, at the least costs.
    fn clusters(&self, most: f64, timer: &Timer) -> Result<Vec<u32>, PlaceError> {
        let mut cluster = vec![NONE; self.problem.node_count()];
        let mut count = 0;
        for &exit in self.problem.order.iter().rev() {
            if cluster[exit as usize] != NONE {
                continue;
            }
            for node in self.block(exit, most, &cluster, timer)? {
                cluster[node as usize] = count;
            }
            count += 1;
        }
        Ok(cluster)
    }

    /// The largest block that ends in a node: everything that only leads there, after some node that
    /// everything there comes from. No way leaves it and comes back: it would have to pass the end twice.
    fn block(&self, exit: u32, most: f64, cluster: &[u32], timer: &Timer) -> Result<Vec<u32>, PlaceError> {
        let mut block = vec![exit];
        let mut entry = self.forward.above(exit);
        while let Some(before) = entry {
            let Some(larger) = self.between(before, exit, most, cluster, timer)? else { break };
            block = larger;
            entry = self.forward.above(before);
        }
        Ok(block)
    }

    fn between(
        &self,
        entry: u32,
        exit: u32,
        most: f64,
        cluster: &[u32],
        timer: &Timer,
    ) -> Result<Option<Vec<u32>>, PlaceError> {
        let problem = self.problem;
        let devices = &problem.unit_of(exit as usize).allowed;
        let mut block = vec![exit];
        let (mut at, mut work) = (0, 0.0);
        while at < block.len() {
            let node = block[at] as usize;
            work += problem.least[node];
            let unit = problem.unit_of(node);
            let same_devices = Arc::ptr_eq(&unit.allowed, devices) || unit.allowed == *devices;
            let is_alone = unit.members.len() == 1 && cluster[node] == NONE && same_devices;
            timer.spend(8 + 8 * problem.inputs.row(node).len())?;
            if !is_alone || work > most || block.len() > LARGEST {
                return Ok(None);
            }
            for &input in problem.inputs.row(node) {
                let is_inside =
                    input != entry && self.forward.covers(entry, input) && self.backward.covers(exit, input);
                if is_inside && !block.contains(&input) {
                    block.push(input);
                }
            }
            at += 1;
        }
        Ok(Some(block))
    }
}
