//! Kernels of ops from outside, by the type of op.

use super::{CpuKernel, refused, start};
use crate::custom::{Compute, CpuCall};
use crate::exec::Exec;
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add_where(OpKind::Custom, &DType::ALL, CpuKernel::dense(run), |op, inputs, outputs| {
        compute(op).is_some_and(|compute| compute.takes(op.kernel_dtype(inputs, outputs)))
    });
}

fn compute(op: &Op) -> Option<Compute> {
    match op {
        Op::Custom(custom) => crate::custom::find(custom.type_id()),
        _ => None,
    }
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Custom(op), Some(compute)) = (call.op, compute(call.op)) else { return Err(refused(call)) };
    let starts = |args: &[situ_device::Arg<'_>]| args.iter().map(start).collect();
    let mut work = CpuCall::new(exec, call, starts(call.inputs), starts(call.outputs));
    compute.run(op, &mut work)
}
