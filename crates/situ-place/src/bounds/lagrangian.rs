//! The Lagrangian bound, of paths and area at once: nodes shared out between the classes of devices so that
//! neither the longest way nor the busiest device takes long.
//!
//! What is fast for a path is often not what is good for the area: a path wants every node on the fastest
//! device, the area wants some of them on slow ones. Here a node may be divided between classes, and every
//! path, and every resource in every window of time, says how long the step takes at least. Any mean of what
//! they say is a bound, if each node is then put where that mean is least. The weights of the mean are the
//! Lagrange multipliers of a linear program, found by steps that go back and forth between it and its dual
//! (primal-dual hybrid gradient); they need not be the best ones for the bound to be true.
//!
//! Promised: a true bound for every step shorter than the one that is known, whatever the weights. Copies
//! between classes are left out, but for those in heads and tails.

use super::Classes;
use super::area::Work;
use super::paths::Paths;
use crate::problem::Problem;
use smallvec::SmallVec;

/// Steps at least and at most, and between two looks at the bound.
const FEWEST: usize = 300;
const MOST: usize = 4000;
const BETWEEN: usize = 50;
/// What a step looks at in an edge, and in a node on a class, as nodes.
const PER_EDGE: usize = 1;
const PER_NODE: usize = 2;
/// Beginnings of windows, and as many ends.
const EDGES: usize = 8;
const WINDOWS: usize = EDGES * EDGES;

/// A bound of at most `known`, the makespan of some schedule; none where the effort would not do.
pub(super) fn bound(
    problem: &Problem,
    classes: &Classes,
    paths: &Paths,
    known: f64,
    effort: usize,
    is_over: &dyn Fn() -> bool,
) -> f64 {
    let each = PER_EDGE * problem.edges.len() + PER_NODE * classes.len() * problem.node_count();
    let steps = (effort / each.max(1)).min(MOST);
    if classes.len() < 2 || steps < FEWEST || !known.is_finite() || known <= 0.0 {
        return 0.0;
    }
    let work = Work::new(problem, classes);
    let Some(mut lagrangian) = Lagrangian::new(problem, classes, paths, &work, known) else { return known };
    let mut best = 0.0f64;
    for _ in 0..steps / BETWEEN {
        (0..BETWEEN).for_each(|_| lagrangian.step());
        best = best.max(lagrangian.value());
        if best >= 1.0 || is_over() {
            break;
        }
    }
    best.min(1.0) * known
}

/// The linear program with its multipliers, in shares of the makespan that is known: where each node is, when
/// it starts, when everything ends.
struct Lagrangian<'a> {
    problem: &'a Problem,
    classes: usize,
    resource: &'a [usize],
    resources: usize,
    /// Node × class → seconds, infinite where it can't be; and what they take of the class's resource.
    cost: Vec<f64>,
    load: Vec<f64>,
    head: Vec<f64>,
    tail: Vec<f64>,
    /// Per node, the smallest window that it is in: the same as all that are larger in both ways.
    window: Vec<u8>,
    /// Per window, the time before and after it.
    outside: Vec<f64>,
    /// Node × class → how much of the node is there.
    share: Vec<f64>,
    start: Vec<f64>,
    end: f64,
    /// Where the last step would lead if it were made twice: what the weights are told.
    next_start: Vec<f64>,
    next_seconds: Vec<f64>,
    next_loads: Vec<f64>,
    next_end: f64,
    /// Weights of the paths: what goes over each edge, and what ends with each node.
    over: Vec<f64>,
    ends: Vec<f64>,
    /// Weights of window × resource.
    windows: Vec<f64>,
    stride: Strides,
}

/// How far a step goes: less for what is in many relations.
struct Strides {
    start: Vec<f64>,
    share: Vec<f64>,
    end: f64,
    over: Vec<f64>,
    ends: Vec<f64>,
    windows: Vec<f64>,
}

impl<'a> Lagrangian<'a> {
    /// None if some node can be nowhere.
    fn new(
        problem: &'a Problem,
        classes: &Classes,
        paths: &Paths,
        work: &'a Work,
        known: f64,
    ) -> Option<Lagrangian<'a>> {
        let (nodes, count) = (problem.node_count(), classes.len());
        let mut cost = vec![f64::INFINITY; nodes * count];
        let mut load = vec![0.0; nodes * count];
        let mut share = vec![0.0; nodes * count];
        let mut seconds = vec![f64::INFINITY; nodes];
        for node in 0..nodes {
            let mut best = 0;
            for k in 0..count {
                let at = node * count + k;
                // What makes the step longer than the known one is out of the question.
                if paths.through_at(at) <= known {
                    let slots = f64::from(problem.devices[classes.first[k] as usize].slots);
                    cost[at] = paths.costs()[at] / known;
                    load[at] = cost[at] / (slots * work.count[work.resource[k]]);
                    if cost[at] < seconds[node] {
                        (seconds[node], best) = (cost[at], k);
                    }
                }
            }
            if !seconds[node].is_finite() {
                return None;
            }
            share[node * count + best] = 1.0;
        }
        let head: Vec<f64> = (0..nodes).map(|n| paths.head(n) / known).collect();
        let tail: Vec<f64> = (0..nodes).map(|n| paths.tail(n) / known).collect();
        let (heads, tails) = (edges(&head), edges(&tail));
        let place = |edges: &[f64], of: f64| edges.partition_point(|&edge| edge <= of).saturating_sub(1);
        let window = (0..nodes).map(|n| (place(&heads, head[n]) * EDGES + place(&tails, tail[n])) as u8);
        let window: Vec<u8> = window.collect();
        // A window with nothing in it says nothing.
        let has = |w: usize, of: u8| of as usize / EDGES >= w / EDGES && of as usize % EDGES >= w % EDGES;
        let outside = (0..WINDOWS).map(|w| match window.iter().any(|&of| has(w, of)) {
            true => heads[w / EDGES] + tails[w % EDGES],
            false => 0.0,
        });
        let outside = outside.collect();
        let resources = work.count.len();
        let stride = Strides::new(problem, &cost, &load, &window, &work.resource, resources);
        Some(Lagrangian {
            problem,
            classes: count,
            resource: &work.resource,
            resources,
            cost,
            load,
            start: head.clone(),
            next_start: head.clone(),
            head,
            tail,
            window,
            outside,
            share,
            end: 1.0,
            next_seconds: seconds,
            next_loads: vec![0.0; WINDOWS * resources],
            next_end: 1.0,
            over: vec![0.0; problem.edges.len()],
            ends: vec![0.0; nodes],
            windows: vec![0.0; WINDOWS * resources],
            stride,
        })
    }

    /// What is late gains weight; then what has weight is made earlier.
    fn step(&mut self) {
        let total = self.raise_weights();
        let (count, resources) = (self.classes, self.resources);
        let prices = self.prices();
        self.next_loads.fill(0.0);
        for node in 0..self.start.len() {
            let weight = |edges: &[u32]| edges.iter().map(|&e| self.over[e as usize]).sum::<f64>();
            let after = self.ends[node] + weight(self.problem.out_edges.row(node));
            let before = weight(self.problem.in_edges.row(node));
            let start = (self.start[node] - self.stride.start[node] * (after - before)).max(self.head[node]);
            self.next_start[node] = 2.0 * start - self.start[node];
            self.start[node] = start;
            let window = self.window[node] as usize;
            let row = node * count..(node + 1) * count;
            let mut shares: SmallVec<[f64; 8]> = SmallVec::new();
            for (k, at) in row.clone().enumerate() {
                let price = prices[window * resources + self.resource[k]];
                let slope = self.cost[at] * after + self.load[at] * price;
                let is_possible = self.cost[at].is_finite();
                let share = self.share[at] - self.stride.share[node] * slope;
                shares.push(if is_possible { share } else { f64::NEG_INFINITY });
            }
            make_whole(&mut shares);
            let mut seconds = 0.0;
            for (k, at) in row.enumerate().filter(|&(_, at)| self.cost[at].is_finite()) {
                let next = 2.0 * shares[k] - self.share[at];
                self.share[at] = shares[k];
                seconds += next * self.cost[at];
                self.next_loads[window * resources + self.resource[k]] += next * self.load[at];
            }
            self.next_seconds[node] = seconds;
        }
        self.spread_loads();
        let end = self.end - self.stride.end * (1.0 - total);
        self.next_end = 2.0 * end - self.end;
        self.end = end;
    }

    /// Returns the sum of the weights, but for those of edges.
    fn raise_weights(&mut self) -> f64 {
        for (e, edge) in self.problem.edges.iter().enumerate() {
            let (from, to) = (edge.from as usize, edge.to as usize);
            let late = self.next_start[from] + self.next_seconds[from] - self.next_start[to];
            self.over[e] = (self.over[e] + self.stride.over[e] * late).max(0.0);
        }
        let mut total = 0.0;
        for node in 0..self.ends.len() {
            let done = self.next_start[node] + self.next_seconds[node] + self.tail[node];
            let late = done - self.next_end;
            self.ends[node] = (self.ends[node] + self.stride.ends[node] * late).max(0.0);
            total += self.ends[node];
        }
        for at in 0..self.windows.len() {
            let late = self.outside[at / self.resources] + self.next_loads[at] - self.next_end;
            self.windows[at] = (self.windows[at] + self.stride.windows[at] * late).max(0.0);
            total += self.windows[at];
        }
        total
    }

    /// What is in a window is in all larger ones.
    fn spread_loads(&mut self) {
        let each = self.resources;
        for i in (0..WINDOWS).rev() {
            for r in 0..each {
                if i / EDGES + 1 < EDGES {
                    self.next_loads[i * each + r] += self.next_loads[(i + EDGES) * each + r];
                }
            }
        }
        for i in (0..WINDOWS).rev().filter(|i| i % EDGES + 1 < EDGES) {
            for r in 0..each {
                self.next_loads[i * each + r] += self.next_loads[(i + 1) * each + r];
            }
        }
    }

    /// Per window and resource, the weights of all windows that a node of this one is in.
    fn prices(&self) -> Vec<f64> {
        let each = self.resources;
        let mut prices = self.windows.clone();
        for i in EDGES * each..prices.len() {
            prices[i] += prices[i - EDGES * each];
        }
        for i in (0..prices.len()).filter(|i| !(i / each).is_multiple_of(EDGES)) {
            prices[i] += prices[i - each];
        }
        prices
    }

    /// The bound by the weights, made to add up: what goes into a node has come out of others, or begins
    /// there.
    fn value(&self) -> f64 {
        let total = self.ends.iter().sum::<f64>() + self.windows.iter().sum::<f64>();
        if total <= 0.0 {
            return 0.0;
        }
        let outside = self.windows.iter().enumerate().map(|(at, w)| w * self.outside[at / self.resources]);
        let mut value = outside.sum::<f64>() / total;
        let prices = self.prices();
        let mut flow: Vec<f64> = self.ends.iter().map(|w| w / total).collect();
        value += flow.iter().zip(&self.tail).map(|(f, t)| f * t).sum::<f64>();
        for &node in self.problem.order.iter().rev() {
            let node = node as usize;
            let edges = self.problem.in_edges.row(node);
            let entering = edges.iter().map(|&e| self.over[e as usize] / total).sum::<f64>();
            let scale = if entering > flow[node] { flow[node] / entering } else { 1.0 };
            let mut begins = flow[node];
            for &e in edges {
                let part = (self.over[e as usize] / total * scale).min(begins);
                flow[self.problem.edges[e as usize].from as usize] += part;
                begins -= part;
            }
            value += begins * self.head[node];
            let prices = &prices[self.window[node] as usize * self.resources..][..self.resources];
            let row = node * self.classes..(node + 1) * self.classes;
            let places = row.enumerate().filter(|&(_, at)| self.cost[at].is_finite());
            let places = places
                .map(|(k, at)| self.cost[at] * flow[node] + self.load[at] * prices[self.resource[k]] / total);
            value += places.fold(f64::INFINITY, f64::min);
        }
        value
    }
}

impl Strides {
    fn new(
        problem: &Problem,
        cost: &[f64],
        load: &[f64],
        window: &[u8],
        resource: &[usize],
        resources: usize,
    ) -> Strides {
        let (nodes, count) = (problem.node_count(), resource.len());
        let mut inside = vec![0.0; WINDOWS * resources];
        let mut share = Vec::with_capacity(nodes);
        let mut seconds = Vec::with_capacity(nodes);
        for (node, &window) in window.iter().enumerate() {
            let after = (problem.readers.row(node).len() + 1) as f64;
            let (last_head, last_tail) = (window as usize / EDGES, window as usize % EDGES);
            let windows = ((last_head + 1) * (last_tail + 1)) as f64;
            let (mut most, mut sum) = (0.0f64, 0.0);
            for (k, &resource) in resource.iter().enumerate() {
                let at = node * count + k;
                if cost[at].is_finite() {
                    most = most.max(cost[at] * after + load[at] * windows);
                    sum += cost[at];
                    for w in (0..WINDOWS).filter(|w| w / EDGES <= last_head && w % EDGES <= last_tail) {
                        inside[w * resources + resource] += load[at];
                    }
                }
            }
            // One for all classes: shares that are in balance must stay so.
            share.push(1.0 / most.max(1e-9));
            seconds.push(sum);
        }
        let degree = |n: usize| (problem.readers.row(n).len() + problem.inputs.row(n).len() + 1) as f64;
        Strides {
            start: (0..nodes).map(|n| 1.0 / degree(n)).collect(),
            share,
            end: 1.0 / (nodes + inside.len()) as f64,
            over: problem.edges.iter().map(|e| 1.0 / (2.0 + seconds[e.from as usize])).collect(),
            ends: seconds.iter().map(|s| 1.0 / (2.0 + s)).collect(),
            windows: inside.iter().map(|s| 1.0 / (1.0 + s)).collect(),
        }
    }
}

/// The nearest shares that are not negative and add up to one.
fn make_whole(shares: &mut [f64]) {
    let mut sorted: SmallVec<[f64; 8]> = shares.iter().copied().filter(|s| s.is_finite()).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut cut) = (0.0, 0.0);
    for (i, &share) in sorted.iter().enumerate() {
        sum += share;
        let level = (sum - 1.0) / (i + 1) as f64;
        if share > level {
            cut = level;
        }
    }
    shares.iter_mut().for_each(|s| *s = (*s - cut).max(0.0));
}

/// Values at which windows begin or end, in order.
fn edges(of: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Few nodes are beyond the last.
    (0..EDGES).map(|i| sorted[i * (sorted.len() - 1) / (EDGES + 2)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_made_whole_by_the_least_change() {
        let mut shares = [0.9, 0.5, f64::NEG_INFINITY];
        make_whole(&mut shares);
        assert!((shares[0] - 0.7).abs() < 1e-12 && (shares[1] - 0.3).abs() < 1e-12);
        assert_eq!(shares[2], 0.0);
        let mut shares = [3.0, 0.5];
        make_whole(&mut shares);
        assert_eq!(shares, [1.0, 0.0]);
    }
}
