//! Elementwise ops on the engine of [`crate::elementwise`].

use super::{CpuKernel, start};
use crate::elementwise::{self, Operand, Params, TileFn};
use crate::exec::Exec;
use situ_core::error::{Data, Fault};
use situ_core::{DType, Error, MAX_RANK, Result};
use situ_device::{Call, Registry};
use situ_ir::ops::Unary;
use situ_ir::{Op, OpKind};

/// Elements worth a task of their own: cheap ops need more of them.
const GRAIN_CHEAP: usize = 64 << 10;
const GRAIN_DEAR: usize = 8 << 10;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    let kernel = CpuKernel::strided(run);
    for kind in [OpKind::Unary, OpKind::Binary, OpKind::Where, OpKind::Cast, OpKind::BiasAdd] {
        registry.add_where(kind, &DType::ALL, kernel, |op, inputs, outputs| {
            tile(op, op.kernel_dtype(inputs, outputs)).is_some()
        });
    }
}

/// The tile function of an op on a dtype, with its parameters and how many elements a task has.
fn tile(op: &Op, dtype: DType) -> Option<(TileFn, Params, usize)> {
    use situ_ir::ops::BinaryKind;
    let none = Params::default();
    match op {
        Op::Unary(Unary { kind, params: [a, b] }) => {
            let f = elementwise::unary::unary(*kind, dtype)?;
            Some((f, [a.0, b.0], GRAIN_DEAR))
        }
        Op::Binary(binary) => {
            let grain = if binary.kind == BinaryKind::Pow { GRAIN_DEAR } else { GRAIN_CHEAP };
            Some((elementwise::binary::binary(binary.kind, dtype)?, none, grain))
        }
        Op::BiasAdd(_) => Some((elementwise::binary::binary(BinaryKind::Add, dtype)?, none, GRAIN_CHEAP)),
        Op::Where(_) => Some((elementwise::select::select(dtype), none, GRAIN_CHEAP)),
        Op::Cast(cast) => Some((elementwise::cast::cast(dtype, cast.to), none, GRAIN_CHEAP)),
        _ => None,
    }
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let [out] = call.outputs else { return Ok(()) };
    let shape = out.layout.shape();
    // `where` is registered by the dtype of what it chooses from.
    let dtype = if call.op.kind() == OpKind::Where { out.dtype } else { call.inputs[0].dtype };
    let Some((f, params, grain)) = tile(call.op, dtype) else { return Ok(()) };
    let mut strides = [[0isize; MAX_RANK]; 3];
    for (input, held) in call.inputs.iter().zip(&mut strides) {
        // Broadcast: aligned at the last axis, and axes of size 1 repeat.
        let lead = shape.rank() - input.layout.shape().rank();
        for (axis, (&size, &stride)) in input.layout.shape().iter().zip(input.layout.strides()).enumerate() {
            held[lead + axis] = if size == 1 { 0 } else { stride };
        }
    }
    let operand = |i: usize| {
        let input = &call.inputs[i];
        let dense = input.layout.is_dense() && input.layout.shape() == shape;
        Operand {
            start: start(input).cast_const(),
            size: input.dtype.size(),
            strides: (!dense).then(|| &strides[i][..shape.rank()]),
        }
    };
    let operands = match call.inputs.len() {
        1 => [operand(0); 3],
        2 => [operand(0), operand(1), operand(0)],
        _ => [operand(0), operand(1), operand(2)],
    };
    let inputs = &operands[..call.inputs.len().min(3)];
    // SAFETY: shapes and dtypes were inferred for this op, so every operand has an element at each index of the result under
    // these strides; the output is dense memory of its own.
    let done =
        unsafe { elementwise::run(exec, f, params, shape, inputs, start(out), out.dtype.size(), grain) };
    done.map_err(|row| {
        Error::Data(Box::new(Data {
            op: call.op.name(),
            fault: Fault::DivisionByZero,
            row,
            location: call.location,
        }))
    })
}
