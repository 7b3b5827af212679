//! Cross-entropy of logits with labels as weights, or as class numbers; f32 and f64, class numbers i32 or
//! i64.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::math::Float;
use crate::normalize::{BadLabel, cross_entropy, sparse_cross_entropy};
use situ_core::error::Fault;
use situ_core::{DType, Error, Result};
use situ_device::{Arg, Call, Registry};
use situ_ir::OpKind;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::CrossEntropy, &[DType::F32], CpuKernel::dense(weighted::<f32>));
    registry.add(OpKind::CrossEntropy, &[DType::F64], CpuKernel::dense(weighted::<f64>));
    registry.add(OpKind::SparseCrossEntropy, &[DType::F32], CpuKernel::dense(sparse::<f32>));
    registry.add(OpKind::SparseCrossEntropy, &[DType::F64], CpuKernel::dense(sparse::<f64>));
}

/// Rows, and elements of a row.
fn rows(logits: &Arg<'_>) -> (usize, usize) {
    let shape = logits.layout.shape();
    (shape[..shape.rank() - 1].iter().product(), shape[shape.rank() - 1])
}

fn weighted<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let ([logits, labels], [output]) = (call.inputs, call.outputs) else { return Err(super::refused(call)) };
    let (count, columns) = rows(logits);
    // SAFETY: logits and labels are dense and of one shape; the output has an element for each row.
    unsafe {
        cross_entropy(
            exec,
            start(logits).cast::<T>(),
            start(labels).cast(),
            start(output).cast(),
            count,
            columns,
        );
    }
    Ok(())
}

fn sparse<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let ([logits, labels], [output]) = (call.inputs, call.outputs) else { return Err(super::refused(call)) };
    let (count, columns) = rows(logits);
    let (x, y) = (start(logits).cast::<T>(), start(output).cast::<T>());
    // SAFETY: all are dense; labels and output have an element for each row of logits. The rule allows no
    // other labels.
    let done = unsafe {
        match labels.dtype {
            DType::I32 => sparse_cross_entropy::<T, i32>(exec, x, start(labels).cast(), y, count, columns),
            _ => sparse_cross_entropy::<T, i64>(exec, x, start(labels).cast(), y, count, columns),
        }
    };
    done.map_err(|BadLabel { row, label }| {
        let limit = i64::try_from(columns).unwrap_or(i64::MAX);
        let fault = Fault::OutOfRange { what: "label", value: label, limit };
        Error::data(call.op.name(), fault, row, call.location())
    })
}
