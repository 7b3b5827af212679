//! The most bytes that each device holds at once, from the times.

use super::{instant, sort::sort_by_time};
use crate::placement::Transfer;
use crate::problem::{Csr, NONE, Problem, Route};

/// One span of bytes in a memory.
#[derive(Clone, Copy)]
struct Life {
    start: f64,
    finish: f64,
    bytes: f64,
}

/// Bytes that stay for the whole step: what nodes hold, and the resident tensors that they use.
pub(crate) fn static_bytes(problem: &Problem, devices: &[u16]) -> Vec<f64> {
    let count = problem.device_count();
    let mut bytes = vec![0.0; count];
    let mut held = vec![false; count * problem.residents.len()];
    for (node, row) in problem.nodes.iter().enumerate() {
        let device = devices[node] as usize;
        bytes[device] += row.memory;
        for &r in problem.uses.row(node) {
            let seen = &mut held[device * problem.residents.len() + r as usize];
            if !std::mem::replace(seen, true) {
                bytes[device] += problem.residents[r as usize].bytes;
            }
        }
    }
    bytes
}

/// Whether every output and every copy fits at once beside what stays, on every device: then no times need be known to
/// say that memory suffices.
pub(crate) fn all_fits(problem: &Problem, devices: &[u16], fixed: impl Fn(usize) -> f64) -> bool {
    let count = problem.device_count();
    let mut bytes: Vec<f64> = (0..count).map(&fixed).collect();
    // A copy counts once per device; CPUs on the way of a copy hold it too.
    let many = count > u128::BITS as usize;
    for (node, row) in problem.nodes.iter().enumerate() {
        let home = devices[node] as usize;
        bytes[home] += row.output_bytes;
        let mut reached: u128 = 0;
        for edge in problem.outs(node) {
            let there = devices[edge.to as usize] as usize;
            if there == home || (!many && reached >> there & 1 == 1) {
                continue;
            }
            if !many {
                reached |= 1 << there;
            }
            let most = row.output_bytes.max(if edge.price == NONE { problem.most_bytes(node) } else { 0.0 });
            bytes[there] += most;
            if let Route::Via(middle) = problem.routes.get(home as u16, there as u16) {
                bytes[middle as usize] += most;
            }
        }
    }
    (0..count).all(|d| bytes[d] <= problem.limit(d))
}

pub(crate) fn peaks(
    problem: &Problem,
    devices: &[u16],
    start: &[f64],
    finish: &[f64],
    transfers: &[Transfer],
    makespan: f64,
) -> Vec<f64> {
    let fixed = static_bytes(problem, devices);
    if problem.nodes.iter().all(|n| n.output_bytes == 0.0) && transfers.iter().all(|t| t.bytes == 0.0) {
        return fixed;
    }
    // What stays for the whole step is freed at its end, before what is taken at that very instant.
    let whole = |&bytes: &f64| vec![Life { start: 0.0, finish: makespan, bytes }];
    let mut lives: Vec<Vec<Life>> = fixed.iter().map(whole).collect();
    // The last use of each output at home, and of each copy.
    let mut home_end = vec![f64::NEG_INFINITY; problem.node_count()];
    let by_node = Csr::new(problem.node_count(), transfers.iter().zip(0..).map(|(t, i)| (t.node as u32, i)));
    let mut ends = Vec::new();
    for node in 0..problem.node_count() {
        let copies = by_node.row(node);
        let home = devices[node] as usize;
        ends.clear();
        ends.resize(copies.len(), f64::NEG_INFINITY);
        for edge in problem.outs(node) {
            let (reader, done) = (devices[edge.to as usize] as usize, finish[edge.to as usize]);
            if reader == home {
                home_end[node] = home_end[node].max(done);
            } else if let Some(at) = copies.iter().position(|&c| transfers[c as usize].to == reader) {
                ends[at] = ends[at].max(done);
            }
        }
        for &c in copies {
            let t = &transfers[c as usize];
            if t.from == home {
                home_end[node] = home_end[node].max(t.finish);
            } else if let Some(at) = copies.iter().position(|&c| transfers[c as usize].to == t.from) {
                ends[at] = ends[at].max(t.finish);
            }
        }
        for (&c, &end) in copies.iter().zip(&ends) {
            let t = &transfers[c as usize];
            lives[t.to].push(Life { start: t.start, finish: end, bytes: t.bytes });
        }
        let end = if home_end[node] == f64::NEG_INFINITY { makespan } else { home_end[node] };
        lives[home].push(Life { start: start[node], finish: end, bytes: problem.nodes[node].output_bytes });
    }
    lives.iter().map(|lives| peak(lives, makespan)).collect()
}

/// At one instant, what began earlier is freed, then the new is taken, then what began just now is freed.
fn peak(lives: &[Life], end: f64) -> f64 {
    let mut events: Vec<(f64, u8, f64)> = Vec::with_capacity(2 * lives.len());
    for life in lives.iter().filter(|l| l.bytes > 0.0) {
        events.push((life.start, 1, life.bytes));
        events.push((life.finish, if life.finish <= life.start { 2 } else { 0 }, -life.bytes));
    }
    sort_by_time(&mut events, end, |e| e.0, |e| (instant(e.0), e.1));
    let (mut used, mut top) = (0.0f64, 0.0f64);
    for (_, _, change) in events {
        used += change;
        top = top.max(used);
    }
    top
}
