//! Random tensors on [`crate::random`].

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::random::{self, Stream};
use situ_core::{DType, Real, Result};
use situ_device::{Call, Registry};
use situ_ir::ops::Distribution;
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    // The rule refuses what a dtype can't hold: normal integers, a permutation of floats.
    registry.add(OpKind::Random, &DType::ALL, CpuKernel::dense(run));
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
            // SAFETY: see above.
            DType::I32 => unsafe {
                random::uniform_i32(exec, stream, low as i32, (high - low) as u64, to.cast(), count);
            },
            // SAFETY: see above.
            DType::I64 => unsafe {
                random::uniform_i64(exec, stream, low as i64, (high - low) as u64, to.cast(), count);
            },
            DType::U8 | DType::Bool => (),
        },
        Distribution::Normal { mean: Real(mean), deviation: Real(deviation) } => match op.dtype {
            // SAFETY: see above.
            DType::F32 => unsafe { random::normal_f32(exec, stream, mean, deviation, to.cast(), count) },
            // SAFETY: see above.
            DType::F64 => unsafe { random::normal_f64(exec, stream, mean, deviation, to.cast(), count) },
            DType::I32 | DType::I64 | DType::U8 | DType::Bool => (),
        },
        // SAFETY: see above; true is a byte of 1.
        Distribution::Bernoulli { p: Real(p) } => unsafe {
            match op.dtype {
                DType::F32 => random::bernoulli(exec, stream, p, [0f32, 1.0], to.cast(), count),
                DType::F64 => random::bernoulli(exec, stream, p, [0f64, 1.0], to.cast(), count),
                DType::I32 => random::bernoulli(exec, stream, p, [0i32, 1], to.cast(), count),
                DType::I64 => random::bernoulli(exec, stream, p, [0i64, 1], to.cast(), count),
                DType::U8 | DType::Bool => random::bernoulli(exec, stream, p, [0u8, 1], to, count),
            }
        },
        Distribution::Permutation => match op.dtype {
            // SAFETY: see above.
            DType::I32 => unsafe { random::permutation::<i32>(exec, stream, to.cast(), count) },
            // SAFETY: see above.
            DType::I64 => unsafe { random::permutation::<i64>(exec, stream, to.cast(), count) },
            DType::F32 | DType::F64 | DType::U8 | DType::Bool => (),
        },
    }
    Ok(())
}
