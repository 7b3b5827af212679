//! What every way to a node passes, and what every way from it passes.
//!
//! Promised: `tree.covers(a, b)` says whether every way from the beginning (or, backward, to the end) to `b`
//! passes `a`; a node covers itself. Left to others: what to make of it ([`blocks`](crate::algorithms)).

use crate::partial::Direction;
use crate::problem::{Csr, NONE, Problem};

pub(crate) struct Dominators {
    /// The last node that every way to each node passes, or [`NONE`].
    above: Vec<u32>,
    /// When a walk through the tree comes to each node, and when it leaves it.
    enters: Vec<u32>,
    leaves: Vec<u32>,
}

impl Dominators {
    /// Forward: what every way from the inputs of the graph passes. Backward: what every way to its ends
    /// does.
    pub(crate) fn new(problem: &Problem, direction: Direction) -> Dominators {
        let count = problem.node_count();
        let mut above = vec![NONE; count];
        let mut depth = vec![0u32; count];
        let before = match direction {
            Direction::Forward => &problem.inputs,
            Direction::Backward => &problem.readers,
        };
        let mut order = problem.order.clone();
        if direction == Direction::Backward {
            order.reverse();
        }
        for &node in &order {
            let mut inputs = before.row(node as usize).iter().copied();
            let Some(first) = inputs.next() else { continue };
            let meet = inputs.fold(first, |a, b| meet(&above, &depth, a, b));
            above[node as usize] = meet;
            depth[node as usize] = if meet == NONE { 0 } else { depth[meet as usize] + 1 };
        }
        let below = Csr::new(count, (0..count as u32).filter_map(|n| Some((above_of(&above, n)?, n))));
        let (mut enters, mut leaves) = (vec![0; count], vec![0; count]);
        let mut time = 0;
        let mut stack: Vec<(u32, bool)> =
            (0..count as u32).filter(|&n| above[n as usize] == NONE).map(|n| (n, true)).collect();
        while let Some((node, is_new)) = stack.pop() {
            time += 1;
            if is_new {
                enters[node as usize] = time;
                stack.push((node, false));
                stack.extend(below.row(node as usize).iter().map(|&n| (n, true)));
            } else {
                leaves[node as usize] = time;
            }
        }
        Dominators { above, enters, leaves }
    }

    /// The last other node that every way to this one passes.
    pub(crate) fn above(&self, node: u32) -> Option<u32> {
        above_of(&self.above, node)
    }

    pub(crate) fn covers(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.enters[a] <= self.enters[b] && self.leaves[b] <= self.leaves[a]
    }
}

fn above_of(above: &[u32], node: u32) -> Option<u32> {
    Some(above[node as usize]).filter(|&n| n != NONE)
}

/// The lowest node of the tree that is above both, or [`NONE`].
fn meet(above: &[u32], depth: &[u32], a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while a != b {
        if a == NONE || b == NONE {
            return NONE;
        }
        if depth[a as usize] >= depth[b as usize] {
            a = above[a as usize];
        } else {
            b = above[b as usize];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, ProblemBuilder};

    #[test]
    fn a_fork_and_a_join_cover_what_is_between_them() {
        let mut b = ProblemBuilder::new();
        let cpu = b.device(Device::new("CPU:0"));
        let nodes: Vec<usize> = (0..6).map(|i| b.node(format!("n{i}"), 0.0)).collect();
        nodes.iter().for_each(|&n| b.cost(n, cpu, 1.0));
        // 0 → 1 → {2, 3} → 4, and 5 reads nothing and feeds 4.
        for (from, to) in [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (5, 4)] {
            b.edge(from, to);
        }
        let problem = b.build().unwrap();
        let forward = Dominators::new(&problem, Direction::Forward);
        let backward = Dominators::new(&problem, Direction::Backward);
        assert_eq!(forward.above(2), Some(1));
        assert_eq!(forward.above(4), None, "5 is another way to it");
        assert!(forward.covers(0, 3) && !forward.covers(2, 4) && forward.covers(2, 2));
        assert_eq!(backward.above(1), Some(4));
        assert!(backward.covers(4, 0) && !backward.covers(2, 1));
    }
}
