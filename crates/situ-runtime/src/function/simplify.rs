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

/// Joins ops where that takes no device out of the choice: wherever the parts run, the whole does. `call` is
/// what the scopes around the call ask for.
///
/// Where a scope names devices that have it, no other is asked: it is not opened for this, and what it lacks
/// is of no concern.
pub(crate) fn join(
    table: &Table,
    graph: &Graph,
    options: &Options,
    call: &Request,
) -> Result<(Graph, Vec<Report>)> {
    let supports = |op: &Op, inputs: &[TensorType], outputs: &[TensorType], request: &Request| {
        let has_whole = |d: &Arc<LogicalDevice>| has(d, op, inputs, outputs);
        let loses_none = |d: &Arc<LogicalDevice>| has_whole(d) || !has_parts(d, op, inputs, outputs);
        let spec = call.spec.inside(&request.spec);
        if !spec.is_empty() {
            let named = || table.devices.iter().filter(|d| d.id().is_allowed_by(&spec));
            if !named().all(loses_none) {
                return false;
            }
            if named().any(has_whole) {
                return true;
            }
        }
        table.devices.iter().all(loses_none)
    };
    group(graph, options, &supports)
}

fn has(device: &LogicalDevice, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> bool {
    able::kernel(device, op, inputs, outputs).is_ok()
}

/// Whether a device has a kernel for each op that a pass would join.
fn has_parts(device: &LogicalDevice, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> bool {
    op.parts(inputs, outputs).iter().all(|part| has(device, &part.op, &part.inputs, &part.outputs))
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
