//! Indexed reads: gather, one_hot. Indices are dense, of i32 or of i64, which is two words. What they have in
//! common with `scatter_add` is here too.
//!
//! An index out of range is noted in an error slot with its position, and a valid one is used instead:
//! nothing is read or written where it should not be.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::scatter_add;
use super::shader::{Elem, entry, per_output};
use crate::checks::BadValue;
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{Shape, TensorType};
use situ_device::{Arg, Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let indices_fit: fn(&Op, &[TensorType], &[TensorType]) -> bool = |op, inputs, _| {
        let which = if op.kind() == OpKind::OneHot { 0 } else { 1 };
        inputs[which].dtype.is_index()
    };
    let gather = Kernel::new(gather).accepting(|_, _, layout| layout.is_dense());
    registry.add_where(OpKind::Gather, Elem::DTYPES, gather, indices_fit);
    let one_hot = Kernel::new(one_hot).accepting(|_, _, layout| layout.is_dense());
    registry.add_where(OpKind::OneHot, Elem::DTYPES, one_hot, indices_fit);
    scatter_add::register(registry, indices_fit);
}

/// `shape` as (elements before the axis, its size, elements after it).
pub(super) fn around(shape: &Shape, axis: usize) -> (usize, usize, usize) {
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}

/// `fn index_at(at: u32) -> u32`, the index at a place of `buffer`; one that no u32 holds is the largest of
/// them, which is no place. A negative one is beyond every end, as unsigned numbers see it.
pub(super) fn index_at(indices: &Arg<'_>, buffer: &str) -> String {
    let value = match indices.dtype.size() {
        8 => format!("select(0xffffffffu, {buffer}[2u * at], {buffer}[2u * at + 1u] == 0u)"),
        _ => format!("{buffer}[at]"),
    };
    format!("fn index_at(at: u32) -> u32 {{ return {value}; }}\n")
}

/// By what kernels of the two sorts of indices are told apart.
pub(super) fn is_wide(indices: &Arg<'_>) -> bool {
    indices.dtype.size() == 8
}

pub(super) fn out_of_range(axis_size: usize) -> BadValue {
    BadValue::OutOfRange { what: "index", limit: axis_size as i64 }
}

/// Nothing is to be moved, but bad indices are to be named all the same.
pub(super) fn only_check(run: &Run<'_>, indices: &Arg<'_>, size: usize) -> Result<Option<Arc<Check>>, Fault> {
    let count = indices.layout.shape().elements();
    if count == 0 {
        return Ok(None);
    }
    let pipeline = run.pipeline(PipelineKey::new("check_indices", is_wide(indices)), || Source {
        buffers: vec![View::Words, View::Atomics],
        wgsl: index_at(indices, "b0")
            + &entry(256)
            + "    let i = group * 256u + lane;
    if i < params.w[0].x && index_at(params.w[1].x + i) >= params.w[0].y { atomicMax(&b1[p(63u) * 4u], ~i); }\n}\n",
    })?;
    let params = Params::new([count as u32, size as u32, 0, 0], [element_offset(indices), 0, 0, 0]);
    let blocks = [run.block(indices)?];
    run.dispatch_checked(&pipeline, &blocks, &params, count.div_ceil(256), out_of_range(size), Some(indices))
}

fn gather(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Gather(op) = run.call.op else { return Err(Fault::Internal("not a gather".into())) };
    let (input, indices, output) = (run.input(0), run.input(1), run.output());
    let (_, size, inner) = around(input.layout.shape(), usize::from(op.axis));
    let count = indices.layout.shape().elements();
    let elements = output.layout.shape().elements();
    if elements == 0 {
        return only_check(run, indices, size);
    }
    let elem = Elem::moved(output.dtype);
    let key = PipelineKey::new("gather", (elem, is_wide(indices)));
    let pipeline = run.pipeline(key, || {
        let text = format!(
            "{}{}fn element(e: u32) -> {} {{\n    let at = place_of(e);\n    return {};\n}}\n",
            index_at(indices, "b1"),
            include_str!("wgsl/gather.wgsl"),
            elem.bits_type(),
            elem.load("b0", "at")
        );
        per_output(elem, 2, true, &text)
    })?;
    let offsets = [element_offset(input), element_offset(indices), 0, element_offset(output)];
    let params = Params::new([elements as u32, inner as u32, count as u32, size as u32], offsets);
    let blocks = [run.block(input)?, run.block(indices)?, run.block(output)?];
    run.dispatch_checked(&pipeline, &blocks, &params, groups_for(elements), out_of_range(size), Some(indices))
}

fn one_hot(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::OneHot(op) = run.call.op else { return Err(Fault::Internal("not a one_hot".into())) };
    let (indices, output) = (run.input(0), run.output());
    let elements = output.layout.shape().elements();
    let elem = Elem::moved(output.dtype);
    let key = PipelineKey::new("one_hot", (elem, is_wide(indices)));
    let pipeline = run.pipeline(key, || {
        let (ty, [on, off]) = match elem.size() {
            8 => ("vec2<u32>", ["xz", "yw"]),
            _ => ("u32", ["x", "y"]),
        };
        let text = index_at(indices, "b0")
            + &format!(
                "fn element(e: u32) -> {ty} {{
    let depth = params.w[3].x;
    let row = e / depth;
    // A negative index is no column, as unsigned numbers see it.
    let hot = index_at(params.w[1].x + row) == e - row * depth;
    return select(params.w[2].{off}, params.w[2].{on}, hot);
}}
"
            );
        per_output(elem, 1, false, &text)
    })?;
    let [on, off] = [op.on, op.off].map(|value| value.bits());
    let params =
        Params::new([elements as u32, 0, 0, 0], [element_offset(indices), 0, 0, element_offset(output)])
            .with([on as u32, off as u32, (on >> 32) as u32, (off >> 32) as u32])
            .axis(0, [(op.depth as u32).max(1), 0, 0, 0]);
    run.dispatch(&pipeline, &[run.block(indices)?, run.block(output)?], &params, groups_for(elements))?;
    Ok(None)
}
