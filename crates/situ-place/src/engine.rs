//! The incremental simulator: what a change of some devices or places does to the makespan, without timing
//! everything again.
//!
//! It keeps the times of one schedule, and the state of slots at regular marks of the order. A trial changes
//! devices and places, then times nodes from the first one touched: it stops early when some node's finish
//! plus the longest way from it to the end passes the cutoff, when a node that was not touched is done later
//! than it may be, or when nothing differs any more from what was known.
//!
//! Promised: an accepted trial has the times of [`simulate_unlimited`](crate::simulate::simulate_unlimited),
//! exactly; where memory is held by liveness, [`simulate`](crate::simulate()) has the last word on every
//! trial that would be accepted. A trial that is refused may, where a device has several slots, have been
//! good all the same: how late a node may be is known for the slots as they were shared out. Left to others:
//! which trials to make.

mod late;
mod links;
mod slots;
mod trial;

use crate::algorithms::Timed;
use crate::critical::Times;
use crate::error::PlaceError;
use crate::fill::Fill;
use crate::placement::Schedule;
use crate::problem::{EdgeRow, NONE, Problem, Route};
use crate::simulate::{all_fits, simulate};
use late::Late;
use links::Links;
use slots::Slots;
use trial::Trial;

/// Places between two marks.
const STRIDE: usize = 32;

pub(crate) struct Engine<'p> {
    pub problem: &'p Problem,
    pub devices: Vec<u16>,
    pub order: Vec<u32>,
    place: Vec<u32>,
    pub start: Vec<f64>,
    pub finish: Vec<f64>,
    /// The longest way from the end of each node to the end of everything, links to themselves.
    tail: Vec<f64>,
    /// The place of each node's last reader.
    last_reader: Vec<u32>,
    /// The latest finish among the places before, and from, each place.
    latest_before: Vec<f64>,
    latest_from: Vec<f64>,
    /// How late each node may be done for the makespan to stay.
    late: Late,
    slots: Slots,
    links: Option<Links>,
    fill: Fill,
    /// Bytes of all outputs and their copies, at most, where some device's memory is limited.
    outputs: f64,
    /// The makespan within the memory limits.
    makespan: f64,
    trial: Trial,
}

impl<'p> Engine<'p> {
    pub(crate) fn new(problem: &'p Problem, schedule: &Schedule) -> Result<Engine<'p>, PlaceError> {
        let makespan = simulate(problem, schedule)?.makespan;
        Ok(Engine::timed(problem, &Timed { makespan, schedule: schedule.clone() }))
    }

    /// As [`new`](Engine::new), for a schedule whose makespan within the memory limits is known.
    pub(crate) fn timed(problem: &'p Problem, timed: &Timed) -> Engine<'p> {
        let schedule = &timed.schedule;
        let count = problem.node_count();
        let limited = problem.devices.iter().any(|d| d.memory.is_some());
        let outputs = if limited { (0..count).map(|n| problem.most_held(n)).sum() } else { 0.0 };
        let takes_time = |e: &EdgeRow| e.price == NONE && (e.bytes > 0.0 || problem.routes.have_latency());
        let linked = problem.routes.channels > 0 && problem.edges.iter().any(takes_time);
        let mut engine = Engine {
            problem,
            devices: schedule.devices.clone(),
            order: schedule.order.clone(),
            place: vec![0; count],
            start: vec![0.0; count],
            finish: vec![0.0; count],
            tail: vec![0.0; count],
            last_reader: vec![0; count],
            latest_before: vec![0.0; count + 1],
            latest_from: vec![0.0; count + 1],
            late: Late::new(problem),
            slots: Slots::new(problem, STRIDE),
            links: linked.then(|| Links::new(problem)),
            fill: Fill::new(problem),
            outputs,
            makespan: 0.0,
            trial: Trial::new(count),
        };
        engine.load(timed);
        engine
    }

    /// Starts again from another schedule.
    pub(crate) fn load(&mut self, timed: &Timed) {
        let schedule = &timed.schedule;
        self.devices.copy_from_slice(&schedule.devices);
        self.order.copy_from_slice(&schedule.order);
        for (i, &node) in self.order.iter().enumerate() {
            self.place[node as usize] = i as u32;
        }
        self.fill = Fill::new(self.problem);
        for (unit, row) in self.problem.units.iter().enumerate() {
            self.fill.put(self.problem, unit, self.devices[row.members[0] as usize].into());
        }
        self.find_last_readers(0, self.order.len());
        for i in (0..self.order.len()).rev() {
            let node = self.order[i] as usize;
            self.tail[node] = self.tail_of(node, false);
        }
        self.trial.reset();
        self.trial.first = 0;
        // Any node may differ from what was known, however much of the beginning is the same.
        self.trial.last = self.order.len().saturating_sub(1);
        self.makespan = f64::INFINITY;
        let quick = self.run(f64::INFINITY);
        debug_assert!(quick.is_some());
        self.keep();
        self.makespan = timed.makespan;
    }

    pub(crate) fn makespan(&self) -> f64 {
        self.makespan
    }

    pub(crate) fn schedule(&self) -> Schedule {
        Schedule { devices: self.devices.clone(), order: self.order.clone() }
    }

    pub(crate) fn place_of(&self, node: usize) -> usize {
        self.place[node] as usize
    }

    pub(crate) fn unit_device(&self, unit: usize) -> u16 {
        self.devices[self.problem.units[unit].members[0] as usize]
    }

    pub(crate) fn times(&self) -> Times<'_> {
        Times {
            problem: self.problem,
            devices: &self.devices,
            order: &self.order,
            place: &self.place,
            start: &self.start,
            finish: &self.finish,
        }
    }

    pub(crate) fn fill(&self) -> &Fill {
        &self.fill
    }

    fn find_last_readers(&mut self, from: usize, to: usize) {
        for i in from..to {
            let node = self.order[i] as usize;
            let readers = self.problem.outs(node).map(|e| self.place[e.to as usize]);
            self.last_reader[node] = readers.max().unwrap_or(0);
        }
    }

    /// The tail of a node from its readers' tails: those of the trial, or the kept ones.
    #[inline]
    fn tail_of(&self, node: usize, of_trial: bool) -> f64 {
        let home = self.devices[node];
        let mut tail = 0.0f64;
        for &e in self.problem.out_edges.row(node) {
            let to = self.problem.edges[e as usize].to as usize;
            let there = self.devices[to];
            let beyond = if of_trial { self.trial_tail(to) } else { self.tail[to] };
            let copy = if there == home { 0.0 } else { self.problem.edge_copy(e, home, there) };
            tail = tail.max(copy + self.problem.seconds(to, there.into()) + beyond);
        }
        tail
    }

    /// A node's tail under the trial's devices.
    #[inline]
    fn trial_tail(&self, node: usize) -> f64 {
        let (tail, trial) = self.trial.tails[node];
        if trial == self.trial.number { tail } else { self.tail[node] }
    }

    /// Finds the tails that the trial changes, of the nodes from a place on: those of nodes that moved, of
    /// their inputs, and of what leads to a node whose tail is another.
    fn find_trial_tails(&mut self, first: usize, last: usize) {
        self.trial.number += 1;
        for i in 0..self.trial.moved.len() {
            let unit = self.trial.moved[i].0 as usize;
            for &member in &self.problem.units[unit].members {
                self.trial.mark(member);
                self.problem.inputs.row(member as usize).iter().for_each(|&input| self.trial.mark(input));
            }
        }
        for i in (first..=last).rev() {
            let node = self.order[i] as usize;
            if self.trial.tails[node].1 != self.trial.number {
                continue;
            }
            let tail = self.tail_of(node, true);
            self.trial.tails[node].0 = tail;
            if tail != self.tail[node] {
                self.problem.inputs.row(node).iter().for_each(|&input| self.trial.mark(input));
            }
        }
    }

    /// A trial begins: change devices and places, then [`evaluate`](Engine::evaluate) it.
    pub(crate) fn begin(&mut self) {
        self.trial.reset();
        if !self.late.is_known() {
            let makespan = self.latest_before[self.order.len()];
            self.late.find(self.problem, &self.devices, &self.order, &self.finish, makespan);
        }
    }

    /// In the trial, a group goes to another device.
    pub(crate) fn set_device(&mut self, unit: usize, device: u16) {
        let problem = self.problem;
        let old = self.unit_device(unit);
        if old == device {
            return;
        }
        self.trial.moved.push((unit as u32, old));
        self.fill.take(problem, unit, old.into());
        self.fill.put(problem, unit, device.into());
        for &member in &problem.units[unit].members {
            let member = member as usize;
            self.devices[member] = device;
            self.trial.touch(self.place[member] as usize);
            // Copies that serve several readers differently may change for readers before this one.
            for edge in problem.ins(member) {
                if !problem.sent[edge.from as usize].uniform {
                    self.trial.first = self.trial.first.min(self.place[edge.from as usize] as usize);
                }
            }
        }
    }

    /// In the trial, the node at one place goes to another place; those between close up. Says whether that
    /// keeps every node after its inputs; if not, nothing changes.
    pub(crate) fn shift(&mut self, from: usize, to: usize) -> bool {
        let node = self.order[from] as usize;
        let fits = if to < from {
            self.problem.ins(node).all(|e| (self.place[e.from as usize] as usize) < to)
        } else {
            self.problem.outs(node).all(|e| self.place[e.to as usize] as usize > to)
        };
        if !fits || from == to {
            return false;
        }
        self.rotate(from, to);
        self.trial.shifts.push((from as u32, to as u32));
        self.trial.touch(from.min(to));
        self.trial.touch(from.max(to));
        true
    }

    fn rotate(&mut self, from: usize, to: usize) {
        let (low, high) = (from.min(to), from.max(to));
        if from < to {
            self.order[low..=high].rotate_left(1);
        } else {
            self.order[low..=high].rotate_right(1);
        }
        for i in low..=high {
            self.place[self.order[i] as usize] = i as u32;
        }
    }

    /// Whether the trial keeps what stays on each device within its memory.
    pub(crate) fn fits(&self) -> bool {
        let units = self.trial.moved.iter().map(|&(unit, _)| self.unit_device(unit as usize) as usize);
        units.into_iter().all(|d| self.fill.used(d) <= self.problem.limit(d))
    }

    /// The trial's makespan, if it is at most the cutoff and memory suffices. Then [`accept`](Engine::accept)
    /// or [`reject`](Engine::reject) it.
    pub(crate) fn evaluate(&mut self, cutoff: f64) -> Option<f64> {
        if !self.fits() {
            return None;
        }
        let quick = self.run(cutoff)?;
        self.trial.makespan = quick;
        if self.outputs > 0.0 && self.memory_may_run_out() {
            let timeline = simulate(self.problem, &self.schedule()).ok()?;
            if timeline.makespan > cutoff {
                return None;
            }
            self.trial.makespan = timeline.makespan;
        }
        Some(self.trial.makespan)
    }

    /// Whether some device could not hold everything at once that is ever there.
    fn memory_may_run_out(&self) -> bool {
        let over = |d: usize| self.fill.used(d) + self.outputs > self.problem.limit(d);
        (0..self.problem.device_count()).any(over)
            && !all_fits(self.problem, &self.devices, |d| self.fill.used(d))
    }

    pub(crate) fn accept(&mut self) {
        self.makespan = self.trial.makespan;
        if !self.trial.shifts.is_empty() {
            // Readers' places changed, and with them what is known of any node before them.
            self.find_last_readers(0, self.trial.last + 1);
        }
        self.keep();
        self.update_tails();
    }

    pub(crate) fn reject(&mut self) {
        for i in self.trial.first.min(self.trial.stop)..self.trial.stop {
            let node = self.order[i] as usize;
            (self.start[node], self.finish[node]) = self.trial.old[i];
        }
        while let Some((from, to)) = self.trial.shifts.pop() {
            self.rotate(to as usize, from as usize);
        }
        while let Some((unit, old)) = self.trial.moved.pop() {
            let now = self.unit_device(unit as usize);
            self.fill.take(self.problem, unit as usize, now.into());
            self.fill.put(self.problem, unit as usize, old.into());
            for &member in &self.problem.units[unit as usize].members {
                self.devices[member as usize] = old;
            }
        }
        self.trial.reset();
    }

    /// The last place of a node that moved in the trial.
    fn last_moved(&self) -> Option<usize> {
        let units = self.trial.moved.iter().flat_map(|&(unit, _)| &self.problem.units[unit as usize].members);
        units.map(|&n| self.place[n as usize] as usize).max()
    }

    /// Times the nodes from the first one touched. None: some node is done too late for the cutoff.
    fn run(&mut self, cutoff: f64) -> Option<f64> {
        let (problem, count) = (self.problem, self.order.len());
        let first = self.trial.first.min(count);
        // Sums along a path are rounded in another order than times.
        let cutoff = cutoff * (1.0 + 1e-12);
        let moved = self.last_moved();
        if let Some(last) = moved {
            self.find_trial_tails(first, last);
        }
        let moved = moved.map_or(0, |last| last + 1);
        let slack = if self.late.is_known() { cutoff - self.latest_before[count] } else { f64::INFINITY };
        self.slots.restore(first / STRIDE);
        for i in first / STRIDE * STRIDE..first {
            let node = self.order[i] as usize;
            let seconds = self.finish[node] - self.start[node];
            let cost = problem.seconds(node, self.devices[node].into());
            if cost > 0.0 {
                debug_assert!((seconds - cost).abs() <= 1e-9 * self.finish[node].abs().max(cost));
                self.slots.claim(self.devices[node].into(), self.start[node], cost);
            }
        }
        if let Some(links) = &mut self.links {
            links.begin(first);
        }
        let mut latest = self.latest_before[first];
        let mut unsettled = self.trial.last;
        for i in first..count {
            if i % STRIDE == 0 && i > first {
                self.slots.save(i / STRIDE);
                let links_are_same = || self.links.as_ref().is_none_or(|l| l.same_until(i));
                if i > unsettled && self.slots.same(i / STRIDE) && links_are_same() {
                    self.trial.stop = i;
                    self.trial.latest = latest;
                    return Some(latest.max(self.latest_from[i]));
                }
            }
            let node = self.order[i] as usize;
            let device = self.devices[node];
            let ready = self.ready(node, device, i);
            let seconds = problem.seconds(node, device.into());
            let start = if seconds > 0.0 { self.slots.claim(device.into(), ready, seconds) } else { ready };
            let finish = start + seconds;
            let tail = if i < moved { self.trial_tail(node) } else { self.tail[node] };
            self.trial.old[i] = (self.start[node], self.finish[node]);
            self.trial.stop = i + 1;
            if finish != self.finish[node] || i <= self.trial.last {
                unsettled = unsettled.max(self.last_reader[node] as usize);
            }
            self.start[node] = start;
            self.finish[node] = finish;
            latest = latest.max(finish);
            // Infinite where a copy has no way.
            if finish + tail > cutoff || finish == f64::INFINITY {
                return None;
            }
            if i > self.trial.last && finish > self.late.of(node) + slack {
                return None;
            }
        }
        self.trial.latest = latest;
        Some(latest)
    }

    /// When everything that a node reads is on its device.
    #[inline]
    fn ready(&mut self, node: usize, device: u16, place: usize) -> f64 {
        let problem = self.problem;
        let mut ready = 0.0f64;
        for &e in problem.in_edges.row(node) {
            let edge = &problem.edges[e as usize];
            let from = edge.from as usize;
            let home = self.devices[from];
            let there = if home == device {
                self.finish[from]
            } else if edge.price != NONE {
                let seconds = if problem.sent[from].uniform {
                    problem.prices.seconds(edge.price, home, device)
                } else {
                    problem.priced_copy(from, &self.devices, device)
                };
                self.finish[from] + seconds
            } else if let Some(links) = &mut self.links {
                links.arrival(problem, &self.devices, from, self.finish[from], device, place)
            } else if problem.routes.get(home, device) != Route::None {
                // No copy takes any time, so none has to wait for another.
                self.finish[from]
            } else {
                f64::INFINITY
            };
            ready = ready.max(there);
        }
        ready
    }

    /// What the run found is what is known from now on.
    fn keep(&mut self) {
        let (first, stop, count) =
            (self.trial.first.min(self.order.len()), self.trial.stop, self.order.len());
        let marks = first / STRIDE + 1..stop.div_ceil(STRIDE).max(first / STRIDE + 1);
        self.slots.keep(marks);
        self.late.forget();
        if let Some(links) = &mut self.links {
            links.keep(stop.max(first));
        }
        for i in first..count {
            let latest = self.latest_before[i].max(self.finish[self.order[i] as usize]);
            if i >= stop && latest == self.latest_before[i + 1] {
                break;
            }
            self.latest_before[i + 1] = latest;
        }
        for i in (0..stop).rev() {
            let latest = self.latest_from[i + 1].max(self.finish[self.order[i] as usize]);
            if i < first && latest == self.latest_from[i] {
                break;
            }
            self.latest_from[i] = latest;
        }
    }

    /// Tails of the nodes that moved and of all that lead to them, as far as they change.
    fn update_tails(&mut self) {
        let Some(last) = self.last_moved() else { return };
        for &(unit, _) in &self.trial.moved {
            for &member in &self.problem.units[unit as usize].members {
                self.trial.stale[member as usize] = true;
                for edge in self.problem.ins(member as usize) {
                    self.trial.stale[edge.from as usize] = true;
                }
            }
        }
        for i in (0..=last).rev() {
            let node = self.order[i] as usize;
            if !std::mem::replace(&mut self.trial.stale[node], false) {
                continue;
            }
            let tail = self.tail_of(node, false);
            if tail != self.tail[node] {
                self.tail[node] = tail;
                for edge in self.problem.ins(node) {
                    self.trial.stale[edge.from as usize] = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
