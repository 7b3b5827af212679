//! Tensors made from nothing: fill, range, eye.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::movement;
use situ_core::{DType, Result, Scalar};
use situ_device::{Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::Fill, &DType::ALL, CpuKernel::dense(fill));
    let numbers = [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8];
    registry.add(OpKind::Range, &numbers, CpuKernel::dense(range));
    registry.add(OpKind::Eye, &DType::ALL, CpuKernel::dense(eye));
}

fn fill(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Fill(op), [output]) = (call.op, call.outputs) else { return Err(super::refused(call)) };
    let count = output.layout.shape().elements();
    // SAFETY: the output is dense memory of its own with so many elements of the value's dtype.
    unsafe { movement::fill(exec, output.dtype.size(), op.value.bits(), start(output), count) };
    Ok(())
}

fn range(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Range(op), [output]) = (call.op, call.outputs) else { return Err(super::refused(call)) };
    let to = start(output);
    // SAFETY: the output is dense memory of its own with `count` elements of the start's dtype.
    unsafe {
        match (op.start, op.step) {
            (Scalar::F32(a), Scalar::F32(by)) => movement::range(exec, a, by, to.cast(), op.count),
            (Scalar::F64(a), Scalar::F64(by)) => movement::range(exec, a, by, to.cast(), op.count),
            (Scalar::I32(a), Scalar::I32(by)) => movement::range(exec, a, by, to.cast(), op.count),
            (Scalar::I64(a), Scalar::I64(by)) => movement::range(exec, a, by, to.cast(), op.count),
            (Scalar::U8(a), Scalar::U8(by)) => movement::range(exec, a, by, to, op.count),
            // The rule refuses bool and two dtypes.
            _ => (),
        }
    }
    Ok(())
}

fn eye(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Eye(op), [output]) = (call.op, call.outputs) else { return Err(super::refused(call)) };
    let one = Scalar::of(op.dtype, 1.0).bits();
    // SAFETY: the output is dense memory of its own with so many rows and columns; zero is zero bits in every dtype.
    unsafe { movement::eye(exec, op.dtype.size(), op.rows, op.columns, one, start(output)) };
    Ok(())
}
