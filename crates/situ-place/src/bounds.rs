//! Lower bounds: what no placement can beat, whatever algorithm looks for it.
//!
//! - **Paths**: the longest way through the graph, every node and copy as cheap as the devices of its ends
//!   allow, with what must share a node's device done there one after the other.
//! - **Area**: all work shared out over all devices at the best possible rates; also of the nodes between a
//!   latest beginning and an earliest end.
//! - **Forks**: of a node's readers at most one runs beside it at once; others wait for their turn, or for a
//!   copy.
//! - **Lagrangian**: paths and area at once, where what is good for the one is bad for the other; a linear
//!   program by its multipliers.
//! - **Branch**: every arrangement of the forks, against a makespan that is known.
//! - **Segments**: one path, where consecutive nodes on one device must fit its memory together.
//!
//! Promised: each is a true bound under the model of the cost-graph file, for any schedule and any route.
//! Memory that comes and goes, and contention for links, are left out: they only make schedules longer.

pub(crate) mod area;
mod branch;
mod earliest_start;
mod forks;
mod lagrangian;
mod paths;
mod segments;

use crate::problem::{Problem, Unit};
pub(crate) use paths::Look;
use paths::Paths;

/// A time that no placement of the problem beats, by all that is known of bounds and some milliseconds of
/// work.
///
/// `makespan` is that of some placement, or infinite: the bound is never above it, and is better the shorter
/// it is. A bound equal to it up to rounding says that the placement is the best one.
pub fn lower_bound(problem: &Problem, makespan: f64) -> f64 {
    let classes = Classes::new(problem);
    if !are_affordable(problem, &classes, None) {
        return quick_bound(problem).min(makespan);
    }
    let bounds = Bounds::new(problem, &classes, Look::Around, EFFORT);
    bounds.least().max(bounds.below(makespan, EFFORT, &|| false)).min(makespan)
}

/// Seconds that [`Bounds::new`] takes for each edge and pair of classes that it may cross between, about.
const A_CROSSING: f64 = 3e-8;
/// So many of them are always looked at.
const FEW_CROSSINGS: f64 = 2e6;
/// No more than so many are looked at where time is not counted: some seconds.
const MOST_CROSSINGS: f64 = 1e8;
/// What there is to look at for each node on a class, in crossings.
const PER_PLACE: f64 = 2.0;
/// The share of the time that may go to them.
const CROSSING_SHARE: f64 = 0.2;

/// Whether [`Bounds`] are found within a share of the time that is left: edges are held against every pair of
/// classes, which are a million where a thousand devices differ. Where they are not, there is
/// [`quick_bound`].
pub(crate) fn are_affordable(problem: &Problem, classes: &Classes, left: Option<f64>) -> bool {
    let pairs = (classes.len() * classes.len()) as f64;
    let places = PER_PLACE * (problem.node_count() * classes.len()) as f64;
    let crossings = problem.edges.len() as f64 * pairs + places;
    let most = left.map_or(MOST_CROSSINGS, |left| left * CROSSING_SHARE / A_CROSSING);
    crossings <= most.max(FEW_CROSSINGS)
}

/// What [`lower_bound`] looks at, in nodes.
const EFFORT: usize = 200_000;
/// A makespan so many times the bound is worth trying to be refuted.
const NARROW: f64 = 1.03;

/// Paths at least so long, as a share of what else is known, are worth raising by forks; shorter ones than
/// that say nothing beside the area.
const NEAR: f64 = 0.75;
const FAR: f64 = 0.3;

/// What is known of a problem's makespan from below.
pub(crate) struct Bounds<'a> {
    problem: &'a Problem,
    classes: &'a Classes,
    paths: Paths,
    least: f64,
}

impl<'a> Bounds<'a> {
    /// The bounds that need no schedule. What costs more is left to a number of nodes to look at, some ten
    /// nanoseconds each, and done where it may pay.
    pub(crate) fn new(problem: &'a Problem, classes: &'a Classes, look: Look, effort: usize) -> Bounds<'a> {
        let paths = Paths::new(problem, classes, look);
        let mut bounds = Bounds { problem, classes, paths, least: 0.0 };
        if problem.node_count() == 0 {
            return bounds;
        }
        let segments = |paths: &Paths| segments::bound(problem, classes, &paths.critical(problem));
        let mut least = area::bound(problem, classes, &bounds.paths).max(segments(&bounds.paths));
        if look == Look::Around {
            // A path that is long for what runs beside it may be short in segments.
            least = least.max(segments(&Paths::new(problem, classes, Look::Ahead)));
        }
        if effort > 0 && bounds.paths.longest() >= NEAR * least {
            bounds.paths.raise(problem, classes, effort);
        }
        bounds.least = bounds.paths.longest().max(least) * ROUNDED;
        bounds
    }

    /// The largest of them.
    pub(crate) fn least(&self) -> f64 {
        self.least
    }

    /// A bound by what no schedule shorter than a known one can have; zero if there is nothing to say. Looks
    /// at so many nodes, some ten nanoseconds each, or fewer if the time is over.
    pub(crate) fn below(&self, makespan: f64, effort: usize, is_over: &dyn Fn() -> bool) -> f64 {
        if self.is_narrow(makespan) && self.refutes(makespan, effort) {
            makespan * ROUNDED
        } else if self.paths.longest() < FAR * self.least {
            0.0
        } else {
            lagrangian::bound(self.problem, self.classes, &self.paths, makespan, effort, is_over) * ROUNDED
        }
    }

    /// Whether a makespan is so near to the bound that it may be the best.
    pub(crate) fn is_narrow(&self, makespan: f64) -> bool {
        makespan <= self.least * NARROW
    }

    /// Whether no schedule has a shorter makespan.
    pub(crate) fn refutes(&self, makespan: f64, effort: usize) -> bool {
        let limit = makespan * ROUNDED;
        self.least >= limit || branch::refutes(self.problem, self.classes, &self.paths, limit, effort)
    }
}

/// A weaker bound in a fraction of the time: the longest way at the least costs without copies, and the least
/// work over all slots.
pub(crate) fn quick_bound(problem: &Problem) -> f64 {
    let (mut longest, mut work) = (0.0f64, 0.0);
    let mut rank = vec![0.0f64; problem.node_count()];
    for &node in problem.order.iter().rev() {
        let node = node as usize;
        let least = problem.least[node];
        let below = problem.readers.row(node).iter().map(|&to| rank[to as usize]).fold(0.0, f64::max);
        rank[node] = below + least;
        longest = longest.max(rank[node]);
        if least.is_finite() {
            work += least;
        }
    }
    let slots: f64 = problem.devices.iter().map(|d| f64::from(d.slots)).sum();
    longest.max(work / slots.max(1.0)) * ROUNDED
}

/// A bound from a path worth looking at, such as a schedule's critical one.
pub(crate) fn bound_by(problem: &Problem, classes: &Classes, path: &[u32]) -> f64 {
    segments::bound(problem, classes, &on_edges(problem, path)) * ROUNDED
}

/// The sums of bounds are rounded in another order than a schedule's times.
const ROUNDED: f64 = 1.0 - 1e-9;

/// The longest stretch of a list of nodes in which each reads the one before.
fn on_edges(problem: &Problem, nodes: &[u32]) -> Vec<u32> {
    let (mut best, mut begin) = (0..0, 0);
    for i in 0..nodes.len() {
        let linked = i > 0 && problem.outs(nodes[i - 1] as usize).any(|e| e.to == nodes[i]);
        if !linked {
            begin = i;
        }
        if i + 1 - begin > best.len() {
            best = begin..i + 1;
        }
    }
    nodes[best].to_vec()
}

/// Devices that can't be told apart count as one class.
pub(crate) struct Classes {
    /// One device of each class.
    pub first: Vec<u16>,
    /// All devices of each class.
    pub members: Vec<Vec<u16>>,
    /// The class of each device.
    pub of: Vec<u16>,
}

impl Classes {
    pub(crate) fn new(problem: &Problem) -> Classes {
        let twins = problem.twins();
        let mut classes = Classes { first: Vec::new(), members: Vec::new(), of: vec![0; twins.len()] };
        for (d, &twin) in twins.iter().enumerate() {
            if twin as usize == d {
                classes.of[d] = classes.first.len() as u16;
                classes.first.push(d as u16);
                classes.members.push(vec![d as u16]);
            } else {
                classes.of[d] = classes.of[twin as usize];
                classes.members[classes.of[d] as usize].push(d as u16);
            }
        }
        classes
    }

    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }

    /// The classes that a unit may run on, each with one of its devices: where one may be, so may its twins.
    pub(crate) fn of_unit(&self, unit: &Unit) -> impl Iterator<Item = (usize, u16)> {
        let may = |&(_, device): &(usize, u16)| unit.allowed.binary_search(&device).is_ok();
        self.first.iter().copied().enumerate().filter(may)
    }

    /// Seconds of an edge between devices of two classes, at least; the same device where both are one class.
    pub(crate) fn copy(&self, problem: &Problem, edge: u32, from: usize, to: usize) -> f64 {
        if from == to { 0.0 } else { problem.least_copy(edge, self.first[from], self.first[to]) }
    }

    /// Seconds of an edge between two different devices of one class; infinite if there is but one.
    pub(crate) fn copy_among(&self, problem: &Problem, edge: u32, class: usize) -> f64 {
        match self.members[class][..] {
            [a, b, ..] => problem.least_copy(edge, a, b),
            _ => f64::INFINITY,
        }
    }
}
