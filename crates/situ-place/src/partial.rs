//! A schedule under construction: what constructive algorithms ask ("when would this node be done there?")
//! and tell.
//!
//! Times here decide; they are not the answer's times, which the simulator finds afterwards. Slots are filled
//! by insertion: a node may go into a gap that was left before.

use crate::busy::Busy;
use crate::error::PlaceError;
use crate::fill::Fill;
use crate::orders::by_start;
use crate::placement::Schedule;
use crate::problem::{NONE, Problem, Route};
use smallvec::SmallVec;

pub(crate) const NOWHERE: u16 = u16::MAX;

/// Which end of the step a schedule is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Every node after its inputs, as early as may be.
    Forward,
    /// Every node before its readers, as late as may be; times count back from the end. Links have no queues.
    Backward,
}

/// When a node would run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub start: f64,
    pub finish: f64,
}

pub(crate) struct Partial<'p> {
    pub problem: &'p Problem,
    direction: Direction,
    pub fill: Fill,
    pub unit_device: Vec<u16>,
    pub devices: Vec<u16>,
    pub start: Vec<f64>,
    pub finish: Vec<f64>,
    lanes: Vec<Vec<Busy>>,
    /// Per device, gaps that are too short for every node.
    useless: Vec<f64>,
    /// Per channel, gaps that are too short for every copy.
    useless_copies: Vec<f64>,
    last: Vec<f64>,
    channels: Vec<Busy>,
    /// Per node, the devices that have a copy of its output, in order, and when it is there.
    copies: Vec<SmallVec<[(u16, f64); 2]>>,
}

/// The device of each unit that may be on one only; [`NOWHERE`] for the others.
pub(crate) fn fixed_devices(problem: &Problem) -> Vec<u16> {
    let fixed = problem.units.iter().map(|unit| match unit.allowed[..] {
        [device] => device,
        _ => NOWHERE,
    });
    fixed.collect()
}

impl<'p> Partial<'p> {
    pub(crate) fn new(problem: &'p Problem, share: f64, direction: Direction) -> Partial<'p> {
        let count = problem.node_count();
        let lanes =
            problem.devices.iter().map(|d| vec![Busy::default(); (d.slots as usize).min(count.max(1))]);
        Partial {
            problem,
            direction,
            fill: Fill::with_fixed(problem, share),
            unit_device: fixed_devices(problem),
            devices: vec![NOWHERE; count],
            start: vec![0.0; count],
            finish: vec![0.0; count],
            lanes: lanes.collect(),
            useless: useless_gaps(problem),
            useless_copies: problem.routes.shortest_copies(),
            last: vec![0.0; problem.device_count()],
            channels: vec![Busy::default(); problem.routes.channels],
            copies: vec![SmallVec::new(); count],
        }
    }

    /// The devices that a node can still go to: its group's, if that has one, else those with memory left.
    pub(crate) fn choices(&self, node: usize) -> SmallVec<[u16; 8]> {
        let unit = self.problem.nodes[node].unit as usize;
        if self.unit_device[unit] != NOWHERE {
            return SmallVec::from_slice(&[self.unit_device[unit]]);
        }
        let allowed = self.problem.units[unit].allowed.iter().copied();
        allowed.filter(|&d| self.fill.fits(self.problem, unit, d.into())).collect()
    }

    /// At most so many of the [`choices`](Partial::choices): where a node's first inputs are, and others in
    /// turn.
    pub(crate) fn few_choices(&self, node: usize, most: usize, turn: usize) -> SmallVec<[u16; 8]> {
        let unit = self.problem.nodes[node].unit as usize;
        let allowed = &self.problem.units[unit].allowed;
        if allowed.len() <= most || self.unit_device[unit] != NOWHERE {
            return self.choices(node);
        }
        let inputs = self.problem.inputs.row(node).iter().take(most / 2);
        let near = inputs.map(|&n| self.devices[n as usize]).filter(|d| allowed.contains(d));
        let others = (turn..turn + most / 2).map(|i| allowed[i % allowed.len()]);
        let mut few: SmallVec<[u16; 8]> = SmallVec::new();
        for device in near.chain(others) {
            if !few.contains(&device) && self.fill.fits(self.problem, unit, device.into()) {
                few.push(device);
            }
        }
        few
    }

    /// About how many steps it takes to hold a node against its devices.
    pub(crate) fn work(&self, node: usize) -> usize {
        let unit = self.problem.nodes[node].unit as usize;
        let devices = match self.unit_device[unit] {
            NOWHERE => self.problem.units[unit].allowed.len(),
            _ => 1,
        };
        devices * (4 + 2 * self.problem.inputs.row(node).len())
    }

    /// Whether a node can still go to a device: as [`choices`](Partial::choices) has it.
    pub(crate) fn may_go(&self, node: usize, device: u16) -> bool {
        let unit = self.problem.nodes[node].unit as usize;
        match self.unit_device[unit] {
            NOWHERE => self.fill.fits(self.problem, unit, device.into()),
            there => there == device,
        }
    }

    /// When a slot of a device is free for good.
    pub(crate) fn free(&self, device: u16) -> f64 {
        self.lanes[device as usize].iter().map(Busy::end).fold(f64::INFINITY, f64::min)
    }

    /// When everything that a node reads would be on a device; backward, when every reader could have its
    /// output.
    pub(crate) fn ready(&self, node: usize, device: u16) -> f64 {
        let mut ready = 0.0f64;
        if self.direction == Direction::Backward {
            for &e in self.problem.out_edges.row(node) {
                let to = self.problem.edges[e as usize].to as usize;
                ready = ready.max(self.finish[to] + self.problem.edge_copy(e, device, self.devices[to]));
            }
            return ready;
        }
        for &e in self.problem.in_edges.row(node) {
            let from = self.problem.edges[e as usize].from as usize;
            ready = ready.max(self.arrival(e, from, device));
            if ready == f64::INFINITY {
                break;
            }
        }
        ready
    }

    fn arrival(&self, edge: u32, from: usize, device: u16) -> f64 {
        let home = self.devices[from];
        if home == device {
            return self.finish[from];
        }
        if let Some(there) = self.copied(from, device) {
            return there;
        }
        let row = &self.problem.edges[edge as usize];
        if row.price != NONE {
            return self.finish[from] + self.problem.prices.seconds(row.price, home, device);
        }
        let routes = &self.problem.routes;
        let hop = |from: u16, to: u16, ready: f64| match routes.link(from, to) {
            Some(link) => {
                let seconds = link.latency + row.bytes / link.bandwidth;
                self.channels[link.channel as usize].peek(ready, seconds) + seconds
            }
            None => f64::INFINITY,
        };
        match routes.get(home, device) {
            Route::None => f64::INFINITY,
            Route::Direct(_) => hop(home, device, self.finish[from]),
            Route::Via(middle) => {
                let there = self.copied(from, middle);
                hop(middle, device, there.unwrap_or_else(|| hop(home, middle, self.finish[from])))
            }
        }
    }

    /// When a node would run on a device; none if its inputs can't get there, or not in time to be done
    /// before `limit`.
    pub(crate) fn probe(&self, node: usize, device: u16, limit: f64) -> Option<Probe> {
        let ready = self.ready(node, device);
        let seconds = self.problem.seconds(node, device.into());
        if ready + seconds >= limit {
            return None;
        }
        let start = self.earliest(device.into(), ready, seconds).0;
        Some(Probe { start, finish: start + seconds })
    }

    /// The start, the slot, and the place in the slot's list.
    fn earliest(&self, device: usize, ready: f64, seconds: f64) -> (f64, usize, usize) {
        if seconds <= 0.0 {
            return (ready, 0, NONE as usize);
        }
        let group = self.problem.compute_of[device];
        let ready = if group == NONE {
            ready
        } else {
            let others =
                self.problem.compute_groups[group as usize].iter().filter(|&&d| d as usize != device);
            others.map(|&d| self.last[d as usize]).fold(ready, f64::max)
        };
        let mut best = (f64::INFINITY, 0, 0);
        let mut idle = f64::INFINITY;
        for (i, lane) in self.lanes[device].iter().enumerate() {
            let (start, at) = lane.fit(ready, seconds);
            let before = start - lane.end_before(at);
            if start < best.0 || (start == best.0 && before < idle) {
                best = (start, i, at);
                idle = before;
            }
        }
        best
    }

    /// Puts a node on a device, with its group, and makes the copies it reads.
    pub(crate) fn put(&mut self, node: usize, device: u16) {
        let problem = self.problem;
        let unit = problem.nodes[node].unit as usize;
        if self.unit_device[unit] == NOWHERE {
            self.unit_device[unit] = device;
            self.fill.put(problem, unit, device.into());
        }
        let ready = match self.direction {
            Direction::Backward => self.ready(node, device),
            Direction::Forward => {
                let mut ready = 0.0f64;
                for &e in problem.in_edges.row(node) {
                    let from = problem.edges[e as usize].from as usize;
                    ready = ready.max(self.copy(e, from, device));
                }
                ready
            }
        };
        let seconds = problem.seconds(node, device.into());
        let (start, slot, at) = self.earliest(device.into(), ready, seconds);
        if at != NONE as usize {
            self.lanes[device as usize][slot].insert(
                at,
                start,
                start + seconds,
                self.useless[device as usize],
            );
            self.last[device as usize] = self.last[device as usize].max(start + seconds);
        }
        self.devices[node] = device;
        self.start[node] = start;
        self.finish[node] = start + seconds;
    }

    fn copy(&mut self, edge: u32, from: usize, device: u16) -> f64 {
        let there = self.arrival(edge, from, device);
        let home = self.devices[from];
        if home == device || self.copied(from, device).is_some() {
            return there;
        }
        let row = self.problem.edges[edge as usize];
        if row.price == NONE {
            match self.problem.routes.get(home, device) {
                Route::None => {}
                Route::Direct(_) => self.claim(home, device, row.bytes, self.finish[from]),
                Route::Via(middle) => {
                    let first = self.copy(edge, from, middle);
                    self.claim(middle, device, row.bytes, first);
                }
            }
        }
        let at = self.copies[from].partition_point(|c| c.0 < device);
        self.copies[from].insert(at, (device, there));
        there
    }

    /// When a copy of a node's output is on a device, if one was made.
    #[inline]
    fn copied(&self, node: usize, device: u16) -> Option<f64> {
        let copies = &self.copies[node];
        let at = copies.binary_search_by_key(&device, |c| c.0).ok()?;
        Some(copies[at].1)
    }

    fn claim(&mut self, from: u16, to: u16, bytes: f64, ready: f64) {
        if let Some(link) = self.problem.routes.link(from, to) {
            let seconds = link.latency + bytes / link.bandwidth;
            let channel = link.channel as usize;
            self.channels[channel].claim(ready, seconds, self.useless_copies[channel]);
        }
    }

    /// The error of a node that can go nowhere.
    pub(crate) fn stuck(&self, node: usize) -> PlaceError {
        let unit = self.problem.nodes[node].unit as usize;
        let Some(&device) = self.choices(node).first() else { return self.fill.shortage(self.problem, unit) };
        let far = self.problem.ins(node).map(|e| e.from as usize).find(|&from| {
            let home = self.devices[from];
            home != device
                && !self.problem.is_priced(from)
                && self.problem.routes.get(home, device) == Route::None
        });
        let from = far.or(self.problem.ins(node).map(|e| e.from as usize).next()).unwrap_or(node);
        let name = |d: u16| self.problem.devices.get(d as usize).map_or(String::new(), |d| d.name.clone());
        PlaceError::NoRoute {
            node: self.problem.name_of(from),
            from: name(self.devices[from]),
            to: name(device),
        }
    }

    /// The schedule so far: every node must have been put somewhere.
    pub(crate) fn schedule(self) -> Schedule {
        let order = match self.direction {
            Direction::Forward => by_start(self.problem, &self.start, &self.finish),
            Direction::Backward => {
                let (start, finish): (Vec<f64>, Vec<f64>) =
                    self.finish.iter().zip(&self.start).map(|(f, s)| (-f, -s)).unzip();
                by_start(self.problem, &start, &finish)
            }
        };
        Schedule { devices: self.devices, order }
    }
}

/// Per device, just less than the shortest work on it.
fn useless_gaps(problem: &Problem) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; problem.device_count()];
    // Row by row, as they lie in memory.
    for row in problem.costs.chunks_exact(least.len().max(1)) {
        for (least, &seconds) in least.iter_mut().zip(row) {
            *least = if seconds > 0.0 { least.min(seconds) } else { *least };
        }
    }
    least.iter().map(|&least| if least.is_finite() { least * (1.0 - 1e-9) } else { 0.0 }).collect()
}
