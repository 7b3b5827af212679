//! The one way from a method call to the runtime.

use crate::current::current_runtime;
use crate::scope::current_request;
use crate::tensor::Tensor;
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

pub(crate) fn apply_with(
    op: Op,
    inputs: &[&Tensor],
    request: &Request,
    location: &'static Location<'static>,
) -> Result<Tensor> {
    let concrete: SmallVec<[&DeviceTensor; 3]> = inputs.iter().map(|t| t.concrete()).collect();
    let made = match inputs.first() {
        Some(first) => Runtime::of(first.concrete())?.eager(&op, &concrete, request, location),
        None => current_runtime().eager(&op, &concrete, request, location),
    };
    made.map(Tensor::from_concrete)
}
