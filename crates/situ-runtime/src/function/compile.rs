//! From a graph to something that can be called: passes, placement, lowering, and the memory that it fits in.

use super::blocks::each_block;
use super::candidates::{Scene, dtype};
use super::compiling::{Compiling, homes_of, position};
use super::draw::Draw;
use super::execute::{self, Invocation};
use super::explain::{NodePlace, places};
use super::measure::{FIRST, Measured, is_sampled};
use super::place::{Placed, Prediction};
use super::plan::{DeviceIndex, Plan, PlanSummary};
use super::record::{Event, Off, Recorder, Timed};
use super::simplify::{join, simplify};
use crate::config::PlacementRule;
use crate::ledger::Book;
use crate::notice::Topic;
use crate::policy::{self, Moment};
use crate::recording::{DeviceTimes, Entry, FunctionCall, Stamps, nanoseconds, this_thread};
use crate::runtime::{Inner, Runtime, State};
use crate::storage::DeviceTensor;
use crate::transfer;
use situ_core::{Caller, DeviceId, DeviceSpec, Location, Reason, Request, Result};
use situ_ir::passes::{Options, Report};
use situ_ir::{Content, Graph};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// How often a function is placed anew for what was measured: noise must not make it wander for ever.
const MOST_MOVED: u32 = 6;

/// What is to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The graph as it was traced.
    pub graph: &'a Graph,
    /// The tensors it captured.
    pub captures: &'a [DeviceTensor],
    /// Where the arguments are.
    pub arguments: &'a [DeviceId],
    /// Where the variables live.
    pub variables: &'a [DeviceId],
    /// Which of them may be moved: those that no scope has pinned.
    pub movable: &'a [bool],
    /// The scopes around the call.
    pub call: &'a Request,
    /// Which passes run.
    pub passes: &'a Options,
    /// What it is called in records: its name, or the line that made it.
    pub function: &'a Arc<str>,
    /// Calls that drew random numbers, of whatever was compiled from the same trace: each call takes the next number, and draws from
    /// streams of its own.
    pub draws: &'a Arc<AtomicU64>,
    /// The same function compiled before: what was measured of it holds on, and its calls go on being counted.
    pub before: Option<&'a Compiled>,
}

/// What a call gives: its results, and new values of variables by their number.
#[derive(Debug)]
pub struct Outcome {
    /// The results.
    pub outputs: Vec<DeviceTensor>,
    /// New values of variables.
    pub updates: Vec<(usize, DeviceTensor)>,
}

/// A compiled graph, with the tensors that it captured.
#[derive(Debug)]
pub struct Compiled {
    blueprint: Arc<Blueprint>,
    captures: Vec<DeviceTensor>,
    /// Bytes of those among them that were computed for this plan.
    constants: usize,
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
    pub(super) plan: Plan,
    pub(super) graph: Graph,
    pub(super) places: Vec<NodePlace>,
    /// By node: the device's position in the plan's, and the reason.
    pub(super) assignment: Vec<(DeviceIndex, Reason)>,
    pub(super) prediction: Prediction,
    /// Where the variables must be when it runs.
    homes: Vec<DeviceId>,
    pub(super) function: Arc<str>,
    /// What the scopes around the call asked for.
    pub(super) requested: DeviceSpec,
    reports: Vec<Report>,
    calls: AtomicU64,
    /// Calls that earlier plans of the function had.
    calls_before: u64,
    /// Calls that drew random numbers, if this plan draws any.
    draws: Option<Arc<AtomicU64>>,
    measured: Mutex<Measured>,
    /// Seconds a call is expected to take, by what was measured.
    expected: AtomicU64,
    /// Whether a better placement is known.
    outdated: AtomicBool,
    /// Whether somebody said that what it was compiled for has changed.
    changed: AtomicBool,
    book: Arc<Book>,
    epoch: u64,
}

impl Runtime {
    /// Compiles a program.
    pub fn compile(&self, program: &Program<'_>) -> Result<Compiled> {
        let at = Caller::here();
        let epoch = self.inner.epoch();
        let measured = program.before.map(|before| before.measured()).unwrap_or_default();
        let captures = {
            let state = self.inner.state();
            let whole = |t| transfer::whole_or_hosted(&state.table, &self.inner.ledger, t, at);
            program.captures.iter().map(whole).collect::<Result<Vec<_>>>()?
        };
        let given = captures.len();
        let (graph, captures, mut reports) = simplify(&self.inner, program.graph, captures, program.passes)?;
        let constants = captures[given..].iter().map(|t| t.tensor_type().bytes()).sum();
        let state = self.inner.state();
        let (graph, joined) = join(&state.table, &graph, program.passes, program.call)?;
        reports.extend(joined);
        let position = |id: DeviceId| position(&state.table, id);
        let arguments = program.arguments.iter().map(|id| position(*id)).collect::<Result<Vec<_>>>()?;
        let variables = program.variables.iter().map(|id| position(*id)).collect::<Result<Vec<_>>>()?;
        let captured = captures.iter().map(|t| position(t.device())).collect::<Result<Vec<_>>>()?;
        let homes: Vec<Option<usize>> = graph
            .nodes()
            .iter()
            .map(|node| match node.content {
                Content::Input(n) => arguments.get(n as usize).copied(),
                Content::Capture(n) => captured.get(n as usize).copied(),
                Content::Variable(n) => variables.get(n as usize).copied(),
                Content::Op(_) | Content::Cond(_) | Content::While(_) => None,
            })
            .collect();
        // A variable is moved by who assigns it, and only where placement has its way.
        let assigned = |n: usize| graph.updates().iter().any(|(variable, _)| *variable as usize == n);
        let may_move = |(n, &allowed): (usize, &bool)| {
            allowed && assigned(n) && state.config.rule != PlacementRule::Manual
        };
        let movable: Vec<bool> = program.movable.iter().enumerate().map(may_move).collect();
        let scene = Scene {
            table: &state.table,
            config: &state.config,
            call: program.call,
            homes: &homes,
            movable: &movable,
        };
        let candidates = scene.candidates(&graph)?;
        let mut compiling = Compiling {
            inner: &self.inner,
            state: &state,
            scene: &scene,
            captures,
            replicas: Vec::new(),
            copies: 0,
            replicating: true,
            variables: &variables,
            measured: &measured,
        };
        let (plan, placed) = compiling.planned(&graph, &candidates)?;
        let (plan, placed, captures) = match compiling.replicated() {
            Ok(captures) => (plan, placed, captures),
            // What does not fit for good may fit for the time it is needed.
            Err(error) if error.is_out_of_memory() => {
                compiling.replicating = false;
                let (plan, placed) = compiling.planned(&graph, &candidates)?;
                (plan, placed, compiling.captures)
            }
            Err(error) => return Err(error),
        };
        let announced = Announced { inner: &self.inner, state: &state, scene: &scene };
        announced.all(&graph, &placed.assignment, false);
        each_block(&graph, &plan, &mut |block| announced.all(block.graph, &block.nested.assignment, true));
        let book = self.inner.ledger.open(plan.copies());
        let places = places(&graph, &state.table, &scene, &placed, &plan);
        let Placed { prediction, assignment, .. } = placed;
        let homes = homes_of(&graph, &variables, &assignment);
        let homes = homes.into_iter().map(|d| state.table.devices[d].id()).collect();
        let expected = AtomicU64::new(prediction.placement.makespan.to_bits());
        let draws = plan.is_random().then(|| program.draws.clone());
        let blueprint = Blueprint {
            plan,
            graph,
            places,
            assignment,
            prediction,
            homes,
            function: program.function.clone(),
            requested: program.call.spec.clone(),
            reports,
            calls: AtomicU64::new(0),
            calls_before: program.before.map_or(0, |before| before.calls()),
            draws,
            measured: Mutex::new(measured),
            expected,
            outdated: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            book,
            epoch,
        };
        Ok(Compiled { blueprint: Arc::new(blueprint), captures, constants })
    }
}

/// What announcing a placement needs.
struct Announced<'a> {
    inner: &'a Inner,
    state: &'a State,
    scene: &'a Scene<'a>,
}

impl Announced<'_> {
    /// Says what people asked to be told of placements, and books fallbacks.
    fn all(&self, graph: &Graph, assignment: &[(DeviceIndex, Reason)], is_block: bool) {
        let Announced { inner, state, scene } = *self;
        for (id, node) in graph.iter().filter(|(_, node)| !node.content.is_source()) {
            let (device, why) = assignment[id.index()];
            let ran = state.table.devices[device].id();
            let op = node.content.name();
            if state.config.log_placement {
                let text = format!("{op} -> {ran}: {why} ({}), in a function", node.source);
                inner.notices.say(Topic::Placement, text);
            }
            let Some(wanted) = why.wanted() else { continue };
            let request = scene.request(node);
            let fallback = request.fallback.unwrap_or(state.config.fallback);
            let told = policy::told(&why, &request, fallback, Moment::Planned);
            if told.booked {
                let location = node.source.0.unwrap_or_else(|| Location::here());
                match is_block {
                    // A recording knows the outermost graph alone from its plan.
                    true => inner.ledger.book_fallback_alone(wanted, ran, op, why, location),
                    false => inner.ledger.book_fallback(wanted, ran, op, location, 0.0),
                }
            }
            if told.said {
                inner.notices.say_once(Topic::Fallback, op, dtype(graph, node), wanted, || {
                    format!("{op} runs on {ran}: {why} ({}), at each call of its function", node.source)
                });
            }
        }
    }
}

/// Bytes that a plan takes on the host for each node of its graph and for each of its steps: measured of plans of 20 to 200 nodes, and
/// rounded up.
const HOST_BYTES: usize = 3 << 10;

impl Compiled {
    /// Bytes that go when it goes: on the host, by an estimate, and of the constants that were computed for it.
    pub fn footprint(&self) -> usize {
        (self.graph.nodes().len() + self.plan.steps()) * HOST_BYTES + self.constants
    }

    /// Runs the plan.
    pub fn call(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[DeviceTensor],
    ) -> Result<Outcome> {
        let number = self.calls.fetch_add(1, Relaxed);
        let sampled = is_sampled(number, self.has_choice());
        if runtime.inner.ledger.recordings.is_on() {
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
        variables: &[DeviceTensor],
        number: u64,
        sampled: bool,
    ) -> Result<Outcome> {
        let recordings = &runtime.inner.ledger.recordings;
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
        variables: &[DeviceTensor],
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
        variables: &[DeviceTensor],
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
            // Queues know their times when they are done. What went wrong in the work is for whoever reads the results.
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

    /// Seconds that each device is expected to work in a call: by what was measured of its launches, as far as it was.
    pub fn busy(&self) -> Vec<(DeviceId, f64)> {
        let measured = self.measured.lock().unwrap_or_else(|p| p.into_inner());
        measured.busy(&self.plan)
    }

    /// Seconds a call is expected to take: by what was measured, as far as it was.
    pub fn expected(&self) -> f64 {
        f64::from_bits(self.expected.load(Relaxed))
    }

    /// Whether the devices and the rules are still those that it was compiled for, and none of its devices is lost.
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
        self.plan.updates.iter().any(|(n, _)| *n == variable)
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
