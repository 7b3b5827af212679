//! Normalisation over a batch on [`crate::normalize`]; f32 and f64.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::math::Float;
use crate::normalize::{BatchNorm, batch_norm};
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::BatchNorm, &[DType::F32], CpuKernel::dense(run::<f32>));
    registry.add(OpKind::BatchNorm, &[DType::F64], CpuKernel::dense(run::<f64>));
}

fn run<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::BatchNorm(op), [x, scale, shift], [y, mean, variance]) = (call.op, call.inputs, call.outputs)
    else {
        return Err(super::refused(call));
    };
    let (shape, axis) = (x.layout.shape(), usize::from(op.axis));
    let what = BatchNorm {
        outer: shape[..axis].iter().product(),
        channels: shape[axis],
        inner: shape[axis + 1..].iter().product(),
        epsilon: op.epsilon.0,
        x: start(x).cast::<T>(),
        scale: start(scale).cast::<T>(),
        shift: start(shift).cast::<T>(),
        y: start(y).cast::<T>(),
        mean: start(mean).cast::<T>(),
        variance: start(variance).cast::<T>(),
    };
    // SAFETY: all are dense, of the sizes that the rule has checked.
    unsafe { batch_norm(exec, &what) };
    Ok(())
}
