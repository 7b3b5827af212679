//! Copies and joins: dense, concat, pad, tile. They move bytes, so every dtype and every layout will do.

use super::{CpuKernel, start};
use crate::exec::Exec;
use crate::movement::{self, Source};
use situ_core::{DType, Result};
use situ_device::{Arg, Call, Registry};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    registry.add(OpKind::Dense, &DType::ALL, CpuKernel::strided(dense));
    registry.add(OpKind::Concat, &DType::ALL, CpuKernel::strided(concat));
    registry.add(OpKind::Pad, &DType::ALL, CpuKernel::strided(pad));
    registry.add(OpKind::Tile, &DType::ALL, CpuKernel::strided(tile));
}

fn source<'a>(arg: &Arg<'a>) -> Source<'a> {
    Source { start: start(arg), shape: arg.layout.shape(), strides: arg.layout.strides() }
}

fn dense(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let ([input], [output]) = (call.inputs, call.outputs) else { return Err(super::refused(call)) };
    // SAFETY: the output is dense memory of its own, of the input's shape.
    unsafe { movement::copy(exec, input.dtype.size(), source(input), start(output)) };
    Ok(())
}

fn concat(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Concat(op), [output]) = (call.op, call.outputs) else { return Err(super::refused(call)) };
    let sources: Vec<Source<'_>> = call.inputs.iter().map(source).collect();
    let shape = output.layout.shape();
    // SAFETY: the rule has checked that the inputs are the output cut along the axis; the output is dense
    // memory of its own.
    unsafe {
        movement::concat(exec, output.dtype.size(), usize::from(op.axis), &sources, shape, start(output));
    }
    Ok(())
}

fn pad(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Pad(op), [input], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let (size, value) = (input.dtype.size(), op.value.bits());
    // SAFETY: the rule has made the output's shape of these widths; the output is dense memory of its own.
    unsafe {
        movement::pad(exec, size, source(input), op.before(), op.after(), value, start(output));
    }
    Ok(())
}

fn tile(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let (Op::Tile(op), [input], [output]) = (call.op, call.inputs, call.outputs) else {
        return Err(super::refused(call));
    };
    let repeats = &op.repeats[..input.layout.shape().rank()];
    // SAFETY: the rule has made the output's shape of these repeats; the output is dense memory of its own.
    unsafe { movement::tile(exec, input.dtype.size(), source(input), repeats, start(output)) };
    Ok(())
}
