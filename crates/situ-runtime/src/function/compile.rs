//! From a graph to something that can be called.

use super::arena::{Lived, pack};
use super::assign::Scene;
use super::execute;
use super::lower::{Draft, Lowered, lower};
use super::plan::{Action, DeviceIndex, Lane, LaneIndex, Memory, NodePlace, Plan, PlanSummary, Step, Yield};
use super::record::{Event, Events, Off};
use crate::config::Table;
use crate::logical::LogicalDevice;
use crate::runtime::{Runtime, State};
use crate::storage::DeviceTensor;
use situ_core::{DeviceId, DeviceKind, Error, Reason, Request, Result};
use situ_ir::{Content, Graph, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
    plan: Plan,
    captures: Vec<DeviceTensor>,
    calls: AtomicU64,
}

impl Runtime {
    /// Compiles a graph for arguments and variables that live on these devices, under the scopes around its call.
    pub fn compile(
        &self,
        graph: &Graph,
        arguments: &[DeviceId],
        captures: Vec<DeviceTensor>,
        variables: &[DeviceId],
        call: &Request,
    ) -> Result<Compiled> {
        let state = self.inner.state();
        let position = |id: DeviceId| position(&state.table, id);
        let arguments = arguments.iter().map(|id| position(*id)).collect::<Result<Vec<_>>>()?;
        let variables = variables.iter().map(|id| position(*id)).collect::<Result<Vec<_>>>()?;
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
        let scene = Scene { table: &state.table, config: &state.config, call, homes: &homes };
        let assignment = scene.assign(graph)?;
        let plan = plan(&state, graph, &assignment, &variables)?;
        Ok(Compiled { plan, captures, calls: AtomicU64::new(0) })
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

/// The plan of an assigned graph.
fn plan(
    state: &State,
    graph: &Graph,
    assignment: &[(usize, Reason)],
    variables: &[DeviceIndex],
) -> Result<Plan> {
    let devices = &state.table.devices;
    let nest = |inner: &Graph, device: DeviceIndex| {
        let all = vec![(device, Reason::Colocated { with: "its branch" }); inner.nodes().len()];
        plan(state, inner, &all, &[])
    };
    let assignment = assignment.to_vec();
    let lowered = lower(graph, devices, &assignment, variables, &nest)?;
    Ok(assemble(devices, lowered, graph, state.config.inter_op_threads.unwrap_or(1)))
}

/// Which lane a draft runs in: the device's own, its lane for copies to the host, or one of several that share a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum LaneKey {
    Device(DeviceIndex, usize),
    Download(DeviceIndex),
}

fn assemble(devices: &[Arc<LogicalDevice>], lowered: Lowered, graph: &Graph, width: usize) -> Plan {
    let Lowered { mut buffers, drafts, outputs, updates, places } = lowered;
    let mut lanes: Vec<Lane> = Vec::new();
    let mut keys: HashMap<LaneKey, LaneIndex> = HashMap::new();
    let mut busy: HashMap<LaneKey, f64> = HashMap::new();
    // Where each buffer was written: lane, and steps of it that must be over.
    let mut written: Vec<Option<(LaneIndex, usize, LaneKey)>> = vec![None; buffers.len()];
    let mut lived: Vec<Option<(LaneIndex, usize, usize)>> = vec![None; buffers.len()];
    let mut shared = vec![false; buffers.len()];
    let mut checks = 0;
    let mut check_of: HashMap<u32, Vec<usize>> = HashMap::new();
    for draft in drafts {
        let key = choose_lane(&draft, devices, &buffers, &written, &busy, width);
        *busy.entry(key).or_default() += draft.seconds;
        let next = lanes.len();
        let lane = *keys.entry(key).or_insert(next);
        if lane == next {
            lanes.push(Lane::default());
        }
        let at = lanes[lane].steps.len();
        let mut waits: Vec<(LaneIndex, usize)> = Vec::new();
        for &buffer in &draft.reads {
            if let Some((from, over, _)) = written[buffer]
                && from != lane
            {
                match waits.iter_mut().find(|(l, _)| *l == from) {
                    Some((_, steps)) => *steps = (*steps).max(over),
                    None => waits.push((from, over)),
                }
            }
        }
        for &buffer in draft.reads.iter().chain(&draft.writes) {
            match &mut lived[buffer] {
                Some((owner, _, last)) if *owner == lane => *last = at,
                Some(_) => shared[buffer] = true,
                empty => *empty = Some((lane, at, at)),
            }
        }
        for &buffer in &draft.writes {
            written[buffer] = Some((lane, at + 1, key));
        }
        let check = draft.checks.then(|| {
            checks += 1;
            check_of.entry(draft.node.0).or_default().push(checks - 1);
            checks - 1
        });
        let Draft { action, device, node, source, .. } = draft;
        lanes[lane].steps.push(Step { action, device, node, source, waits, check });
    }
    let mut arenas = Vec::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        let inside: Vec<usize> = (0..buffers.len())
            .filter(|&b| buffers[b].device == index && matches!(buffers[b].memory, Memory::Arena { .. }))
            .collect();
        let lives: Vec<Lived> = inside
            .iter()
            .map(|&b| Lived { bytes: buffers[b].bytes, alive: lived[b].filter(|_| !shared[b]) })
            .collect();
        let (alignment, chunk) =
            device.device().map_or((64, usize::MAX / 2), |d| (d.alignment(), d.max_block()));
        let (offsets, total) = pack(&lives, alignment, chunk);
        for (&b, offset) in inside.iter().zip(offsets) {
            buffers[b].memory = Memory::Arena { chunk: offset / chunk, offset: offset % chunk };
        }
        let chunks = total.div_ceil(chunk);
        arenas.push((0..chunks).map(|c| (total - c * chunk).min(chunk)).collect());
    }
    let mut slots = 0;
    for buffer in &mut buffers {
        if let Memory::Own { slot } | Memory::Late { slot } = &mut buffer.memory {
            *slot = slots;
            slots += 1;
        }
    }
    let depends = dependencies(graph, &check_of);
    let result = |operand, value: Value, places: &[NodePlace]| Yield {
        operand,
        reason: places
            .iter()
            .find(|p| p.node == value.node)
            .map_or(Reason::Colocated { with: "its data" }, |p| p.reason),
        checks: depends[value.node.index()].0.clone(),
        sources: depends[value.node.index()].1.clone(),
    };
    let outputs = outputs.into_iter().map(|(operand, value)| result(operand, value, &places)).collect();
    let updates =
        updates.into_iter().map(|(v, operand, value)| (v, result(operand, value, &places))).collect();
    let inline = match lanes.as_slice() {
        [] => true,
        [only] => only
            .steps
            .iter()
            .all(|s| devices[s.device].id().kind == DeviceKind::Cpu && devices[s.device].cores().is_none()),
        _ => false,
    };
    Plan {
        devices: devices.to_vec(),
        arenas,
        buffers,
        lanes,
        outputs,
        updates,
        checks,
        slots,
        places,
        inline,
    }
}

fn choose_lane(
    draft: &Draft,
    devices: &[Arc<LogicalDevice>],
    buffers: &[super::plan::Buffer],
    written: &[Option<(LaneIndex, usize, LaneKey)>],
    busy: &HashMap<LaneKey, f64>,
    width: usize,
) -> LaneKey {
    let is_cpu = |d: DeviceIndex| devices[d].id().kind == DeviceKind::Cpu;
    if let Action::Copy { from, .. } = &draft.action {
        let source = buffers[from.buffer].device;
        // Reading back waits for the queue: a lane of its own, so that more work can be queued meanwhile.
        if !is_cpu(source) {
            return LaneKey::Download(source);
        }
    }
    if !is_cpu(draft.device) || width <= 1 {
        return LaneKey::Device(draft.device, 0);
    }
    // Behind what it reads if that is the end of a lane's work so far, else wherever there is least to do.
    let lane = |n| LaneKey::Device(draft.device, n);
    let load = |key: LaneKey| busy.get(&key).copied().unwrap_or(0.0);
    let least = (0..width).map(lane).min_by(|a, b| load(*a).total_cmp(&load(*b)));
    let follows = draft.reads.iter().filter_map(|&b| written[b]).find_map(|(_, _, key)| match key {
        LaneKey::Device(d, _) if d == draft.device => Some(key),
        _ => None,
    });
    match (follows, least) {
        (Some(key), Some(other)) if load(key) <= load(other) + draft.seconds => key,
        (_, Some(other)) => other,
        (follows, None) => follows.unwrap_or(lane(0)),
    }
}

/// For each node the checks, and the sources with checks of their own, that it depends on.
fn dependencies(graph: &Graph, check_of: &HashMap<u32, Vec<usize>>) -> Vec<(Vec<usize>, Vec<Memory>)> {
    let mut all: Vec<(Vec<usize>, Vec<Memory>)> = Vec::with_capacity(graph.nodes().len());
    for (id, node) in graph.iter() {
        let mut checks = check_of.get(&id.0).cloned().unwrap_or_default();
        let mut sources = match node.content {
            Content::Input(n) => vec![Memory::Argument(n as usize)],
            Content::Capture(n) => vec![Memory::Capture(n as usize)],
            Content::Variable(n) => vec![Memory::Variable(n as usize)],
            Content::Op(_) | Content::Cond(_) | Content::While(_) => Vec::new(),
        };
        for input in &node.inputs {
            let (theirs, from) = &all[input.node.index()];
            checks.extend(theirs.iter().filter(|c| !checks.contains(c)).copied().collect::<Vec<_>>());
            sources.extend(from.iter().filter(|s| !sources.contains(s)).copied().collect::<Vec<_>>());
        }
        all.push((checks, sources));
    }
    all
}

impl Compiled {
    /// Runs the plan.
    pub fn call(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[DeviceTensor],
    ) -> Result<Outcome> {
        let call = self.calls.fetch_add(1, Relaxed);
        // Held over the call: the configuration does not change under it.
        let _in_flight = runtime.inner.state();
        execute::run(runtime, &self.plan, &self.captures, arguments, variables, call, &Off)
    }

    /// Runs the plan and says what happened when.
    pub fn call_recorded(
        &self,
        runtime: &Runtime,
        arguments: &[&DeviceTensor],
        variables: &[DeviceTensor],
    ) -> Result<(Outcome, Vec<Event>)> {
        let call = self.calls.fetch_add(1, Relaxed);
        let events = Events::default();
        let _in_flight = runtime.inner.state();
        let outcome = execute::run(runtime, &self.plan, &self.captures, arguments, variables, call, &events)?;
        Ok((outcome, events.into_list()))
    }

    /// Where every node runs, and why.
    pub fn places(&self) -> &[NodePlace] {
        &self.plan.places
    }

    /// The plan's figures.
    pub fn summary(&self) -> PlanSummary {
        self.plan.summary()
    }
}
