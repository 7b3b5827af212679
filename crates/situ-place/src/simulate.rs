//! The model as an exact simulator: from devices and an order to times, copies and peaks of memory.
//!
//! Nodes are taken in the schedule's order; each claims the copies it reads (once per destination, on the first gap
//! of the link), then a slot of its device. A node that costs nothing needs no slot. If some device would hold more
//! than its memory, the schedule is timed again with starts delayed until what they need has been freed; that works
//! whenever running the nodes strictly one after the other, in this order, would fit.
//!
//! Promised: every timeline obeys the model of the cost-graph file; the same schedule always has the same times.
//! Left to others: choosing devices and orders, and checking this module ([`check`](crate::check())).

mod clock;
mod delay;
mod peak;
mod sort;

use crate::busy::Busy;
use crate::error::{MemoryShortage, PlaceError};
use crate::placement::{Schedule, Transfer};
use crate::problem::{Problem, Route};
pub(crate) use clock::Clock;
use delay::Delays;
pub(crate) use peak::{all_fits, peaks, static_bytes};
use smallvec::SmallVec;
use sort::sort_by_time;

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
        let over = self.peak_memory.iter().enumerate().filter_map(|(d, &peak)| {
            let limit = problem.devices[d].memory?;
            (peak > problem.limit(d)).then_some((d, peak - limit))
        });
        over.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Times a schedule within the memory limits.
pub fn simulate(problem: &Problem, schedule: &Schedule) -> Result<Timeline, PlaceError> {
    let timeline = simulate_unlimited(problem, schedule)?;
    if timeline.excess(problem).is_none() {
        return Ok(timeline);
    }
    Run::new(problem, schedule, Some(Delays::new(problem, schedule)?)).timeline()
}

/// The makespan of a schedule within the memory limits: as [`simulate`], without what only answers need.
pub(crate) fn makespan(problem: &Problem, schedule: &Schedule) -> Result<f64, PlaceError> {
    let fixed = static_bytes(problem, &schedule.devices);
    if problem.outputs_count() && !all_fits(problem, &schedule.devices, |d| fixed[d]) {
        return Ok(simulate(problem, schedule)?.makespan);
    }
    delay::require_room(problem, &fixed)?;
    let mut run = Run::new(problem, schedule, None);
    run.run()?;
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
    transfers: Vec<Transfer>,
    /// Per node, the copies of its output, as places in `transfers`.
    copies: Vec<SmallVec<[u32; 2]>>,
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
            transfers: Vec::new(),
            copies: vec![SmallVec::new(); count],
            delays,
        }
    }

    fn run(&mut self) -> Result<(), PlaceError> {
        self.order.iter().try_for_each(|&node| self.run_node(node as usize))
    }

    fn makespan(&self) -> f64 {
        self.finish.iter().copied().fold(0.0, f64::max)
    }

    fn timeline(mut self) -> Result<Timeline, PlaceError> {
        self.run()?;
        let makespan = self.makespan();
        let peak_memory =
            peaks(self.problem, self.devices, &self.start, &self.finish, &self.transfers, makespan);
        let transfers = &self.transfers;
        let mut by_start: Vec<u32> = (0..transfers.len() as u32).collect();
        let start = |&i: &u32| transfers[i as usize].start;
        sort_by_time(&mut by_start, makespan, start, |i| (instant(start(i)), *i));
        Ok(Timeline {
            start: self.start,
            finish: self.finish,
            transfers: by_start.iter().map(|&i| transfers[i as usize]).collect(),
            peak_memory,
            makespan,
        })
    }

    fn run_node(&mut self, node: usize) -> Result<(), PlaceError> {
        let problem = self.problem;
        let device = self.devices[node];
        let mut ready = 0.0f64;
        for edge in problem.ins(node) {
            let from = edge.from as usize;
            let there = if self.devices[from] == device {
                self.finish[from]
            } else {
                let copy = self.copy(from, device)?;
                self.transfers[copy].finish
            };
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

    /// The copy of a node's output to a device; made if it is not there yet.
    fn copy(&mut self, node: usize, to: u16) -> Result<usize, PlaceError> {
        if let Some(&copy) = self.copies[node].iter().find(|&&c| self.transfers[c as usize].to == to as usize)
        {
            return Ok(copy as usize);
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
                let first = self.copy(node, middle)?;
                (middle, self.transfers[first].finish)
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

    fn add_copy(&mut self, node: usize, from: u16, to: u16, start: f64, finish: f64, bytes: f64) -> usize {
        self.transfers.push(Transfer { node, from: from.into(), to: to.into(), start, finish, bytes });
        let copy = self.transfers.len() - 1;
        self.copies[node].push(copy as u32);
        if let Some(delays) = &mut self.delays {
            delays.copied(node, from, to, start, finish, bytes);
        }
        copy
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
        if self.uniform[node] {
            let first = self.edges[self.out_edges.row(node)[0] as usize];
            return self.prices.seconds(first.price, home, to);
        }
        let served = self.outs(node).filter(|e| devices[e.to as usize] == to);
        served.map(|e| self.prices.seconds(e.price, home, to)).fold(0.0, f64::max)
    }

    /// The most bytes that any reader of a node asks for.
    pub(crate) fn most_bytes(&self, node: usize) -> f64 {
        if self.uniform[node] {
            return self.out_edges.row(node).first().map_or(0.0, |&e| self.edges[e as usize].bytes);
        }
        self.outs(node).map(|e| e.bytes).fold(0.0, f64::max)
    }

    /// Bytes of the copy that serves all readers of a node on a device, and those reached through it.
    #[inline]
    pub(crate) fn copied_bytes(&self, node: usize, devices: &[u16], to: u16) -> f64 {
        if self.uniform[node] {
            return self.edges[self.out_edges.row(node)[0] as usize].bytes;
        }
        let home = devices[node];
        let served = self.outs(node).filter(|e| {
            let reader = devices[e.to as usize];
            reader == to || (reader != home && self.routes.get(home, reader) == Route::Via(to))
        });
        served.map(|e| e.bytes).fold(0.0, f64::max)
    }
}
