//! Convolutions with bias and activation in one op.

use super::case::{Case, Expected, Tolerance};
use super::conv2d::{Sizes, What, filter, image};
use super::unary;
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_ir::ops::window::{Format, Window};
use situ_ir::ops::{Conv2d, Conv2dBias, Unary, UnaryKind};

/// Batch, channels, size; filters and their size; stride; groups.
type Row = ([usize; 4], [usize; 3], usize, usize);

/// Few filters and many, one for each channel, nothing to sum, more than one task.
const ROWS: &[Row] = &[
    ([2, 3, 5, 6], [4, 3, 3], 1, 1),
    ([1, 2, 9, 8], [33, 3, 2], 2, 1),
    ([2, 4, 6, 6], [6, 3, 3], 1, 2),
    ([2, 20, 5, 5], [20, 3, 3], 1, 20),
    ([2, 0, 4, 4], [3, 3, 3], 1, 1),
    ([2, 9, 21, 20], [70, 3, 3], 1, 1),
];

pub(super) fn cases(list: &mut Vec<Case>) {
    let activations = [
        None,
        Some(Unary::new(UnaryKind::Relu)),
        Some(Unary::with(UnaryKind::LeakyRelu, 0.125, 0.0)),
        Some(Unary::new(UnaryKind::Gelu)),
    ];
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        let tolerance = Tolerance::units(dtype, 16.0, 4.0);
        for format in [Format::ChannelsFirst, Format::ChannelsLast] {
            for &([n, c, h, w], [out, fh, fw], stride, groups) in ROWS {
                for activation in activations {
                    let window = Window {
                        stride: [stride; 2],
                        padding: [[1, 1], [0, 1]],
                        format,
                        ..Window::default()
                    };
                    let op = Conv2dBias { conv: Conv2d { window, groups }, activation };
                    let x = noise.array(dtype, &image(format, [n, c, h, w]));
                    let f = noise.array(dtype, &filter(format, [out, c / groups, fh, fw]));
                    let bias = noise.array(dtype, &bias_dims(format, out));
                    let name = activation.map_or("none", |op| op.kind.name());
                    let label = format!("{format:?} {name} {n}x{c} to {out} groups {groups}");
                    let inputs = vec![x.into(), f.into(), bias.into()];
                    list.push(Case::new(&label, op, inputs, tolerance, move |i| layer(op, i)));
                }
            }
        }
        for form in Form::VIEWS {
            let conv = Conv2d { window: Window::default(), groups: 1 };
            let op = Conv2dBias { conv, activation: activations[1] };
            let arrays = [&[2, 2, 4, 5][..], &[3, 2, 2, 2], &[3, 1, 1]].map(|d| noise.array(dtype, d));
            let inputs = arrays.map(|array| Input::formed(array, form)).into();
            list.push(Case::new(form.name(), op, inputs, tolerance, move |i| layer(op, i)));
        }
    }
}

/// The shape in which a bias runs along the channels.
fn bias_dims(format: Format, channels: usize) -> Vec<usize> {
    match format {
        Format::ChannelsFirst => vec![channels, 1, 1],
        Format::ChannelsLast => vec![channels],
    }
}

pub(super) fn layer(op: Conv2dBias, inputs: &[Array]) -> Expected {
    let product =
        Sizes::of(&op.conv, &inputs[0].dims, &inputs[1].dims).sum(What::Forward, &inputs[0], &inputs[1]);
    let (bias, dims) = (inputs[2].reals(), &product.array.dims);
    let at = |i: usize| match op.conv.window.format {
        Format::ChannelsFirst => bias[i / (dims[2] * dims[3]) % dims[1]],
        Format::ChannelsLast => bias[i % dims[3]],
    };
    let sums = product.array.reals().iter().enumerate().map(|(i, v)| v + at(i)).collect();
    let sums = Array::unrounded(product.array.dtype, dims, sums);
    // No activation here is steeper than 1.13, so that the sum's own error is what remains.
    let scale = product.scale.map(|s| s.iter().enumerate().map(|(i, v)| v + at(i).abs()).collect());
    match op.activation {
        Some(activation) => Expected { scale, ..unary::apply(activation, &sums) },
        None => Expected { array: sums, scale },
    }
}
