//! Reads and writes at indices, which are i32 or i64: gather, scatter_add, one_hot.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::movement::{self, Gather, Index, OutOfRange, Slices, Source, Summand};
use crate::wrapping::with_wrapping;
use situ_core::error::Fault;
use situ_core::{DType, Error, Layout, Result, with_float};
use situ_device::{Arg, Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    let kernel = CpuKernel {
        run: gather,
        accepts: gather_accepts,
        workspace: |_, _, _| 0,
        in_place: false,
        in_f32: false,
    };
    registry.add(OpKind::Gather, &DType::ALL, kernel);
    for dtype in DType::ALL.into_iter().filter(|d| d.is_numeric() && !d.is_half()) {
        // Sums of integers wrap: their sign makes no difference.
        let kernel = with_float!(dtype, T => scatter_kernel::<T>(),
            else with_wrapping!(dtype.size(), T => scatter_kernel::<T>()));
        registry.add(OpKind::ScatterAdd, &[dtype], kernel);
    }
    registry.add(OpKind::OneHot, &DType::ALL, CpuKernel::dense(one_hot));
}

/// The indices of a dense tensor.
///
/// # Safety
/// The tensor is dense and its dtype is that of `X`.
pub(super) unsafe fn indices<'a, X: Index>(arg: &'a Arg<'_>) -> &'a [X] {
    match arg.layout.shape().elements() {
        0 => &[],
        // SAFETY: the region has so many elements, and nothing writes to an input while a kernel runs.
        count => unsafe { std::slice::from_raw_parts(start(arg).cast::<X>().cast_const(), count) },
    }
}

fn out_of_range(call: &Call<'_>, limit: usize, found: OutOfRange) -> Error {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let fault = Fault::OutOfRange { what: "index", value: found.value, limit };
    Error::data(call.op.name(), fault, found.position, call.location())
}

/// The data may have any strides as long as a slice is one run; indices are few, and dense.
fn gather_accepts(op: &Op, input: usize, layout: &Layout) -> bool {
    let Op::Gather(op) = op else { return false };
    let mut run = 1;
    input == 0
        && (usize::from(op.axis) + 1..layout.shape().rank()).rev().all(|axis| {
            let size = layout.shape()[axis];
            let fits = size == 1 || layout.strides()[axis] == run;
            run *= size as isize;
            fits
        })
}

fn gather(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Gather(op), [data, at], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let (shape, strides, axis) = (data.layout.shape(), data.layout.strides(), usize::from(op.axis));
    let from = Gather {
        start: start(data),
        size: data.dtype.size(),
        outer: (&shape[..axis], &strides[..axis]),
        axis: (shape[axis], strides[axis]),
        slice: shape[axis + 1..].iter().product(),
    };
    // SAFETY: slices are runs, by `gather_accepts`; the rule allows indices of these two dtypes only; the
    // output is dense memory of its own with a slice for each outer place and index.
    let done = unsafe {
        match at.dtype {
            DType::I32 => movement::gather(exec, from, indices::<i32>(at), start(output)),
            _ => movement::gather(exec, from, indices::<i64>(at), start(output)),
        }
    };
    done.map_err(|found| out_of_range(call, shape[axis], found))
}

/// What is added to is copied anyway, so it may have any strides; indices and updates are dense.
fn scatter_kernel<T: Summand>() -> CpuKernel {
    CpuKernel {
        run: scatter_add::<T>,
        accepts: |_, input, _| input == 0,
        workspace: |_, _, _| 0,
        in_place: false,
        in_f32: false,
    }
}

fn scatter_add<T: Summand>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::ScatterAdd(op), [data, at, updates], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let (shape, axis) = (data.layout.shape(), usize::from(op.axis));
    let extent = Slices {
        outer: shape[..axis].iter().product(),
        axis: shape[axis],
        slice: shape[axis + 1..].iter().product(),
    };
    let from = Source { start: start(data), shape, strides: data.layout.strides() };
    let (to, updates) = (start(output).cast::<T>(), start(updates).cast::<T>().cast_const());
    // SAFETY: the kernel is registered for the dtype of `T`; the output is dense memory of its own in the
    // data's shape; indices are of one of these two dtypes, and the rule has checked that updates are a slice
    // for each outer place and index.
    let done = unsafe {
        movement::copy(exec, size_of::<T>(), from, to.cast());
        match at.dtype {
            DType::I32 => movement::scatter_add(exec, to, extent, indices::<i32>(at), updates),
            _ => movement::scatter_add(exec, to, extent, indices::<i64>(at), updates),
        }
    };
    done.map_err(|found| out_of_range(call, shape[axis], found))
}

fn one_hot(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::OneHot(op), [at], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let (size, values) = (output.dtype.size(), [op.on.bits(), op.off.bits()]);
    // SAFETY: indices are dense, of one of these two dtypes; the output is dense memory of its own with a row
    // for each.
    unsafe {
        match at.dtype {
            DType::I32 => movement::one_hot(exec, size, indices::<i32>(at), op.depth, values, start(output)),
            _ => movement::one_hot(exec, size, indices::<i64>(at), op.depth, values, start(output)),
        }
    }
    Ok(())
}
