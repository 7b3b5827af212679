//! One path, cut into stretches that stay on one device: each must fit its device's memory, and each cut is a
//! copy.

use super::Classes;
use crate::problem::Problem;

/// Cells of the recurrence that an answer may spend.
const MOST: usize = 2_000_000;

pub(super) fn bound(problem: &Problem, classes: &Classes, path: &[u32]) -> f64 {
    let (length, count) = (path.len(), classes.len());
    if length == 0 || length * length * count > MOST {
        return 0.0;
    }
    let edges: Vec<u32> = path.windows(2).filter_map(|pair| edge(problem, pair[0], pair[1])).collect();
    if edges.len() + 1 != length {
        return 0.0;
    }
    let cost = |i: usize, k: usize| {
        let device = classes.first[k];
        let allowed = &problem.unit_of(path[i] as usize).allowed;
        if allowed.contains(&device) {
            problem.seconds(path[i] as usize, device.into())
        } else {
            f64::INFINITY
        }
    };
    // done[i × class]: the first i nodes, the last of them on that class.
    let mut done = vec![f64::INFINITY; (length + 1) * count];
    for begin in 0..length {
        for k in 0..count {
            let entry = if begin == 0 {
                0.0
            } else {
                let others = (0..count)
                    .filter(|&j| j != k)
                    .map(|j| done[begin * count + j] + classes.copy(problem, edges[begin - 1], j, k));
                let twin = done[begin * count + k] + classes.copy_among(problem, edges[begin - 1], k);
                others.fold(twin, f64::min)
            };
            if !entry.is_finite() {
                continue;
            }
            let limit = problem.limit(classes.first[k].into());
            let (mut seconds, mut bytes) = (entry, 0.0);
            let mut residents: Vec<u32> = Vec::new();
            for end in begin..length {
                let node = path[end] as usize;
                seconds += cost(end, k);
                bytes += problem.nodes[node].memory;
                for &r in problem.uses.row(node) {
                    if !residents.contains(&r) {
                        residents.push(r);
                        bytes += problem.residents[r as usize].bytes;
                    }
                }
                if !seconds.is_finite() || bytes > limit {
                    break;
                }
                let cell = &mut done[(end + 1) * count + k];
                *cell = cell.min(seconds);
            }
        }
    }
    let least = done[length * count..].iter().copied().fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

fn edge(problem: &Problem, from: u32, to: u32) -> Option<u32> {
    problem.out_edges.row(from as usize).iter().copied().find(|&e| problem.edges[e as usize].to == to)
}
