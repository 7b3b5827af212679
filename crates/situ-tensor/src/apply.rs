//! The one way from a method call to the runtime.

use crate::current::current_runtime;
use crate::rows;
use crate::scope::{around, current_request, on_device};
use crate::tape;
use crate::tensor::Tensor;
use crate::trace::{emit, emit_node, is_tracing};
use situ_core::{Caller, DeviceId, Result};
use situ_ir::Op;
use situ_ir::gradient::Made;
use situ_ir::graph::Source;
use situ_runtime::{DeviceTensor, Request, Runtime};
use smallvec::SmallVec;

/// Runs an op under the scopes around the call.
#[track_caller]
pub(crate) fn apply(op: impl Into<Op>, inputs: &[&Tensor]) -> Result<Tensor> {
    let around = around();
    apply_with(op.into(), inputs, around.request(), around.line_of(Caller::here()))
}

/// Runs any op by its data, under the scopes around the call; gives all its outputs. For what has no method
/// of its own, and for tools that read ops from elsewhere.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_ir::ops::{Unary, UnaryKind};
/// let x = situ_tensor::tensor([1.0f32, 4.0])?;
/// let y = situ_tensor::apply_op(Unary::new(UnaryKind::Sqrt), &[&x])?;
/// assert_eq!(y[0].to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok(()) }
/// ```
#[track_caller]
pub fn apply_op(op: impl Into<Op>, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
    let around = around();
    apply_all(op.into(), inputs, around.request(), around.line_of(Caller::here()))
}

/// [`apply_with`], for ops with several outputs.
pub(crate) fn apply_all(
    op: Op,
    inputs: &[&Tensor],
    request: &Request,
    caller: Caller,
) -> Result<Vec<Tensor>> {
    let log = tape::log_of(inputs);
    let made = if is_tracing() {
        let op = op.clone();
        emit_node(inputs, |builder, values| {
            Ok(builder.op_with(op, values, request.clone(), Source(Some(caller.location())))?.node)
        })?
    } else {
        let mut concrete: SmallVec<[&DeviceTensor; 3]> = SmallVec::new();
        for input in inputs {
            concrete.push(input.concrete_for(&op)?);
        }
        let made = match concrete.first() {
            Some(first) => Runtime::of(first)?.eager_all(&op, &concrete, request, caller)?,
            None => current_runtime().eager_all(&op, &concrete, request, caller)?,
        };
        made.into_iter().map(Tensor::from_concrete).collect()
    };
    if log == 0 {
        return Ok(made);
    }
    Ok(tape::record_all(log, Made::Op(op), inputs, made, request.clone(), caller))
}

/// Runs an op on one device, whatever the scopes are.
pub(crate) fn apply_on(
    device: DeviceId,
    op: impl Into<Op>,
    inputs: &[&Tensor],
    caller: Caller,
) -> Result<Tensor> {
    apply_with(op.into(), inputs, &Request { spec: on_device(device), ..current_request() }, caller)
}

/// Makes a constant for use with a tensor: on its device, or in its trace.
pub(crate) fn apply_beside(tensor: &Tensor, op: impl Into<Op>, caller: Caller) -> Result<Tensor> {
    match tensor.traced() {
        None if !is_tracing() => apply_on(tensor.device(), op, &[], caller),
        _ => apply_with(op.into(), &[], &current_request(), caller),
    }
}

pub(crate) fn apply_with(op: Op, inputs: &[&Tensor], request: &Request, caller: Caller) -> Result<Tensor> {
    let log = tape::log_of(inputs);
    if log == 0
        && inputs.iter().any(|input| input.rows().is_some())
        && let Some(made) = rows::kept(&op, inputs, request, caller)?
    {
        return Ok(made);
    }
    if is_tracing() {
        if log == 0 {
            return emit(op, inputs, request, caller);
        }
        let made = emit(op.clone(), inputs, request, caller)?;
        return Ok(tape::record(log, Made::Op(op), inputs, made, request.clone(), caller));
    }
    let mut concrete: SmallVec<[&DeviceTensor; 3]> = SmallVec::new();
    for input in inputs {
        concrete.push(input.concrete_for(&op)?);
    }
    let made = match concrete.first() {
        Some(first) => Runtime::of(first)?.eager(&op, &concrete, request, caller),
        None => current_runtime().eager(&op, &concrete, request, caller),
    };
    let made = Tensor::from_concrete(made?);
    if log == 0 {
        return Ok(made);
    }
    Ok(tape::record(log, Made::Op(op), inputs, made, request.clone(), caller))
}
