//! Layer normalisation over the last axis; f32 and f64.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::math::Float;
use crate::normalize::layer_norm;
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::LayerNorm, &[DType::F32], CpuKernel::dense(run::<f32>));
    registry.add(OpKind::LayerNorm, &[DType::F64], CpuKernel::dense(run::<f64>));
}

fn run<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::LayerNorm(op), [x, scale, shift], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let columns = scale.layout.shape().elements();
    let rows = x.layout.shape().elements() / columns.max(1);
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    // SAFETY: all are dense; scale and shift are as long as a row of x, and the output has the shape of x.
    unsafe {
        let scale = std::slice::from_raw_parts(start(scale).cast::<T>(), columns);
        let shift = std::slice::from_raw_parts(start(shift).cast::<T>(), columns);
        layer_norm(exec, op.epsilon.0, start(x).cast(), scale, shift, start(output).cast(), rows);
    }
    Ok(())
}
