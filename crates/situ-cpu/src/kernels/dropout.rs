//! Dropout: the Bernoulli numbers of [`crate::random`], times the input; f32 and f64.

use super::{CpuKernel, start};
use crate::exec::{Exec, Shared};
use crate::math::Float;
use crate::random::{self, Stream};
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::{Op, OpKind};

/// Elements worth a task of their own.
const GRAIN: usize = 16 << 10;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::Dropout, &[DType::F32], CpuKernel::dense(run::<f32>));
    registry.add(OpKind::Dropout, &[DType::F64], CpuKernel::dense(run::<f64>));
}

fn run<T: Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Dropout(op) = call.op else { return Err(super::refused(call)) };
    let count = call.outputs[0].layout.shape().elements();
    let step = match call.inputs.get(1) {
        // SAFETY: the rule says that it is one i32.
        Some(step) => unsafe { *start(step).cast::<i32>() },
        None => 0,
    };
    let stream = Stream::new(op.seed, op.stream.wrapping_add(i64::from(step) as u64));
    let to = Shared(start(&call.outputs[0]).cast::<T>());
    let from = Shared(start(&call.inputs[0]).cast::<T>().cast_const());
    let growth = T::from_f64(op.growth());
    // SAFETY: both are dense, with `count` elements; the output is memory of its own.
    unsafe {
        random::bernoulli(exec, stream, 1.0 - op.rate.0, [T::ZERO, T::ONE], to.get(), count);
    }
    exec.for_elements(count, GRAIN, |first, last| {
        for n in first..last {
            // SAFETY: as above; ranges do not overlap.
            unsafe {
                let to = to.get().add(n);
                // Not a product: what is dropped is zero whatever it was.
                *to = if *to == T::ZERO { T::ZERO } else { *from.get().add(n) * growth };
            }
        }
    });
    Ok(())
}
