//! A compiled function: what it is, its calls, and what is learned from them.

use super::candidates::Candidates;
use super::draw::Draw;
use super::execute::{self, Invocation};
use super::explain::NodePlace;
use super::measure::{FIRST, Measured, is_sampled};
use super::place::Prediction;
use super::plan::{DeviceIndex, ExecutionPlan, PlanSummary};
use super::record::{Event, Off, Recorder, Timed};
use crate::config::PlacementRule;
use crate::ledger::PlanCopies;
use crate::put_rows::NewRows;
use crate::recording::{DeviceTimes, Entry, FunctionCall, Stamps, nanoseconds, this_thread};
use crate::runtime::Runtime;
use crate::storage::DeviceTensor;
use situ_core::{DeviceId, DeviceSpec, Reason, Result};
use situ_ir::Graph;
use situ_ir::passes::Report;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// How often a function is placed anew for what was measured: noise must not make it wander for ever.
const MOST_MOVED: u32 = 6;

/// What a call gives: its results, and new values of variables, or new rows of them, by the variables'
/// numbers.
#[derive(Debug)]
pub struct Outcome {
    /// The results, in the order of the closure's.
    pub outputs: Vec<DeviceTensor>,
    /// New values of variables.
    pub updates: Vec<(usize, DeviceTensor)>,
    /// Rows to be written over in the values of variables.
    pub rows: Vec<(usize, NewRows)>,
}

/// A compiled graph, with the tensors that it captured.
#[derive(Debug)]
pub struct Compiled {
    pub(super) blueprint: Arc<Blueprint>,
    /// What the closure captured, then what passes computed of it, then copies of both on other devices.
    pub(super) captures: Vec<DeviceTensor>,
    /// How many of them are no copies.
    pub(super) own: usize,
    /// Bytes of what passes computed.
    pub(super) constants: usize,
}

impl Deref for Compiled {
    type Target = Blueprint;
    fn deref(&self) -> &Blueprint {
        &self.blueprint
    }
}

/// All of a compiled graph but its tensors: a recording keeps it, and keeps no memory of a device with it.
#[derive(Debug)]
pub struct Blueprint {
    pub(super) plan: ExecutionPlan,
    pub(super) graph: Graph,
    pub(super) places: Vec<NodePlace>,
    /// By node: the device's position in the plan's, and the reason.
    pub(super) assignment: Vec<(DeviceIndex, Reason)>,
    pub(super) prediction: Prediction,
    /// The devices that might have run each node.
    pub(super) candidates: Vec<Option<Candidates>>,
    /// Sizes that went into what passes computed on constants.
    pub(super) folded: Vec<usize>,
    /// Where the variables must be when it runs.
    pub(super) homes: Vec<DeviceId>,
    pub(super) function: Arc<str>,
    /// What the scopes around the call asked for.
    pub(super) requested: DeviceSpec,
    pub(super) reports: Arc<[Report]>,
    pub(super) calls: AtomicU64,
    /// Calls that earlier plans of the function had.
    pub(super) calls_before: u64,
    /// Calls that drew random numbers, if this plan draws any.
    pub(super) draws: Option<Arc<AtomicU64>>,
    pub(super) measured: Mutex<Measured>,
    /// Seconds a call is expected to take, by what was measured.
    pub(super) expected: AtomicU64,
    /// Whether a better placement is known.
    pub(super) outdated: AtomicBool,
    /// Whether somebody said that what it was compiled for has changed.
    pub(super) changed: AtomicBool,
    pub(super) book: Arc<PlanCopies>,
    pub(super) epoch: u64,
}

/// Bytes that a plan takes on the host for each node of its graph and for each of its steps: measured of
/// plans of 20 to 200 nodes, and rounded up.
const HOST_BYTES: usize = 3 << 10;

impl Compiled {
    /// Bytes that go when it goes: on the host, by an estimate, and of the constants that were computed for
    /// it.
    pub fn footprint(&self) -> usize {
        (self.graph.nodes().len() + self.plan.steps()) * HOST_BYTES + self.constants
    }

    /// Runs the plan.
    pub fn call(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[&DeviceTensor],
    ) -> Result<Outcome> {
        let number = self.calls.fetch_add(1, Relaxed);
        let sampled = is_sampled(number, self.has_choice());
        if runtime.inner.journal.recordings.is_on() {
            return self.call_for_recordings(runtime, arguments, variables, number, sampled);
        }
        if !sampled {
            return self.run(runtime, arguments, variables, &Off);
        }
        let timed = Timed::new(self.plan.steps());
        let start = Instant::now();
        let outcome = self.run(runtime, arguments, variables, &timed)?;
        self.learn(runtime, &timed, start)?;
        Ok(outcome)
    }

    #[cold]
    fn call_for_recordings(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[&DeviceTensor],
        number: u64,
        sampled: bool,
    ) -> Result<Outcome> {
        let recordings = &runtime.inner.journal.recordings;
        let clock = Instant::now();
        let start = nanoseconds();
        // On a CPU the host's clock says it all.
        let has_queue = self.plan.used.iter().any(|&d| self.plan.devices[d].is_queued());
        let asked = if has_queue { recordings.device_times() } else { DeviceTimes::Unasked };
        let asked = if sampled { DeviceTimes::Launches } else { asked };
        let stamps = Arc::new(Stamps::new(self.plan.steps(), asked));
        let outcome = self.run(runtime, arguments, variables, &*stamps);
        let end = nanoseconds();
        stamps.sample(self.plan.used.iter().map(|&device| &self.plan.devices[device]));
        let (blueprint, number) = (self.blueprint.clone(), self.calls_before + number);
        let call =
            FunctionCall { blueprint, number, thread: this_thread(), start, end, stamps: stamps.clone() };
        recordings.take(Entry::Call(call));
        if let Some(timed) = stamps.timed().filter(|_| sampled && outcome.is_ok()) {
            self.learn(runtime, timed, clock)?;
            stamps.set_drained();
        }
        outcome
    }

    /// Runs the plan and says what happened when.
    pub fn call_recorded(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[&DeviceTensor],
    ) -> Result<(Outcome, Vec<Event>)> {
        let start = nanoseconds();
        let stamps = Stamps::new(self.plan.steps(), DeviceTimes::Unasked);
        self.calls.fetch_add(1, Relaxed);
        let outcome = self.run(runtime, arguments, variables, &stamps)?;
        let mut events: Vec<Event> = Vec::new();
        for (lane, steps) in self.plan.lanes.iter().enumerate() {
            for step in &steps.steps {
                let times = stamps.times(step.number);
                events.extend(Event::of(&self.step(lane, step), step.action.name(), times, start));
            }
        }
        events.sort_by(|a, b| a.start.total_cmp(&b.start));
        Ok((outcome, events))
    }

    fn run<R: Recorder>(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[&DeviceTensor],
        recorder: &R,
    ) -> Result<Outcome> {
        // Held over the call: the configuration does not change under it.
        let _in_flight = runtime.inner.state();
        execute::run(&Invocation {
            runtime,
            plan: &self.plan,
            book: &self.book,
            captures: &self.captures,
            arguments,
            variables,
            draw: Draw::of_call(self.draws.as_ref().map_or(0, |draws| draws.fetch_add(1, Relaxed))),
            recorder,
            is_nested: false,
        })
    }
}

impl Blueprint {
    /// Takes in what a call was measured to take.
    fn learn(&self, runtime: &Runtime, timed: &Timed, start: Instant) -> Result<()> {
        for &device in &self.plan.used {
            // Queues know their times when they are done. What went wrong in the work is for whoever reads
            // the results.
            if self.plan.devices[device].is_queued() {
                self.plan.devices[device].device()?.sync()?;
            }
        }
        let wall = start.elapsed().as_secs_f64();
        let mut measured = self.measured.lock().unwrap_or_else(|p| p.into_inner());
        for (device, took, modelled) in measured.take(&self.plan, timed) {
            self.plan.devices[device].observe(took, modelled);
        }
        let state = runtime.inner.state();
        // Before the fifth call, times are still those of caches that fill and shaders that are compiled.
        let settled = self.calls.load(Relaxed) >= FIRST;
        let free = !state.config.deterministic && state.config.rule == PlacementRule::Auto;
        let look = settled && free && self.has_choice() && measured.moved < MOST_MOVED;
        let (expected, better) = measured.judge(&self.prediction, &self.plan, wall, look);
        self.expected.store(expected.to_bits(), Relaxed);
        if better && !self.outdated.swap(true, Relaxed) {
            measured.moved += 1;
            measured.forget_look();
        }
        Ok(())
    }

    /// Whether any op could have been placed elsewhere.
    fn has_choice(&self) -> bool {
        self.prediction.has_choice
    }

    /// How often the function was called.
    pub fn calls(&self) -> u64 {
        self.calls_before + self.calls.load(Relaxed)
    }

    /// What was measured of its calls so far.
    pub fn measured(&self) -> Measured {
        self.measured.lock().unwrap_or_else(|p| p.into_inner()).clone()
    }

    /// Seconds that each device is expected to work in a call: by what was measured of its launches, as far
    /// as it was.
    pub fn busy(&self) -> Vec<(DeviceId, f64)> {
        let measured = self.measured.lock().unwrap_or_else(|p| p.into_inner());
        measured.busy(&self.plan)
    }

    /// Seconds a call is expected to take: by what was measured, as far as it was.
    pub fn expected(&self) -> f64 {
        f64::from_bits(self.expected.load(Relaxed))
    }

    /// Whether the devices and the rules are still those that it was compiled for, and none of its devices is
    /// lost.
    pub fn is_current(&self, runtime: &Runtime) -> bool {
        self.epoch == runtime.inner.epoch()
            && !self.outdated.load(Relaxed)
            && !self.plan.used.iter().any(|&d| self.plan.devices[d].is_lost())
    }

    /// Something that it was compiled for has changed: it is compiled again before the next call.
    pub fn outdate(&self) {
        self.changed.store(true, Relaxed);
        self.outdated.store(true, Relaxed);
    }

    /// Whether it gives a variable a new value.
    pub fn assigns(&self, variable: usize) -> bool {
        let new_values = self.plan.updates.iter().map(|(n, _)| *n);
        new_values.chain(self.plan.puts.iter().map(|put| put.variable)).any(|n| n == variable)
    }

    /// Where each variable must be when it is called: one that is elsewhere is moved first, if it may be.
    pub fn homes(&self) -> &[DeviceId] {
        &self.homes
    }

    /// Why it can't run any more, if it can't.
    pub fn why_outdated(&self, runtime: &Runtime) -> Option<&'static str> {
        if self.plan.used.iter().any(|&d| self.plan.devices[d].is_lost()) {
            Some("a device was lost")
        } else if self.epoch != runtime.inner.epoch() {
            Some("the devices, the rules or their costs were changed")
        } else if self.changed.load(Relaxed) {
            Some("its variables may be elsewhere now")
        } else if self.outdated.load(Relaxed) {
            Some("another placement is faster by what was measured")
        } else {
            None
        }
    }

    /// The devices that a call uses.
    pub fn devices(&self) -> impl Iterator<Item = DeviceId> + '_ {
        self.plan.used.iter().map(|&device| self.plan.devices[device].id())
    }

    /// Where every op runs, and why; ops that were joined are listed one by one.
    pub fn places(&self) -> &[NodePlace] {
        &self.places
    }

    /// The plan's figures.
    pub fn summary(&self) -> PlanSummary {
        self.plan.summary(self.expected())
    }

    /// The graph that runs: after the passes.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What the passes did, and what they nearly did.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }
}
