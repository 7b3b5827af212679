//! Normalisation over a batch: the statistics of each channel by a team, or in cuts where it is long; then
//! one invocation for each element.

use super::Kernel;
use super::long_rows::{LongRows, LongRowsCall, Numbers, Reads, source};
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, per_output};
use super::team::{PASSED, Team};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{DType, TensorType};
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel::new(run).accepting(|_, _, layout| layout.is_dense()).with_workspace(workspace);
    registry.add(OpKind::BatchNorm, &[DType::F32], kernel);
}

/// Passes over a channel.
const PASSES: usize = 2;

fn workspace(borders: &Borders, op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let Op::BatchNorm(op) = op else { return 0 };
    let (shape, axis) = (&inputs[0].shape, usize::from(op.axis));
    let (channels, elements) = (shape[axis], shape.elements());
    LongRows::of(channels, elements / channels.max(1), PASSES, borders).map_or(0, |rows| rows.bytes())
}

/// Statistics of channels that a team can do each.
fn in_teams(
    run: &Run<'_>,
    blocks: [&Block; 3],
    params: &Params,
    channels: usize,
    length: usize,
) -> Result<(), Fault> {
    let team = Team::choose(channels, length, run.borders().software);
    let pipeline = run.pipeline(PipelineKey::new("batch_norm_statistics", team), || {
        let joins = team.joins(run.borders(), Some(PASSED), &[("sum", "a + b")]);
        let text = Math::NONE.text() + "alias Acc = f32;\n" + &joins;
        let text = text + include_str!("wgsl/batch_norm_statistics.wgsl") + &team.main(run.borders());
        Source { buffers: vec![View::Words; 3], wgsl: text }
    })?;
    run.dispatch(&pipeline, &blocks, params, team.groups(channels))
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (Op::BatchNorm(op), [x, scale, shift], [y, mean, variance]) =
        (run.call.op, run.call.inputs, run.call.outputs)
    else {
        return Err(Fault::Internal("not batch_norm with three outputs".into()));
    };
    let (shape, axis) = (x.layout.shape(), usize::from(op.axis));
    let (channels, elements) = (shape[axis], shape.elements());
    let inner: usize = shape[axis + 1..].iter().product();
    let length = elements / channels.max(1);
    let offsets = [element_offset(x), element_offset(mean), element_offset(variance), 0];
    let own = [channels as u32, inner as u32, 0, 0];
    let params = Params::new([channels as u32, 0, 0, length as u32], offsets).with(own);
    let kept = [run.block(mean)?, run.block(variance)?];
    if let Some(rows) = LongRows::of(channels, length, PASSES, run.borders()) {
        let pass = LongRowsCall { run, rows, params, reads: Reads::Channel, input: run.block(x)? };
        let whole = pass.summarise(Numbers::Moments, 0)?;
        let pipeline = run.pipeline(PipelineKey::new("long_statistics", ()), || {
            source(&[View::Words; 3], "b0", include_str!("wgsl/long_statistics.wgsl"))
        })?;
        let blocks = [run.workspace()?.0, kept[0], kept[1]];
        pass.dispatch(&pipeline, &blocks, channels, [0, 0, whole])?;
    } else {
        in_teams(run, [run.block(x)?, kept[0], kept[1]], &params, channels, length)?;
    }
    let normalise = run.pipeline(PipelineKey::new("batch_norm", ()), || {
        per_output(Elem::F32, 5, false, include_str!("wgsl/batch_norm.wgsl"))
    })?;
    let offsets = [element_offset(x), element_offset(scale), element_offset(shift), element_offset(y)];
    let own = [element_offset(mean), element_offset(variance), (op.epsilon.0 as f32).to_bits(), 0];
    let params = Params::new([elements as u32, channels as u32, inner as u32, 0], offsets).with(own);
    let blocks = [
        run.block(x)?,
        run.block(scale)?,
        run.block(shift)?,
        run.block(mean)?,
        run.block(variance)?,
        run.block(y)?,
    ];
    run.dispatch(&normalise, &blocks, &params, groups_for(elements))?;
    Ok(None)
}
