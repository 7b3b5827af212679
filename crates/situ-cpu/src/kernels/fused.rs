//! Fused elementwise programs, step by step on tiles that stay in cache; every dtype.
//!
//! A program is compiled when it is first seen by a thread and kept with it: calling a function again costs no compilation.

use super::elementwise::{Broadcast, no_result};
use super::{CpuKernel, start};
use crate::elementwise::fused::FusedKernel;
use crate::exec::Exec;
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::ops::{Program, Step};
use situ_ir::{Op, OpKind};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Elements worth a task of their own.
const GRAIN: usize = 16 << 10;
/// The same for results that no cache holds: streams from and to memory are best left running for a while.
const GRAIN_FAR: usize = 128 << 10;
/// Elements from which on a result is one of those.
const FAR: usize = 4 << 20;
/// Programs that each thread keeps.
const KEPT: usize = 64;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add_where(OpKind::Fused, &DType::ALL, CpuKernel::strided(run), |op, _, _| match op {
        Op::Fused(fused) => compiled(&fused.program).is_some(),
        _ => false,
    });
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Fused(fused) = call.op else { return Ok(()) };
    let Some(kernel) = compiled(&fused.program) else { return Ok(()) };
    let Some(first) = call.outputs.first() else { return Ok(()) };
    let shape = first.layout.shape();
    let mut outputs = [std::ptr::null_mut(); Program::MAX_BINDINGS];
    for (to, output) in outputs.iter_mut().zip(call.outputs) {
        *to = start(output);
    }
    let grain = if shape.elements() >= FAR { GRAIN_FAR } else { GRAIN };
    let broadcast = Broadcast::<{ Program::MAX_BINDINGS }>::new(call.inputs, shape);
    // SAFETY: shapes and dtypes were inferred for this program, so every operand has an element at each index of the result
    // under these strides; outputs are dense memory of their own.
    let done = unsafe {
        kernel.run(
            exec,
            shape,
            &broadcast.operands(call.inputs, shape),
            &outputs[..call.outputs.len()],
            grain,
        )
    };
    done.map_err(|found| {
        let step = fused.program.steps().get(found.step).and_then(Step::op);
        no_result(call, step.map_or("fused", |op| op.name()), found.element)
    })
}

/// The kernel of a program, compiled if this thread has not seen it.
fn compiled(program: &Arc<Program>) -> Option<Rc<FusedKernel>> {
    thread_local! {
        static SEEN: RefCell<Vec<(Arc<Program>, Rc<FusedKernel>)>> = const { RefCell::new(Vec::new()) };
    }
    SEEN.with_borrow_mut(|seen| {
        if let Some((_, kernel)) = seen.iter().find(|(held, _)| Arc::ptr_eq(held, program)) {
            return Some(kernel.clone());
        }
        let kernel = Rc::new(FusedKernel::new(program)?);
        if seen.len() == KEPT {
            seen.remove(0);
        }
        seen.push((program.clone(), kernel.clone()));
        Some(kernel)
    })
}
