//! The earliest start of a node on a device: what is near must share the device, what is far must be copied.
//! In the words of scheduling, a one-machine relaxation with heads, bodies and tails.
//!
//! To start by some time, a node must have beside it every input whose copy from elsewhere would come too
//! late; beside those, their own inputs whose copies would come too late for them; and so on. All these run
//! on the one device: if its slots can't be done with them in time, then the node can't start by then. The
//! least time for which this holds is the bound. Backward the same is true of readers, and of the time from a
//! node's end to the end of everything.
//!
//! Promised: a true bound, whatever the links; how far it looks depends on the size of the graph alone. Left
//! to others: what to do with it ([`paths`](super::paths)).

use super::Classes;
use crate::partial::Direction;
use crate::problem::Problem;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What all nodes together may spend, in nodes looked at, per node and at most.
const PER_NODE: usize = 500;
const MOST: usize = 300_000;
/// The most nodes beside one.
const LARGEST: usize = 64;
/// The most readers of one node of which each is tried as the one that need not wait.
const MOST_READERS: usize = 6;

/// A node that must run on the device: not before `release`, and `rest` seconds must pass after it.
#[derive(Clone, Copy)]
struct Job {
    release: f64,
    seconds: f64,
    rest: f64,
}

/// What is assumed of a node that several inputs read: whether it is on the device too, and which of its
/// readers is the one that need not wait. Some such assumption holds, and each costs somebody a copy or his
/// turn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    /// The node whose inputs they are.
    node: u32,
    feeder: u32,
    is_here: bool,
    /// The reader that may run as soon as the feeder is done; others wait for its device, or for a copy.
    first: u32,
    /// When the others can start at the earliest.
    turn: f64,
}

/// An item of a heap by its first number.
struct By<T>(f64, T);

impl<T> PartialEq for By<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<T> Eq for By<T> {}
impl<T> PartialOrd for By<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for By<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Finds the earliest starts of one direction.
pub(super) struct EarliestStart<'a> {
    problem: &'a Problem,
    classes: &'a Classes,
    direction: Direction,
    /// Node × class → seconds; infinite where it can't run.
    cost: &'a [f64],
    largest: usize,
    /// Nodes beside the one looked at have its stamp, and the seconds from them to it.
    stamp: Vec<u32>,
    now: u32,
    rest: Vec<f64>,
    jobs: Vec<Job>,
    feeders: Vec<u32>,
    /// How much was looked at so far, in nodes.
    pub(super) looked: usize,
    /// Nodes that may be elsewhere, by when the one looked at could then start.
    frontier: BinaryHeap<By<u32>>,
    running: BinaryHeap<By<f64>>,
}

impl<'a> EarliestStart<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        classes: &'a Classes,
        direction: Direction,
        cost: &'a [f64],
    ) -> EarliestStart<'a> {
        let nodes = problem.node_count();
        let each = (PER_NODE * nodes).min(MOST) / (nodes * classes.len()).max(1);
        EarliestStart {
            problem,
            classes,
            direction,
            cost,
            // So many nodes, looked at again each time one is added.
            largest: ((2 * each) as f64).sqrt().min(LARGEST as f64) as usize,
            stamp: vec![0; nodes],
            now: 0,
            rest: vec![0.0; nodes],
            jobs: Vec::new(),
            feeders: Vec::new(),
            looked: 0,
            frontier: BinaryHeap::new(),
            running: BinaryHeap::new(),
        }
    }

    pub(super) fn before(&self, node: usize) -> &'a [u32] {
        match self.direction {
            Direction::Forward => self.problem.in_edges.row(node),
            Direction::Backward => self.problem.out_edges.row(node),
        }
    }

    pub(super) fn after(&self, node: usize) -> &'a [u32] {
        match self.direction {
            Direction::Forward => self.problem.out_edges.row(node),
            Direction::Backward => self.problem.in_edges.row(node),
        }
    }

    /// The ends of an edge: what comes before in this direction, and what after.
    pub(super) fn ends(&self, edge: u32) -> (usize, usize) {
        let row = &self.problem.edges[edge as usize];
        match self.direction {
            Direction::Forward => (row.from as usize, row.to as usize),
            Direction::Backward => (row.to as usize, row.from as usize),
        }
    }

    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// Seconds of a node on a class; infinite where it can't run.
    pub(super) fn cost(&self, node: usize, class: usize) -> f64 {
        self.cost[node * self.classes.len() + class]
    }

    /// How many things a device of a class does at once.
    pub(super) fn slots(&self, class: usize) -> u32 {
        self.problem.devices[self.classes.first[class] as usize].slots
    }

    /// Whether both ends of an edge must share a device.
    pub(super) fn is_bound(&self, edge: u32) -> bool {
        let (from, to) = self.ends(edge);
        self.problem.nodes[from].unit == self.problem.nodes[to].unit
    }

    /// The edge from one node to another.
    fn edge(&self, from: usize, to: usize) -> Option<u32> {
        self.before(to).iter().copied().find(|&e| self.ends(e).0 == from)
    }

    /// Seconds of an edge that begins on one class and ends on another device of the same or another class.
    pub(super) fn copy(&self, edge: u32, from: usize, to: usize) -> f64 {
        if from == to {
            self.classes.copy_among(self.problem, edge, from)
        } else if self.direction == Direction::Forward {
            self.classes.copy(self.problem, edge, from, to)
        } else {
            self.classes.copy(self.problem, edge, to, from)
        }
    }

    /// When an edge is served to a device of a class from any other device.
    fn sent_from_elsewhere(&self, known: &[f64], edge: u32, class: usize, case: Option<Case>) -> f64 {
        let (from, to) = self.ends(edge);
        let is_feeder = case.is_some_and(|c| c.is_here && c.feeder as usize == from);
        if self.problem.nodes[from].unit == self.problem.nodes[to].unit || is_feeder {
            return f64::INFINITY;
        }
        let count = self.classes.len();
        let read = case.and_then(|case| Some((case, self.edge(case.feeder as usize, from)?)));
        let mut least = f64::INFINITY;
        for other in 0..count {
            let mut start = known[from * count + other];
            if let Some((case, edge)) = read {
                start = start.max(self.turn(case, from));
                if case.is_here {
                    // What is read from a node that is on the device has to be copied away from it.
                    let at = case.feeder as usize * count + class;
                    start = start.max(known[at] + self.cost[at] + self.copy(edge, class, other));
                }
            }
            let done = start + self.cost[from * count + other];
            if done < least {
                least = least.min(done + self.copy(edge, other, class));
            }
        }
        least
    }

    /// When a reader of the case's feeder may start. Those that are no inputs of the node may start before
    /// any of them.
    fn turn(&self, case: Case, reader: usize) -> f64 {
        let is_free = case.first as usize == reader || self.edge(reader, case.node as usize).is_none();
        if is_free { 0.0 } else { case.turn }
    }

    /// The least start of a node on the device.
    fn release(&self, known: &[f64], node: usize, class: usize, case: Option<Case>) -> f64 {
        let release = known[node * self.classes.len() + class];
        let Some(case) = case else { return release };
        let Some(edge) = self.edge(case.feeder as usize, node) else { return release };
        let turn = release.max(self.turn(case, node));
        if case.is_here { turn } else { turn.max(self.sent_from_elsewhere(known, edge, class, None)) }
    }

    /// The least start of a node on a class, from those before it: `known` has theirs.
    pub(super) fn least(&mut self, known: &[f64], node: usize, class: usize) -> f64 {
        let Some(feeder) = self.shared_feeder(known, node, class) else {
            return self.least_if(known, node, class, None);
        };
        let before = self.before(node).iter().map(|&e| self.ends(e).0);
        let readers: Vec<usize> = before.filter(|&r| self.edge(feeder as usize, r).is_some()).collect();
        let mut least = f64::INFINITY;
        for &first in readers.iter().take(MOST_READERS) {
            // Beyond so many readers nobody is known to wait.
            let waits = readers.len() <= MOST_READERS;
            let turn = if waits { self.earliest_turn(known, feeder as usize, first, &readers) } else { 0.0 };
            for is_here in [true, false] {
                let case = Case { node: node as u32, feeder, is_here, first: first as u32, turn };
                least = least.min(self.least_if(known, node, class, Some(case)));
            }
            if !waits {
                break;
            }
        }
        least
    }

    /// A weaker bound at once: each input on its own, wherever it is best for the node.
    pub(super) fn nearest(&self, known: &[f64], node: usize, class: usize) -> f64 {
        let count = self.classes.len();
        let each = self.before(node).iter().map(|&edge| {
            let at = self.ends(edge).0 * count + class;
            (known[at] + self.cost[at]).min(self.sent_from_elsewhere(known, edge, class, None))
        });
        each.fold(0.0, f64::max)
    }

    /// When a reader can start that does not start before the first one, wherever the feeder is: after a copy
    /// of one of them, or after the first one on the feeder's own device if that does one thing at a time.
    fn earliest_turn(&self, known: &[f64], feeder: usize, first: usize, readers: &[usize]) -> f64 {
        let count = self.classes.len();
        let mut least = f64::INFINITY;
        for home in 0..count {
            let done = known[feeder * count + home] + self.cost[feeder * count + home];
            if done >= least {
                continue;
            }
            // What costs nothing needs no slot.
            let slots = self.problem.devices[self.classes.first[home] as usize].slots;
            let one_by_one = slots == 1 && readers.iter().all(|&r| self.cost[r * count + home] > 0.0);
            let mut wait = if one_by_one { self.cost[first * count + home] } else { 0.0 };
            for &reader in readers {
                let Some(edge) = self.edge(feeder, reader) else { continue };
                for there in 0..count {
                    wait = wait.min(self.copy(edge, home, there));
                }
            }
            least = least.min(done + wait);
        }
        least
    }

    /// Of the nodes that more than one input reads, the one that is done last.
    fn shared_feeder(&mut self, known: &[f64], node: usize, class: usize) -> Option<u32> {
        let before = self.before(node);
        if before.len() < 2 || before.len() > LARGEST {
            return None;
        }
        self.feeders.clear();
        for &edge in before {
            for &edge in self.before(self.ends(edge).0).iter().take(LARGEST) {
                let feeder = self.ends(edge).0 as u32;
                self.feeders.push(feeder);
            }
        }
        self.looked += 4 * self.feeders.len();
        self.feeders.sort_unstable();
        let at = |f: u32| known[f as usize * self.classes.len() + class];
        let shared = self.feeders.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        shared.max_by(|&a, &b| at(a).total_cmp(&at(b)))
    }

    fn least_if(&mut self, known: &[f64], node: usize, class: usize, case: Option<Case>) -> f64 {
        let count = self.classes.len();
        self.now += 1;
        self.jobs.clear();
        self.frontier.clear();
        let before = self.before(node);
        self.looked += before.len() * (2 * count + 2);
        let mut single = 0.0f64;
        for &edge in before {
            let from = self.ends(edge).0;
            let elsewhere = self.sent_from_elsewhere(known, edge, class, case);
            let here = self.release(known, from, class, case) + self.cost[from * count + class];
            single = single.max(here.min(elsewhere));
            self.frontier.push(By(elsewhere, from as u32));
        }
        // Of a single input everything is known already.
        if before.len() < 2 {
            return single;
        }
        self.stamp[node] = self.now;
        self.rest[node] = -self.cost[node * count + class];
        let slots = self.problem.devices[self.classes.first[class] as usize].slots;
        // The least time by which a node left elsewhere would do, and when those beside it are done.
        let (mut elsewhere, mut together) = (f64::INFINITY, single);
        while let Some(By(start, from)) = self.frontier.pop() {
            let from = from as usize;
            if self.stamp[from] == self.now {
                continue;
            }
            if together >= start || self.jobs.len() == self.largest {
                break;
            }
            elsewhere = elsewhere.min(start);
            let is_away = case.is_some_and(|c| !c.is_here && c.feeder as usize == from);
            if !self.cost[from * count + class].is_finite() || is_away {
                // It can't be here: the time by which it would do is the bound.
                together = f64::INFINITY;
                break;
            }
            self.add(known, from, class, case);
            together = together.max(self.done(slots));
            if together >= elsewhere {
                break;
            }
        }
        single.max(together.min(elsewhere))
    }

    /// A node must be on the device; what comes before it may have to be too.
    fn add(&mut self, known: &[f64], node: usize, class: usize, case: Option<Case>) {
        let seconds = self.cost[node * self.classes.len() + class];
        let mut rest = 0.0f64;
        for &edge in self.after(node) {
            let to = self.ends(edge).1;
            if self.stamp[to] == self.now {
                rest = rest.max(self.rest[to] + self.cost[to * self.classes.len() + class]);
            }
        }
        self.stamp[node] = self.now;
        self.rest[node] = rest;
        let job = Job { release: self.release(known, node, class, case), seconds, rest };
        let place = self.jobs.partition_point(|j| j.release <= job.release);
        self.jobs.insert(place, job);
        self.looked += self.before(node).len() * (2 * self.classes.len() + 2);
        for &edge in self.before(node) {
            let from = self.ends(edge).0;
            if self.stamp[from] != self.now {
                let start = self.sent_from_elsewhere(known, edge, class, case) + seconds + rest;
                self.frontier.push(By(start, from as u32));
            }
        }
    }

    /// When so many slots are done with the jobs and with what must follow them: one slot exactly, were they
    /// allowed to be interrupted; several at best.
    fn done(&mut self, slots: u32) -> f64 {
        self.looked += 2 * self.jobs.len();
        if slots > 1 {
            let mut sum = 0.0;
            let (mut release, mut rest, mut longest) = (f64::INFINITY, f64::INFINITY, 0.0f64);
            for job in &self.jobs {
                sum += job.seconds;
                release = release.min(job.release);
                rest = rest.min(job.rest);
                longest = longest.max(job.release + job.seconds + job.rest);
            }
            return longest.max(release + sum / f64::from(slots) + rest);
        }
        // Always the job with the most to follow: its rest is the heap's key, its remaining seconds the item.
        self.running.clear();
        let (mut time, mut next, mut done) = (0.0f64, 0, 0.0f64);
        loop {
            while let Some(job) = self.jobs.get(next).filter(|j| j.release <= time || self.running.is_empty())
            {
                time = time.max(job.release);
                self.running.push(By(job.rest, job.seconds));
                next += 1;
            }
            let Some(By(rest, seconds)) = self.running.pop() else { return done };
            let until = self.jobs.get(next).map_or(f64::INFINITY, |j| j.release);
            if time + seconds <= until {
                time += seconds;
                done = done.max(time + rest);
            } else {
                self.running.push(By(rest, seconds - (until - time)));
                time = until;
            }
        }
    }
}
