//! Elementwise ops on the engine of [`crate::elementwise`]; every dtype that the op has a meaning for.

use super::{CpuKernel, start};
use crate::elementwise::{self, NO_FAULT, NoResult, Operand, Params, TileFn};
use crate::exec::{Exec, Shared};
use situ_core::error::Fault;
use situ_core::{DType, Error, MAX_RANK, Result, Shape};
use situ_device::{Arg, Call, Registry};
use situ_ir::ops::{BinaryKind, Unary};
use situ_ir::{Op, OpKind, WorkClass};

/// Elements worth a task of their own: cheap ops need more of them. Two such tasks take about 5 µs with
/// AVX-512.
const GRAIN_CHEAP: usize = 32 << 10;
const GRAIN_DEAR: usize = 24 << 10;

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    let kernel = CpuKernel::strided(run).working_in_place();
    for kind in [OpKind::Unary, OpKind::Binary, OpKind::Where, OpKind::Cast, OpKind::BiasAdd] {
        registry.add_where(kind, &DType::ALL, kernel, |op, inputs, outputs| {
            tile(op, op.kernel_dtype(inputs, outputs)).is_some()
        });
    }
}

fn grain(class: WorkClass) -> usize {
    if class == WorkClass::Transcendental { GRAIN_DEAR } else { GRAIN_CHEAP }
}

/// The tile function of an op on a dtype, with its parameters and how many elements a task has.
fn tile(op: &Op, dtype: DType) -> Option<(TileFn, Params, usize)> {
    let none = Params::default();
    match op {
        Op::Unary(Unary { kind, params: [a, b] }) => {
            let grain = grain(kind.class());
            Some((elementwise::unary::unary(*kind, dtype)?, [a.0, b.0], grain))
        }
        Op::Binary(binary) => {
            Some((elementwise::binary::binary(binary.kind, dtype)?, none, grain(binary.kind.class())))
        }
        Op::BiasAdd(_) => Some((elementwise::binary::binary(BinaryKind::Add, dtype)?, none, GRAIN_CHEAP)),
        Op::Where(_) => Some((elementwise::select::select(dtype), none, GRAIN_CHEAP)),
        Op::Cast(cast) => Some((elementwise::cast::cast(dtype, cast.to), none, GRAIN_CHEAP)),
        _ => None,
    }
}

fn run(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let [out] = call.outputs else { return Err(super::refused(call)) };
    let shape = out.layout.shape();
    // `where` is registered by the dtype of what it chooses from.
    let dtype = if call.op.kind() == OpKind::Where { out.dtype } else { call.inputs[0].dtype };
    let Some((f, params, grain)) = tile(call.op, dtype) else { return Err(super::refused(call)) };
    if let Some(done) = few(exec, call, f, params, grain) {
        return done;
    }
    let broadcast;
    let inputs = match Operands::<3>::dense(call.inputs, shape) {
        Some(inputs) => inputs,
        None => {
            broadcast = Broadcast::<3>::new(call.inputs, shape);
            broadcast.operands(call.inputs, shape)
        }
    };
    // SAFETY: shapes and dtypes were inferred for this op, so every operand has an element at each index of
    // the result under these strides; the output is dense memory of its own, or that of an operand which lies
    // as it does.
    let done =
        unsafe { elementwise::run(exec, f, params, shape, &inputs, start(out), out.dtype.size(), grain) };
    done.map_err(|NoResult { element, .. }| no_result(call, call.op.name(), element))
}

/// An op on so few elements, side by side in all operands, that one call of its function on this thread is
/// all: most ops of small tensors, for which preparing anything else would take longer than computing. `None`
/// where it is another case.
#[inline]
fn few(exec: &Exec<'_>, call: &Call<'_>, f: TileFn, params: Params, grain: usize) -> Option<Result<()>> {
    let out = &call.outputs[0];
    let shape = out.layout.shape();
    let (elements, output) = (shape.elements(), start(out));
    let is_little = elements > 0 && elements < 2 * grain;
    if !is_little || elements * out.dtype.size() >= exec.streaming_bytes || !exec.threads.is_here() {
        return None;
    }
    let mut from = [std::ptr::null(); 3];
    for (from, input) in from.iter_mut().zip(call.inputs) {
        *from = start(input).cast_const();
        // A function's result overlaps no operand.
        let apart = !std::ptr::eq(*from, output);
        if !(apart && input.layout.is_dense() && input.layout.shape() == shape) {
            return None;
        }
    }
    // SAFETY: types were inferred for this op, which reads no more operands than the three that a function
    // takes; all are dense and of the result's shape, and none is where the result is.
    let element = unsafe { f(exec.level, params, from, output, elements) };
    Some(match element {
        NO_FAULT => Ok(()),
        element => Err(no_result(call, call.op.name(), element)),
    })
}

/// Applies a function of one element to a dense tensor, in its own memory.
pub(super) fn in_place(exec: &Exec<'_>, op: Unary, tensor: &Arg<'_>) {
    const TILE: usize = 4 << 10;
    let Some((f, params, grain)) = tile(&Op::from(op), tensor.dtype) else { return };
    let size = tensor.dtype.size();
    let first = Shared(start(tensor));
    exec.for_elements(tensor.layout.shape().elements(), grain, |from, to| {
        // A function's result overlaps no operand: the operand is a copy that stays in the first-level cache.
        let mut copy = [0u64; TILE / 8];
        for at in (from..to).step_by(TILE / size) {
            let count = (TILE / size).min(to - at);
            let here = first.get().wrapping_add(at * size);
            // SAFETY: the tensor is dense and has `to` elements or more; no other task touches these; a copy
            // has room for a tile.
            unsafe {
                std::ptr::copy_nonoverlapping(here, copy.as_mut_ptr().cast(), count * size);
                let read = copy.as_ptr().cast::<u8>();
                f(exec.level, params, [read; 3], here, count);
            }
        }
    });
}

/// The error of an element that has no result: only integer division has any.
pub(super) fn no_result(call: &Call<'_>, op: &'static str, element: usize) -> Error {
    Error::data(op, Fault::DivisionByZero, element, call.location())
}

/// The strides of at most `N` operands over the result's axes.
pub(super) struct Broadcast<const N: usize> {
    strides: [[isize; MAX_RANK]; N],
}

impl<const N: usize> Broadcast<N> {
    /// Aligned at the last axis; axes of size 1 repeat.
    pub(super) fn new(inputs: &[Arg<'_>], shape: &Shape) -> Broadcast<N> {
        let mut strides = [[0; MAX_RANK]; N];
        for (input, held) in inputs.iter().zip(&mut strides) {
            let lead = shape.rank() - input.layout.shape().rank();
            for (axis, (&size, &stride)) in
                input.layout.shape().iter().zip(input.layout.strides()).enumerate()
            {
                held[lead + axis] = if size == 1 { 0 } else { stride };
            }
        }
        Broadcast { strides }
    }

    /// The operands of a call.
    pub(super) fn operands<'a>(&'a self, inputs: &[Arg<'_>], shape: &Shape) -> Operands<'a, N> {
        let absent = Operand { start: std::ptr::null(), size: 1, strides: None };
        let mut list = [absent; N];
        for ((operand, input), strides) in list.iter_mut().zip(inputs).zip(&self.strides) {
            let dense = input.layout.is_dense() && input.layout.shape() == shape;
            *operand = Operand {
                start: start(input).cast_const(),
                size: input.dtype.size(),
                strides: (!dense).then(|| &strides[..shape.rank()]),
            };
        }
        Operands { list, count: inputs.len().min(N) }
    }
}

/// A list of operands, held inline.
pub(super) struct Operands<'a, const N: usize> {
    list: [Operand<'a>; N],
    count: usize,
}

impl<const N: usize> Operands<'_, N> {
    /// The operands of a call where all are dense and of the result's shape: most often, and then no strides
    /// are worked out.
    pub(super) fn dense(inputs: &[Arg<'_>], shape: &Shape) -> Option<Operands<'static, N>> {
        if inputs.len() > N || !inputs.iter().all(|i| i.layout.shape() == shape && i.layout.is_dense()) {
            return None;
        }
        let absent = Operand { start: std::ptr::null(), size: 1, strides: None };
        let mut list = [absent; N];
        for (operand, input) in list.iter_mut().zip(inputs) {
            *operand = Operand { start: start(input).cast_const(), size: input.dtype.size(), strides: None };
        }
        Some(Operands { list, count: inputs.len() })
    }
}

impl<'a, const N: usize> std::ops::Deref for Operands<'a, N> {
    type Target = [Operand<'a>];
    fn deref(&self) -> &[Operand<'a>] {
        &self.list[..self.count]
    }
}
