//! Convolutions and their gradients: implicit products, but where those would have next to nothing to share.

use super::Kernel;
use super::conv2d_by_element::{self as by_element, Share};
use super::implicit::{self, Cut, Patches, Product};
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, per_output};
use super::unary;
use crate::borders::Borders;
use crate::fault::Fault;
use crate::pipelines::PipelineKey;
use situ_core::{DType, Error, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::conv2d::{Conv2d, ConvSizes};
use situ_ir::ops::window::{Format, Image, Window};
use situ_ir::ops::{Conv2dBias, UnaryKind};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

/// Dispatches that a gradient by the image may take, one for each phase of its strides.
const MANY_PHASES: usize = 64;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = |launch| Kernel::new(launch).accepting(|_, _, layout| layout.is_dense());
    registry.add(OpKind::Conv2d, &[DType::F32], kernel(forward));
    registry.add_where(OpKind::Conv2dBias, &[DType::F32], kernel(biased), |op, _, _| match op {
        Op::Conv2dBias(op) => op.activation.is_none_or(|op| unary::body(op.kind, Elem::F32).is_some()),
        _ => false,
    });
    registry.add(OpKind::Conv2dByInput, &[DType::F32], kernel(by_input));
    registry.add(OpKind::Conv2dByFilter, &[DType::F32], kernel(by_filter).with_workspace(workspace));
}

pub(super) fn internal(error: Error) -> Fault {
    Fault::Internal(error.to_string())
}

/// What convolutions and pooling have in common; the size of the window is in the first words.
pub(super) fn params(
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

fn types(run: &Run<'_>) -> [TensorType; 2] {
    [run.input(0).tensor_type(), run.input(1).tensor_type()]
}

/// Queues a product of the two inputs that makes the output.
fn whole(run: &Run<'_>, product: &Product) -> Result<(), Fault> {
    let args = [run.input(0), run.input(1), run.output()];
    let blocks = [run.block(args[0])?, run.block(args[1])?, run.block(args[2])?];
    let cut = Cut::whole(product, run.borders());
    implicit::run(run, product, cut, &blocks, args.map(element_offset), 0)
}

/// Queues what patches of the first input make of the second.
fn in_patches(run: &Run<'_>, patches: &Patches) -> Result<Option<Arc<Check>>, Fault> {
    let args = [run.input(0), run.input(1), run.output()];
    let blocks = [run.block(args[0])?, run.block(args[1])?, run.block(args[2])?];
    patches.run(run, &blocks, args.map(element_offset), 0).map(|()| None)
}

fn forward(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Conv2d(conv) = run.call.op else { return Err(Fault::Internal("not a convolution".into())) };
    convolved(run, conv).map(|_| None)
}

/// Queues a convolution of the first two inputs; gives its sizes.
fn convolved(run: &Run<'_>, conv: &Conv2d) -> Result<ConvSizes, Fault> {
    let types = types(run);
    let sizes = conv.sizes("conv2d", &types, &types[0], &types[1]).map_err(internal)?;
    match Patches::forward(conv, &sizes, run.borders()) {
        Some(patches) => in_patches(run, &patches).map(|_| sizes),
        None => whole(run, &Product::forward(conv, &sizes)).map(|()| sizes),
    }
}

/// A convolution, and what follows it in its result.
fn biased(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Conv2dBias(op) = run.call.op else { return Err(Fault::Internal("not a convolution".into())) };
    let sizes = convolved(run, &op.conv)?;
    finish(run, op, &sizes).map(|()| None)
}

/// Queues the bias and the activation of a result.
fn finish(run: &Run<'_>, op: &Conv2dBias, sizes: &ConvSizes) -> Result<(), Fault> {
    let (bias, output) = (run.input(2), run.output());
    let elements = output.layout.shape().elements();
    let kind: Option<UnaryKind> = op.activation.map(|op| op.kind);
    let pipeline = run.pipeline(PipelineKey::new("conv2d_bias", kind), || {
        // Registered only for activations that have a body.
        let body = kind.and_then(|kind| unary::body(kind, Elem::F32));
        let (math, body) = body.unwrap_or((Math::NONE, "a".into()));
        let text = include_str!("wgsl/conv2d_bias.wgsl").replace("ACTIVATION", &body);
        per_output(Elem::F32, 1, false, &format!("{}{text}", math.text()))
    })?;
    let apart = match op.conv.window.format {
        Format::ChannelsFirst => sizes.output.size[0] * sizes.output.size[1],
        Format::ChannelsLast => 1,
    };
    let own = op.activation.map_or([0; 4], |op| unary::own_words(&op, Elem::F32));
    let params = Params::new(
        [elements as u32, sizes.filter.out as u32, apart as u32, 0],
        [element_offset(bias), 0, 0, element_offset(output)],
    );
    run.dispatch(&pipeline, &[run.block(bias)?, run.block(output)?], &params.with(own), groups_for(elements))
}

fn by_input(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Conv2dByInput(op) = run.call.op else {
        return Err(Fault::Internal("not a gradient by an image".into()));
    };
    let sizes = op.sizes(&types(run)).map_err(internal)?;
    if let Some(patches) = Patches::by_input(&op.conv, &sizes, run.borders()) {
        return in_patches(run, &patches);
    }
    let [down, across] = [0, 1].map(|axis| op.conv.window.stride[axis].min(sizes.input.size[axis]));
    if down.saturating_mul(across) > MANY_PHASES {
        return by_element::by_input(run, &op.conv, &sizes).map(|()| None);
    }
    let run = run.shared_by(down * across);
    for phase in (0..down).flat_map(|y| (0..across).map(move |x| [y, x])) {
        if let Some(product) = Product::by_input(&op.conv, &sizes, phase) {
            whole(&run, &product)?;
        }
    }
    Ok(None)
}

/// How the gradient by a filter is made.
enum ByFilter {
    /// Few filters for a channel give a product of next to no columns.
    Patches(Patches),
    /// With too many taps to be written out, too.
    ByElement(Share),
    Product(Product, Cut),
}

impl ByFilter {
    fn choose(conv: &Conv2d, sizes: &ConvSizes, elements: usize, borders: &Borders) -> ByFilter {
        if let Some(patches) = Patches::by_filter(conv, sizes, borders) {
            return ByFilter::Patches(patches);
        }
        if conv.groups > 1 && sizes.filter.out / conv.groups < 4 {
            return ByFilter::ByElement(Share::new(elements, sizes, borders));
        }
        let product = Product::by_filter(conv, sizes);
        ByFilter::Product(product, Cut::parted(&product, elements, borders))
    }
}

fn workspace(borders: &Borders, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
    let elements = outputs[0].shape.elements();
    let Op::Conv2dByFilter(op) = op else { return 0 };
    let Ok(sizes) = op.sizes(inputs) else { return 0 };
    match ByFilter::choose(&op.conv, &sizes, elements, borders) {
        ByFilter::Patches(patches) => patches.bytes(elements),
        ByFilter::ByElement(share) => share.bytes(elements),
        ByFilter::Product(_, cut) => cut.bytes(elements),
    }
}

fn by_filter(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Conv2dByFilter(op) = run.call.op else {
        return Err(Fault::Internal("not a gradient by a filter".into()));
    };
    let sizes = op.sizes(&types(run)).map_err(internal)?;
    let elements = run.output().layout.shape().elements();
    let (images, by, result) = (run.input(0), run.input(1), run.output());
    let choice = ByFilter::choose(&op.conv, &sizes, elements, run.borders());
    let parts = match &choice {
        ByFilter::ByElement(share) => {
            return by_element::by_filter(run, &op.conv, &sizes, *share).map(|()| None);
        }
        ByFilter::Patches(patches) => patches.parts,
        ByFilter::Product(_, cut) => cut.parts,
    };
    let result = (run.block(result)?, element_offset(result));
    let (to, offset) = if parts == 1 { result } else { run.workspace()? };
    let blocks = [run.block(images)?, run.block(by)?, to];
    let [from, by] = [images, by].map(element_offset);
    match choice {
        // As of the convolution: the filter comes second, the gradient by its results third.
        ByFilter::Patches(patches) => patches.run(run, &blocks, [from, offset, by], elements)?,
        ByFilter::Product(product, cut) => {
            implicit::run(run, &product, cut, &blocks, [from, by, offset], elements)?;
        }
        ByFilter::ByElement(_) => {}
    }
    if parts > 1 {
        implicit::add_parts(run, parts, elements, (to, offset), result)?;
    }
    Ok(None)
}
