//! Ops on rows of floats: softmax, cross-entropies, layer norm. Any strides; one team per row, or cuts of
//! rows that are too long for one.

use super::Kernel;
use super::index::{index_at, is_wide};
use super::long_rows::{LongRows, LongRowsCall, Numbers, Reads, source};
use super::run::{Params, Run, element_offset};
use super::shader::Math;
use super::space::Space;
use super::team::{PASSED, Team};
use crate::borders::Borders;
use crate::checks::BadValue;
use crate::fault::Fault;
use crate::pipelines::{Pipeline, PipelineKey, Source, View};
use situ_core::{DType, Layout, MAX_RANK, TensorType};
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = |launch| Kernel::new(launch).with_workspace(workspace);
    registry.add(OpKind::Softmax, &[DType::F32], kernel(softmax));
    registry.add(OpKind::LayerNorm, &[DType::F32], kernel(layer_norm));
    registry.add(OpKind::CrossEntropy, &[DType::F32], kernel(cross_entropy));
    let sparse = kernel(sparse_cross_entropy).accepting(|_, input, layout| input == 0 || layout.is_dense());
    registry.add_where(OpKind::SparseCrossEntropy, &[DType::F32], sparse, |_, inputs, _| {
        inputs[1].dtype.is_index()
    });
}

/// Passes of every kernel here over a row.
const PASSES: usize = 3;

fn workspace(borders: &Borders, op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let shape = &inputs[0].shape;
    let axis = match op {
        Op::Softmax(op) => usize::from(op.axis),
        _ => shape.rank() - 1,
    };
    let rows = shape.without(|a| a == axis).elements();
    let Some(long) = LongRows::of(rows, shape[axis], PASSES, borders) else { return 0 };
    // Losses of cuts need as much again.
    if op.kind() == OpKind::CrossEntropy { 2 * long.bytes() } else { long.bytes() }
}

/// The rows of one or two tensors along `axis`, merged.
struct Rows {
    count: usize,
    length: usize,
    space: Space<2>,
}

impl Rows {
    fn of(axis: usize, first: &Layout, second: Option<&Layout>) -> Rows {
        let shape = first.shape();
        let without = |values: &[isize]| {
            let mut kept = [0; MAX_RANK];
            let others = values.iter().enumerate().filter(|(a, _)| *a != axis).map(|(_, v)| *v);
            kept.iter_mut().zip(others).for_each(|(to, from)| *to = from);
            kept
        };
        let sizes = shape.without(|a| a == axis);
        let (one, two) = (without(first.strides()), second.map_or([0; MAX_RANK], |l| without(l.strides())));
        let rank = sizes.rank();
        Rows {
            count: sizes.elements(),
            length: shape[axis],
            space: Space::merged(&sizes, [&one[..rank], &two[..rank]]),
        }
    }

    fn team(&self, run: &Run<'_>) -> Team {
        Team::choose(self.count, self.length, run.borders().software)
    }

    /// The way of rows that are too long for a team.
    fn long<'a, 'b>(&self, run: &'b Run<'a>, params: Params) -> Result<Option<LongRowsCall<'a, 'b>>, Fault> {
        let Some(rows) = LongRows::of(self.count, self.length, PASSES, run.borders()) else {
            return Ok(None);
        };
        Ok(Some(LongRowsCall { run, rows, params, reads: Reads::Strided, input: run.block(run.input(0))? }))
    }

    fn params(&self, offsets: [u32; 4], own: [u32; 4]) -> Params {
        let sizes = [self.count as u32, self.space.rank as u32, 0, self.length as u32];
        let mut params = Params::new(sizes, offsets).with(own);
        for axis in 0..self.space.rank {
            let [one, two] = self.space.strides.map(|s| s[axis]);
            params = params.axis(axis, [self.space.sizes[axis], one, two, 0]);
        }
        params
    }
}

fn pipeline(
    run: &Run<'_>,
    kernel: &'static str,
    team: Team,
    buffers: &[View],
    texts: &[&str],
) -> Result<Arc<Pipeline>, Fault> {
    run.pipeline(PipelineKey::new(kernel, team), || {
        let joins = team.joins(run.borders(), Some(PASSED), &[("max", "max_nan(a, b)"), ("sum", "a + b")]);
        let wgsl =
            (Math::EXP | Math::LOG).text() + "alias Acc = f32;\n" + &joins + include_str!("wgsl/rows.wgsl");
        Source { buffers: buffers.to_vec(), wgsl: wgsl + &texts.concat() + &team.main(run.borders()) }
    })
}

fn stride(layout: &Layout, axis: usize) -> u32 {
    layout.strides()[axis] as u32
}

fn softmax(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Softmax(op) = run.call.op else { return Err(Fault::Internal("not a softmax".into())) };
    let (input, output) = (run.input(0), run.output());
    let axis = usize::from(op.axis);
    let rows = Rows::of(axis, input.layout, None);
    let inner: usize = input.layout.shape()[axis + 1..].iter().product();
    let params = rows.params(
        [element_offset(input), 0, 0, element_offset(output)],
        [stride(input.layout, axis), inner as u32, u32::from(op.log), 0],
    );
    if let Some(pass) = rows.long(run, params)? {
        let whole = pass.summarise(Numbers::Exponents, 0)?;
        let text = || include_str!("wgsl/long_softmax.wgsl").to_string();
        let pipeline = pass.pipeline("long_softmax", (), &[View::Words; 3], "b1", text)?;
        let blocks = [pass.input, run.workspace()?.0, run.block(output)?];
        pass.dispatch(&pipeline, &blocks, pass.units(), [0, 0, whole])?;
        return Ok(None);
    }
    let team = rows.team(run);
    let pipeline = pipeline(run, "softmax", team, &[View::Words; 2], &[include_str!("wgsl/softmax.wgsl")])?;
    run.dispatch(&pipeline, &[run.block(input)?, run.block(output)?], &params, team.groups(rows.count))?;
    Ok(None)
}

fn layer_norm(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::LayerNorm(op) = run.call.op else { return Err(Fault::Internal("not a layer_norm".into())) };
    let (input, scale, shift, output) = (run.input(0), run.input(1), run.input(2), run.output());
    let axis = input.layout.shape().rank() - 1;
    let rows = Rows::of(axis, input.layout, None);
    let params = rows.params(
        [element_offset(input), element_offset(scale), element_offset(shift), element_offset(output)],
        [
            stride(input.layout, axis),
            stride(scale.layout, 0),
            stride(shift.layout, 0),
            (op.epsilon.0 as f32).to_bits(),
        ],
    );
    if let Some(pass) = rows.long(run, params)? {
        let whole = pass.summarise(Numbers::Moments, 0)?;
        let text = || include_str!("wgsl/long_layer_norm.wgsl").to_string();
        let pipeline = pass.pipeline("long_layer_norm", (), &[View::Words; 5], "b1", text)?;
        let work = run.workspace()?.0;
        let blocks = [pass.input, work, run.block(scale)?, run.block(shift)?, run.block(output)?];
        pass.dispatch(&pipeline, &blocks, pass.units(), [0, 0, whole])?;
        return Ok(None);
    }
    let team = rows.team(run);
    let pipeline =
        pipeline(run, "layer_norm", team, &[View::Words; 4], &[include_str!("wgsl/layer_norm.wgsl")])?;
    let blocks = [run.block(input)?, run.block(scale)?, run.block(shift)?, run.block(output)?];
    run.dispatch(&pipeline, &blocks, &params, team.groups(rows.count))?;
    Ok(None)
}

const SHIFT_AND_LOG: &str = include_str!("wgsl/shift_and_log.wgsl");

fn cross_entropy(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (logits, labels, output) = (run.input(0), run.input(1), run.output());
    let axis = logits.layout.shape().rank() - 1;
    let rows = Rows::of(axis, logits.layout, Some(labels.layout));
    let params = rows.params(
        [element_offset(logits), element_offset(labels), 0, element_offset(output)],
        [stride(logits.layout, axis), stride(labels.layout, axis), 0, 0],
    );
    if let Some(pass) = rows.long(run, params)? {
        let whole = pass.summarise(Numbers::Exponents, 0)?;
        let (work, start) = run.workspace()?;
        let text = || include_str!("wgsl/long_losses.wgsl").to_string();
        let pipeline = pass.pipeline("long_losses", (), &[View::Words; 3], "b1", text)?;
        let losses = start + (pass.rows.bytes() / 4) as u32;
        let blocks = [pass.input, work, run.block(labels)?];
        pass.dispatch(&pipeline, &blocks, pass.units(), [0, losses, whole])?;
        let sums = pass.join(Numbers::Sums, losses)?;
        let pipeline = run.pipeline(PipelineKey::new("long_cross_entropy", ()), || {
            source(&[View::Words; 2], "b0", include_str!("wgsl/long_cross_entropy.wgsl"))
        })?;
        pass.dispatch(&pipeline, &[work, run.block(output)?], rows.count, [sums, 0, whole])?;
        return Ok(None);
    }
    let team = rows.team(run);
    let texts = [SHIFT_AND_LOG, include_str!("wgsl/cross_entropy.wgsl")];
    let pipeline = pipeline(run, "cross_entropy", team, &[View::Words; 3], &texts)?;
    let blocks = [run.block(logits)?, run.block(labels)?, run.block(output)?];
    run.dispatch(&pipeline, &blocks, &params, team.groups(rows.count))?;
    Ok(None)
}

fn sparse_cross_entropy(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (logits, labels, output) = (run.input(0), run.input(1), run.output());
    let axis = logits.layout.shape().rank() - 1;
    let rows = Rows::of(axis, logits.layout, None);
    let params = rows.params(
        [element_offset(logits), element_offset(labels), 0, element_offset(output)],
        [stride(logits.layout, axis), 0, 0, 0],
    );
    let bad = BadValue::OutOfRange { what: "label", limit: rows.length as i64 };
    if let Some(pass) = rows.long(run, params)? {
        let whole = pass.summarise(Numbers::Exponents, 0)?;
        let buffers = [View::Words, View::Words, View::Words, View::Words, View::Atomics];
        let text = || index_at(labels, "b2") + include_str!("wgsl/long_sparse_cross_entropy.wgsl");
        let pipeline = pass.pipeline("long_sparse_cross_entropy", is_wide(labels), &buffers, "b1", text)?;
        let blocks = [pass.input, run.workspace()?.0, run.block(labels)?, run.block(output)?];
        let params = pass.params(rows.count, [0, 0, whole]);
        return run.dispatch_checked(
            &pipeline,
            &blocks,
            &params,
            rows.count.div_ceil(256),
            bad,
            Some(labels),
        );
    }
    let team = rows.team(run);
    let buffers = [View::Words, View::Words, View::Words, View::Atomics];
    let at_label = index_at(labels, "b1");
    let texts = [SHIFT_AND_LOG, &at_label, include_str!("wgsl/sparse_cross_entropy.wgsl")];
    let name = if is_wide(labels) { "sparse_cross_entropy_i64" } else { "sparse_cross_entropy" };
    let pipeline = pipeline(run, name, team, &buffers, &texts)?;
    let blocks = [run.block(logits)?, run.block(labels)?, run.block(output)?];
    run.dispatch_checked(&pipeline, &blocks, &params, team.groups(rows.count), bad, Some(labels))
}
