//! Matrix products on [`crate::matmul`]; numbers of any dtype. Sides of any strides are read in place. With a
//! bias and an activation behind them (f32 and f64): the bias and relu on the way out, other activations in
//! one more pass, tile by tile.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::matmul::{
    Activation, Element, Epilogue, Matrix, Offsets, Product, SINGLE, Workspace, matmul, workspace_bytes,
};
use crate::wrapping::with_wrapping;
use situ_core::{DType, Layout, MAX_RANK, Result, Shape, TensorType, with_float};
use situ_device::{Call, Registry};
use situ_ir::ops::matmul::Dims;
use situ_ir::ops::{Matmul, UnaryKind};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_numeric() && !d.is_half()) {
        // Products of integers wrap: their sign makes no difference.
        let kernel =
            with_float!(dtype, T => kernel::<T>(), else with_wrapping!(dtype.size(), T => kernel::<T>()));
        registry.add(OpKind::Matmul, &[dtype], kernel);
    }
    registry.add(OpKind::MatmulBias, &[DType::F32], with_bias::<f32>());
    registry.add(OpKind::MatmulBias, &[DType::F64], with_bias::<f64>());
}

const fn with_bias<T: Element>() -> CpuKernel {
    // The bias is read as it lies in memory.
    CpuKernel {
        run: run_with_bias::<T>,
        accepts: |_, input, _| input < 2,
        workspace: workspace::<T>,
        in_place: false,
        in_f32: false,
    }
}

pub(super) const fn kernel<T: Element>() -> CpuKernel {
    CpuKernel {
        run: run::<T>,
        accepts: |_, _, _| true,
        workspace: workspace::<T>,
        in_place: false,
        in_f32: false,
    }
}

fn workspace<T: Element>(op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let op = match op {
        Op::Matmul(op) => op,
        Op::MatmulBias(op) => &op.matmul,
        _ => return 0,
    };
    let inputs = &inputs[..2];
    let Ok(Dims { m, k, n, batch }) = op.dims(inputs) else { return 0 };
    // A batch of rows against one matrix may run as a single product; see `run`.
    let rows = if batches_of(&inputs[1].shape) == 1 { m * batch.elements() } else { m };
    workspace_bytes::<T>(m, k, n).max(workspace_bytes::<T>(rows, k, n))
}

/// Matrices in a tensor.
pub(super) fn batches_of(shape: &Shape) -> usize {
    shape[..shape.rank() - 2].iter().product()
}

fn run<T: Element>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Matmul(op) = call.op else { return Err(super::refused(call)) };
    product::<T>(exec, call, op, Epilogue::default())
}

fn run_with_bias<T: Element>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::MatmulBias(op), [_, _, bias]) = (call.op, call.inputs) else { return Err(super::refused(call)) };
    let plain = op.activation.filter(|activation| activation.kind != UnaryKind::Relu);
    let activation = match (op.activation, plain) {
        (Some(_), None) => Activation::Relu,
        _ => Activation::None,
    };
    let bias = Some(start(bias).cast::<T>().cast_const());
    product::<T>(exec, call, &op.matmul, Epilogue { bias, activation })?;
    if let (Some(activation), [output]) = (plain, call.outputs) {
        super::elementwise::in_place(exec, activation, output);
    }
    Ok(())
}

fn product<T: Element>(exec: &Exec<'_>, call: &Call<'_>, op: &Matmul, epilogue: Epilogue<T>) -> Result<()> {
    let ([a, b, ..], [output]) = (call.inputs, call.outputs) else { return Err(super::refused(call)) };
    let Dims { m, k, n, batch } = op.dims(&[a.tensor_type(), b.tensor_type()])?;
    if output.layout.shape().elements() == 0 {
        return Ok(());
    }
    let left = side::<T>(start(a), a.layout, op.transpose_a);
    let right = side::<T>(start(b), b.layout, op.transpose_b);
    let workspace = workspace_of(call);
    let mut product = Product {
        m,
        k,
        n,
        batch: SINGLE,
        a: left,
        b: right,
        out: start(output).cast::<T>(),
        epilogue,
        workspace,
    };
    let strides_a = batch_strides(a.layout, &batch);
    let strides_b = batch_strides(b.layout, &batch);
    let listed: Vec<Offsets>;
    if batches_of(b.layout.shape()) == 1 && rows_in_line(&batch, &strides_a, left.row_stride, m) {
        // One matrix on the right for the whole batch, whose rows lie evenly: one product with all the rows.
        product.m = m * batch.elements();
    } else if batch.elements() > 1 {
        listed = offsets(&batch, &strides_a, &strides_b);
        product.batch = &listed;
    }
    // SAFETY: the sizes are those that the op's rule inferred from these layouts, so every element is within
    // its tensor; the output is dense memory of its own, and the workspace is this call's.
    unsafe { matmul(exec.level, exec.threads, &product) };
    Ok(())
}

/// The workspace of a call.
pub(super) fn workspace_of(call: &Call<'_>) -> Workspace {
    match call.workspace.and_then(|region| Some((region.host()?, region.bytes))) {
        Some((start, bytes)) => Workspace { start: start.as_ptr(), bytes },
        None => Workspace::NONE,
    }
}

/// The last two axes of a side as a matrix.
pub(super) fn side<T>(start: *mut u8, layout: &Layout, transposed: bool) -> Matrix<T> {
    let strides = layout.strides();
    let [row_stride, col_stride] = [strides[strides.len() - 2], strides[strides.len() - 1]];
    let matrix = Matrix { ptr: start.cast::<T>().cast_const(), row_stride, col_stride };
    if transposed { matrix.transposed() } else { matrix }
}

/// The strides of a side over the broadcast batch's axes: 0 where it repeats.
pub(super) fn batch_strides(layout: &Layout, batch: &Shape) -> [isize; MAX_RANK] {
    let own = layout.shape().rank() - 2;
    let lead = batch.rank() - own;
    let mut strides = [0; MAX_RANK];
    for axis in 0..own {
        if layout.shape()[axis] != 1 {
            strides[lead + axis] = layout.strides()[axis];
        }
    }
    strides
}

/// Whether the rows of every product in turn are as far apart as those within one.
pub(super) fn rows_in_line(batch: &Shape, strides: &[isize; MAX_RANK], row_stride: isize, m: usize) -> bool {
    let mut step = row_stride * m as isize;
    for axis in (0..batch.rank()).rev() {
        if batch[axis] != 1 && strides[axis] != step {
            return false;
        }
        step *= batch[axis] as isize;
    }
    true
}

/// Where each product of the batch finds its sides, in row-major order.
pub(super) fn offsets(batch: &Shape, a: &[isize; MAX_RANK], b: &[isize; MAX_RANK]) -> Vec<Offsets> {
    let a = Layout::strided(*batch, a, 0);
    let b = Layout::strided(*batch, b, 0);
    // Strides may be negative: an offset is then a wrapped number, and comes back as it was.
    a.offsets().zip(b.offsets()).map(|(a, b)| Offsets { a: a as isize, b: b as isize }).collect()
}
