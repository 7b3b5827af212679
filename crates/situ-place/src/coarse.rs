//! A problem with clusters of nodes in place of nodes: smaller, and what belongs together stays together.
//!
//! Promised: clusters that no way leaves and comes back to make a problem without cycles, on the same
//! devices, whose schedules are schedules of the full problem. Its times are estimates: a cluster begins when
//! everything that any of its nodes reads is there. Left to others: which nodes make a cluster.

use crate::algorithms::{Best, Timed};
use crate::error::PlaceError;
use crate::orders::by_key;
use crate::placement::Schedule;
use crate::problem::{NONE, Problem, ProblemBuilder};
use crate::ranks::tails;
use crate::timer::Timer;
use std::collections::HashMap;

/// Seconds that building the problem takes for each link, node on a device, and edge, about.
const A_LINK: f64 = 1e-6;
const A_PAIR: f64 = 2e-8;
const AN_EDGE: f64 = 4e-7;

pub(crate) struct Coarse {
    pub problem: Problem,
    /// The cluster of each node.
    cluster: Vec<u32>,
}

impl Coarse {
    /// The problem of clusters, numbered from 0; none if they can't make one. Nodes of one cluster may run on
    /// the same devices, and only a cluster of one node may be a member of a colocation group.
    pub(crate) fn new(
        problem: &Problem,
        cluster: Vec<u32>,
        timer: &Timer,
    ) -> Result<Option<Coarse>, PlaceError> {
        let pairs = problem.node_count() * problem.device_count();
        let seconds = A_LINK * problem.links.len() as f64 + A_PAIR * pairs as f64;
        timer.require(seconds + AN_EDGE * problem.edges.len() as f64)?;
        let Some(b) = builder(problem, &cluster) else { return Ok(None) };
        let Some(b) = join(problem, &cluster, b, timer)? else { return Ok(None) };
        Ok(b.build().ok().map(|problem| Coarse { problem, cluster }))
    }

    /// The full problem's schedule: every node where its cluster is. In the order of the clusters, or by
    /// urgency, whichever is done sooner.
    pub(crate) fn lift(
        &self,
        problem: &Problem,
        coarse: &Schedule,
        timer: &Timer,
    ) -> Result<Timed, PlaceError> {
        let devices: Vec<u16> = self.cluster.iter().map(|&c| coarse.devices[c as usize]).collect();
        let mut best = Best::default();
        let tails = tails(problem, &devices);
        let by_urgency = by_key(problem, |n| tails[n] + problem.seconds(n, devices[n].into()));
        for order in [self.in_clusters(problem, coarse), by_urgency] {
            best.offer(Timed::new(problem, Schedule { devices: devices.clone(), order }, timer));
        }
        best.get("blocks")
    }

    /// The nodes in the order of their clusters.
    fn in_clusters(&self, problem: &Problem, coarse: &Schedule) -> Vec<u32> {
        let mut place = vec![0u32; coarse.order.len()];
        for (i, &cluster) in coarse.order.iter().enumerate() {
            place[cluster as usize] = i as u32;
        }
        let mut order = problem.order.clone();
        // Stable: within a cluster the topological order stays.
        order.sort_by_key(|&n| place[self.cluster[n as usize] as usize]);
        order
    }
}

/// The problem of clusters but for its edges.
fn builder(problem: &Problem, cluster: &[u32]) -> Option<ProblemBuilder> {
    let count = cluster.iter().max().map_or(0, |&last| last as usize + 1);
    let mut b = ProblemBuilder::new();
    for device in problem.devices() {
        b.device(device.clone());
    }
    let number: HashMap<&str, usize> = problem.devices.iter().map(|d| d.name.as_str()).zip(0..).collect();
    for link in &problem.links {
        let (from, to) = (number.get(link.from.as_str())?, number.get(link.to.as_str())?);
        b.link(*from, *to, link.latency, link.bandwidth, link.shared.as_deref());
    }
    for resident in &problem.residents {
        b.resident(resident.name.clone(), resident.bytes);
    }
    let mut first: Vec<Option<usize>> = vec![None; count];
    let mut sums = vec![0.0; count * problem.device_count()];
    let (mut memory, mut output) = (vec![0.0; count], vec![0.0; count]);
    for node in 0..problem.node_count() {
        let at = cluster[node] as usize;
        first[at].get_or_insert(node);
        for &d in problem.unit_of(node).allowed.iter() {
            sums[at * problem.device_count() + d as usize] += problem.seconds(node, d.into());
        }
        memory[at] += problem.nodes[node].memory;
        let readers = problem.readers.row(node);
        // What is read inside the cluster alone comes and goes with it.
        if readers.is_empty() || readers.iter().any(|&r| cluster[r as usize] != cluster[node]) {
            output[at] += problem.nodes[node].output_bytes;
        }
    }
    for at in 0..count {
        let node = b.node(String::new(), output[at]);
        b.memory(node, memory[at]);
        for &d in problem.unit_of(first[at]?).allowed.iter() {
            b.cost(node, d.into(), sums[at * problem.device_count() + d as usize]);
        }
    }
    for (node, &at) in cluster.iter().enumerate() {
        problem.uses.row(node).iter().for_each(|&r| b.uses(at as usize, r as usize));
    }
    for unit in problem.units.iter().filter(|u| u.members.len() > 1) {
        for pair in unit.members.windows(2) {
            b.together(cluster[pair[0] as usize] as usize, cluster[pair[1] as usize] as usize);
        }
    }
    Some(b)
}

/// One edge for all that one cluster reads of another: each output once.
fn join(
    problem: &Problem,
    cluster: &[u32],
    mut b: ProblemBuilder,
    timer: &Timer,
) -> Result<Option<ProblemBuilder>, PlaceError> {
    let is_priced = problem.edges.iter().any(|e| e.price != NONE);
    if is_priced && problem.edges.iter().any(|e| e.price == NONE) {
        return Ok(None);
    }
    // Per pair of clusters: the bytes, and the edges that are paid.
    let mut pairs: HashMap<(u32, u32), (f64, Vec<u32>)> = HashMap::new();
    let mut sorted: Vec<(u32, u32)> = Vec::new();
    // The last node that was sent to each cluster.
    let mut served = vec![NONE; cluster.len()];
    for node in 0..problem.node_count() {
        timer.spend(20 * problem.out_edges.row(node).len())?;
        for &e in problem.out_edges.row(node) {
            let edge = &problem.edges[e as usize];
            let (from, to) = (cluster[node], cluster[edge.to as usize]);
            if from == to || served[to as usize] == node as u32 {
                continue;
            }
            served[to as usize] = node as u32;
            let (bytes, edges) = pairs.entry((from, to)).or_insert_with(|| {
                sorted.push((from, to));
                (0.0, Vec::new())
            });
            *bytes += edge.bytes;
            edges.push(e);
        }
    }
    let count = problem.device_count() as u16;
    for pair in sorted {
        let (bytes, edges) = &pairs[&pair];
        let (from, to) = (pair.0 as usize, pair.1 as usize);
        if !is_priced {
            b.edge_bytes(from, to, *bytes);
            continue;
        }
        let mut prices = Vec::new();
        for a in 0..count {
            timer.spend(4 * count as usize * edges.len())?;
            for c in (0..count).filter(|&c| c != a) {
                let seconds: f64 = edges.iter().map(|&e| problem.edge_copy(e, a, c)).sum();
                if seconds.is_finite() {
                    prices.push((a.into(), c.into(), seconds));
                }
            }
        }
        b.edge_priced(from, to, &prices);
    }
    Ok(Some(b))
}
