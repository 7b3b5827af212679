//! Starts delayed until memory is free.
//!
//! Each limited device keeps a profile of its bytes over time. What is taken has no end until its last reader
//! and its last copy onward have been timed; so a start is put where everything from then on fits, and the
//! only way to fail is an order that would not fit if run strictly one node after the other.

use super::peak::static_bytes;
use crate::error::{MemoryShortage, PlaceError};
use crate::placement::Schedule;
use crate::problem::{Problem, Route};

/// Changes at one instant.
#[derive(Clone, Copy)]
struct Step {
    time: f64,
    taken: f64,
    freed: f64,
    /// Freed after the taking: bytes whose life begins and ends here.
    passing: f64,
}

#[derive(Default)]
struct Profile {
    limit: f64,
    /// Bytes after the last step.
    at_end: f64,
    steps: Vec<Step>,
}

impl Profile {
    fn step(&mut self, time: f64) -> &mut Step {
        let at = self.steps.partition_point(|s| s.time < time);
        if self.steps.get(at).is_none_or(|s| s.time != time) {
            self.steps.insert(at, Step { time, taken: 0.0, freed: 0.0, passing: 0.0 });
        }
        &mut self.steps[at]
    }

    /// The first time at or after `ready` from which on `bytes` more always fit; else how many are missing.
    fn earliest(&self, bytes: f64, ready: f64) -> Result<f64, f64> {
        if bytes <= 0.0 {
            return Ok(ready);
        }
        let room = self.limit - bytes;
        if self.at_end > room {
            return Err(self.at_end - room);
        }
        let mut after = self.at_end;
        let mut next = None;
        for step in self.steps.iter().rev() {
            // `after` is the level from this step to the next one.
            if after > room {
                return Ok(next.map_or(ready, |t: f64| ready.max(t)));
            }
            if step.time < ready {
                return Ok(ready);
            }
            let top = after + step.passing;
            if top > room {
                return Ok(ready.max(step.time.next_up()));
            }
            after = top - step.taken + step.freed;
            next = Some(step.time);
        }
        if after > room { Ok(next.map_or(ready, |t: f64| ready.max(t))) } else { Ok(ready) }
    }
}

/// One tensor in one memory: an output at home, or a copy.
struct Held {
    device: u16,
    bytes: f64,
    start: f64,
    /// Readers and copies onward that are still to be timed.
    waiting: u32,
    end: f64,
}

/// The error of a device that can't hold what stays there for the whole step.
pub(super) fn require_room(problem: &Problem, fixed: &[f64]) -> Result<(), PlaceError> {
    for (d, &fixed) in fixed.iter().enumerate() {
        if let Some(limit) = problem.devices[d].memory.filter(|_| fixed > problem.limit(d)) {
            return Err(PlaceError::Memory(Box::new(MemoryShortage {
                devices: vec![problem.devices[d].name.clone()],
                limit,
                needed: fixed,
                what: "what stays there for the whole step".to_owned(),
            })));
        }
    }
    Ok(())
}

pub(super) struct Delays<'a> {
    problem: &'a Problem,
    devices: &'a [u16],
    profiles: Vec<Option<Profile>>,
    held: Vec<Vec<Held>>,
}

impl<'a> Delays<'a> {
    pub(super) fn new(problem: &'a Problem, schedule: &'a Schedule) -> Result<Delays<'a>, PlaceError> {
        let fixed = static_bytes(problem, &schedule.devices);
        require_room(problem, &fixed)?;
        let profiles = fixed.iter().enumerate().map(|(d, &fixed)| {
            let limited = problem.devices[d].memory.is_some();
            limited.then(|| Profile { limit: problem.limit(d), at_end: fixed, steps: Vec::new() })
        });
        let profiles = profiles.collect();
        let held = (0..problem.node_count()).map(|_| Vec::new()).collect();
        Ok(Delays { problem, devices: &schedule.devices, profiles, held })
    }

    pub(super) fn earliest(&self, device: u16, bytes: f64, ready: f64) -> Result<f64, f64> {
        match &self.profiles[device as usize] {
            None => Ok(ready),
            Some(profile) => profile.earliest(bytes, ready),
        }
    }

    /// Readers on a device, and copies that leave it, of one output.
    fn uses_on(&self, node: usize, device: u16) -> u32 {
        let home = self.devices[node];
        let mut onward: Vec<u16> = Vec::new();
        let mut readers = 0;
        for edge in self.problem.outs(node) {
            let reader = self.devices[edge.to as usize];
            if reader == device {
                readers += 1;
                continue;
            }
            if reader == home {
                continue;
            }
            let via = match self.problem.routes.get(home, reader) {
                Route::Via(middle) if !self.problem.is_priced(node) => Some(middle),
                _ => None,
            };
            let next = match via {
                None if device == home => reader,
                Some(middle) if device == home => middle,
                Some(middle) if device == middle => reader,
                _ => continue,
            };
            if !onward.contains(&next) {
                onward.push(next);
            }
        }
        readers + onward.len() as u32
    }

    fn take(&mut self, node: usize, device: u16, bytes: f64, start: f64) {
        let waiting = self.uses_on(node, device);
        if let Some(profile) = &mut self.profiles[device as usize] {
            profile.at_end += bytes;
            profile.step(start).taken += bytes;
        }
        self.held[node].push(Held { device, bytes, start, waiting, end: start });
    }

    fn used(&mut self, node: usize, device: u16, until: f64) {
        let Some(held) = self.held[node].iter_mut().find(|h| h.device == device) else { return };
        held.end = held.end.max(until);
        held.waiting = held.waiting.saturating_sub(1);
        if held.waiting > 0 {
            return;
        }
        if let Some(profile) = &mut self.profiles[device as usize] {
            profile.at_end -= held.bytes;
            let step = profile.step(held.end);
            if held.end <= held.start {
                step.passing += held.bytes;
            } else {
                step.freed += held.bytes;
            }
        }
    }

    pub(super) fn node_ran(&mut self, node: usize, start: f64, finish: f64) {
        self.take(node, self.devices[node], self.problem.nodes[node].output_bytes, start);
        for edge in self.problem.ins(node) {
            self.used(edge.from as usize, self.devices[node], finish);
        }
    }

    pub(super) fn copied(&mut self, node: usize, from: u16, to: u16, start: f64, finish: f64, bytes: f64) {
        self.take(node, to, bytes, start);
        self.used(node, from, finish);
    }
}
