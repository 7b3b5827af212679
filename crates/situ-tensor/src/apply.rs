//! The one way from a method call to the runtime.

use crate::current::current_runtime;
use crate::scope::current_request;
use crate::tensor::Tensor;
use crate::trace::{emit, is_tracing};
use situ_core::{DeviceId, DeviceSpec, DeviceType, Result};
use situ_ir::Op;
use situ_runtime::{DeviceTensor, Request, Runtime};
use smallvec::SmallVec;
use std::panic::Location;

/// Runs an op under the scopes around the call.
#[track_caller]
pub(crate) fn apply(op: impl Into<Op>, inputs: &[&Tensor]) -> Result<Tensor> {
    apply_with(op.into(), inputs, &current_request(), Location::caller())
}

/// Runs an op on one device, whatever the scopes are.
pub(crate) fn apply_on(
    device: DeviceId,
    op: impl Into<Op>,
    inputs: &[&Tensor],
    location: &'static Location<'static>,
) -> Result<Tensor> {
    let kind = match device.kind {
        situ_core::DeviceKind::Cpu => DeviceType::Cpu,
        situ_core::DeviceKind::Gpu => DeviceType::Gpu,
    };
    let spec = DeviceSpec::device(kind, u32::from(device.index));
    apply_with(op.into(), inputs, &Request { spec, ..current_request() }, location)
}

/// Makes a constant for use with a tensor: on its device, or in its trace.
pub(crate) fn apply_beside(
    tensor: &Tensor,
    op: impl Into<Op>,
    location: &'static Location<'static>,
) -> Result<Tensor> {
    match tensor.concrete() {
        Ok(concrete) if !is_tracing() => apply_on(concrete.device(), op, &[], location),
        _ => apply_with(op.into(), &[], &current_request(), location),
    }
}

pub(crate) fn apply_with(
    op: Op,
    inputs: &[&Tensor],
    request: &Request,
    location: &'static Location<'static>,
) -> Result<Tensor> {
    if is_tracing() {
        return emit(op, inputs, request, location);
    }
    let mut concrete: SmallVec<[&DeviceTensor; 3]> = SmallVec::new();
    for input in inputs {
        concrete.push(input.concrete()?);
    }
    let made = match concrete.first() {
        Some(first) => Runtime::of(first)?.eager(&op, &concrete, request, location),
        None => current_runtime().eager(&op, &concrete, request, location),
    };
    made.map(Tensor::from_concrete)
}
