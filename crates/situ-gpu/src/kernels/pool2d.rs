//! Pooling and its gradient. Small windows are for `pool2d_strips`, and so is the gradient of those that do
//! not overlap.
//!
//! Of others, there is one invocation for each element of the result. Windows that are too large for one are
//! cut into boxes. The gradient by the image looks back from each pixel at the windows that it was in; where
//! the largest of each stands is found once, and kept in the workspace.

use super::Kernel;
use super::boxes::Boxes;
use super::conv2d::{internal, params};
use super::pool2d_strips as strips;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, per_output};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::PipelineKey;
use situ_core::{DType, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::pool2d::{Pool2d, PoolKind};
use situ_ir::ops::window::Image;
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = |launch| Kernel::new(launch).accepting(|_, _, layout| layout.is_dense());
    registry.add(OpKind::Pool2d, &[DType::F32], kernel(forward));
    registry.add(OpKind::Pool2dByInput, &[DType::F32], kernel(by_input).with_workspace(workspace));
}

fn source(text: &str) -> String {
    Math::NONE.text() + include_str!("wgsl/conv2d.wgsl") + include_str!("wgsl/pool2d.wgsl") + text
}

/// The parameters for a result of so many elements, and the loops over a window.
fn common(run: &Run<'_>, pool: &Pool2d, [input, output]: [&Image; 2], elements: usize) -> (Params, Boxes) {
    let [before_rows, before_columns] = pool.window.padding.map(|p| p[0] as u32);
    let mean = u32::from(pool.kind == PoolKind::Average);
    let more = [before_rows, before_columns, input.channels as u32, mean];
    let words = [elements as u32, 0, pool.size[0] as u32, pool.size[1] as u32];
    let boxes = Boxes::of([1, pool.size[0], pool.size[1]], run.borders());
    (params(run, &pool.window, words, more, input, output), boxes)
}

/// One dispatch for each box.
fn each(
    run: &Run<'_>,
    name: &'static str,
    text: &str,
    (params, boxes): (Params, Boxes),
    blocks: &[&Block],
    elements: usize,
) -> Result<(), Fault> {
    let pipeline = run.pipeline(PipelineKey::new(name, ()), || {
        per_output(Elem::I32, blocks.len() - 1, false, &source(text))
    })?;
    let run = run.shared_by(boxes.count());
    for params in boxes.params(params) {
        run.dispatch(&pipeline, blocks, &params, groups_for(elements))?;
    }
    Ok(())
}

fn forward(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Pool2d(pool) = run.call.op else { return Err(Fault::Internal("not pooling".into())) };
    let [input, output] = pool.sizes("pool2d", &[run.input(0).tensor_type()]).map_err(internal)?;
    let blocks = [run.block(run.input(0))?, run.block(run.output())?];
    if strips::is_small(pool) {
        return strips::forward(run, pool, [&input, &output], &blocks).map(|()| None);
    }
    let elements = run.output().layout.shape().elements();
    let how = common(run, pool, [&input, &output], elements);
    each(run, "pool2d", include_str!("wgsl/pool2d_forward.wgsl"), how, &blocks, elements)?;
    Ok(None)
}

fn places(image: &Image) -> usize {
    image.batch * image.channels * image.size[0] * image.size[1]
}

fn workspace(_: &Borders, op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let Op::Pool2dByInput(op) = op else { return 0 };
    match op.pool.sizes("pool2d_by_input", &inputs[..1]) {
        Ok([_, output]) if op.pool.kind == PoolKind::Max && !strips::is_apart(&op.pool) => {
            4 * places(&output)
        }
        _ => 0,
    }
}

fn by_input(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Pool2dByInput(op) = run.call.op else { return Err(Fault::Internal("not pooling".into())) };
    let pool = &op.pool;
    let (images, by, result) = (run.input(0), run.input(1), run.output());
    let [input, output] = pool.sizes("pool2d_by_input", &[images.tensor_type()]).map_err(internal)?;
    let (images_block, by_block, result_block) = (run.block(images)?, run.block(by)?, run.block(result)?);
    if strips::is_apart(pool) {
        let blocks = [images_block, by_block, result_block];
        return strips::by_input(run, pool, [&input, &output], &blocks).map(|()| None);
    }
    let elements = result.layout.shape().elements();
    let (mut params, boxes) = common(run, pool, [&input, &output], elements);
    let run = run.shared_by(2);
    let mut kept = (by_block, 0);
    if pool.kind == PoolKind::Max {
        kept = run.workspace()?;
        let mut params = params;
        params.put(0, &[places(&output) as u32]);
        params.put(1, &[element_offset(images), 0, 0, kept.1]);
        let text = include_str!("wgsl/pool2d_places.wgsl");
        each(&run, "pool2d_places", text, (params, boxes), &[images_block, kept.0], places(&output))?;
    }
    params.put(1, &[element_offset(by), kept.1, 0, element_offset(result)]);
    // Windows that reach one pixel.
    let reach = |axis: usize| {
        let window = &pool.window;
        ((pool.size[axis] - 1) * window.dilation[axis] / window.stride[axis] + 1).min(output.size[axis])
    };
    let boxes = Boxes::of([1, reach(0), reach(1)], run.borders());
    let text = include_str!("wgsl/pool2d_by_places.wgsl");
    each(&run, "pool2d_by_places", text, (params, boxes), &[by_block, kept.0, result_block], elements)?;
    Ok(None)
}
