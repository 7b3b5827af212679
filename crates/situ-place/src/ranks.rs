//! How urgent a node is: its upward rank, the longest way from it to the end, by several sorts of cost.

use crate::problem::{NONE, Problem};
use std::collections::{BTreeMap, HashMap};

/// Which of a node's costs, and of its copies', count on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankCost {
    /// The mean over devices.
    Mean,
    /// The mean over slots: what a list scheduler sees that takes every slot for a processor of its own.
    Slots,
    /// The least over devices, and free copies.
    Best,
}

/// The longest way from the start of each node to the end.
pub(crate) fn upward(problem: &Problem, rank_cost: RankCost) -> Vec<f64> {
    let mut rank = vec![0.0; problem.node_count()];
    let mut mean_copies = (rank_cost != RankCost::Best).then(|| MeanCopies::new(problem, rank_cost));
    for &node in problem.order.iter().rev() {
        let node = node as usize;
        let mut below = 0.0f64;
        for &e in problem.out_edges.row(node) {
            let to = problem.edges[e as usize].to as usize;
            let copy = mean_copies.as_mut().map_or(0.0, |mean_copies| mean_copies.mean(e));
            below = below.max(rank[to] + copy);
        }
        rank[node] = below + cost(problem, node, rank_cost);
    }
    rank
}

fn cost(problem: &Problem, node: usize, rank_cost: RankCost) -> f64 {
    let allowed = &problem.unit_of(node).allowed;
    let seconds = |d: u16| problem.seconds(node, d.into());
    match rank_cost {
        RankCost::Mean => mean(allowed.iter().map(|&d| (seconds(d), 1.0))),
        RankCost::Slots => mean(allowed.iter().map(|&d| (seconds(d), slots(problem, d)))),
        RankCost::Best => allowed.iter().map(|&d| seconds(d)).fold(f64::INFINITY, f64::min),
    }
}

fn slots(problem: &Problem, device: u16) -> f64 {
    f64::from(problem.devices[device as usize].slots)
}

/// The mean seconds of an edge over the pairs of devices that its ends may be on. A mean over links is linear
/// in the bytes, so one pair of numbers serves all edges between the same two sets of devices.
struct MeanCopies<'p> {
    problem: &'p Problem,
    rank_cost: RankCost,
    /// For each unit, the first unit with the same devices.
    set_of: Vec<u32>,
    links: HashMap<(u32, u32), (f64, f64)>,
    /// By two sets and a pattern of prices.
    prices: HashMap<(u32, u32, u32), Weights>,
}

/// How much each place of some prices weighs, and what costs nothing.
struct Weights {
    places: Vec<(u32, f64)>,
    free: f64,
}

/// From this many pairs of devices on, edges with the same pattern of prices share the counting of them.
const MANY_PAIRS: usize = 4096;

impl<'p> MeanCopies<'p> {
    fn new(problem: &'p Problem, rank_cost: RankCost) -> MeanCopies<'p> {
        let mut first: HashMap<&[u16], u32> = HashMap::new();
        let units = problem.units.iter().enumerate();
        let set_of = units.map(|(i, u)| *first.entry(&u.allowed).or_insert(i as u32)).collect();
        MeanCopies { problem, rank_cost, set_of, links: HashMap::new(), prices: HashMap::new() }
    }

    fn mean(&mut self, edge: u32) -> f64 {
        let problem = self.problem;
        let row = problem.edges[edge as usize];
        let (from, to) = (problem.nodes[row.from as usize].unit, problem.nodes[row.to as usize].unit);
        if from == to {
            return 0.0;
        }
        let (from, to) = (self.set_of[from as usize], self.set_of[to as usize]);
        let (a, b) = (&problem.units[from as usize].allowed, &problem.units[to as usize].allowed);
        let weight = |a: u16, b: u16| match self.rank_cost {
            RankCost::Mean | RankCost::Best => 1.0,
            RankCost::Slots => slots(problem, a) * slots(problem, b),
        };
        let pairs = || a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b)));
        if row.price != NONE && a.len() * b.len() >= MANY_PAIRS {
            let book = &problem.prices;
            let pattern = book.pattern_of(row.price);
            let weights = self.prices.entry((from, to, pattern)).or_insert_with(|| {
                let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
                let mut free = 0.0;
                for (a, b) in pairs() {
                    match book.place(pattern, a, b) {
                        _ if a == b => free += weight(a, b),
                        Some(place) => *weights.entry(place).or_default() += weight(a, b),
                        None => {}
                    }
                }
                Weights { places: weights.into_iter().collect(), free }
            });
            let priced = weights.places.iter().map(|&(place, weight)| (book.value(row.price, place), weight));
            return mean(priced.chain([(0.0, weights.free)]));
        }
        if row.price != NONE {
            return mean(pairs().map(|(a, b)| (problem.edge_copy(edge, a, b), weight(a, b))));
        }
        let (fixed, per_byte) = *self.links.entry((from, to)).or_insert_with(|| {
            let at = |bytes: f64| {
                let seconds = |a: u16, b: u16| if a == b { 0.0 } else { problem.routes.seconds(bytes, a, b) };
                mean(pairs().map(|(a, b)| (seconds(a, b), weight(a, b))))
            };
            (at(0.0), at(1.0) - at(0.0))
        });
        fixed + per_byte * row.bytes
    }
}

/// The mean of those values that are finite, each with its weight.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (value, weight) in values.filter(|v| v.0.is_finite()) {
        sum += value * weight;
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The longest way from the end of each node to the end of everything, with every node on its device and
/// links to themselves.
pub(crate) fn tails(problem: &Problem, devices: &[u16]) -> Vec<f64> {
    let mut tail = vec![0.0; problem.node_count()];
    for &node in problem.order.iter().rev() {
        let node = node as usize;
        let ways = problem.out_edges.row(node).iter().map(|&e| {
            let to = problem.edges[e as usize].to as usize;
            let copy = problem.edge_copy(e, devices[node], devices[to]);
            copy + problem.seconds(to, devices[to].into()) + tail[to]
        });
        tail[node] = ways.fold(0.0, f64::max);
    }
    tail
}
