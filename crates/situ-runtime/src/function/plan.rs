//! The plan: what the executor runs, written out in full.

use crate::ledger::{PlannedCopy, Route};
use crate::logical::LogicalDevice;
use situ_core::{DType, DeviceId, Layout, Location, Reason, ScopeName};
use situ_device::{Device, KernelId};
use situ_ir::graph::Source;
use situ_ir::{NodeId, Op};
use std::sync::Arc;

/// A device of a plan, by its position in [`ExecutionPlan::devices`].
pub(crate) type DeviceIndex = usize;
/// A buffer of a plan, by its position in [`ExecutionPlan::buffers`].
pub(crate) type BufferIndex = usize;
/// A lane of a plan: steps that run in order.
pub(crate) type LaneIndex = usize;

/// Where a buffer's memory comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// Argument number n of the call.
    Argument(usize),
    /// Captured tensor number n.
    Capture(usize),
    /// Variable number n, as it is when the call begins.
    Variable(usize),
    /// At this offset of a chunk of the arenas, by the chunk's position in [`Plan::arenas`].
    Arena { chunk: usize, offset: usize },
    /// Tensor number n of the call's own: it leaves the call, or a branch reads it.
    Own { slot: usize },
    /// Tensor number n of the call's own, made by a branch while the plan runs.
    Late { slot: usize },
}

/// Memory that steps read and write.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) device: DeviceIndex,
    pub(crate) bytes: usize,
    pub(crate) memory: Memory,
    /// What made it, for reports of memory.
    pub(crate) owner: &'static str,
}

/// A tensor as a step sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) buffer: BufferIndex,
    pub(crate) layout: Layout,
    pub(crate) dtype: DType,
}

impl Operand {
    pub(crate) fn bytes(&self) -> usize {
        self.layout.shape().elements() * self.dtype.size()
    }
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Action {
    /// Runs a kernel.
    Launch {
        op: Op,
        kernel: KernelId,
        inputs: Vec<Operand>,
        outputs: Vec<Operand>,
        workspace: Option<BufferIndex>,
    },
    /// Asks a queue for the bytes of a copy to the host, in its turn among launches; [`Action::Copy`] of the
    /// same `number` waits for them.
    BeginDownload { from: Operand, to: Operand, number: usize, sent: usize },
    /// Copies a dense tensor to a buffer on another device, for the node `reader`; `number` is its place in
    /// the book of the outermost plan, `sent` the place of the bytes if they were asked for before.
    Copy {
        from: Operand,
        to: Operand,
        /// The host's memory by way of which it goes, where neither end is the host and they are no peers.
        through: Option<Operand>,
        number: usize,
        reader: NodeId,
        sent: Option<usize>,
    },
    /// Runs one of two plans on `inputs`, by the first of them.
    Cond { then: Box<Nested>, otherwise: Box<Nested>, inputs: Vec<Operand>, outputs: Vec<Operand> },
    /// Repeats a plan on a state while another says so.
    While { condition: Box<Nested>, body: Box<Nested>, inputs: Vec<Operand>, outputs: Vec<Operand> },
}

impl Action {
    /// What it reads and writes, but for the workspace.
    pub(crate) fn operands(&mut self) -> impl Iterator<Item = &mut Operand> {
        use std::slice::from_mut;
        let (reads, writes, through): (&mut [Operand], &mut [Operand], _) = match self {
            Action::Launch { inputs, outputs, .. }
            | Action::Cond { inputs, outputs, .. }
            | Action::While { inputs, outputs, .. } => (inputs, outputs, None),
            Action::BeginDownload { from, to, .. } => (from_mut(from), from_mut(to), None),
            Action::Copy { from, to, through, .. } => (from_mut(from), from_mut(to), through.as_mut()),
        };
        reads.iter_mut().chain(writes).chain(through)
    }

    /// A name for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Action::Launch { op, .. } => op.name(),
            Action::BeginDownload { .. } | Action::Copy { .. } => "copy",
            Action::Cond { .. } => "cond",
            Action::While { .. } => "while_loop",
        }
    }
}

/// A plan inside a plan.
#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) plan: ExecutionPlan,
    /// By node of its graph: the device's position in the plan's, and the reason.
    pub(crate) assignment: Vec<(DeviceIndex, Reason)>,
}

/// One step of a lane.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) device: DeviceIndex,
    /// The node of the graph that it is for.
    pub(crate) node: NodeId,
    pub(crate) source: Source,
    /// Steps of other lanes that must be over: (lane, how many of its steps).
    pub(crate) waits: Vec<(LaneIndex, usize)>,
    /// Seconds it was expected to take when it was planned.
    pub(crate) seconds: f64,
    /// Its number among all steps of the plan.
    pub(crate) number: usize,
    /// Where the check of this launch is kept, if it can find bad data after the call.
    pub(crate) check: Option<usize>,
    /// What a branch or a loop depends on: it must not decide by what is known to be bad.
    pub(crate) depends: Option<Box<Depends>>,
}

/// Steps that run one after the other.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) steps: Vec<Step>,
    /// The device on whose own threads the lane runs as a whole, if that device has threads and this is its
    /// only lane.
    pub(crate) within: Option<DeviceIndex>,
}

/// What a value depends on that may turn out bad.
#[derive(Debug, Default)]
pub(crate) struct Depends {
    /// The plan's own checks, by their numbers.
    pub(crate) checks: Vec<usize>,
    /// The tensors whose own open checks count: arguments, captures, variables, and what branches have made.
    pub(crate) sources: Vec<Memory>,
}

/// One result of the call, or the new value of a variable.
#[derive(Debug)]
pub(crate) struct PlanOutput {
    pub(crate) operand: Operand,
    pub(crate) reason: Reason,
}

/// New rows of a variable's value: the end of a call writes them over the old ones.
#[derive(Debug)]
pub(crate) struct Put {
    /// The variable's number.
    pub(crate) variable: usize,
    /// The node that stands for the new value.
    pub(crate) node: NodeId,
    /// Which rows.
    pub(crate) indices: Operand,
    /// A row for each index.
    pub(crate) rows: Operand,
    pub(crate) reason: Reason,
    pub(crate) name: ScopeName,
    pub(crate) source: Source,
}

/// What the executor runs.
#[derive(Debug)]
pub(crate) struct ExecutionPlan {
    pub(crate) devices: Vec<Arc<LogicalDevice>>,
    /// The devices that its steps run on or copy from.
    pub(crate) used: Vec<DeviceIndex>,
    /// What is behind the seam of each of them.
    pub(crate) targets: Vec<Option<Arc<dyn Device>>>,
    /// The chunks of the devices' arenas: whose each is, and its bytes.
    pub(crate) arenas: Vec<(DeviceIndex, usize)>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) lanes: Vec<Lane>,
    /// Results, and what each depends on.
    pub(crate) outputs: Vec<(PlanOutput, Depends)>,
    /// New values of variables, by the variables' numbers. They are given only when every check of the call
    /// has come out well.
    pub(crate) updates: Vec<(usize, PlanOutput)>,
    /// Variables of which some rows are written over when all that has come out well.
    pub(crate) puts: Vec<Put>,
    pub(crate) checks: usize,
    /// The tensors whose own open checks count for anything in the call.
    pub(crate) sources: Vec<Memory>,
    /// Copies to the host that are asked for ahead.
    pub(crate) sent: usize,
    /// The tensors of its own that a call takes before its first step, in the order of their slots.
    pub(crate) own: Vec<BufferIndex>,
    /// How many tensors branches make.
    pub(crate) late: usize,
}

/// Figures of a plan, for people and tests.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSummary {
    /// Bytes of the arena on each device.
    pub arenas: Vec<(DeviceId, usize)>,
    /// How many kernels a call launches.
    pub launches: usize,
    /// Copies, and the bytes they move.
    pub copies: usize,
    /// Bytes moved by copies.
    pub bytes_copied: usize,
    /// Lanes that run at once.
    pub lanes: usize,
    /// Seconds that a call is expected to take: by what was measured of calls, as far as it was.
    pub predicted: f64,
}

impl ExecutionPlan {
    /// How many steps it has.
    pub(crate) fn steps(&self) -> usize {
        self.lanes.iter().map(|lane| lane.steps.len()).sum()
    }

    /// What a call allocates on each device: the chunks of the arena, and the tensors that leave the call.
    pub(crate) fn allocations(&self) -> Vec<Vec<usize>> {
        let mut sizes = vec![Vec::new(); self.devices.len()];
        for &(device, bytes) in &self.arenas {
            sizes[device].push(bytes);
        }
        for buffer in &self.buffers {
            if matches!(buffer.memory, Memory::Own { .. } | Memory::Late { .. }) {
                sizes[buffer.device].push(buffer.bytes);
            }
        }
        sizes
    }

    /// Bytes that a call takes on each device.
    pub(crate) fn bytes_by_device(&self) -> Vec<usize> {
        self.allocations().iter().map(|sizes| sizes.iter().sum()).collect()
    }

    /// Its copies, those of the plans inside it included, in the order of their numbers.
    pub(crate) fn copies(&self) -> Vec<PlannedCopy> {
        let mut copies: Vec<(usize, PlannedCopy)> = Vec::new();
        self.add_copies(&mut copies);
        copies.sort_by_key(|(number, _)| *number);
        copies.into_iter().map(|(_, copy)| copy).collect()
    }

    fn add_copies(&self, copies: &mut Vec<(usize, PlannedCopy)>) {
        for step in self.lanes.iter().flat_map(|lane| &lane.steps) {
            if let Action::Copy { from, to, through, number, .. } = &step.action {
                let [source, target] = [from, to].map(|o| &self.devices[self.buffers[o.buffer].device]);
                let route = match through {
                    Some(_) => Route::ThroughHost,
                    None if source.is_host() || target.is_host() => Route::Link,
                    None => Route::Peer,
                };
                let location = step.source.0.unwrap_or_else(|| Location::here());
                let (from, to, bytes) = (source.id(), target.id(), from.bytes());
                copies.push((*number, PlannedCopy { from, to, route, op: "function", location, bytes }));
            }
            step.action.nested().for_each(|inner| inner.plan.add_copies(copies));
        }
    }

    /// Whether it, or a plan inside it, draws random numbers.
    pub(crate) fn is_random(&self) -> bool {
        self.lanes.iter().flat_map(|lane| &lane.steps).any(|step| match &step.action {
            Action::Launch { op, .. } => op.stream().is_some(),
            action => action.nested().any(|inner| inner.plan.is_random()),
        })
    }

    /// Figures of the plan, with the seconds that were predicted.
    pub(crate) fn summary(&self, predicted: f64) -> PlanSummary {
        let steps = || self.lanes.iter().flat_map(|lane| &lane.steps);
        let copied = |step: &Step| match &step.action {
            Action::Copy { from, .. } => Some(from.bytes()),
            _ => None,
        };
        PlanSummary {
            arenas: self
                .devices
                .iter()
                .enumerate()
                .map(|(index, d)| {
                    let own = self.arenas.iter().filter(|(device, _)| *device == index);
                    (d.id(), own.map(|(_, bytes)| bytes).sum())
                })
                .collect(),
            launches: steps().filter(|s| matches!(s.action, Action::Launch { .. })).count(),
            copies: steps().filter_map(copied).count(),
            bytes_copied: steps().filter_map(copied).sum(),
            lanes: self.lanes.len(),
            predicted,
        }
    }
}
