//! Products of bytes in 32 bits, on [`crate::matmul::matmul_integer`]. Sides of any strides are read in
//! place.

use super::matmul::{batch_strides, batches_of, offsets, rows_in_line, side, workspace_of};
use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::matmul::{IntegerProduct, Offsets, SINGLE, integer_workspace_bytes, matmul_integer};
use situ_core::{DType, Result, TensorType};
use situ_device::{Call, Registry};
use situ_ir::ops::matmul::Dims;
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    let kernel = CpuKernel { run, accepts: |_, _, _| true, workspace, in_place: false, in_f32: false };
    registry.add(OpKind::MatmulInteger, &[DType::I8, DType::U8], kernel);
}

fn workspace(op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let Op::MatmulInteger(op) = op else { return 0 };
    let Ok(Dims { m, k, n, batch }) = op.matmul.dims(inputs) else { return 0 };
    // A batch of rows against one matrix may run as a single product; see `run`.
    let rows = if batches_of(&inputs[1].shape) == 1 { m * batch.elements() } else { m };
    integer_workspace_bytes(rows, k, n)
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::MatmulInteger(op), [a, b], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let Dims { m, k, n, batch } = op.matmul.dims(&[a.tensor_type(), b.tensor_type()])?;
    if output.layout.shape().elements() == 0 {
        return Ok(());
    }
    let mut product = IntegerProduct {
        m,
        k,
        n,
        batch: SINGLE,
        a: side::<u8>(start(a), a.layout, op.matmul.transpose_a),
        a_signed: a.dtype == DType::I8,
        b: side::<u8>(start(b), b.layout, op.matmul.transpose_b),
        b_signed: b.dtype == DType::I8,
        out: start(output).cast::<i32>(),
        workspace: workspace_of(call),
    };
    let strides_a = batch_strides(a.layout, &batch);
    let strides_b = batch_strides(b.layout, &batch);
    let listed: Vec<Offsets>;
    if batches_of(b.layout.shape()) == 1 && rows_in_line(&batch, &strides_a, product.a.row_stride, m) {
        // One matrix on the right for the whole batch, whose rows lie evenly: one product with all the rows.
        product.m = m * batch.elements();
    } else if batch.elements() > 1 {
        listed = offsets(&batch, &strides_a, &strides_b);
        product.batch = &listed;
    }
    // SAFETY: the sizes are those that the op's rule inferred from these layouts, so every element is within
    // its tensor; the output is dense memory of its own, and the workspace is this call's.
    unsafe { matmul_integer(exec.level, exec.threads, &product) };
    Ok(())
}
