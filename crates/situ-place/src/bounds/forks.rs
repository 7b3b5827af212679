//! What a node with several readers costs them: at most one of them runs beside it at once.
//!
//! Whatever the schedule, the node is on a device of some class, and of its readers that are on that very
//! device one is the first: on a device with one slot the others there wait until that one is done, and
//! readers elsewhere wait for a copy. Each such case is followed through what comes after the node, as
//! [`EarliestStart`] has it, and what holds in every case holds. The effect on any one reader is nothing,
//! since it may be the first: it is where ways from several readers meet again that all cases are dear.
//! Backward the same is true of a node's inputs, of which one is the last.
//!
//! Promised: a true bound. Left to others: what it is used for ([`paths`](super::paths)).

use super::earliest_start::EarliestStart;
use crate::partial::Direction;

/// How far ways are followed, in nodes.
const REGION: usize = 96;
/// The most readers of one node that are tried.
const MOST_READERS: usize = 40;

/// Raises what is `known` of each node and class, until so much has been looked at.
pub(super) fn raise(earliest: &mut EarliestStart<'_>, order: &[u32], known: &mut [f64], effort: usize) {
    let mut forks = Forks::new(earliest, order);
    let end = earliest.looked + effort;
    for &node in order {
        if earliest.looked >= end {
            break;
        }
        let node = node as usize;
        forks.again(earliest, known, node);
        if (2..=MOST_READERS).contains(&earliest.after(node).len()) {
            forks.find_region(earliest, order, node);
            forks.follow(earliest, known, node);
        }
    }
}

struct Forks {
    classes: usize,
    place: Vec<u32>,
    /// A node is in the region of the fork whose number plus one it has.
    in_region: Vec<u32>,
    /// What comes after the fork, in order.
    region: Vec<u32>,
    /// What was known of the region before the cases, and the least of the cases.
    before: Vec<f64>,
    least: Vec<f64>,
}

impl Forks {
    fn new(earliest: &EarliestStart<'_>, order: &[u32]) -> Forks {
        let mut place = vec![0; order.len()];
        for (i, &node) in order.iter().enumerate() {
            place[node as usize] = i as u32;
        }
        Forks {
            classes: earliest.classes(),
            place,
            in_region: vec![0; order.len()],
            region: Vec::new(),
            before: Vec::new(),
            least: Vec::new(),
        }
    }

    /// What follows from what is known of the nodes before it.
    fn again(&mut self, earliest: &mut EarliestStart<'_>, known: &mut [f64], node: usize) {
        for k in 0..self.classes {
            let at = node * self.classes + k;
            if earliest.cost(node, k).is_finite() && known[at].is_finite() {
                known[at] = known[at].max(earliest.least(known, node, k));
            }
        }
    }

    /// The nodes after a fork, until all ways from it have met again.
    fn find_region(&mut self, earliest: &EarliestStart<'_>, order: &[u32], fork: usize) {
        let mark = fork as u32 + 1;
        self.region.clear();
        self.in_region[fork] = mark;
        let mut open = earliest.after(fork).len();
        let begin = self.place[fork] as usize + 1;
        for &node in order[begin..].iter().take(4 * REGION) {
            let from = earliest.before(node as usize).iter().map(|&e| earliest.ends(e).0);
            let ways = from.filter(|&f| self.in_region[f] == mark).count();
            if ways == 0 {
                continue;
            }
            self.in_region[node as usize] = mark;
            self.region.push(node);
            open -= ways;
            if open == 0 || self.region.len() == REGION {
                break;
            }
            open += earliest.after(node as usize).len();
        }
    }

    /// Follows all cases of a fork through its region.
    fn follow(&mut self, earliest: &mut EarliestStart<'_>, known: &mut [f64], fork: usize) {
        let count = self.classes;
        let cells = self.region.iter().flat_map(|&n| (0..count).map(move |k| n as usize * count + k));
        let cells: Vec<usize> = cells.collect();
        self.before.clear();
        self.before.extend(cells.iter().map(|&at| known[at]));
        self.least.clear();
        self.least.resize(cells.len(), f64::INFINITY);
        // Of readers beyond the region nothing is assumed: what is not in it is not restored.
        let is_near = |reader: usize| self.in_region[reader] == fork as u32 + 1;
        let fork = Fork::new(earliest, fork, is_near);
        let mut any = false;
        for case in fork.cases(earliest, known) {
            if fork.assume(earliest, known, case) {
                any = true;
                for i in 0..self.region.len() {
                    self.again(earliest, known, self.region[i] as usize);
                }
                for (least, &at) in self.least.iter_mut().zip(&cells) {
                    *least = least.min(known[at]);
                }
            }
            self.restore(known, &cells);
            if any && self.least.iter().zip(&self.before).all(|(least, before)| least <= before) {
                return;
            }
        }
        if any {
            for (&at, &least) in cells.iter().zip(&self.least) {
                known[at] = known[at].max(least);
            }
        }
    }

    fn restore(&self, known: &mut [f64], cells: &[usize]) {
        for (&at, &before) in cells.iter().zip(&self.before) {
            known[at] = before;
        }
    }
}

/// A node and those of its readers of which something is assumed.
pub(super) struct Fork {
    node: usize,
    /// Edges and readers.
    readers: Vec<(u32, usize)>,
    /// Whether these are all readers.
    is_whole: bool,
}

/// Where a fork is, and which of its readers runs first on its device: none does if there is no such reader
/// there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    home: usize,
    first: Option<usize>,
}

impl Fork {
    pub(super) fn new(earliest: &EarliestStart<'_>, node: usize, is_near: impl Fn(usize) -> bool) -> Fork {
        let readers = earliest.after(node).iter().map(|&e| (e, earliest.ends(e).1));
        let readers: Vec<(u32, usize)> = readers.filter(|r| is_near(r.1)).collect();
        Fork { node, is_whole: readers.len() == earliest.after(node).len(), readers }
    }

    /// All cases: one of them holds, whatever the schedule.
    pub(super) fn cases(&self, earliest: &EarliestStart<'_>, known: &[f64]) -> Vec<Case> {
        let count = earliest.classes();
        let mut cases = Vec::new();
        for home in 0..count {
            if (known[self.node * count + home] + earliest.cost(self.node, home)).is_finite() {
                // With several slots nobody waits for a turn.
                if earliest.slots(home) == 1 {
                    cases.extend(self.readers.iter().map(|&(_, reader)| Case { home, first: Some(reader) }));
                }
                cases.push(Case { home, first: None });
            }
        }
        cases
    }

    /// Raises what is known of the readers as a case has it; false if it can't be.
    pub(super) fn assume(&self, earliest: &EarliestStart<'_>, known: &mut [f64], case: Case) -> bool {
        let count = earliest.classes();
        let done = known[self.node * count + case.home] + earliest.cost(self.node, case.home);
        for &(edge, reader) in &self.readers {
            let mut possible = false;
            for k in (0..count).filter(|&k| earliest.cost(reader, k).is_finite()) {
                let beside =
                    if k == case.home { self.beside(earliest, done, case, reader) } else { f64::INFINITY };
                let elsewhere = if case.first == Some(reader) || earliest.is_bound(edge) {
                    f64::INFINITY
                } else {
                    done + earliest.copy(edge, case.home, k)
                };
                let at = reader * count + k;
                known[at] = known[at].max(beside.min(elsewhere));
                possible |= known[at].is_finite();
            }
            if !possible {
                return false;
            }
        }
        true
    }

    /// When a reader can start that is on the fork's device.
    fn beside(&self, earliest: &EarliestStart<'_>, done: f64, case: Case, reader: usize) -> f64 {
        // What costs nothing needs no slot.
        if earliest.slots(case.home) > 1 || earliest.cost(reader, case.home) <= 0.0 {
            return done;
        }
        match case.first {
            Some(first) if first == reader => done,
            Some(first) => done + earliest.cost(first, case.home),
            // The first may be one of which nothing is assumed.
            None if !self.is_whole => done,
            None => f64::INFINITY,
        }
    }
}

/// The nodes in the order in which a direction comes to them.
pub(super) fn order_of(order: &[u32], direction: Direction) -> Vec<u32> {
    match direction {
        Direction::Forward => order.to_vec(),
        Direction::Backward => order.iter().rev().copied().collect(),
    }
}
