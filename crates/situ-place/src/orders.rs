//! Topological orders of nodes, and sequences of colocation groups.

use crate::partial::Direction;
use crate::problem::Problem;
use crate::random::Random;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

struct Entry {
    key: f64,
    node: u32,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(other.node.cmp(&self.node))
    }
}

/// Of the nodes whose inputs are done, always the one with the largest key.
pub(crate) fn by_key(problem: &Problem, key: impl Fn(usize) -> f64) -> Vec<u32> {
    towards(problem, Direction::Forward, key)
}

/// Of the nodes whose inputs are done (backward: whose readers are), always the one with the largest key.
pub(crate) fn towards(problem: &Problem, direction: Direction, key: impl Fn(usize) -> f64) -> Vec<u32> {
    let count = problem.node_count();
    let (before, after) = match direction {
        Direction::Forward => (&problem.in_edges, &problem.out_edges),
        Direction::Backward => (&problem.out_edges, &problem.in_edges),
    };
    let mut waiting: Vec<u32> = (0..count).map(|n| before.row(n).len() as u32).collect();
    let entry = |node: u32| Entry { key: key(node as usize), node };
    let mut ready: BinaryHeap<Entry> =
        (0..count as u32).filter(|&n| waiting[n as usize] == 0).map(entry).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Entry { node, .. }) = ready.pop() {
        order.push(node);
        for &e in after.row(node as usize) {
            let edge = &problem.edges[e as usize];
            let next = if direction == Direction::Forward { edge.to } else { edge.from };
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                ready.push(entry(next));
            }
        }
    }
    order
}

/// Nodes in the order of their starts; those that start together keep their inputs first.
pub(crate) fn by_start(problem: &Problem, start: &[f64], finish: &[f64]) -> Vec<u32> {
    let mut place = vec![0u32; problem.node_count()];
    for (i, &node) in problem.order.iter().enumerate() {
        place[node as usize] = i as u32;
    }
    let mut order = problem.order.clone();
    // A node never starts before its input ends, so (start, topological place) is a topological order.
    order.sort_by(|&a, &b| {
        let (a, b) = (a as usize, b as usize);
        start[a].total_cmp(&start[b]).then(finish[a].total_cmp(&finish[b])).then(place[a].cmp(&place[b]))
    });
    order
}

/// The graph of colocation groups: who feeds whom.
pub(crate) struct UnitGraph {
    pub successors: Vec<Vec<u32>>,
    pub predecessors: Vec<Vec<u32>>,
}

impl UnitGraph {
    pub(crate) fn new(problem: &Problem) -> UnitGraph {
        let count = problem.units.len();
        let mut successors = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for edge in &problem.edges {
            let (a, b) = (problem.nodes[edge.from as usize].unit, problem.nodes[edge.to as usize].unit);
            if a != b {
                successors[a as usize].push(b);
                predecessors[b as usize].push(a);
            }
        }
        for list in successors.iter_mut().chain(&mut predecessors) {
            list.sort_unstable();
            list.dedup();
        }
        UnitGraph { successors, predecessors }
    }

    /// Groups one after the other, following what was just finished as far as it leads before anything else,
    /// so that neighbours in the sequence are neighbours in the graph. Groups that wait for each other in a
    /// circle are taken in their numbers' order.
    pub(crate) fn depth_first(&self, mut random: Option<&mut Random>) -> Vec<u32> {
        let count = self.successors.len();
        let mut waiting: Vec<u32> = self.predecessors.iter().map(|p| p.len() as u32).collect();
        let mut done = vec![false; count];
        let mut stack: Vec<u32> = (0..count as u32).rev().filter(|&u| waiting[u as usize] == 0).collect();
        if let Some(random) = random.as_deref_mut() {
            shuffle(&mut stack, random);
        }
        let mut sequence = Vec::with_capacity(count);
        let mut next_stuck = 0;
        while sequence.len() < count {
            let Some(unit) = stack.pop() else {
                while done[next_stuck] {
                    next_stuck += 1;
                }
                stack.push(next_stuck as u32);
                continue;
            };
            if std::mem::replace(&mut done[unit as usize], true) {
                continue;
            }
            sequence.push(unit);
            let begin = stack.len();
            for &next in self.successors[unit as usize].iter().rev() {
                waiting[next as usize] = waiting[next as usize].saturating_sub(1);
                if waiting[next as usize] == 0 && !done[next as usize] {
                    stack.push(next);
                }
            }
            if let Some(random) = random.as_deref_mut() {
                shuffle(&mut stack[begin..], random);
            }
        }
        self.sources_late(&sequence)
    }

    /// Moves groups that read nothing to just before their first reader.
    fn sources_late(&self, sequence: &[u32]) -> Vec<u32> {
        let mut out = Vec::with_capacity(sequence.len());
        let mut put = vec![false; sequence.len()];
        for &unit in sequence {
            let is_source = self.predecessors[unit as usize].is_empty();
            if is_source && !self.successors[unit as usize].is_empty() {
                continue;
            }
            for &from in &self.predecessors[unit as usize] {
                if self.predecessors[from as usize].is_empty()
                    && !std::mem::replace(&mut put[from as usize], true)
                {
                    out.push(from);
                }
            }
            if !std::mem::replace(&mut put[unit as usize], true) {
                out.push(unit);
            }
        }
        out.extend(sequence.iter().filter(|&&u| !put[u as usize]));
        out
    }
}

fn shuffle(list: &mut [u32], random: &mut Random) {
    for i in (1..list.len()).rev() {
        list.swap(i, random.below(i + 1));
    }
}

/// The groups in the order in which a node order first meets them.
pub(crate) fn units_of(problem: &Problem, order: &[u32]) -> Vec<u32> {
    let mut seen = vec![false; problem.units.len()];
    let units = order.iter().map(|&n| problem.nodes[n as usize].unit);
    units.filter(|&u| !std::mem::replace(&mut seen[u as usize], true)).collect()
}
