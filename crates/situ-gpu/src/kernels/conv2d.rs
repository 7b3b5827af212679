//! Convolutions, pooling, and their gradients: one invocation for each element of the result, straight from memory.
//!
//! Honest, and not tuned: a convolution reads each pixel once for every filter. Large ones deserve tiles as matmul has them.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, per_output};
use crate::fault::Fault;
use crate::pipelines::PipelineKey;
use situ_core::{DType, Error};
use situ_device::{Check, Registry};
use situ_ir::ops::conv2d::ConvSizes;
use situ_ir::ops::pool2d::{Pool2d, PoolKind};
use situ_ir::ops::window::{Format, Image, Window};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = |launch| Kernel::new(launch).accepting(|_, _, layout| layout.is_dense());
    for kind in [OpKind::Conv2d, OpKind::Conv2dByInput, OpKind::Conv2dByFilter] {
        registry.add(kind, &[DType::F32], kernel(convolve));
    }
    registry.add(OpKind::Pool2d, &[DType::F32], kernel(pool));
    registry.add(OpKind::Pool2dByInput, &[DType::F32], kernel(pool));
}

fn internal(error: Error) -> Fault {
    Fault::Internal(error.to_string())
}

/// What convolutions and pooling have in common; the size of the window is in the first words.
fn params(
    run: &Run<'_>,
    window: &Window,
    sizes: [u32; 4],
    more: [u32; 4],
    input: &Image,
    output: &Image,
) -> Params {
    let words = |list: [usize; 4]| list.map(|n| n as u32);
    let second = run.call.inputs.get(1).map_or(0, element_offset);
    let offsets = [element_offset(run.input(0)), second, 0, element_offset(run.output())];
    let [[height, width], [down, across]] = [input.size, output.size];
    let last = u32::from(window.format == Format::ChannelsLast);
    Params::new(sizes, offsets)
        .with(words([window.stride[0], window.stride[1], window.dilation[0], window.dilation[1]]))
        .axis(0, more)
        .axis(1, words([height, width, down, across]))
        .axis(2, words(window.format.strides(input)))
        .axis(4, words(window.format.strides(output)))
        .axis(5, [last, input.batch as u32, 0, 0])
}

fn convolve(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let types = [run.input(0).tensor_type(), run.input(1).tensor_type()];
    let (conv, sizes, name, text) = match run.call.op {
        Op::Conv2d(conv) => {
            let sizes = conv.sizes("conv2d", &types, &types[0], &types[1]);
            (conv, sizes, "conv2d", include_str!("wgsl/conv2d_forward.wgsl"))
        }
        Op::Conv2dByInput(op) => {
            (&op.conv, op.sizes(&types), "conv2d_by_input", include_str!("wgsl/conv2d_by_input.wgsl"))
        }
        Op::Conv2dByFilter(op) => {
            (&op.conv, op.sizes(&types), "conv2d_by_filter", include_str!("wgsl/conv2d_by_filter.wgsl"))
        }
        _ => return Err(Fault::Internal("not a convolution".into())),
    };
    let ConvSizes { input, filter, output } = sizes.map_err(internal)?;
    let elements = run.output().layout.shape().elements();
    let [before_rows, before_columns] = conv.window.padding.map(|p| p[0] as u32);
    let more = [before_rows, before_columns, conv.groups as u32, (filter.out / conv.groups) as u32];
    let words = [elements as u32, filter.taken as u32, filter.size[0] as u32, filter.size[1] as u32];
    let strides = conv.window.format.filter_strides(&filter).map(|n| n as u32);
    let params = params(run, &conv.window, words, more, &input, &output).axis(3, strides);
    let pipeline = run.pipeline(PipelineKey::new(name, 0), || {
        per_output(Elem::F32, 2, false, &(include_str!("wgsl/conv2d.wgsl").to_string() + text))
    })?;
    let blocks = [run.block(run.input(0))?, run.block(run.input(1))?, run.block(run.output())?];
    run.dispatch(&pipeline, &blocks, &params, groups_for(elements))?;
    Ok(None)
}

fn pool(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (pool, name, text): (&Pool2d, _, _) = match run.call.op {
        Op::Pool2d(pool) => (pool, "pool2d", include_str!("wgsl/pool2d_forward.wgsl")),
        Op::Pool2dByInput(op) => (&op.pool, "pool2d_by_input", include_str!("wgsl/pool2d_by_input.wgsl")),
        _ => return Err(Fault::Internal("not pooling".into())),
    };
    let [input, output] = pool.sizes(name, &[run.input(0).tensor_type()]).map_err(internal)?;
    let elements = run.output().layout.shape().elements();
    let [before_rows, before_columns] = pool.window.padding.map(|p| p[0] as u32);
    let mean = u32::from(pool.kind == PoolKind::Average);
    let more = [before_rows, before_columns, input.channels as u32, mean];
    let words = [elements as u32, 0, pool.size[0] as u32, pool.size[1] as u32];
    let params = params(run, &pool.window, words, more, &input, &output);
    let inputs = run.call.inputs.len();
    let pipeline = run.pipeline(PipelineKey::new(name, 0), || {
        per_output(Elem::F32, inputs, false, &(Math::NONE.text() + include_str!("wgsl/conv2d.wgsl") + text))
    })?;
    let mut blocks = Vec::with_capacity(3);
    for input in run.call.inputs {
        blocks.push(run.block(input)?);
    }
    blocks.push(run.block(run.output())?);
    run.dispatch(&pipeline, &blocks, &params, groups_for(elements))?;
    Ok(None)
}
