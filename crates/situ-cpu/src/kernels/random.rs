//! Random tensors on [`crate::random`].

use super::half::narrow_all;
use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::random::{self, Stream};
use crate::wrapping::with_wrapping;
use situ_core::{DType, Real, Result, Scalar, bf16, f16};
use situ_device::{Call, Registry};
use situ_ir::ops::Distribution;
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    // The rule refuses what a dtype can't hold: normal integers, a permutation of floats.
    let mut kernel = CpuKernel::dense(run);
    kernel.workspace = |_, _, outputs| match outputs.first() {
        Some(ty) if ty.dtype.is_half() => ty.shape.elements() * size_of::<f32>(),
        _ => 0,
    };
    registry.add(OpKind::Random, &DType::ALL, kernel);
}

/// Numbers drawn as f32, each rounded once.
///
/// # Safety
/// `to` has room for `count` elements of the dtype.
unsafe fn rounded(
    exec: &Exec<'_>,
    call: &Call<'_>,
    dtype: DType,
    to: *mut u8,
    count: usize,
    draw: impl FnOnce(*mut f32),
) {
    let Some(wide) = call.workspace.and_then(|region| region.host()) else { return };
    let wide = wide.as_ptr().cast::<f32>();
    draw(wide);
    // SAFETY: the caller's promise; the workspace has as many f32.
    unsafe {
        match dtype {
            DType::F16 => narrow_all::<f16>(exec, wide, to.cast(), count),
            _ => narrow_all::<bf16>(exec, wide, to.cast(), count),
        }
    }
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Random(op), [output]) = (call.op, call.outputs) else { return Err(super::refused(call)) };
    let (to, count) = (start(output), output.layout.shape().elements());
    let stream = Stream::new(op.seed, op.stream);
    // SAFETY, for every call: the output is dense memory of its own with `count` elements of the op's dtype.
    match op.distribution {
        Distribution::Uniform { low: Real(low), high: Real(high) } => match op.dtype {
            // SAFETY: see above.
            DType::F32 => unsafe { random::uniform_f32(exec, stream, low, high, to.cast(), count) },
            // SAFETY: see above.
            DType::F64 => unsafe { random::uniform_f64(exec, stream, low, high, to.cast(), count) },
            // Below the upper bound even after rounding: up to the dtype's number before it.
            // SAFETY: see above.
            dtype if dtype.is_half() => unsafe {
                let [low, high] = [low, high].map(|v| Scalar::of(dtype, v).to_f64());
                let top = Scalar::of(dtype, high).before().to_f64().max(low);
                rounded(exec, call, dtype, to, count, |wide| {
                    random::uniform_up_to(exec, stream, low, high, top, wide, count);
                });
            },
            dtype => with_wrapping!(dtype.size(), T => {
                let first = low as i128 as T;
                // SAFETY: see above.
                unsafe { random::uniform_whole(exec, stream, first, (high - low) as u64, to.cast::<T>(), count) };
            }),
        },
        Distribution::Normal { mean: Real(mean), deviation: Real(deviation) } => match op.dtype {
            // SAFETY: see above.
            DType::F32 => unsafe { random::normal_f32(exec, stream, mean, deviation, to.cast(), count) },
            // SAFETY: see above.
            DType::F64 => unsafe { random::normal_f64(exec, stream, mean, deviation, to.cast(), count) },
            // SAFETY: see above.
            dtype if dtype.is_half() => unsafe {
                rounded(exec, call, dtype, to, count, |wide| {
                    random::normal_f32(exec, stream, mean, deviation, wide, count);
                });
            },
            // The rule refuses normal integers.
            _ => (),
        },
        // Two values are moved, not computed with.
        Distribution::Bernoulli { p: Real(p) } => {
            let values = [0.0, 1.0].map(|v| Scalar::of(op.dtype, v).bits());
            // SAFETY: see above; zero and one have the bytes of their dtype.
            with_wrapping!(op.dtype.size(), T => unsafe {
                random::bernoulli(exec, stream, p, values.map(|v| v as T), to.cast::<T>(), count);
            });
        }
        Distribution::Permutation => match op.dtype {
            // SAFETY: see above.
            DType::I32 => unsafe { random::permutation::<i32>(exec, stream, to.cast(), count) },
            // SAFETY: see above. The rule allows no other dtype.
            _ => unsafe { random::permutation::<i64>(exec, stream, to.cast(), count) },
        },
    }
    Ok(())
}
