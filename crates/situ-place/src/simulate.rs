//! The model as an exact simulator: from devices and an order to times, copies and peaks of memory.
//!
//! Nodes are taken in the schedule's order; each claims the copies it reads (once per destination, on the
//! first gap of the link), then a slot of its device. A node that costs nothing needs no slot. If some device
//! would hold more than its memory, the schedule is timed again with starts delayed until what they need has
//! been freed; that works whenever running the nodes strictly one after the other, in this order, would fit.
//!
//! Promised: every timeline obeys the model of the cost-graph file; the same schedule always has the same
//! times. Left to others: choosing devices and orders, and checking this module ([`check`](crate::check())).

mod clock;
mod delay;
mod peak;
mod sort;

use crate::busy::Busy;
use crate::error::{MemoryShortage, PlaceError};
use crate::placement::{Schedule, Transfer};
use crate::problem::{NONE, Problem, Route};
use crate::timer::Timer;
pub(crate) use clock::Clock;
use delay::Delays;
use peak::peaks;
pub(crate) use peak::{all_fits, static_bytes};
use sort::sort_by_time;
use std::collections::HashMap;

/// The times that follow from a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// When each node starts.
    pub start: Vec<f64>,
    /// When each node is done.
    pub finish: Vec<f64>,
    /// Every copy, in the order of their starts.
    pub transfers: Vec<Transfer>,
    /// The most bytes that each device holds at once.
    pub peak_memory: Vec<f64>,
    /// When everything is done.
    pub makespan: f64,
}

impl Timeline {
    /// The device whose memory is exceeded the most, and by how many bytes.
    pub fn excess(&self, problem: &Problem) -> Option<(usize, f64)> {
        excess(problem, &self.peak_memory)
    }
}

fn excess(problem: &Problem, peak_memory: &[f64]) -> Option<(usize, f64)> {
    let over = peak_memory.iter().enumerate().filter_map(|(d, &peak)| {
        let limit = problem.devices[d].memory?;
        (peak > problem.limit(d)).then_some((d, peak - limit))
    });
    over.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Times a schedule within the memory limits.
pub fn simulate(problem: &Problem, schedule: &Schedule) -> Result<Timeline, PlaceError> {
    let timeline = simulate_unlimited(problem, schedule)?;
    if timeline.excess(problem).is_none() {
        return Ok(timeline);
    }
    Run::new(problem, schedule, Some(Delays::new(problem, schedule)?)).timeline()
}

/// The makespan of a schedule within the memory limits: as [`simulate`], without what only answers need, if
/// there is time for it.
pub(crate) fn makespan_in(problem: &Problem, schedule: &Schedule, timer: &Timer) -> Result<f64, PlaceError> {
    // What is made for each node, resident, device and channel at once.
    let residents = problem.residents.len() * problem.device_count();
    timer.spend(2 * problem.node_count() + residents + 8 * problem.routes.channels)?;
    let fixed = static_bytes(problem, &schedule.devices);
    let mut run = Run::new(problem, schedule, None);
    if problem.outputs_count() && !all_fits(problem, &schedule.devices, |d| fixed[d]) {
        run.run_in(timer)?;
        let makespan = run.makespan();
        if excess(problem, &peaks(&run, makespan)).is_none() {
            return Ok(makespan);
        }
        run = Run::new(problem, schedule, Some(Delays::new(problem, schedule)?));
    } else {
        delay::require_room(problem, &fixed)?;
    }
    run.run_in(timer)?;
    Ok(run.makespan())
}

/// When each node starts, as if memory had no limits.
pub(crate) fn starts(problem: &Problem, schedule: &Schedule) -> Result<Vec<f64>, PlaceError> {
    let mut run = Run::new(problem, schedule, None);
    run.run()?;
    Ok(run.start)
}

/// Times a schedule as if memory had no limits; [`Timeline::excess`] says whether it kept them all the same.
pub fn simulate_unlimited(problem: &Problem, schedule: &Schedule) -> Result<Timeline, PlaceError> {
    Run::new(problem, schedule, None).timeline()
}

/// A number that sorts as the time does: times are not negative, and their bits then grow with them.
#[inline]
fn instant(time: f64) -> u64 {
    debug_assert!(time >= 0.0);
    (time + 0.0).to_bits()
}

/// A copy while a run makes it: as [`Transfer`], in fewer bytes.
#[derive(Clone, Copy)]
struct Copied {
    start: f64,
    finish: f64,
    bytes: f64,
    node: u32,
    from: u16,
    to: u16,
    /// The copy of the same output that was made before this one, or [`NONE`]; and how many there are.
    before: u32,
    earlier: u16,
}

/// More copies of one output than this are found by a table.
const MANY: u16 = 16;

/// The copies of every node's output, in the order in which they were made.
struct Copies {
    all: Vec<Copied>,
    /// The place of each node's newest copy, or [`NONE`].
    newest: Vec<u32>,
    /// The places of copies of outputs that have many, by node and device.
    of_many: HashMap<(u32, u16), u32>,
}

impl Copies {
    fn new(nodes: usize) -> Copies {
        Copies { all: Vec::with_capacity(nodes), newest: vec![NONE; nodes], of_many: HashMap::new() }
    }

    fn add(&mut self, copy: Copied) {
        let place = self.all.len() as u32;
        let before = std::mem::replace(&mut self.newest[copy.node as usize], place);
        let earlier = if before == NONE { 0 } else { self.all[before as usize].earlier + 1 };
        self.all.push(Copied { before, earlier, ..copy });
        if earlier == MANY {
            let places: Vec<usize> = self.of(copy.node as usize).collect();
            for place in places {
                self.of_many.insert((copy.node, self.all[place].to), place as u32);
            }
        } else if earlier > MANY {
            self.of_many.insert((copy.node, copy.to), place);
        }
    }

    /// The places of a node's copies.
    #[inline]
    fn of(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let some = |copy: u32| (copy != NONE).then_some(copy as usize);
        std::iter::successors(some(self.newest[node]), move |&copy| some(self.all[copy].before))
    }

    /// The copy of a node's output on a device.
    #[inline]
    fn to(&self, node: usize, device: u16) -> Option<usize> {
        let newest = self.newest[node];
        if newest != NONE && self.all[newest as usize].earlier >= MANY {
            return self.of_many.get(&(node as u32, device)).map(|&place| place as usize);
        }
        self.of(node).find(|&copy| self.all[copy].to == device)
    }

    /// In the order of their starts.
    fn by_start(&self, makespan: f64) -> Vec<Transfer> {
        let mut by_start: Vec<(f64, u32)> = self.all.iter().map(|copy| copy.start).zip(0..).collect();
        sort_by_time(&mut by_start, makespan, |t| t.0, |t| (instant(t.0), t.1));
        let transfer = |&(_, place): &(f64, u32)| {
            let Copied { start, finish, bytes, node, from, to, .. } = self.all[place as usize];
            Transfer { node: node as usize, from: from.into(), to: to.into(), start, finish, bytes }
        };
        by_start.iter().map(transfer).collect()
    }
}

struct Run<'a> {
    problem: &'a Problem,
    devices: &'a [u16],
    order: &'a [u32],
    start: Vec<f64>,
    finish: Vec<f64>,
    clock: Clock,
    channels: Vec<Busy>,
    /// Per channel, gaps that are too short for every copy.
    useless: Vec<f64>,
    copies: Copies,
    delays: Option<Delays<'a>>,
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem, schedule: &'a Schedule, delays: Option<Delays<'a>>) -> Run<'a> {
        let count = problem.node_count();
        Run {
            problem,
            devices: &schedule.devices,
            order: &schedule.order,
            start: vec![0.0; count],
            finish: vec![0.0; count],
            clock: Clock::new(problem),
            channels: vec![Busy::default(); problem.routes.channels],
            useless: problem.routes.shortest_copies(),
            copies: Copies::new(count),
            delays,
        }
    }

    fn run(&mut self) -> Result<(), PlaceError> {
        self.order.iter().try_for_each(|&node| self.run_node(node as usize))
    }

    fn run_in(&mut self, timer: &Timer) -> Result<(), PlaceError> {
        let delayed = if self.delays.is_some() { 8 } else { 1 };
        self.order.iter().try_for_each(|&node| {
            timer.spend(delayed * (8 + 4 * self.problem.inputs.row(node as usize).len()))?;
            self.run_node(node as usize)
        })
    }

    fn makespan(&self) -> f64 {
        self.finish.iter().copied().fold(0.0, f64::max)
    }

    fn timeline(mut self) -> Result<Timeline, PlaceError> {
        self.run()?;
        let makespan = self.makespan();
        let peak_memory = peaks(&self, makespan);
        Ok(Timeline {
            start: self.start,
            finish: self.finish,
            transfers: self.copies.by_start(makespan),
            peak_memory,
            makespan,
        })
    }

    fn run_node(&mut self, node: usize) -> Result<(), PlaceError> {
        let problem = self.problem;
        let device = self.devices[node];
        let mut ready = 0.0f64;
        for &from in problem.inputs.row(node) {
            let from = from as usize;
            let there =
                if self.devices[from] == device { self.finish[from] } else { self.copy(from, device)? };
            ready = ready.max(there);
        }
        let seconds = problem.seconds(node, device.into());
        if let Some(delays) = &self.delays {
            let bytes = problem.nodes[node].output_bytes;
            ready =
                delays.earliest(device, bytes, ready).map_err(|missing| self.short(node, device, missing))?;
        }
        let start = self.clock.claim(problem, device.into(), ready, seconds);
        self.start[node] = start;
        self.finish[node] = start + seconds;
        if let Some(delays) = &mut self.delays {
            delays.node_ran(node, start, start + seconds);
        }
        Ok(())
    }

    /// When a copy of a node's output is on a device; made if there is none yet.
    fn copy(&mut self, node: usize, to: u16) -> Result<f64, PlaceError> {
        if let Some(copy) = self.copies.to(node, to) {
            return Ok(self.copies.all[copy].finish);
        }
        let problem = self.problem;
        let home = self.devices[node];
        let no_route = || PlaceError::NoRoute {
            node: problem.name_of(node),
            from: problem.device(home.into()).name.clone(),
            to: problem.device(to.into()).name.clone(),
        };
        if problem.is_priced(node) {
            let seconds = problem.priced_copy(node, self.devices, to);
            if !seconds.is_finite() {
                return Err(no_route());
            }
            let bytes = problem.nodes[node].output_bytes;
            let start = self.after_memory(node, to, bytes, self.finish[node])?;
            return Ok(self.add_copy(node, home, to, start, start + seconds, bytes));
        }
        let (from, ready) = match problem.routes.get(home, to) {
            Route::None => return Err(no_route()),
            Route::Direct(_) => (home, self.finish[node]),
            Route::Via(middle) => {
                let there = self.copy(node, middle)?;
                (middle, there)
            }
        };
        let Some(&link) = problem.routes.link(from, to) else { return Err(no_route()) };
        let bytes = problem.copied_bytes(node, self.devices, to);
        let seconds = link.latency + bytes / link.bandwidth;
        let ready = self.after_memory(node, to, bytes, ready)?;
        let start =
            self.channels[link.channel as usize].claim(ready, seconds, self.useless[link.channel as usize]);
        Ok(self.add_copy(node, from, to, start, start + seconds, bytes))
    }

    fn after_memory(&self, node: usize, device: u16, bytes: f64, ready: f64) -> Result<f64, PlaceError> {
        match &self.delays {
            None => Ok(ready),
            Some(delays) => {
                delays.earliest(device, bytes, ready).map_err(|missing| self.short(node, device, missing))
            }
        }
    }

    fn add_copy(&mut self, node: usize, from: u16, to: u16, start: f64, finish: f64, bytes: f64) -> f64 {
        self.copies.add(Copied {
            start,
            finish,
            bytes,
            node: node as u32,
            from,
            to,
            before: NONE,
            earlier: 0,
        });
        if let Some(delays) = &mut self.delays {
            delays.copied(node, from, to, start, finish, bytes);
        }
        finish
    }

    fn short(&self, node: usize, device: u16, missing: f64) -> PlaceError {
        let device = self.problem.device(device.into());
        let limit = device.memory.unwrap_or(f64::INFINITY);
        PlaceError::Memory(Box::new(MemoryShortage {
            devices: vec![device.name.clone()],
            limit,
            needed: limit + missing,
            what: self.problem.name_of(node).to_string(),
        }))
    }
}

impl Problem {
    /// Seconds of the copy that serves all readers of a node on a device, at the edges' own prices.
    #[inline]
    pub(crate) fn priced_copy(&self, node: usize, devices: &[u16], to: u16) -> f64 {
        let home = devices[node];
        if self.sent[node].uniform {
            return self.prices.seconds(self.sent[node].price, home, to);
        }
        let served = self.outs(node).filter(|e| devices[e.to as usize] == to);
        served.map(|e| self.prices.seconds(e.price, home, to)).fold(0.0, f64::max)
    }

    /// The most bytes that any reader of a node asks for.
    pub(crate) fn most_bytes(&self, node: usize) -> f64 {
        if self.sent[node].uniform {
            return self.sent[node].bytes;
        }
        self.outs(node).map(|e| e.bytes).fold(0.0, f64::max)
    }

    /// The most bytes that a node's output takes on any device: a reader may ask for more than the output has
    /// at home.
    pub(crate) fn most_held(&self, node: usize) -> f64 {
        let copied = if self.is_priced(node) { 0.0 } else { self.most_bytes(node) };
        self.nodes[node].output_bytes.max(copied)
    }

    /// Bytes of the copy that serves all readers of a node on a device, and those reached through it.
    #[inline]
    pub(crate) fn copied_bytes(&self, node: usize, devices: &[u16], to: u16) -> f64 {
        if self.sent[node].uniform {
            return self.sent[node].bytes;
        }
        let home = devices[node];
        let served = self.outs(node).filter(|e| {
            let reader = devices[e.to as usize];
            reader == to || (reader != home && self.routes.get(home, reader) == Route::Via(to))
        });
        served.map(|e| e.bytes).fold(0.0, f64::max)
    }
}
