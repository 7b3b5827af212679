//! Tensors made from nothing: fill, range, eye.

use super::{CpuKernel, start};
use crate::exec::{Exec, Shared};
use crate::half::Half;
use crate::movement;
use crate::movement::Step;
use crate::wrapping::with_wrapping;
use situ_core::{DType, Element, Result, Scalar, bf16, f16, with_float};
use situ_device::{Call, Registry};
use situ_ir::ops::Range;
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::Fill, &DType::ALL, CpuKernel::dense(fill));
    for dtype in DType::ALL.into_iter().filter(|d| d.is_numeric()) {
        registry.add(OpKind::Range, &[dtype], CpuKernel::dense(range));
    }
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
    let (to, dtype) = (start(output), output.dtype);
    // SAFETY: the output is dense memory of its own with `count` elements of the start's dtype.
    unsafe {
        match dtype {
            DType::F16 => return half_range::<f16>(exec, op, to.cast()),
            DType::BF16 => return half_range::<bf16>(exec, op, to.cast()),
            _ => {}
        }
        with_float!(dtype, T => range_of::<T>(exec, op, to),
            else with_wrapping!(dtype.size(), T => range_of::<T>(exec, op, to)));
    }
    Ok(())
}

/// # Safety
/// `to` has room for the op's elements, whose bits are those of `T`.
unsafe fn range_of<T: Step + Element>(exec: &Exec<'_>, op: &Range, to: *mut u8) {
    let [start, step] = [op.start, op.step].map(|value| T::from_bits(value.bits()));
    // SAFETY: the caller's promise.
    unsafe { movement::range(exec, start, step, to.cast(), op.count) };
}

/// Computed in f32, each element rounded once.
///
/// # Safety
/// `to` has room for the op's elements.
unsafe fn half_range<H: Half>(exec: &Exec<'_>, op: &Range, to: *mut H) -> Result<()> {
    const BLOCK: usize = 512;
    let [start, step] = [op.start, op.step].map(|value| value.to_f64() as f32);
    let to = Shared(to);
    exec.for_ranges(op.count.div_ceil(BLOCK), 64, |first, last| {
        for block in first..last {
            let mut wide = [0.0; BLOCK];
            let at = block * BLOCK;
            let count = BLOCK.min(op.count - at);
            wide.iter_mut().enumerate().for_each(|(i, x)| *x = f32::nth(start, step, at + i));
            // SAFETY: the caller's promise; blocks do not overlap.
            let out = unsafe { std::slice::from_raw_parts_mut(to.get().add(at).cast(), count) };
            H::narrow(exec.level, &wide[..count], out);
        }
    });
    Ok(())
}

fn eye(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Eye(op), [output]) = (call.op, call.outputs) else { return Err(super::refused(call)) };
    let one = Scalar::of(op.dtype, 1.0).bits();
    // SAFETY: the output is dense memory of its own with so many rows and columns; zero is zero bits in every
    // dtype.
    unsafe { movement::eye(exec, op.dtype.size(), op.rows, op.columns, one, start(output)) };
    Ok(())
}
