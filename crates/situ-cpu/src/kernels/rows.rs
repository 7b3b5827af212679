//! Rows of a table: which of a list of indices are the same one, and a table with some rows replaced.

use super::index::indices;
use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::movement::{self, Index, Source};
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    let workspace = |_: &Op, inputs: &[situ_core::TensorType], _: &[situ_core::TensorType]| {
        movement::places(inputs[0].shape.elements()) * size_of::<u32>()
    };
    let distinct = CpuKernel { workspace, ..CpuKernel::dense(distinct) };
    registry.add(OpKind::Distinct, &[DType::I32, DType::I64], distinct);
    // The table is copied anyway, unless it is written over, so it may have any strides.
    let put = CpuKernel { accepts: |_, input, _| input == 0, ..CpuKernel::dense(put_rows) };
    registry.add(OpKind::PutRows, &DType::ALL, put);
}

fn distinct(_: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    match call.inputs[0].dtype {
        DType::I32 => distinct_of::<i32>(call),
        _ => distinct_of::<i64>(call),
    }
    Ok(())
}

fn distinct_of<X: Index + From<i8>>(call: &Call<'_>) {
    let (Op::Distinct(op), [list], [first, own]) = (call.op, call.inputs, call.outputs) else { return };
    let count = list.layout.shape().elements();
    let Some(table) = call.workspace.and_then(|region| region.host()) else { return };
    if count == 0 {
        return;
    }
    // SAFETY: the list is dense and of this dtype, by registration; outputs are dense memory of their own
    // with as many elements; the workspace is as large as the kernel asked for, and aligned for more than
    // four bytes.
    let (list, table, first, own) = unsafe {
        (
            indices::<X>(list),
            std::slice::from_raw_parts_mut(table.as_ptr().cast::<u32>(), movement::places(count)),
            std::slice::from_raw_parts_mut(start(first).cast::<i32>(), count),
            std::slice::from_raw_parts_mut(start(own).cast::<X>(), count),
        )
    };
    movement::distinct(list, op.rows, table, first, own);
}

fn put_rows(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let ([table, at, rows], [output]) = (call.inputs, call.outputs) else { return Ok(()) };
    let shape = table.layout.shape();
    let (size, to) = (table.dtype.size(), start(output));
    let bytes = shape[1..].iter().product::<usize>() * size;
    // SAFETY: the output is dense memory in the table's shape: the table's own, where it is written over, or
    // apart from all inputs; the rule allows indices of these two dtypes only, and has checked that there is
    // a row for each.
    unsafe {
        if start(table) != to {
            let from = Source { start: start(table), shape, strides: table.layout.strides() };
            movement::copy(exec, size, from, to);
        }
        match at.dtype {
            DType::I32 => movement::put_rows(exec, to, shape[0], bytes, indices::<i32>(at), start(rows)),
            _ => movement::put_rows(exec, to, shape[0], bytes, indices::<i64>(at), start(rows)),
        }
    }
    Ok(())
}
