//! f16 and bf16 where kernels compute in f32: operands are converted to f32 in the workspace, the kernel of
//! f32 runs on them, and its results are rounded, once. So every sum is made in f32, and no kernel is
//! compiled again.

use super::{CpuKernel, start};
use crate::exec::{Exec, Shared};
use crate::half::Half;
use situ_core::{DType, Layout, Result, TensorType, bf16, f16};
use situ_device::{Arg, Call, Region, Registry};
use situ_ir::{Op, OpKind};
use smallvec::SmallVec;
use std::mem::MaybeUninit;

/// Elements worth a task of their own.
const GRAIN: usize = 32 << 10;
/// What places in a workspace begin at multiples of.
const ALIGNMENT: usize = 64;

const HALVES: [DType; 2] = [DType::F16, DType::BF16];

/// Registers for f16 and bf16 the kernel of f32 of every op that has no kernel of its own for them.
pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    for kind in OpKind::ALL {
        // In one pass the product would be rounded once where its parts, one after another, round twice: a
        // function would not compute what its ops compute.
        if matches!(kind, OpKind::MatmulBias | OpKind::Conv2dBias) {
            continue;
        }
        for dtype in HALVES {
            registry.share(*kind, DType::F32, dtype, |kernel| CpuKernel {
                in_f32: true,
                in_place: false,
                ..*kernel
            });
        }
    }
}

/// The type in which the kernel sees it.
fn wide(ty: &TensorType) -> TensorType {
    if ty.dtype.is_half() { TensorType { dtype: DType::F32, ..*ty } } else { *ty }
}

/// Bytes of a tensor's place in the workspace.
fn room(ty: &TensorType) -> usize {
    if ty.dtype.is_half() { wide(ty).bytes().next_multiple_of(ALIGNMENT) } else { 0 }
}

/// The room for every operand in f32, and what the kernel itself wants.
pub(crate) fn workspace(kernel: &CpuKernel, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
    let places: usize = inputs.iter().chain(outputs).map(room).sum();
    let inputs: SmallVec<[TensorType; 8]> = inputs.iter().map(wide).collect();
    let outputs: SmallVec<[TensorType; 4]> = outputs.iter().map(wide).collect();
    places + (kernel.workspace)(op, &inputs, &outputs)
}

/// Runs the kernel of f32 on operands of 16 bits.
pub(crate) fn run(kernel: &CpuKernel, exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let mut left = call.workspace;
    // A place in the workspace, where the tensor has any elements.
    let mut place = |arg: &Arg<'_>| {
        let bytes = room(&arg.tensor_type());
        let whole = left.filter(|whole| bytes > 0 && whole.bytes >= bytes)?;
        left = Some(Region { offset: whole.offset + bytes, bytes: whole.bytes - bytes, ..whole });
        Some(Region { bytes, ..whole })
    };
    let layouts: SmallVec<[Layout; 8]> =
        call.inputs.iter().chain(call.outputs).map(|arg| Layout::dense(*arg.layout.shape())).collect();
    let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
    for (arg, layout) in call.inputs.iter().chain(call.outputs).zip(&layouts) {
        args.push(match place(arg) {
            Some(region) => Arg { region, dtype: DType::F32, layout },
            // Nothing is read of an empty one, but its dtype.
            None => Arg { dtype: wide(&arg.tensor_type()).dtype, ..*arg },
        });
    }
    let (inputs, outputs) = args.split_at(call.inputs.len());
    for (from, to) in call.inputs.iter().zip(inputs) {
        if from.dtype != to.dtype {
            convert(exec, from.dtype, from, to, true);
        }
    }
    (kernel.run)(exec, &Call { inputs, outputs, workspace: left, ..*call })?;
    for (to, from) in call.outputs.iter().zip(outputs) {
        if from.dtype != to.dtype {
            convert(exec, to.dtype, from, to, false);
        }
    }
    Ok(())
}

/// Converts a dense tensor of 16 bits to f32, or back.
fn convert(exec: &Exec<'_>, half: DType, from: &Arg<'_>, to: &Arg<'_>, widen: bool) {
    let count = from.layout.shape().elements();
    // SAFETY: both are dense, with `count` elements of these dtypes, in memory of their own.
    unsafe {
        match (half, widen) {
            (DType::F16, true) => widen_all::<f16>(exec, start(from).cast(), start(to).cast(), count),
            (_, true) => widen_all::<bf16>(exec, start(from).cast(), start(to).cast(), count),
            (DType::F16, false) => narrow_all::<f16>(exec, start(from).cast(), start(to).cast(), count),
            (_, false) => narrow_all::<bf16>(exec, start(from).cast(), start(to).cast(), count),
        }
    }
}

/// # Safety
/// Both have `count` elements, and do not overlap.
unsafe fn widen_all<H: Half>(exec: &Exec<'_>, from: *const H, to: *mut f32, count: usize) {
    let (from, to) = (Shared(from), Shared(to));
    exec.for_ranges(count, GRAIN, |first, last| {
        // SAFETY: the caller's promise; ranges do not overlap.
        unsafe {
            let from = std::slice::from_raw_parts(from.get().add(first), last - first);
            let to =
                std::slice::from_raw_parts_mut(to.get().add(first).cast::<MaybeUninit<f32>>(), last - first);
            H::widen(exec.level, from, to);
        }
    });
}

/// # Safety
/// Both have `count` elements, and do not overlap.
pub(super) unsafe fn narrow_all<H: Half>(exec: &Exec<'_>, from: *const f32, to: *mut H, count: usize) {
    let (from, to) = (Shared(from), Shared(to));
    exec.for_ranges(count, GRAIN, |first, last| {
        // SAFETY: the caller's promise; ranges do not overlap.
        unsafe {
            let from = std::slice::from_raw_parts(from.get().add(first), last - first);
            let to =
                std::slice::from_raw_parts_mut(to.get().add(first).cast::<MaybeUninit<H>>(), last - first);
            H::narrow(exec.level, from, to);
        }
    });
}
