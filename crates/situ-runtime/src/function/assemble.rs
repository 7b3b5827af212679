//! Lanes, waits and offsets: from drafts to a plan that can be run.

use super::arena::{ArenaBuffer, Known, Life, pack};
use super::depends::Dependencies;
use super::in_place;
use super::lower::{Draft, Lowered};
use super::plan::{Action, Buffer, DeviceIndex, ExecutionPlan, Lane, LaneIndex, Memory, PlanOutput, Step};
use crate::logical::LogicalDevice;
use situ_core::reason::Excess;
use situ_core::{Error, Reason, Result};
use situ_ir::{Graph, Value};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Which lane a draft runs in: the device's own, or one of several that share a CPU; its lane for copies to
/// it, and its lane for copies to the host, so that copies overlap with what it computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum LaneKey {
    Device(DeviceIndex, usize),
    Upload(DeviceIndex),
    Download(DeviceIndex),
}

/// How steps are dealt to lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneAssignment {
    /// To lanes for each device and its copies; a CPU runs at most so many steps at once.
    ByDevice(usize),
    /// All to one lane, which is part of a lane of another plan.
    Together,
}

/// The plan of a lowered graph.
pub(crate) fn assemble(
    devices: &[Arc<LogicalDevice>],
    lowered: Lowered,
    graph: &Graph,
    assignment: &[(DeviceIndex, Reason)],
    dealt: LaneAssignment,
) -> Result<ExecutionPlan> {
    let Lowered { mut buffers, drafts, mut outputs, mut updates, mut puts } = lowered;
    let mut lanes: Vec<Lane> = Vec::new();
    let mut keys: HashMap<LaneKey, LaneIndex> = HashMap::new();
    let mut busy: HashMap<LaneKey, f64> = HashMap::new();
    // Where each buffer was written: lane, and steps of it that must be over.
    let mut written: Vec<Option<(LaneIndex, usize, LaneKey)>> = vec![None; buffers.len()];
    let mut lives: Vec<Option<Life>> = vec![None; buffers.len()];
    // By lane and step, how far the lanes are when it begins.
    let mut knowledge: Vec<Vec<Known>> = Vec::new();
    let mut checks = 0;
    let mut check_of: HashMap<u32, Vec<usize>> = HashMap::new();
    let (drafts, sent) = ask_ahead(drafts, devices, &buffers);
    for (number, draft) in drafts.into_iter().enumerate() {
        let key = match dealt {
            LaneAssignment::Together => LaneKey::Device(0, 0),
            LaneAssignment::ByDevice(width) => choose_lane(&draft, devices, &buffers, &written, &busy, width),
        };
        *busy.entry(key).or_default() += draft.seconds;
        let next = lanes.len();
        let lane = *keys.entry(key).or_insert(next);
        if lane == next {
            lanes.push(Lane::default());
            knowledge.push(Vec::new());
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
        let known = known(&knowledge, lane, at, &waits);
        for &buffer in draft.reads.iter().chain(&draft.writes) {
            let begun = || Life { first: (lane, at), known: known.clone(), last: SmallVec::new() };
            lives[buffer].get_or_insert_with(begun).touch(lane, at);
        }
        knowledge[lane].push(known);
        for &buffer in &draft.writes {
            written[buffer] = Some((lane, at + 1, key));
        }
        let check = draft.checks.then(|| {
            checks += 1;
            check_of.entry(draft.node.0).or_default().push(checks - 1);
            checks - 1
        });
        let Draft { action, device, node, source, seconds, .. } = draft;
        let depends = None;
        lanes[lane].steps.push(Step { action, device, node, source, waits, seconds, number, check, depends });
    }
    let now = in_place::join(&lanes, devices, &buffers, &mut lives);
    let operands = lanes.iter_mut().flat_map(|lane| &mut lane.steps).flat_map(|step| step.action.operands());
    let results = outputs.iter_mut().map(|(o, _)| o).chain(updates.iter_mut().map(|(_, o, _)| o));
    let results = results.chain(puts.iter_mut().flat_map(|put| [&mut put.indices, &mut put.rows]));
    operands.chain(results).for_each(|operand| operand.buffer = now[operand.buffer]);
    let mut arenas: Vec<(DeviceIndex, usize)> = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        let inside: Vec<usize> = (0..buffers.len())
            .filter(|&b| buffers[b].device == index && now[b] == b)
            .filter(|&b| matches!(buffers[b].memory, Memory::Arena { .. }))
            .collect();
        // A device that holds nothing of the plan is not opened for it.
        if inside.is_empty() {
            continue;
        }
        let lives: Vec<ArenaBuffer> =
            inside.iter().map(|&b| ArenaBuffer { bytes: buffers[b].bytes, life: lives[b].clone() }).collect();
        let (alignment, chunk) =
            device.device().map_or((64, usize::MAX / 2), |d| (d.alignment(), d.max_block()));
        let packed = pack(&lives, alignment, chunk);
        let (offsets, total) = packed.map_err(|over| oversize(&buffers[inside[over]], device, chunk))?;
        for (&b, offset) in inside.iter().zip(offsets) {
            let number = arenas.len() + offset / chunk;
            buffers[b].memory = Memory::Arena { chunk: number, offset: offset % chunk };
        }
        let chunks = total.div_ceil(chunk);
        arenas.extend((0..chunks).map(|c| (index, (total - c * chunk).min(chunk))));
    }
    let (mut own, mut late) = (Vec::new(), 0);
    for (index, buffer) in buffers.iter_mut().enumerate() {
        match &mut buffer.memory {
            Memory::Own { slot } => {
                *slot = own.len();
                own.push(index);
            }
            Memory::Late { slot } => {
                *slot = late;
                late += 1;
            }
            Memory::Argument(_) | Memory::Capture(_) | Memory::Variable(_) | Memory::Arena { .. } => (),
        }
    }
    let late_of = made_by_branches(&lanes, &buffers);
    let depends = Dependencies::new(graph, checks, &check_of, &late_of);
    for step in lanes.iter_mut().flat_map(|lane| &mut lane.steps) {
        if matches!(step.action, Action::Cond { .. } | Action::While { .. }) {
            let inputs = graph.nodes()[step.node.index()].inputs.iter().map(|input| input.node);
            step.depends = Some(Box::new(depends.of(inputs)));
        }
    }
    let ends = outputs.iter().map(|(_, value)| value).chain(updates.iter().map(|(_, _, value)| value));
    let ends = ends.map(|value| value.node).chain(puts.iter().map(|put| put.node));
    let mut sources = depends.of(ends).sources;
    let made = late_of.into_values().flatten().filter(|made| !sources.contains(made)).collect::<Vec<_>>();
    sources.extend(made);
    let result = |operand, value: Value| PlanOutput { operand, reason: assignment[value.node.index()].1 };
    let outputs = outputs.into_iter();
    let outputs =
        outputs.map(|(operand, value)| (result(operand, value), depends.of([value.node]))).collect();
    let updates = updates.into_iter().map(|(v, operand, value)| (v, result(operand, value))).collect();
    // A lane that holds a device's threads keeps all others off them, also a block that is to run there in
    // the middle of another lane.
    let steps = || lanes.iter().flat_map(|lane| &lane.steps);
    let reaches = |step: &Step| step.action.nested().any(|n| n.plan.used.iter().any(|d| *d != step.device));
    let holds = dealt != LaneAssignment::Together && !steps().any(reaches);
    let inner: Vec<DeviceIndex> =
        steps().flat_map(|s| s.action.nested().flat_map(|n| n.plan.used.clone())).collect();
    for (key, &lane) in &keys {
        if let LaneKey::Device(device, _) = *key
            && holds
            && devices[device].cores().is_some()
            && !keys
                .keys()
                .any(|other| matches!(other, LaneKey::Device(d, _) if *d == device && other != key))
        {
            lanes[lane].within = Some(device);
        }
    }
    let mut used: Vec<DeviceIndex> = buffers.iter().map(|b| b.device).chain(inner).collect();
    used.sort_unstable();
    used.dedup();
    let targets = devices.iter().enumerate();
    let targets = targets.map(|(d, device)| used.contains(&d).then(|| device.shared()).flatten()).collect();
    Ok(ExecutionPlan {
        devices: devices.to_vec(),
        used,
        targets,
        arenas,
        buffers,
        lanes,
        outputs,
        updates,
        puts,
        checks,
        sources,
        sent,
        own,
        late,
    })
}

/// No device is a candidate for what it can't hold, so this is for what placement did not foresee.
#[cold]
fn oversize(buffer: &Buffer, device: &LogicalDevice, limit: usize) -> Error {
    let excess = Excess::new("bytes in one buffer", buffer.bytes as u64, limit as u64);
    Error::too_large(buffer.owner, device.id(), excess, Vec::new())
}

/// How far each lane is when a step begins: what its lane knew before, its lane's steps up to it, and what it
/// waits for with all that was known there.
fn known(knowledge: &[Vec<Known>], lane: LaneIndex, at: usize, waits: &[(LaneIndex, usize)]) -> Known {
    let mut known = at.checked_sub(1).map_or_else(Known::new, |before| knowledge[lane][before].clone());
    known.resize(knowledge.len(), 0);
    known[lane] = at;
    for &(other, over) in waits {
        for (mine, theirs) in known.iter_mut().zip(&knowledge[other][over - 1]) {
            *mine = (*mine).max(*theirs);
        }
        known[other] = known[other].max(over);
    }
    known
}

/// Copies to the host in two parts: a queue is asked for the bytes as soon as it was given what makes them,
/// so that later launches do not come first, and another lane waits for them meanwhile. Gives how many there
/// are.
fn ask_ahead(
    drafts: Vec<Draft>,
    devices: &[Arc<LogicalDevice>],
    buffers: &[super::plan::Buffer],
) -> (Vec<Draft>, usize) {
    let mut maker: Vec<Option<usize>> = vec![None; buffers.len()];
    // By draft: what comes right behind it.
    let mut behind: Vec<Vec<Draft>> = (0..drafts.len()).map(|_| Vec::new()).collect();
    let mut rest: Vec<Option<Draft>> = Vec::with_capacity(drafts.len());
    let mut sent = 0;
    for (index, mut draft) in drafts.into_iter().enumerate() {
        for &buffer in &draft.writes {
            maker[buffer] = Some(index);
        }
        let Action::Copy { from, to, through, number, sent: place, .. } = &mut draft.action else {
            rest.push(Some(draft));
            continue;
        };
        let source = buffers[from.buffer].device;
        // Where the bytes are in the host's memory: at the end of the copy, or on its way.
        let at_host = through.or(devices[draft.device].is_host().then_some(*to));
        let Some(at_host) = at_host.filter(|_| !devices[source].is_host()) else {
            rest.push(Some(draft));
            continue;
        };
        *place = Some(sent);
        let ask = Draft {
            action: Action::BeginDownload { from: *from, to: at_host, number: *number, sent },
            device: source,
            node: draft.node,
            source: draft.source,
            reads: vec![from.buffer],
            writes: vec![at_host.buffer],
            seconds: 0.0,
            checks: false,
        };
        sent += 1;
        draft.writes = vec![to.buffer];
        draft.reads = vec![at_host.buffer];
        behind[maker[ask.reads[0]].unwrap_or(index)].extend([ask, draft]);
        rest.push(None);
    }
    (rest.into_iter().zip(behind).flat_map(|(draft, behind)| draft.into_iter().chain(behind)).collect(), sent)
}

fn choose_lane(
    draft: &Draft,
    devices: &[Arc<LogicalDevice>],
    buffers: &[super::plan::Buffer],
    written: &[Option<(LaneIndex, usize, LaneKey)>],
    busy: &HashMap<LaneKey, f64>,
    width: usize,
) -> LaneKey {
    if let Action::BeginDownload { .. } = &draft.action {
        return LaneKey::Device(draft.device, 0);
    }
    if let Action::Copy { from, through, .. } = &draft.action {
        let source = buffers[from.buffer].device;
        if through.is_some() {
            return LaneKey::Upload(draft.device);
        }
        // Without the host it is a launch among others of the device that takes it.
        if !devices[source].is_host() && !devices[draft.device].is_host() {
            return LaneKey::Device(draft.device, 0);
        }
        // Reading back waits for the queue: a lane of its own, so that more work can be queued meanwhile.
        return if devices[source].is_host() {
            LaneKey::Upload(draft.device)
        } else {
            LaneKey::Download(source)
        };
    }
    if !devices[draft.device].capabilities().concurrent || width <= 1 {
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

/// Where the results of each branch and loop are, by their nodes.
fn made_by_branches(lanes: &[Lane], buffers: &[Buffer]) -> HashMap<u32, Vec<Memory>> {
    let mut made: HashMap<u32, Vec<Memory>> = HashMap::new();
    for step in lanes.iter().flat_map(|lane| &lane.steps) {
        if let Action::Cond { outputs, .. } | Action::While { outputs, .. } = &step.action {
            made.entry(step.node.0).or_default().extend(outputs.iter().map(|o| buffers[o.buffer].memory));
        }
    }
    made
}
