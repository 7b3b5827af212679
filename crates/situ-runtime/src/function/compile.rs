//! From a graph to something that can be called: passes, placement, lowering, and the memory that it fits in.

use super::assemble::assemble;
use super::candidates::{Candidates, Scene, dtype};
use super::costing::Costing;
use super::execute::{self, Invocation};
use super::explain::{NodePlace, places};
use super::lower::{Host, lower};
use super::place::{Placed, Prediction, place};
use super::plan::{DeviceIndex, Plan, PlanSummary};
use super::record::{Event, Events, Off, Recorder};
use super::simplify::{join, simplify};
use crate::config::Table;
use crate::ledger::{Book, Cause};
use crate::notice::Topic;
use crate::runtime::{Inner, Runtime, State};
use crate::storage::DeviceTensor;
use crate::transfer::{self, Purpose};
use situ_core::error::CopyForbidden;
use situ_core::{DeviceId, Error, Policy, Reason, Request, Result, reason};
use situ_ir::passes::{Options, Report};
use situ_ir::{Content, Graph, Node};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often a graph is placed anew because its plan, once packed, takes more memory than the placer thought.
const PLACE_AGAIN: usize = 3;

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
    /// The scopes around the call.
    pub call: &'a Request,
    /// Which passes run.
    pub passes: &'a Options,
}

/// What a call gives: its results, and new values of variables by their number.
#[derive(Debug)]
pub struct Outcome {
    /// The results.
    pub outputs: Vec<DeviceTensor>,
    /// New values of variables.
    pub updates: Vec<(usize, DeviceTensor)>,
}

/// A compiled graph.
#[derive(Debug)]
pub struct Compiled {
    pub(super) plan: Plan,
    pub(super) graph: Graph,
    pub(super) places: Vec<NodePlace>,
    pub(super) prediction: Prediction,
    captures: Vec<DeviceTensor>,
    reports: Vec<Report>,
    calls: AtomicU64,
    book: Arc<Book>,
    epoch: u64,
}

impl Runtime {
    /// Compiles a program.
    pub fn compile(&self, program: &Program<'_>) -> Result<Compiled> {
        let at = Location::caller();
        let epoch = self.inner.epoch();
        let captures = program.captures.iter().map(|t| transfer::whole(t, at)).collect::<Result<Vec<_>>>()?;
        let (graph, captures, mut reports) = simplify(&self.inner, program.graph, captures, program.passes)?;
        let state = self.inner.state();
        let (graph, joined) = join(&state.table, &graph, program.passes)?;
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
        let scene = Scene { table: &state.table, config: &state.config, call: program.call, homes: &homes };
        let candidates = scene.candidates(&graph)?;
        let mut compiling = Compiling {
            inner: &self.inner,
            state: &state,
            scene: &scene,
            captures,
            replicas: Vec::new(),
            variables: &variables,
        };
        let (plan, placed) = compiling.planned(&graph, &candidates)?;
        let captures = compiling.captures;
        announce(&self.inner, &state, &scene, &graph, &placed);
        let book = self.inner.ledger.open(plan.copies());
        let places = places(&graph, &state.table, &scene, &placed);
        let Placed { prediction, .. } = placed;
        Ok(Compiled {
            plan,
            graph,
            places,
            prediction,
            captures,
            reports,
            calls: AtomicU64::new(0),
            book,
            epoch,
        })
    }
}

fn position(table: &Table, id: DeviceId) -> Result<usize> {
    table.devices.iter().position(|d| d.id() == id).ok_or_else(|| {
        Error::config(
            format!("compile for {id}"),
            "that device is not visible any more",
            "move its tensors first",
        )
    })
}

/// A compilation under way.
struct Compiling<'a> {
    inner: &'a Inner,
    state: &'a State,
    scene: &'a Scene<'a>,
    captures: Vec<DeviceTensor>,
    /// Captured tensors copied for good: which, to where, and the number of the copy.
    replicas: Vec<((usize, DeviceIndex), usize)>,
    variables: &'a [DeviceIndex],
}

impl Compiling<'_> {
    /// A plan within the limits if there is one. Where there is none, the plan that a call will refuse with a report of what
    /// is missing.
    fn planned(&mut self, graph: &Graph, candidates: &[Option<Candidates>]) -> Result<(Plan, Placed)> {
        let devices = &self.state.table.devices;
        let mut free: Vec<Option<f64>> = devices
            .iter()
            .map(|d| {
                let info = d.memory_info();
                info.limit.map(|limit| limit.saturating_sub(info.in_use) as f64)
            })
            .collect();
        let limits = free.clone();
        for attempt in 0..=PLACE_AGAIN {
            let Some(placed) = self.placed(graph, candidates, &free)? else { break };
            let plan = self.plan(graph, &placed)?;
            let mut over = false;
            for (device, bytes) in plan.bytes_by_device().into_iter().enumerate() {
                if let (Some(limit), Some(free)) = (limits[device], &mut free[device])
                    && bytes as f64 > limit
                {
                    *free -= bytes as f64 - limit;
                    over = true;
                }
            }
            if !over || attempt == PLACE_AGAIN {
                return Ok((plan, placed));
            }
        }
        let placed = self.placed(graph, candidates, &vec![None; devices.len()])?;
        let placed = placed.ok_or_else(|| {
            Error::argument(
                "function",
                "it has no placement even without limits",
                "this is a defect of the placer",
            )
        })?;
        Ok((self.plan(graph, &placed)?, placed))
    }

    fn placed(
        &self,
        graph: &Graph,
        candidates: &[Option<Candidates>],
        free: &[Option<f64>],
    ) -> Result<Option<Placed>> {
        let devices = &self.state.table.devices;
        let costing = Costing { devices, width: self.width(), free, variables: self.variables };
        let costed = costing.problem(graph, candidates)?;
        place(graph, devices, candidates, costed, self.state.config.rule)
    }

    fn width(&self) -> usize {
        self.state.config.inter_op_threads.unwrap_or(1)
    }

    fn plan(&mut self, graph: &Graph, placed: &Placed) -> Result<Plan> {
        let devices = &self.state.table.devices;
        let width = self.width();
        let variables = self.variables;
        let lowered = lower(graph, devices, &placed.assignment, &placed.order, variables, self)?;
        Ok(assemble(devices, lowered, graph, &placed.assignment, width))
    }

    /// What a node that reads from elsewhere is allowed.
    fn copy_policy(&self, node: &Node) -> Policy {
        self.scene.request(node).copies.unwrap_or(self.state.config.copies)
    }
}

impl Host for Compiling<'_> {
    fn nest(&mut self, graph: &Graph, device: DeviceIndex) -> Result<Plan> {
        let all = vec![(device, Reason::Colocated { with: "its branch" }); graph.nodes().len()];
        let order: Vec<_> = graph.iter().map(|(id, _)| id).collect();
        let lowered = lower(graph, &self.state.table.devices, &all, &order, &[], self)?;
        let mut plan = assemble(&self.state.table.devices, lowered, graph, &all, 1);
        // It runs within the lane of its node, wherever that runs.
        plan.lanes.iter_mut().for_each(|lane| lane.within = None);
        Ok(plan)
    }

    fn replicate(&mut self, capture: usize, node: &Node, device: DeviceIndex) -> Result<Option<usize>> {
        if let Some((_, known)) = self.replicas.iter().find(|(of, _)| *of == (capture, device)) {
            return Ok(Some(*known));
        }
        let from = self.captures[capture].clone();
        let to = &self.state.table.devices[device];
        let (ledger, table) = (&self.inner.ledger, &self.state.table);
        let at = position(table, from.device())?;
        self.allow_copy(node, at, device, from.tensor_type().bytes())?;
        let location = node.source.0.unwrap_or(Location::caller());
        let reason = Reason::Colocated { with: "its readers" };
        let purpose = Purpose { cause: Cause::Implicit, op: "capture", reason, location };
        match transfer::copy(table, ledger, &from, to, purpose) {
            Ok(copy) => {
                self.captures.push(copy);
                let number = self.captures.len() - 1;
                self.replicas.push(((capture, device), number));
                Ok(Some(number))
            }
            // Where it does not fit for good, it may fit for the time it is needed.
            Err(error) if error.is_out_of_memory() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn allow_copy(&mut self, node: &Node, from: DeviceIndex, to: DeviceIndex, bytes: usize) -> Result<()> {
        let policy = self.copy_policy(node);
        if policy == Policy::Allow {
            return Ok(());
        }
        let [from, to] = [from, to].map(|d| self.state.table.devices[d].id());
        let op = node.content.name();
        if policy == Policy::Forbid {
            let forbidden = CopyForbidden { op, input: 0, from, to, bytes };
            return Err(Error::CopyForbidden(Box::new(forbidden)));
        }
        let dtype = node.types.first().map_or(situ_core::DType::F32, |t| t.dtype);
        self.inner.notices.say_once(Topic::Copy, op, dtype, to, || {
            format!(
                "{op} on {to} copies {} from {from} at each call of its function ({})",
                reason::bytes(bytes),
                node.source
            )
        });
        Ok(())
    }
}

/// Says what people asked to be told of placements, and books fallbacks.
fn announce(inner: &Inner, state: &State, scene: &Scene<'_>, graph: &Graph, placed: &Placed) {
    for (id, node) in graph.iter().filter(|(_, node)| !node.content.is_source()) {
        let (device, why) = placed.assignment[id.index()];
        let ran = state.table.devices[device].id();
        let op = node.content.name();
        if state.config.log_placement {
            let text = format!("{op} -> {ran}: {why} ({}), in a function", node.source);
            inner.notices.say(Topic::Placement, text);
        }
        // A limit met by placement is no fallback: nobody asked for the device that is full.
        let Some(wanted) = why.wanted().filter(|_| !matches!(why, Reason::MemoryLimit { .. })) else {
            continue;
        };
        let location = node.source.0.unwrap_or(Location::caller());
        inner.ledger.book(Cause::Fallback, wanted, ran, op, location, 0, 0.0);
        if scene.request(node).fallback.unwrap_or(state.config.fallback) == Policy::Warn {
            inner.notices.say_once(Topic::Fallback, op, dtype(graph, node), wanted, || {
                format!("{op} runs on {ran}: {why} ({}), at each call of its function", node.source)
            });
        }
    }
}

impl Compiled {
    /// Runs the plan.
    pub fn call(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[DeviceTensor],
    ) -> Result<Outcome> {
        self.run(runtime, arguments, variables, &Off)
    }

    /// Runs the plan and says what happened when.
    pub fn call_recorded(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[DeviceTensor],
    ) -> Result<(Outcome, Vec<Event>)> {
        let events = Events::default();
        let outcome = self.run(runtime, arguments, variables, &events)?;
        Ok((outcome, events.into_list()))
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
            number: self.calls.fetch_add(1, Relaxed),
            recorder,
        })
    }

    /// Whether the devices and the rules are still those that it was compiled for, and none of its devices is lost.
    pub fn is_current(&self, runtime: &Runtime) -> bool {
        self.epoch == runtime.inner.epoch() && !self.plan.used.iter().any(|&d| self.plan.devices[d].is_lost())
    }

    /// Where every op runs, and why; ops that were joined are listed one by one.
    pub fn places(&self) -> &[NodePlace] {
        &self.places
    }

    /// The plan's figures.
    pub fn summary(&self) -> PlanSummary {
        self.plan.summary(self.prediction.placement.makespan)
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
