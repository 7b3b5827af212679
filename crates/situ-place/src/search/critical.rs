//! A critical path: from the node that is done last back through what each node waited for.

use super::Search;

impl Search<'_> {
    /// Finds the path again if the schedule has changed.
    pub(super) fn find_critical(&mut self) {
        if !std::mem::replace(&mut self.critical_is_stale, false) {
            return;
        }
        let engine = &self.engine;
        self.critical.clear();
        let last = (0..engine.finish.len()).max_by(|&a, &b| engine.finish[a].total_cmp(&engine.finish[b]));
        let mut next = last;
        while let Some(node) = next {
            self.critical.push(node as u32);
            next = self.waited_for(node);
        }
        self.critical.reverse();
    }

    /// The input that came last, unless the device was busy until then: then the node before it there.
    fn waited_for(&self, node: usize) -> Option<usize> {
        let engine = &self.engine;
        let (device, start) = (engine.devices[node], engine.start[node]);
        if start <= 0.0 {
            return None;
        }
        let slack = start * 1e-12;
        let mut latest: Option<(f64, usize)> = None;
        for &e in self.problem.in_edges.row(node) {
            let from = self.problem.edges[e as usize].from as usize;
            let there = engine.finish[from] + self.problem.edge_copy(e, engine.devices[from], device);
            if latest.is_none_or(|l| there > l.0) {
                latest = Some((there, from));
            }
        }
        if let Some((there, from)) = latest.filter(|l| l.0 >= start - slack) {
            debug_assert!(there.is_finite());
            return Some(from);
        }
        let before = engine.order[..engine.place_of(node)].iter().rev().map(|&n| n as usize);
        let group = self.problem.compute_of[device as usize];
        let busy = before.into_iter().find(|&n| {
            let there = engine.devices[n];
            let rival = there == device
                || (group != crate::problem::NONE && self.problem.compute_of[there as usize] == group);
            rival && (engine.finish[n] - start).abs() <= slack && engine.start[n] < start
        });
        // A copy that waited for its link: the input is what it was about.
        busy.or(latest.map(|l| l.1))
    }
}
