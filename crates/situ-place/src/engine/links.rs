//! Copies over links in the incremental simulator: which exist, and when the links are busy.

use crate::busy::point_from_end;
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

/// A copy that was made: of which node × device, for the node at which place, and over which channel.
#[derive(Clone, Copy)]
struct Made {
    cell: u32,
    by: u32,
    channel: u32,
}

/// From this many channels on it pays to look up which of them a trial concerns.
const MANY_CHANNELS: usize = 64;

pub(super) struct Links {
    devices: usize,
    /// Busy spans of the kept schedule, in order.
    kept_spans: Vec<Vec<Span>>,
    /// Busy spans of the trial, in order: those beside what the kept schedule made for earlier nodes.
    fresh_spans: Vec<Vec<Span>>,
    merged: Vec<Span>,
    kept: Vec<Copy>,
    fresh: Vec<Copy>,
    /// The kept copies in the order in which they were made, and the trial's.
    made: Vec<Made>,
    log: Vec<Made>,
    /// Channels on which the trial has spans.
    touched: Vec<u32>,
    trial: u32,
    first: u32,
    /// How many of the trial's copies are just as they were.
    matching: u32,
}

impl Links {
    pub(super) fn new(problem: &Problem) -> Links {
        let cells = problem.node_count() * problem.device_count();
        let none = Copy { by: NONE, trial: 0, finish: 0.0 };
        Links {
            devices: problem.device_count(),
            kept_spans: vec![Vec::new(); problem.routes.channels],
            fresh_spans: vec![Vec::new(); problem.routes.channels],
            merged: Vec::new(),
            kept: vec![none; cells],
            fresh: vec![none; cells],
            made: Vec::new(),
            log: Vec::new(),
            touched: Vec::new(),
            trial: 0,
            first: 0,
            matching: 0,
        }
    }

    /// A trial run begins at a place: what was made for earlier nodes stays.
    pub(super) fn begin(&mut self, first: usize) {
        self.trial += 1;
        self.first = first as u32;
        self.log.clear();
        self.matching = 0;
        self.touched.drain(..).for_each(|channel| self.fresh_spans[channel as usize].clear());
    }

    /// The trial's copies are the kept ones from now on, up to the place at which it stopped.
    pub(super) fn keep(&mut self, until: usize) {
        let until = until as u32;
        let stays = self.made.partition_point(|made| made.by < self.first);
        let ends = self.made.partition_point(|made| made.by < until);
        let mut channels: Vec<u32> = Vec::new();
        if self.kept_spans.len() < MANY_CHANNELS {
            channels.extend(0..self.kept_spans.len() as u32);
        } else {
            channels
                .extend(self.made[stays..ends].iter().map(|made| made.channel).chain(self.touched.clone()));
            channels.sort_unstable();
            channels.dedup();
        }
        for channel in channels {
            let (kept, fresh) = (&mut self.kept_spans[channel as usize], &self.fresh_spans[channel as usize]);
            merge(kept, fresh, self.first..until, &mut self.merged);
            std::mem::swap(kept, &mut self.merged);
        }
        for made in &self.made[stays..ends] {
            self.kept[made.cell as usize].by = NONE;
        }
        for made in &self.log {
            self.kept[made.cell as usize] = self.fresh[made.cell as usize];
        }
        self.made.splice(stays..ends, self.log.iter().copied());
    }

    /// Whether the trial's copies for the nodes up to a place are those of the kept schedule.
    pub(super) fn same_until(&self, place: usize) -> bool {
        let stays = self.made.partition_point(|made| made.by < self.first);
        let ends = self.made.partition_point(|made| made.by < place as u32);
        self.matching as usize == self.log.len() && self.log.len() == ends - stays
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
        let kept = self.kept[cell];
        // Compared by place too: what is kept for a later node must still be made for it.
        self.matching += u32::from(kept.by == by as u32 && kept.finish == finish);
        self.fresh[cell] = Copy { by: by as u32, trial: self.trial, finish };
        self.log.push(Made { cell: cell as u32, by: by as u32, channel: link.channel });
        finish
    }

    fn claim(&mut self, channel: usize, ready: f64, seconds: f64, by: u32) -> f64 {
        if seconds <= 0.0 {
            return ready;
        }
        let (kept, fresh) = (&self.kept_spans[channel], &mut self.fresh_spans[channel]);
        let mut at = kept.partition_point(|b| b.1 <= ready);
        let mut place = point_from_end(fresh, |b| b.1 <= ready);
        let mut start = ready;
        loop {
            let before = start;
            while at < kept.len() && kept[at].0 < start + seconds {
                if kept[at].2 < self.first {
                    start = start.max(kept[at].1);
                }
                at += 1;
            }
            while place < fresh.len() && fresh[place].0 < start + seconds {
                start = start.max(fresh[place].1);
                place += 1;
            }
            if start == before {
                break;
            }
        }
        if fresh.is_empty() {
            self.touched.push(channel as u32);
        }
        fresh.insert(place, (start, start + seconds, by));
        start
    }
}

/// The kept spans without those made for nodes in a range of places, and the fresh ones, in order.
fn merge(kept: &[Span], fresh: &[Span], gone: std::ops::Range<u32>, out: &mut Vec<Span>) {
    out.clear();
    let mut fresh = fresh.iter().peekable();
    for &span in kept.iter().filter(|s| !gone.contains(&s.2)) {
        while let Some(&&next) = fresh.peek().filter(|f| f.0 < span.0) {
            out.push(next);
            fresh.next();
        }
        out.push(span);
    }
    out.extend(fresh);
}
