//! Products of bf16: in f32, by the processor's own instruction where it has one and the numbers allow it
//! (see [`crate::matmul::matmul_bf16`]), else as all of [`super::half`] is done. Both give the same bits.

use super::matmul::{batch_strides, batches_of, offsets, rows_in_line, side, workspace_of};
use super::{CpuKernel, half, start};
use crate::exec::Exec;
use crate::matmul::{Bf16Product, Offsets, SINGLE, Workspace, bf16_workspace_bytes, matmul_bf16};
use situ_core::{DType, Result, TensorType, bf16};
use situ_device::{Call, Registry};
use situ_ir::ops::matmul::Dims;
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    let kernel = CpuKernel { run, accepts: |_, _, _| false, workspace, in_place: false, in_f32: false };
    registry.add(OpKind::Matmul, &[DType::BF16], kernel);
}

/// The kernel that computes in f32.
const IN_F32: CpuKernel = super::matmul::kernel::<f32>();

/// Bytes of the result in f32, which are first in the workspace: whole cache lines.
fn result_bytes(elements: usize) -> usize {
    (elements * size_of::<f32>()).next_multiple_of(64)
}

fn workspace(op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
    let Op::Matmul(matmul) = op else { return 0 };
    let Ok(Dims { m, k, n, batch }) = matmul.dims(inputs) else { return 0 };
    let rows = if batches_of(&inputs[1].shape) == 1 { m * batch.elements() } else { m };
    let own = result_bytes(m * n * batch.elements()) + bf16_workspace_bytes(rows, k, n);
    own.max(half::workspace(&IN_F32, op, inputs, outputs))
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    if by_instruction(exec, call)? { Ok(()) } else { half::run(&IN_F32, exec, call) }
}

/// Computes by the processor's instruction, or says no.
fn by_instruction(exec: &Exec<'_>, call: &Call<'_>) -> Result<bool> {
    let (Op::Matmul(op), [a, b], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let Dims { m, k, n, batch } = op.dims(&[a.tensor_type(), b.tensor_type()])?;
    let elements = output.layout.shape().elements();
    let room = workspace_of(call);
    if elements == 0 || room.bytes <= result_bytes(elements) {
        return Ok(false);
    }
    let out = room.start.cast::<f32>();
    if !out.is_aligned() {
        return Ok(false);
    }
    let used = result_bytes(elements);
    let mut product = Bf16Product {
        m,
        k,
        n,
        batch: SINGLE,
        a: side::<bf16>(start(a), a.layout, op.transpose_a),
        b: side::<bf16>(start(b), b.layout, op.transpose_b),
        out,
        workspace: Workspace { start: room.start.wrapping_add(used), bytes: room.bytes - used },
    };
    let strides_a = batch_strides(a.layout, &batch);
    let strides_b = batch_strides(b.layout, &batch);
    let listed: Vec<Offsets>;
    if batches_of(b.layout.shape()) == 1 && rows_in_line(&batch, &strides_a, product.a.row_stride, m) {
        product.m = m * batch.elements();
    } else if batch.elements() > 1 {
        listed = offsets(&batch, &strides_a, &strides_b);
        product.batch = &listed;
    }
    // SAFETY: the sizes are those that the op's rule inferred from these layouts, so every element is within
    // its tensor; the workspace is this call's, has the result in f32 first, and the result's own memory is
    // dense.
    unsafe {
        let done = matmul_bf16(exec.level, exec.threads, &product);
        if done {
            half::narrow_all(exec, out.cast_const(), start(output).cast::<bf16>(), elements);
        }
        Ok(done)
    }
}
