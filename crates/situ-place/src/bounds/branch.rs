//! Whether a step could be shorter than one that is known: every way to arrange the forks is tried.
//!
//! [`forks`](super::forks) takes the best case of each fork by itself. Here the cases of all forks are
//! combined: one fork after the other, each case is followed to the end of the graph, and given up as soon as
//! some node would be too late everywhere. If every combination is given up, then no step is that short. A
//! case that changes nothing makes its fork irrelevant; a case that is nowhere better than another need not
//! be tried.
//!
//! Promised: true if it says so. It may say no for want of effort, or since forks alone don't tell.

use super::Classes;
use super::earliest_start::EarliestStart;
use super::forks::Fork;
use super::paths::Paths;
use crate::partial::Direction;
use crate::problem::Problem;

/// The most nodes of a graph that is looked at: each case is followed through all of them.
const MOST_NODES: usize = 1_000;
/// A fork with more cases that differ is left out.
const MOST_BRANCHES: usize = 4;

/// Whether no step of at most `limit` seconds is possible.
pub(super) fn refutes(
    problem: &Problem,
    classes: &Classes,
    paths: &Paths,
    limit: f64,
    effort: usize,
) -> bool {
    if problem.node_count() > MOST_NODES {
        return false;
    }
    let earliest = EarliestStart::new(problem, classes, Direction::Forward, paths.costs());
    let mut place = vec![0; problem.node_count()];
    for (i, &node) in problem.order.iter().enumerate() {
        place[node as usize] = i;
    }
    let forks = problem.order.iter().copied().filter(|&n| problem.readers.row(n as usize).len() > 1);
    let forks = forks.collect();
    let changed = vec![false; problem.node_count()];
    let mut branch = Branch { problem, earliest, tails: paths.tails(), place, forks, changed, limit, effort };
    let mut known = paths.heads().to_vec();
    branch.changed.fill(true);
    !branch.settle(&mut known, 0) || branch.refutes(0, known)
}

struct Branch<'a> {
    problem: &'a Problem,
    earliest: EarliestStart<'a>,
    tails: &'a [f64],
    place: Vec<usize>,
    forks: Vec<u32>,
    /// Nodes of which more is known than before.
    changed: Vec<bool>,
    limit: f64,
    effort: usize,
}

impl Branch<'_> {
    /// Whether every arrangement of the forks from a place in their list on is too late.
    fn refutes(&mut self, from: usize, mut known: Vec<f64>) -> bool {
        for i in from..self.forks.len() {
            let node = self.forks[i] as usize;
            let fork = Fork::new(&self.earliest, node, |_| true);
            let mut states: Vec<Vec<f64>> = Vec::new();
            let mut is_irrelevant = false;
            for case in fork.cases(&self.earliest, &known) {
                let mut next = known.clone();
                if !fork.assume(&self.earliest, &mut next, case) || !self.follow(&known, &mut next, node) {
                    continue;
                }
                is_irrelevant = next == known;
                if is_irrelevant {
                    break;
                }
                if !states.iter().any(|state| is_nowhere_later(state, &next)) {
                    states.retain(|state| !is_nowhere_later(&next, state));
                    states.push(next);
                }
                if self.earliest.looked > self.effort {
                    return false;
                }
            }
            if is_irrelevant || states.len() > MOST_BRANCHES {
                continue;
            }
            match states.len() {
                0 => return true,
                1 => known = states.remove(0),
                _ => return states.into_iter().all(|state| self.refutes(i + 1, state)),
            }
        }
        false
    }

    /// What follows for the nodes after a fork from what is assumed of its readers; false if some node would
    /// be late.
    fn follow(&mut self, known: &[f64], next: &mut [f64], fork: usize) -> bool {
        let count = self.earliest.classes();
        for &reader in self.problem.readers.row(fork) {
            let row = reader as usize * count..(reader as usize + 1) * count;
            self.changed[reader as usize] = known[row.clone()] != next[row];
        }
        self.settle(next, self.place[fork] + 1)
    }

    /// As [`follow`](Branch::follow), from a place in the order on, for nodes that have changed or read such.
    fn settle(&mut self, known: &mut [f64], from: usize) -> bool {
        let count = self.earliest.classes();
        let mut is_possible = true;
        for i in from..self.problem.order.len() {
            let node = self.problem.order[i] as usize;
            let reads = |n: u32| self.changed[n as usize];
            if !is_possible
                || !(self.changed[node] || self.problem.inputs.row(node).iter().any(|&n| reads(n)))
            {
                continue;
            }
            let mut somewhere = false;
            for k in 0..count {
                let at = node * count + k;
                let seconds = self.earliest.cost(node, k);
                if !(known[at] + seconds).is_finite() {
                    continue;
                }
                let start = known[at].max(self.earliest.least(known, node, k));
                let is_late = start + seconds + self.tails[at] > self.limit;
                self.changed[node] |= is_late || start > known[at];
                known[at] = if is_late { f64::INFINITY } else { start };
                somewhere |= !is_late;
            }
            is_possible = somewhere;
        }
        self.changed.fill(false);
        is_possible
    }
}

fn is_nowhere_later(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}
