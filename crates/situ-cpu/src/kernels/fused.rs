//! Fused elementwise programs, step by step on tiles that stay in cache; every dtype.
//!
//! A program is compiled when it is first seen, and what it was compiled to is kept with the program: a
//! plan's programs stay compiled for as long as the plan, however many there are.

use super::elementwise::{Broadcast, no_result};
use super::{CpuKernel, start};
use crate::elementwise::fused::FusedKernel;
use crate::exec::Exec;
use situ_core::{DType, Result};
use situ_device::{Call, Registry};
use situ_ir::ops::{Program, Step};
use situ_ir::{Op, OpKind};

/// Elements worth a task of their own.
const GRAIN: usize = 16 << 10;
/// The same for results that no cache holds: streams from and to memory are best left running for a while.
const GRAIN_FAR: usize = 128 << 10;
/// Elements from which on a result is one of those.
const FAR: usize = 4 << 20;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add_where(OpKind::Fused, &DType::ALL, CpuKernel::strided(run).working_in_place(), |op, _, _| {
        match op {
            Op::Fused(fused) => compiled(&fused.program).is_some(),
            _ => false,
        }
    });
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let Op::Fused(fused) = call.op else { return Err(super::refused(call)) };
    let Some(kernel) = compiled(&fused.program) else { return Err(super::refused(call)) };
    let Some(first) = call.outputs.first() else { return Err(super::refused(call)) };
    let shape = first.layout.shape();
    let mut outputs = [std::ptr::null_mut(); Program::MAX_BINDINGS];
    for (to, output) in outputs.iter_mut().zip(call.outputs) {
        *to = start(output);
    }
    let grain = if shape.elements() >= FAR { GRAIN_FAR } else { GRAIN };
    let broadcast = Broadcast::<{ Program::MAX_BINDINGS }>::new(call.inputs, shape);
    // SAFETY: shapes and dtypes were inferred for this program, so every operand has an element at each index
    // of the result under these strides; outputs are dense memory of their own.
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

/// The kernel of a program; `None` where some step has none.
fn compiled(program: &Program) -> Option<&FusedKernel> {
    program.compiled(FusedKernel::new)?.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_core::Scalar;
    use situ_ir::ops::{Binary, BinaryKind, Register};

    #[test]
    fn hundreds_of_programs_are_compiled_once() {
        let program = |n: usize| {
            let steps = vec![
                Step::Constant(Scalar::F32(n as f32)),
                Step::Binary(Binary { kind: BinaryKind::Add }, Register(0), Register(1)),
            ];
            std::sync::Arc::new(Program::new(vec![DType::F32], steps, vec![Register(2)]).unwrap())
        };
        let programs: Vec<_> = (0..300).map(program).collect();
        let all = || programs.iter().map(|p| compiled(p).unwrap()).collect::<Vec<_>>();
        let (first, second) = (all(), all());
        let again =
            first.iter().zip(&second).filter(|(a, b)| !std::ptr::eq(&raw const ***a, &raw const ***b));
        assert_eq!(again.count(), 0, "of 300 were compiled again");
        assert_eq!(*programs[0], (*programs[0]).clone(), "what it was compiled to is no part of a program");
    }
}
