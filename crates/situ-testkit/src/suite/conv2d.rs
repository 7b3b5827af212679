//! Convolutions and their gradients, by seven plain loops.

use super::case::{Case, Expected, Tolerance};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::DType;
use situ_ir::ops::window::{Format, Window};
use situ_ir::ops::{Conv2d, Conv2dByFilter, Conv2dByInput};

/// Batch, channels, size; filters and their size; stride, dilation, padding; groups.
type Row = ([usize; 4], [usize; 3], [usize; 2], [usize; 2], [[usize; 2]; 2], usize);

const ROWS: &[Row] = &[
    ([1, 1, 1, 1], [1, 1, 1], [1, 1], [1, 1], [[0, 0], [0, 0]], 1),
    ([2, 3, 5, 6], [4, 3, 3], [1, 1], [1, 1], [[1, 1], [1, 1]], 1),
    ([1, 2, 7, 5], [3, 2, 3], [2, 1], [1, 1], [[0, 1], [2, 0]], 1),
    ([2, 2, 9, 8], [2, 3, 2], [2, 3], [2, 1], [[1, 2], [0, 1]], 1),
    ([1, 4, 6, 6], [6, 3, 3], [1, 1], [1, 1], [[1, 1], [1, 1]], 2),
    ([2, 3, 5, 5], [3, 3, 3], [2, 2], [1, 1], [[1, 1], [1, 1]], 3),
    ([3, 5, 4, 4], [2, 1, 1], [1, 1], [1, 1], [[0, 0], [0, 0]], 1),
    ([1, 2, 6, 6], [2, 2, 2], [1, 1], [3, 2], [[3, 0], [4, 4]], 1),
    ([0, 2, 4, 4], [3, 3, 3], [1, 1], [1, 1], [[1, 1], [1, 1]], 1),
    ([2, 0, 4, 4], [3, 3, 3], [1, 1], [1, 1], [[1, 1], [1, 1]], 1),
    ([1, 1, 3, 3], [1, 2, 2], [4, 4], [1, 1], [[0, 0], [0, 0]], 1),
];

/// Beyond one block of pixels and one task.
const LARGE: &[Row] = &[
    ([2, 9, 21, 20], [70, 3, 3], [1, 1], [1, 1], [[1, 1], [1, 1]], 1),
    ([2, 3, 60, 61], [9, 7, 7], [2, 2], [1, 1], [[3, 3], [3, 3]], 1),
    ([1, 80, 20, 20], [8, 1, 1], [1, 1], [1, 1], [[0, 0], [0, 0]], 1),
];

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        for format in [Format::ChannelsFirst, Format::ChannelsLast] {
            for row in ROWS.iter().chain(LARGE.iter().filter(|_| dtype == DType::F32)) {
                of_row(list, &mut noise, dtype, format, row);
            }
        }
        for form in Form::VIEWS {
            let conv =
                Conv2d { window: Window { padding: [[1, 0], [0, 1]], ..Window::default() }, groups: 1 };
            let inputs = [&[2, 2, 4, 5][..], &[3, 2, 2, 2]];
            let inputs = inputs.map(|d| Input::formed(noise.array(dtype, d), form)).into();
            let tolerance = Tolerance::units(dtype, 8.0, 2.0);
            list.push(Case::new(form.name(), conv, inputs, tolerance, move |i| {
                Sizes::forward(&conv, &i[0], &i[1]).sum(What::Forward, &i[0], &i[1])
            }));
        }
    }
}

pub(super) fn image(format: Format, [n, c, h, w]: [usize; 4]) -> [usize; 4] {
    if format == Format::ChannelsFirst { [n, c, h, w] } else { [n, h, w, c] }
}

pub(super) fn filter(format: Format, [o, i, h, w]: [usize; 4]) -> [usize; 4] {
    if format == Format::ChannelsFirst { [o, i, h, w] } else { [h, w, i, o] }
}

fn of_row(list: &mut Vec<Case>, noise: &mut Noise, dtype: DType, format: Format, row: &Row) {
    let &([n, c, h, w], [out, fh, fw], stride, dilation, padding, groups) = row;
    let conv = Conv2d { window: Window { stride, dilation, padding, format }, groups };
    let size = [(h, fh), (w, fw)].into_iter().enumerate().map(|(a, (size, window))| {
        (size + padding[a][0] + padding[a][1] - dilation[a] * (window - 1) - 1) / stride[a] + 1
    });
    let size: Vec<usize> = size.collect();
    let x = noise.array(dtype, &image(format, [n, c, h, w]));
    let f = noise.array(dtype, &filter(format, [out, c / groups, fh, fw]));
    let g = noise.array(dtype, &image(format, [n, out, size[0], size[1]]));
    // Sums of some hundred products.
    let tolerance = Tolerance::units(dtype, 8.0, 4.0);
    let label =
        format!("{format:?} stride {stride:?} dilation {dilation:?} padding {padding:?} groups {groups}");
    let sizes = Sizes::forward(&conv, &x, &f);
    list.push(Case::new(&label, conv, vec![x.clone().into(), f.clone().into()], tolerance, move |i| {
        sizes.sum(What::Forward, &i[0], &i[1])
    }));
    let op = Conv2dByInput { conv, size: [h, w] };
    list.push(Case::new(&label, op, vec![g.clone().into(), f.into()], tolerance, move |i| {
        sizes.sum(What::ByInput, &i[0], &i[1])
    }));
    let op = Conv2dByFilter { conv, size: [fh, fw] };
    list.push(Case::new(&label, op, vec![x.into(), g.into()], tolerance, move |i| {
        sizes.sum(What::ByFilter, &i[0], &i[1])
    }));
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Forward,
    ByInput,
    ByFilter,
}

#[derive(Clone, Copy)]
pub(super) struct Sizes {
    conv: Conv2d,
    x: [usize; 4],
    f: [usize; 4],
    y: [usize; 4],
}

impl Sizes {
    fn forward(conv: &Conv2d, x: &Array, f: &Array) -> Sizes {
        Sizes::of(conv, &x.dims, &f.dims)
    }

    /// Sizes in the order batch, channels, height, width, whatever the format of the images and filters is.
    pub(super) fn of(conv: &Conv2d, a: &[usize], b: &[usize]) -> Sizes {
        let last = conv.window.format == Format::ChannelsLast;
        let x = if last { [a[0], a[3], a[1], a[2]] } else { [a[0], a[1], a[2], a[3]] };
        let f = if last { [b[3], b[2], b[0], b[1]] } else { [b[0], b[1], b[2], b[3]] };
        let places = |n: usize| {
            let whole = x[2 + n] + conv.window.padding[n][0] + conv.window.padding[n][1];
            (whole - conv.window.dilation[n] * (f[2 + n] - 1) - 1) / conv.window.stride[n] + 1
        };
        Sizes { conv: *conv, x, f, y: [x[0], f[0], places(0), places(1)] }
    }

    /// Every product of the convolution, added to where it belongs.
    pub(super) fn sum(&self, what: What, a: &Array, b: &Array) -> Expected {
        let Sizes { conv, x, f, y } = *self;
        let last = conv.window.format == Format::ChannelsLast;
        let at = |dims: [usize; 4], [n, c, h, w]: [usize; 4]| {
            let [_, ds_c, ds_h, ds_w] = dims;
            if last { ((n * ds_h + h) * ds_w + w) * ds_c + c } else { ((n * ds_c + c) * ds_h + h) * ds_w + w }
        };
        let at_filter = |[o, i, h, w]: [usize; 4]| {
            let [fo, fi, fh, fw] = f;
            if last { ((h * fw + w) * fi + i) * fo + o } else { ((o * fi + i) * fh + h) * fw + w }
        };
        let target = match what {
            What::Forward => image(conv.window.format, y).to_vec(),
            What::ByInput => image(conv.window.format, x).to_vec(),
            What::ByFilter => filter(conv.window.format, f).to_vec(),
        };
        let count: usize = target.iter().product();
        let (mut values, mut scale) = (vec![0.0; count], vec![0.0; count]);
        let (first, second) = (a.reals(), b.reals());
        let per_group = f[0] / conv.groups;
        for n in 0..y[0] {
            for o in 0..y[1] {
                for i in 0..f[1] {
                    let channel = o / per_group.max(1) * f[1] + i;
                    for (oh, ow) in (0..y[2]).flat_map(|h| (0..y[3]).map(move |w| (h, w))) {
                        for (fh, fw) in (0..f[2]).flat_map(|h| (0..f[3]).map(move |w| (h, w))) {
                            let place = |axis: usize, o: usize, f: usize| {
                                let w = &conv.window;
                                (o * w.stride[axis] + f * w.dilation[axis]).checked_sub(w.padding[axis][0])
                            };
                            let (Some(h), Some(w)) = (place(0, oh, fh), place(1, ow, fw)) else { continue };
                            if h >= x[2] || w >= x[3] {
                                continue;
                            }
                            let x_at = at(x, [n, channel, h, w]);
                            let f_at = at_filter([o, i, fh, fw]);
                            let y_at = at(y, [n, o, oh, ow]);
                            let (to, product) = match what {
                                What::Forward => (y_at, first[x_at] * second[f_at]),
                                What::ByInput => (x_at, first[y_at] * second[f_at]),
                                What::ByFilter => (f_at, first[x_at] * second[y_at]),
                            };
                            values[to] += product;
                            scale[to] += product.abs();
                        }
                    }
                }
            }
        }
        Expected { array: Array::unrounded(a.dtype, &target, values), scale: Some(scale) }
    }
}
