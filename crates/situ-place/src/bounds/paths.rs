//! The longest way through the graph, with every node on whatever device makes it shortest.

use super::Classes;
use super::earliest_start::EarliestStart;
use super::forks;
use crate::partial::Direction;
use crate::problem::Problem;

/// How much of what is near a node counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Everything that must share its device, as far as the size of the graph allows.
    Around,
    /// Its neighbours alone: a weaker bound in a fraction of the time.
    Ahead,
}

/// For each node and class of devices, the earliest possible start there and the least time from its end
/// there to the end of everything.
pub(super) struct Paths {
    classes: usize,
    head: Vec<f64>,
    tail: Vec<f64>,
    /// Seconds of each node on each class.
    cost: Vec<f64>,
    allowed: Vec<bool>,
}

impl Paths {
    /// Paths that look around each node as [`EarliestStart`] does, or at its neighbours alone.
    pub(super) fn new(problem: &Problem, classes: &Classes, look: Look) -> Paths {
        let (nodes, count) = (problem.node_count(), classes.len());
        let mut cost = vec![f64::INFINITY; nodes * count];
        let mut allowed = vec![false; nodes * count];
        for node in 0..nodes {
            for (k, device) in classes.of_unit(problem.unit_of(node)) {
                let at = node * count + k;
                cost[at] = problem.seconds(node, device.into());
                allowed[at] = true;
            }
        }
        let mut paths = Paths {
            classes: count,
            head: vec![0.0; nodes * count],
            tail: vec![0.0; nodes * count],
            cost,
            allowed,
        };
        paths.head = paths.find(problem, classes, Direction::Forward, look);
        paths.tail = paths.find(problem, classes, Direction::Backward, look);
        paths
    }

    fn find(&self, problem: &Problem, classes: &Classes, direction: Direction, look: Look) -> Vec<f64> {
        let count = self.classes;
        let mut known = vec![0.0; self.cost.len()];
        let mut earliest = EarliestStart::new(problem, classes, direction, &self.cost);
        let mut find = |node: u32| {
            for k in (0..count).filter(|&k| self.allowed[node as usize * count + k]) {
                known[node as usize * count + k] = match look {
                    Look::Around => earliest.least(&known, node as usize, k),
                    Look::Ahead => earliest.nearest(&known, node as usize, k),
                };
            }
        };
        let order = forks::order_of(&problem.order, direction);
        order.iter().for_each(|&node| find(node));
        known
    }

    /// Adds what each fork costs, as far as looking at so many nodes leads.
    pub(super) fn raise(&mut self, problem: &Problem, classes: &Classes, effort: usize) {
        for direction in [Direction::Forward, Direction::Backward] {
            let known = match direction {
                Direction::Forward => &mut self.head,
                Direction::Backward => &mut self.tail,
            };
            let mut earliest = EarliestStart::new(problem, classes, direction, &self.cost);
            forks::raise(&mut earliest, &forks::order_of(&problem.order, direction), known, effort / 2);
        }
    }

    fn best(&self, node: usize, of: impl Fn(usize) -> f64) -> f64 {
        let range = node * self.classes..(node + 1) * self.classes;
        range.filter(|&at| self.allowed[at]).map(of).fold(f64::INFINITY, f64::min)
    }

    /// As [`through`](Paths::through), of a node on one class.
    pub(super) fn through_at(&self, at: usize) -> f64 {
        if self.allowed[at] { self.head[at] + self.cost[at] + self.tail[at] } else { f64::INFINITY }
    }

    /// Node × class → seconds; infinite where it can't run.
    pub(super) fn costs(&self) -> &[f64] {
        &self.cost
    }

    /// Node × class → the earliest start.
    pub(super) fn heads(&self) -> &[f64] {
        &self.head
    }

    /// Node × class → the least time from its end to the end.
    pub(super) fn tails(&self) -> &[f64] {
        &self.tail
    }

    /// The least time in which everything before, in and after a node can be done.
    fn through(&self, node: usize) -> f64 {
        self.best(node, |at| self.head[at] + self.cost[at] + self.tail[at])
    }

    /// The earliest start of a node.
    pub(super) fn head(&self, node: usize) -> f64 {
        self.best(node, |at| self.head[at])
    }

    /// The least time from a node's end to the end.
    pub(super) fn tail(&self, node: usize) -> f64 {
        self.best(node, |at| self.tail[at])
    }

    pub(super) fn longest(&self) -> f64 {
        let nodes = self.cost.len() / self.classes.max(1);
        let finite = (0..nodes).map(|n| self.through(n)).filter(|t| t.is_finite());
        finite.fold(0.0, f64::max)
    }

    /// A path on which the longest way lies: from its heaviest node, the heaviest neighbour each way.
    pub(super) fn critical(&self, problem: &Problem) -> Vec<u32> {
        let heavier = |a: usize, b: usize| if self.through(b) > self.through(a) { b } else { a };
        let Some(middle) = (0..problem.node_count()).reduce(heavier) else { return Vec::new() };
        let mut path = vec![middle as u32];
        let mut node = middle;
        while let Some(from) = problem.ins(node).map(|e| e.from as usize).reduce(heavier) {
            path.push(from as u32);
            node = from;
        }
        path.reverse();
        node = middle;
        while let Some(to) = problem.outs(node).map(|e| e.to as usize).reduce(heavier) {
            path.push(to as u32);
            node = to;
        }
        path
    }
}
