//! How urgent a node is: the longest way from it to the end, in several currencies.

use crate::problem::Problem;

/// Which of a node's costs, and of its copies', count on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Currency {
    /// The mean over devices.
    Mean,
    /// The least over devices, and free copies.
    Best,
    /// The most over devices.
    Worst,
}

/// The longest way from the start of each node to the end.
pub(crate) fn upward(problem: &Problem, currency: Currency) -> Vec<f64> {
    let mut rank = vec![0.0; problem.node_count()];
    for &node in problem.order.iter().rev() {
        let node = node as usize;
        let below = problem.out_edges.row(node).iter().map(|&e| {
            let to = problem.edges[e as usize].to as usize;
            rank[to] + copy(problem, e, currency)
        });
        let below = below.fold(0.0, f64::max);
        rank[node] = below + cost(problem, node, currency);
    }
    rank
}

fn cost(problem: &Problem, node: usize, currency: Currency) -> f64 {
    let unit = problem.unit_of(node);
    let seconds = unit.allowed.iter().map(|&d| problem.seconds(node, d.into()));
    match currency {
        Currency::Mean => seconds.sum::<f64>() / unit.allowed.len().max(1) as f64,
        Currency::Best => seconds.fold(f64::INFINITY, f64::min),
        Currency::Worst => seconds.fold(0.0, f64::max),
    }
}

/// The mean price of an edge over the pairs of different devices that its ends may be on.
fn copy(problem: &Problem, edge: u32, currency: Currency) -> f64 {
    if currency == Currency::Best {
        return 0.0;
    }
    let row = problem.edges[edge as usize];
    let (from, to) = (problem.unit_of(row.from as usize), problem.unit_of(row.to as usize));
    if problem.nodes[row.from as usize].unit == problem.nodes[row.to as usize].unit {
        return 0.0;
    }
    let (mut sum, mut most, mut count) = (0.0, 0.0f64, 0usize);
    for &a in &from.allowed {
        for &b in &to.allowed {
            let seconds = problem.edge_copy(edge, a, b);
            if seconds.is_finite() {
                sum += seconds;
                most = most.max(seconds);
                count += 1;
            }
        }
    }
    if currency == Currency::Worst { most } else { sum / count.max(1) as f64 }
}

/// The longest way from the end of each node to the end of everything, with every node on its device and links to
/// themselves.
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
