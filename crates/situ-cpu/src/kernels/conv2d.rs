//! Convolutions and their gradients on [`crate::convolve`]; f32 and f64. With a bias and an activation behind
//! them: the bias and relu task by task, other activations in one more pass.

use super::{CpuKernel, start};
use crate::convolve::{self, Axis, ByFilter, Correlation, Finish, Forward, Number, Windows};
use crate::exec::Exec;
use situ_core::{DType, Error, Result, TensorType};
use situ_device::{Call, Registry};
use situ_ir::ops::conv2d::ConvSizes;
use situ_ir::ops::window::{Filter, Format, Image, Window};
use situ_ir::ops::{Unary, UnaryKind};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    for kind in [OpKind::Conv2d, OpKind::Conv2dByInput, OpKind::Conv2dByFilter] {
        registry.add(kind, &[DType::F32], kernel::<f32>());
        registry.add(kind, &[DType::F64], kernel::<f64>());
    }
    registry.add(OpKind::Conv2dBias, &[DType::F32], kernel::<f32>());
    registry.add(OpKind::Conv2dBias, &[DType::F64], kernel::<f64>());
}

const fn kernel<T: Number>() -> CpuKernel {
    CpuKernel {
        run: run::<T>,
        accepts: |_, _, _| false,
        workspace: workspace::<T>,
        in_place: false,
        in_f32: false,
    }
}

/// What a call computes, whichever of the three it is.
struct ConvCall {
    window: Window,
    groups: usize,
    sizes: ConvSizes,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Forward,
    ByInput,
    ByFilter,
}

fn conv_call(op: &Op, inputs: &[TensorType]) -> Result<ConvCall> {
    Ok(match op {
        Op::Conv2d(conv) => {
            let sizes = conv.sizes("conv2d", inputs, &inputs[0], &inputs[1])?;
            ConvCall { window: conv.window, groups: conv.groups, sizes, what: What::Forward }
        }
        Op::Conv2dBias(op) => return conv_call(&op.conv.into(), &inputs[..2]),
        Op::Conv2dByInput(op) => {
            let sizes = op.sizes(inputs)?;
            ConvCall { window: op.conv.window, groups: op.conv.groups, sizes, what: What::ByInput }
        }
        Op::Conv2dByFilter(op) => {
            let sizes = op.sizes(inputs)?;
            ConvCall { window: op.conv.window, groups: op.conv.groups, sizes, what: What::ByFilter }
        }
        other => return Err(Error::argument(other.name(), "is no convolution", "")),
    })
}

impl ConvCall {
    /// Channels of a group: taken and made by the product.
    fn channels(&self) -> [usize; 2] {
        let Filter { out, taken, .. } = self.sizes.filter;
        match self.what {
            What::Forward | What::ByFilter => [taken, out / self.groups],
            What::ByInput => [out / self.groups, taken],
        }
    }

    fn axes(&self) -> [Axis; 2] {
        let ConvSizes { filter, output, .. } = self.sizes;
        [0, 1].map(|n| Axis {
            places: output.size[n],
            window: filter.size[n],
            step: self.window.stride[n] as isize,
            offset: -(self.window.padding[n][0] as isize),
            dilation: self.window.dilation[n] as isize,
        })
    }

    /// The windows of a convolution, or those that its gradient by the images looks back at.
    fn windows(&self) -> Vec<Windows> {
        let ConvSizes { input, filter, output } = self.sizes;
        let [.., y, x] = self.window.format.filter_strides(&filter);
        let strides = |image: &Image| {
            let [.., y, x] = self.window.format.strides(image);
            [y, x]
        };
        if self.what == What::Forward {
            return vec![Windows { axes: self.axes(), filter: (0, [y, x]), target: (0, strides(&output)) }];
        }
        let axes = [0, 1].map(|n| Forward {
            size: input.size[n],
            window: filter.size[n],
            stride: self.window.stride[n],
            dilation: self.window.dilation[n],
            before: self.window.padding[n][0],
        });
        convolve::back(axes, [y, x], strides(&input))
    }

    /// The gradient by the filters; its addresses are for the caller to fill in.
    fn by_filter<T>(&self) -> ByFilter<T> {
        let ConvSizes { input, output, .. } = self.sizes;
        let ([taken, made], format) = (self.channels(), self.window.format);
        ByFilter {
            batch: input.batch,
            groups: self.groups,
            taken,
            made,
            axes: self.axes(),
            images: std::ptr::null(),
            size: input.size,
            image_strides: format.strides(&input),
            upstream: std::ptr::null(),
            upstream_strides: format.strides(&output),
            out: std::ptr::null_mut(),
            last: format == Format::ChannelsLast,
            memory: std::ptr::null_mut(),
        }
    }

    /// Numbers of memory for panels of filters, or for partial sums.
    fn memory<T: Number>(&self) -> usize {
        let Filter { size: [height, width], .. } = self.sizes.filter;
        let [taken, made] = self.channels();
        match self.what {
            What::Forward | What::ByInput => {
                convolve::packed_len::<T>(self.groups, made, taken * height * width)
            }
            What::ByFilter => self.by_filter::<T>().partial_len(),
        }
    }
}

fn workspace<T: Number>(op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let Ok(conv) = conv_call(op, inputs) else { return 0 };
    match conv.memory::<T>() {
        0 => 0,
        numbers => numbers * size_of::<T>() + 64,
    }
}

fn run<T: Number>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let types: [TensorType; 2] = [call.inputs[0].tensor_type(), call.inputs[1].tensor_type()];
    let conv = conv_call(call.op, &types)?;
    let memory = call.workspace.and_then(|region| region.host()).map_or(std::ptr::null_mut(), |host| {
        let start = host.as_ptr();
        start.wrapping_add(start.align_offset(64)).cast::<T>()
    });
    let [first, second] = [0, 1].map(|n| start(&call.inputs[n]).cast::<T>().cast_const());
    let out = start(&call.outputs[0]).cast::<T>();
    let finish = match (call.op, call.inputs) {
        (Op::Conv2dBias(op), [_, _, bias]) => Some((start(bias).cast::<T>().cast_const(), op.activation)),
        _ => None,
    };
    if conv.what == What::ByFilter {
        let by_filter = ByFilter { images: first, upstream: second, out, memory, ..conv.by_filter() };
        // SAFETY: the sizes are those that the op's rule inferred from these inputs, all dense; the workspace
        // has room for what `memory` says.
        unsafe { convolve::by_filter(exec, &by_filter) };
        return Ok(());
    }
    let ConvSizes { input, filter, output } = conv.sizes;
    let forward = conv.what == What::Forward;
    let (from, into) = if forward { (input, output) } else { (output, input) };
    let format = conv.window.format;
    let ([by_image, by_channel, ..], [taken, made]) = (format.strides(&into), conv.channels());
    let [o, i, ..] = format.filter_strides(&filter);
    let correlation = Correlation {
        batch: input.batch,
        groups: conv.groups,
        taken,
        made,
        images: first,
        size: from.size,
        image_strides: format.strides(&from),
        filters: second,
        // On the way back, what a channel of the image gave to each result.
        filter_strides: if forward { [made * o, o, i] } else { [taken * o, i, o] },
        windows: &conv.windows(),
        out,
        out_strides: [by_image, by_channel],
        memory,
        finish: finish.map(|(bias, activation)| Finish { bias, relu: is_relu(activation) }),
    };
    // SAFETY: as above; a bias has a number for each channel.
    unsafe { convolve::correlate(exec, &correlation) };
    if let Some((_, Some(activation))) = finish
        && activation.kind != UnaryKind::Relu
    {
        super::elementwise::in_place(exec, activation, &call.outputs[0]);
    }
    Ok(())
}

fn is_relu(activation: Option<Unary>) -> bool {
    activation.is_some_and(|activation| activation.kind == UnaryKind::Relu)
}
