//! A critical path: from the node that is done last back through what each node waited for.

use crate::problem::{NONE, Problem};

/// How far back in the order the node is looked for that a slot was busy with.
const FAR: usize = 400;

/// Devices, order and times of a schedule.
pub(crate) struct Times<'a> {
    pub problem: &'a Problem,
    pub devices: &'a [u16],
    pub order: &'a [u32],
    /// The place of each node in the order.
    pub place: &'a [u32],
    pub start: &'a [f64],
    pub finish: &'a [f64],
}

impl Times<'_> {
    /// The nodes on the path, first to last.
    pub(crate) fn critical_path(&self, path: &mut Vec<u32>) {
        path.clear();
        let last = (0..self.finish.len()).max_by(|&a, &b| self.finish[a].total_cmp(&self.finish[b]));
        let mut next = last;
        while let Some(node) = next {
            path.push(node as u32);
            next = self.waited_for(node);
        }
        path.reverse();
    }

    /// The input that came last, unless the device was busy until then: then the node before it there.
    fn waited_for(&self, node: usize) -> Option<usize> {
        let (device, start) = (self.devices[node], self.start[node]);
        if start <= 0.0 {
            return None;
        }
        let slack = start * 1e-12;
        let mut latest: Option<(f64, usize)> = None;
        for &e in self.problem.in_edges.row(node) {
            let from = self.problem.edges[e as usize].from as usize;
            let there = self.finish[from] + self.problem.edge_copy(e, self.devices[from], device);
            if latest.is_none_or(|l| there > l.0) {
                latest = Some((there, from));
            }
        }
        if let Some((_, from)) = latest.filter(|l| l.0 >= start - slack) {
            return Some(from);
        }
        let group = self.problem.compute_of[device as usize];
        let before = self.order[..self.place[node] as usize].iter().rev().take(FAR).map(|&n| n as usize);
        let busy = before.into_iter().find(|&n| {
            let there = self.devices[n];
            let rival =
                there == device || (group != NONE && self.problem.compute_of[there as usize] == group);
            rival && (self.finish[n] - start).abs() <= slack && self.start[n] < start
        });
        // Else a copy that waited for its link, or a start that waited for memory: the input is what it was
        // about.
        busy.or(latest.map(|l| l.1))
    }
}
