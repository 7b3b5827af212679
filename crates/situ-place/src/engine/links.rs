//! Copies over links in the incremental simulator: which exist, and when the links are busy.

use crate::problem::{NONE, Problem, Route};

/// A busy span of a channel, and the place of the node that it was made for.
type Span = (f64, f64, u32);

/// A copy of a node's output on a device: when it is there, and the place of the node it was made for.
#[derive(Clone, Copy)]
struct Copy {
    by: u32,
    /// The trial that made it; the kept schedule's copies have none.
    trial: u32,
    finish: f64,
}

pub(super) struct Links {
    devices: usize,
    kept_spans: Vec<Vec<Span>>,
    spans: Vec<Vec<Span>>,
    kept: Vec<Copy>,
    fresh: Vec<Copy>,
    /// The kept copies in the order in which they were made, as (node × device, place).
    made: Vec<(u32, u32)>,
    log: Vec<(u32, u32)>,
    trial: u32,
    first: u32,
}

impl Links {
    pub(super) fn new(problem: &Problem) -> Links {
        let cells = problem.node_count() * problem.device_count();
        let none = Copy { by: NONE, trial: 0, finish: 0.0 };
        Links {
            devices: problem.device_count(),
            kept_spans: vec![Vec::new(); problem.routes.channels],
            spans: vec![Vec::new(); problem.routes.channels],
            kept: vec![none; cells],
            fresh: vec![none; cells],
            made: Vec::new(),
            log: Vec::new(),
            trial: 0,
            first: 0,
        }
    }

    /// A trial run begins at a place: what was made for earlier nodes stays.
    pub(super) fn begin(&mut self, first: usize) {
        self.trial += 1;
        self.first = first as u32;
        self.log.clear();
        for (spans, kept) in self.spans.iter_mut().zip(&self.kept_spans) {
            spans.clear();
            spans.extend(kept.iter().filter(|s| s.2 < first as u32));
        }
    }

    /// The trial's copies are the kept ones from now on.
    pub(super) fn keep(&mut self) {
        std::mem::swap(&mut self.spans, &mut self.kept_spans);
        let stays = self.made.partition_point(|&(_, by)| by < self.first);
        for &(cell, _) in &self.made[stays..] {
            self.kept[cell as usize].by = NONE;
        }
        self.made.truncate(stays);
        for &(cell, by) in &self.log {
            self.kept[cell as usize] = self.fresh[cell as usize];
            self.made.push((cell, by));
        }
    }

    /// When a node's output is on a device, which is not its home; infinite where nothing leads there.
    pub(super) fn arrival(
        &mut self,
        problem: &Problem,
        devices: &[u16],
        node: usize,
        done: f64,
        to: u16,
        by: usize,
    ) -> f64 {
        let cell = node * self.devices + to as usize;
        if self.kept[cell].by < self.first {
            return self.kept[cell].finish;
        }
        if self.fresh[cell].trial == self.trial {
            return self.fresh[cell].finish;
        }
        let home = devices[node];
        let (from, ready) = match problem.routes.get(home, to) {
            Route::None => return f64::INFINITY,
            Route::Direct(_) => (home, done),
            Route::Via(middle) => (middle, self.arrival(problem, devices, node, done, middle, by)),
        };
        let Some(link) = problem.routes.link(from, to) else { return f64::INFINITY };
        let seconds = link.latency + problem.copied_bytes(node, devices, to) / link.bandwidth;
        let start = self.claim(link.channel as usize, ready, seconds, by as u32);
        let finish = start + seconds;
        self.fresh[cell] = Copy { by: by as u32, trial: self.trial, finish };
        self.log.push((cell as u32, by as u32));
        finish
    }

    fn claim(&mut self, channel: usize, ready: f64, seconds: f64, by: u32) -> f64 {
        if seconds <= 0.0 {
            return ready;
        }
        let spans = &mut self.spans[channel];
        let mut at = spans.partition_point(|b| b.1 <= ready);
        let mut start = ready;
        while at < spans.len() && spans[at].0 < start + seconds {
            start = start.max(spans[at].1);
            at += 1;
        }
        spans.insert(at, (start, start + seconds, by));
        start
    }
}
