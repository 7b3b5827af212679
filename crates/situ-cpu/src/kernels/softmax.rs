//! Softmax and its logarithm over any axis; f32 and f64.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::math::Float;
use crate::normalize::{softmax, softmax_columns};
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::Softmax, &[DType::F32], CpuKernel::dense(run::<f32>));
    registry.add(OpKind::Softmax, &[DType::F64], CpuKernel::dense(run::<f64>));
}

fn run<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Softmax(op), [input], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let shape = input.layout.shape();
    let axis = usize::from(op.axis);
    let outer: usize = shape[..axis].iter().product();
    let inner: usize = shape[axis + 1..].iter().product();
    let (from, to) = (start(input).cast::<T>(), start(output).cast::<T>());
    // SAFETY: input and output are dense, of the same shape, in memory of their own.
    unsafe {
        if inner == 1 {
            softmax(exec, op.log, from, to, outer, shape[axis]);
        } else {
            softmax_columns(exec, op.log, from, to, outer, shape[axis], inner);
        }
    }
    Ok(())
}
