//! The passes of `situ-ir`, with what they need of a runtime: kernels that run ops on constants, and the
//! devices at hand.

use crate::able;
use crate::config::Table;
use crate::logical::LogicalDevice;
use crate::runtime::Inner;
use crate::storage::DeviceTensor;
use situ_core::{Caller, DeviceId, Policy, Request, Result, Scalar, TensorType};
use situ_ir::passes::{Constant, Evaluate, Options, Report, group, optimize};
use situ_ir::{Graph, Op};
use std::cell::Cell;
use std::sync::Arc;

/// A graph after the passes that know no device.
pub(crate) struct Simplified {
    pub(crate) graph: Graph,
    /// The captured tensors it has then: those that it had, and what was computed.
    pub(crate) captures: Vec<DeviceTensor>,
    pub(crate) reports: Vec<Report>,
    /// Sizes of what was computed, and of what it was computed from.
    pub(crate) folded: Vec<usize>,
}

/// Runs the passes that know no device.
pub(crate) fn simplify(
    inner: &Inner,
    graph: &Graph,
    captures: Vec<DeviceTensor>,
    options: &Options,
) -> Result<Simplified> {
    let mut evaluator = OnDevices { inner, captures, folded: Vec::new() };
    let (graph, reports) = optimize(graph, options, &mut evaluator)?;
    let OnDevices { captures, folded, .. } = evaluator;
    Ok(Simplified { graph, captures, reports, folded })
}

/// What joining asks about devices.
pub(crate) struct Joining<'a> {
    pub(crate) table: &'a Table,
    /// Which devices are asked about ops that no scope places.
    pub(crate) reach: &'a [bool],
    /// What the scopes around the call ask for.
    pub(crate) call: &'a Request,
    pub(crate) options: &'a Options,
}

/// A graph after joining.
pub(crate) struct Joined {
    pub(crate) graph: Graph,
    pub(crate) reports: Vec<Report>,
    /// Whether a device that something may go to has the parts of it, and not the whole.
    pub(crate) uneven: bool,
}

/// What the devices that an op may go to have of it.
#[derive(Default)]
struct Had {
    /// One has the whole.
    whole: bool,
    /// One has the parts alone.
    parts: bool,
}

/// Joins ops where a device that they may go to has the whole; with `uneven`, also where another has the
/// parts alone.
///
/// Where a scope names devices that have it, or its parts, no other is asked: it is not opened for this, and
/// what it lacks is of no concern.
pub(crate) fn join(joining: &Joining<'_>, graph: &Graph, uneven: bool) -> Result<Joined> {
    let Joining { table, reach, call, options } = *joining;
    let found_uneven = Cell::new(false);
    let supports = |op: &Op, inputs: &[TensorType], outputs: &[TensorType], request: &Request| {
        let add = |had: Had, d: &Arc<LogicalDevice>| match able::kernel(d, op, inputs, outputs) {
            Ok(_) => Had { whole: true, ..had },
            Err(_) => Had { parts: had.parts || runs_in_parts(d, op, inputs, outputs), ..had },
        };
        let spec = call.spec.inside(&request.spec);
        let named = |d: &&Arc<LogicalDevice>| !spec.is_empty() && d.id().is_allowed_by(&spec);
        let mut had = table.devices.iter().filter(named).fold(Had::default(), add);
        if !had.whole && !had.parts {
            let asked = table.devices.iter().zip(reach).filter(|(_, asked)| **asked).map(|(d, _)| d);
            had = asked.fold(Had::default(), add);
        }
        if had.whole && had.parts && uneven {
            found_uneven.set(true);
        }
        had.whole && (!had.parts || uneven)
    };
    let (graph, reports) = group(graph, options, &supports)?;
    Ok(Joined { graph, reports, uneven: found_uneven.get() })
}

/// Whether a device lacks an op that a pass would join or has joined, and has a kernel for each of its parts.
pub(crate) fn runs_in_parts(
    device: &LogicalDevice,
    op: &Op,
    inputs: &[TensorType],
    outputs: &[TensorType],
) -> bool {
    let has = |op: &Op, inputs: &[TensorType], outputs: &[TensorType]| {
        able::kernel(device, op, inputs, outputs).is_ok()
    };
    if has(op, inputs, outputs) {
        return false;
    }
    let parts = op.parts(inputs, outputs);
    // A constant can be made anywhere.
    let mut computed = parts.iter().filter(|part| !part.reads.is_empty()).peekable();
    computed.peek().is_some() && computed.all(|part| has(&part.op, &part.inputs, &part.outputs))
}

/// Runs ops on constants where the constants are. Results are captured tensors of the function from then on.
struct OnDevices<'a> {
    inner: &'a Inner,
    captures: Vec<DeviceTensor>,
    /// Sizes that went into results; of ops without inputs, whatever number says how much they make.
    folded: Vec<usize>,
}

impl OnDevices<'_> {
    fn note(&mut self, sizes: &[usize]) {
        for size in sizes {
            if !self.folded.contains(size) {
                self.folded.push(*size);
            }
        }
    }

    /// The one device on which all captured inputs are; made ones are made there too. Nothing is moved for
    /// this.
    fn home(&self, inputs: &[Constant<'_>]) -> Option<DeviceId> {
        let mut home = None;
        for input in inputs {
            let Constant::Capture(n) = input else { continue };
            let device = self.captures.get(*n as usize)?.device();
            if *home.get_or_insert(device) != device {
                return None;
            }
        }
        Some(home.unwrap_or(DeviceId::CPU0))
    }
}

impl Evaluate for OnDevices<'_> {
    fn evaluate(&mut self, op: &Op, inputs: &[Constant<'_>], outputs: &[TensorType]) -> Result<Option<u32>> {
        let Some(home) = self.home(inputs) else { return Ok(None) };
        if outputs.len() != 1 {
            return Ok(None);
        }
        // Where the device lacks the kernel, the op stays in the graph and is met by placement.
        let request = Request {
            spec: home.spec(),
            fallback: Some(Policy::Forbid),
            copies: Some(Policy::Forbid),
            ..Request::default()
        };
        let at = Caller::here();
        let mut given = Vec::with_capacity(inputs.len());
        for input in inputs {
            given.push(match input {
                Constant::Capture(n) => self.captures[*n as usize].clone(),
                Constant::Made(op) => self.inner.eager(op, &[], &request, at)?,
            });
        }
        for tensor in &given {
            self.note(tensor.shape());
        }
        let given: Vec<&DeviceTensor> = given.iter().collect();
        let made = self.inner.eager(op, &given, &request, at)?;
        self.note(made.shape());
        let made = crate::transfer::whole(&made, at)?;
        self.captures.push(made);
        Ok(Some(self.captures.len() as u32 - 1))
    }

    fn scalar(&mut self, capture: u32) -> Option<Scalar> {
        let tensor = self.captures.get(capture as usize)?;
        // Reading from a queue would wait for it.
        if tensor.shape().elements() != 1 || tensor.logical_device().is_queued() {
            return None;
        }
        let mut bytes = [0; 8];
        let size = tensor.dtype().size();
        crate::transfer::read(&self.inner.journal, tensor, &mut bytes[..size], Caller::here()).ok()?;
        Some(Scalar::from_bits(tensor.dtype(), u64::from_le_bytes(bytes)))
    }
}
