//! Convolutions and their gradients on [`crate::convolve`]; f32 and f64. Images with channels last are turned round first.

use super::{CpuKernel, start};
use crate::convolve::{self, Axis, Sliding};
use crate::exec::Exec;
use crate::math::Float;
use crate::matmul::FloatElement;
use crate::movement::{self, Source};
use situ_core::{DType, Error, Result, TensorType};
use situ_device::{Arg, Call, Registry};
use situ_ir::ops::conv2d::ConvSizes;
use situ_ir::ops::window::{Filter, Format, Image, Window};
use situ_ir::{Op, OpKind};

pub(super) fn register(registry: &mut Registry<CpuKernel>) {
    for kind in [OpKind::Conv2d, OpKind::Conv2dByInput, OpKind::Conv2dByFilter] {
        registry.add(kind, &[DType::F32], kernel::<f32>());
        registry.add(kind, &[DType::F64], kernel::<f64>());
    }
}

const fn kernel<T: FloatElement + Float>() -> CpuKernel {
    CpuKernel { run: run::<T>, accepts: |_, _, _| false, workspace: workspace::<T> }
}

/// What a call computes, whichever of the three it is.
struct Plan {
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

fn plan(op: &Op, inputs: &[TensorType]) -> Result<Plan> {
    Ok(match op {
        Op::Conv2d(conv) => {
            let sizes = conv.sizes("conv2d", inputs, &inputs[0], &inputs[1])?;
            Plan { window: conv.window, groups: conv.groups, sizes, what: What::Forward }
        }
        Op::Conv2dByInput(op) => {
            let sizes = op.sizes(inputs)?;
            Plan { window: op.conv.window, groups: op.conv.groups, sizes, what: What::ByInput }
        }
        Op::Conv2dByFilter(op) => {
            let sizes = op.sizes(inputs)?;
            Plan { window: op.conv.window, groups: op.conv.groups, sizes, what: What::ByFilter }
        }
        other => return Err(Error::argument(other.name(), "is no convolution", "")),
    })
}

impl Plan {
    /// Channels of a group: taken and made by the product.
    fn channels(&self) -> [usize; 2] {
        let Filter { out, taken, .. } = self.sizes.filter;
        match self.what {
            What::Forward | What::ByFilter => [taken, out / self.groups],
            What::ByInput => [out / self.groups, taken],
        }
    }

    fn sliding(&self) -> Sliding {
        let ConvSizes { input, filter, output } = self.sizes;
        let axis = |n: usize| {
            let (stride, dilation) = (self.window.stride[n], self.window.dilation[n] as isize);
            let before = self.window.padding[n][0] as isize;
            match self.what {
                What::Forward | What::ByFilter => Axis {
                    places: output.size[n],
                    window: filter.size[n],
                    size: input.size[n],
                    step: stride as isize,
                    offset: -before,
                    dilation,
                    divide: 1,
                },
                // Each pixel of the image looks back at the windows that it was in.
                What::ByInput => Axis {
                    places: input.size[n],
                    window: filter.size[n],
                    size: output.size[n],
                    step: 1,
                    offset: before,
                    dilation: -dilation,
                    divide: stride,
                },
            }
        };
        Sliding { down: axis(0), across: axis(1) }
    }

    fn last(&self) -> bool {
        self.window.format == Format::ChannelsLast
    }

    /// Numbers of memory for: the first input, the second, the result turned round, and partial sums.
    fn memory(&self, size: usize) -> [usize; 4] {
        let ConvSizes { input, filter, output } = self.sizes;
        let image = |i: Image| i.batch * i.channels * i.size[0] * i.size[1];
        let filters = filter.out * filter.taken * filter.size[0] * filter.size[1];
        let turned = |n: usize| if self.last() { n } else { 0 };
        match self.what {
            What::Forward => [turned(image(input)), turned(filters), turned(image(output)), 0],
            What::ByInput => [turned(image(output)), filters, turned(image(input)), 0],
            What::ByFilter => {
                let ([taken, made], sliding) = (self.channels(), self.sliding());
                let partial = convolve::partial_len(
                    input.batch,
                    sliding.pixels(),
                    self.groups,
                    taken,
                    made,
                    sliding.window(),
                    size,
                );
                [turned(image(input)), turned(image(output)), turned(filters), partial]
            }
        }
    }
}

fn workspace<T>(op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let Ok(plan) = plan(op, inputs) else { return 0 };
    match plan.memory(size_of::<T>()).iter().sum::<usize>() {
        0 => 0,
        numbers => numbers * size_of::<T>() + 64,
    }
}

fn run<T: FloatElement + Float>(exec: &Exec<'_>, call: &Call<'_>) -> Result<()> {
    let types: [TensorType; 2] = [call.inputs[0].tensor_type(), call.inputs[1].tensor_type()];
    let plan = plan(call.op, &types)?;
    let sliding = plan.sliding();
    let ConvSizes { input, filter, output } = plan.sizes;
    let lengths = plan.memory(size_of::<T>());
    let memory = call.workspace.and_then(|region| region.host()).map_or(std::ptr::null_mut(), |host| {
        let start = host.as_ptr();
        start.wrapping_add(start.align_offset(64)).cast::<T>()
    });
    let places: [*mut T; 4] = std::array::from_fn(|n| memory.wrapping_add(lengths[..n].iter().sum()));
    let [first, second]: [&Arg<'_>; 2] = [&call.inputs[0], &call.inputs[1]];
    let out = start(&call.outputs[0]).cast::<T>();
    let batch = [input.batch, plan.groups];
    // SAFETY: the sizes are those that the op's rule inferred from these inputs, all dense; the workspace has room for what `memory` says,
    // one part behind the other.
    unsafe {
        let turned = |arg: &Arg<'_>, image: Image, to: *mut T| -> *const T {
            if !plan.last() {
                return start(arg).cast::<T>();
            }
            first_from_last(exec, image, start(arg).cast(), to);
            to
        };
        let to = if plan.last() { places[2] } else { out };
        match plan.what {
            What::Forward => {
                let images = turned(first, input, places[0]);
                let filters = if plan.last() {
                    let from: *const T = start(second).cast();
                    let strides = plan.window.format.filter_strides(&filter);
                    let dims = [filter.out, filter.taken, filter.size[0], filter.size[1]];
                    copy(exec, from, dims, strides, places[1]);
                    places[1].cast_const()
                } else {
                    start(second).cast::<T>()
                };
                convolve::correlate(exec, &sliding, batch, plan.channels(), images, filters, to);
                if plan.last() {
                    last_from_first(exec, output, to, out);
                }
            }
            What::ByInput => {
                let upstream = turned(first, output, places[0]);
                // For each group, what a channel of the image gave to each result.
                let [o, i, y, x] = plan.window.format.filter_strides(&filter);
                let own = filter.out / plan.groups;
                let [height, width] = filter.size;
                for group in 0..plan.groups {
                    let from = start(second).cast::<T>().add(group * own * o);
                    let to = places[1].add(group * own * filter.taken * height * width);
                    copy(exec, from, [filter.taken, own, height, width], [i, o, y, x], to);
                }
                convolve::correlate(exec, &sliding, batch, plan.channels(), upstream, places[1], to);
                if plan.last() {
                    last_from_first(exec, input, to, out);
                }
            }
            What::ByFilter => {
                let images = turned(first, input, places[0]);
                let upstream = turned(second, output, places[1]);
                convolve::by_filter(exec, &sliding, batch, plan.channels(), images, upstream, to, places[3]);
                if plan.last() {
                    // From [out, in, height, width] to [height, width, in, out].
                    let [height, width] = filter.size;
                    let area = height * width;
                    let dims = [height, width, filter.taken, filter.out];
                    copy(exec, to, dims, [width, 1, area, filter.taken * area], out);
                }
            }
        }
    }
    Ok(())
}

/// Copies a tensor of four axes to dense memory.
///
/// # Safety
/// As [`movement::copy`].
unsafe fn copy<T>(exec: &Exec<'_>, from: *const T, shape: [usize; 4], strides: [usize; 4], to: *mut T) {
    let strides = strides.map(|s| s as isize);
    let source = Source { start: from.cast(), shape: &shape, strides: &strides };
    // SAFETY: the caller's promise.
    unsafe { movement::copy(exec, size_of::<T>(), source, to.cast()) }
}

/// # Safety
/// Both are dense images of that size, and do not overlap.
unsafe fn first_from_last<T>(exec: &Exec<'_>, image: Image, from: *const T, to: *mut T) {
    let [height, width] = image.size;
    let strides = Format::ChannelsLast.strides(&image);
    // SAFETY: the caller's promise.
    unsafe { copy(exec, from, [image.batch, image.channels, height, width], strides, to) }
}

/// # Safety
/// Both are dense images of that size, and do not overlap.
unsafe fn last_from_first<T>(exec: &Exec<'_>, image: Image, from: *const T, to: *mut T) {
    let [height, width] = image.size;
    let [n, c, y, x] = Format::ChannelsFirst.strides(&image);
    // SAFETY: the caller's promise.
    unsafe { copy(exec, from, [image.batch, height, width, image.channels], [n, y, x, c], to) }
}
