//! Normalisation over a batch: a team for the statistics of each channel, then one invocation for each element.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, per_output};
use super::team::Team;
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::DType;
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel::new(run).accepting(|_, _, layout| layout.is_dense());
    registry.add(OpKind::BatchNorm, &[DType::F32], kernel);
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
    let team = Team::choose(channels, length, run.stream.context().is_software());
    let statistics = run.pipeline(PipelineKey::new("batch_norm_statistics", team as u64), || {
        let text = Math::NONE.text() + "alias Acc = f32;\n" + &team.joins(&[("sum", "a + b")]);
        let text = text + include_str!("wgsl/batch_norm_statistics.wgsl") + &team.main();
        Source { buffers: vec![View::Words; 3], wgsl: text }
    })?;
    let offsets = [element_offset(x), element_offset(mean), element_offset(variance), 0];
    let params = Params::new([channels as u32, 0, 0, length as u32], offsets).with([
        channels as u32,
        inner as u32,
        0,
        0,
    ]);
    let blocks = [run.block(x)?, run.block(mean)?, run.block(variance)?];
    run.dispatch(&statistics, &blocks, &params, team.groups(channels))?;
    let normalise = run.pipeline(PipelineKey::new("batch_norm", 0), || {
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
