//! Pooling and its gradients, window by window.

use super::case::{Case, Expected, Tolerance};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_ir::ops::window::{Format, Window};
use situ_ir::ops::{Pool2d, Pool2dByInput, PoolKind};

/// Batch, channels, size; the window; stride, dilation, padding.
type Row = ([usize; 4], [usize; 2], [usize; 2], [usize; 2], [[usize; 2]; 2]);

const ROWS: &[Row] = &[
    ([1, 1, 1, 1], [1, 1], [1, 1], [1, 1], [[0, 0], [0, 0]]),
    ([2, 3, 6, 8], [2, 2], [2, 2], [1, 1], [[0, 0], [0, 0]]),
    ([1, 2, 7, 5], [3, 2], [2, 1], [1, 1], [[1, 1], [0, 1]]),
    ([2, 2, 9, 8], [3, 3], [1, 2], [2, 1], [[1, 2], [2, 0]]),
    ([0, 2, 4, 4], [2, 2], [2, 2], [1, 1], [[0, 0], [0, 0]]),
    ([3, 5, 20, 21], [3, 3], [2, 2], [1, 1], [[1, 1], [1, 1]]),
];

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        for kind in [PoolKind::Max, PoolKind::Average] {
            let tolerance = Tolerance::units(dtype, 4.0, 4.0);
            for format in [Format::ChannelsFirst, Format::ChannelsLast] {
                for &(dims, size, stride, dilation, padding) in ROWS {
                    let pool = Pool2d { kind, size, window: Window { stride, dilation, padding, format } };
                    let x = noise.array(dtype, &shaped(format, dims));
                    let g = noise.array(dtype, &shaped(format, places(&pool, dims)));
                    let label = format!(
                        "{format:?} {size:?} stride {stride:?} dilation {dilation:?} padding {padding:?}"
                    );
                    list.push(Case::new(&label, pool, vec![x.clone().into()], tolerance, move |i| {
                        pooled(&pool, dims, &i[0], None)
                    }));
                    let op = Pool2dByInput { pool };
                    list.push(Case::new(&label, op, vec![x.into(), g.into()], tolerance, move |i| {
                        pooled(&pool, dims, &i[0], Some(&i[1]))
                    }));
                }
            }
            let pool = Pool2d { kind, size: [2, 2], window: Window { stride: [2, 2], ..Window::default() } };
            for form in Form::VIEWS {
                let input = Input::formed(noise.array(dtype, &[1, 2, 4, 5]), form);
                list.push(Case::new(form.name(), pool, vec![input], tolerance, move |i| {
                    pooled(&pool, [1, 2, 4, 5], &i[0], None)
                }));
            }
            let corners = [f64::NAN, 1.0, f64::NEG_INFINITY, f64::NEG_INFINITY, 2.0, 3.0, f64::INFINITY, 0.0];
            let corners = Array::real(dtype, &[1, 1, 2, 4], corners.to_vec());
            list.push(Case::new("corners", pool, vec![corners.into()], tolerance, move |i| {
                pooled(&pool, [1, 1, 2, 4], &i[0], None)
            }));
        }
    }
}

pub(super) fn shaped(format: Format, [n, c, h, w]: [usize; 4]) -> [usize; 4] {
    if format == Format::ChannelsFirst { [n, c, h, w] } else { [n, h, w, c] }
}

pub(super) fn places(pool: &Pool2d, [n, c, h, w]: [usize; 4]) -> [usize; 4] {
    let along = |axis: usize, size: usize| {
        let window = &pool.window;
        let whole = size + window.padding[axis][0] + window.padding[axis][1];
        (whole - window.dilation[axis] * (pool.size[axis] - 1) - 1) / window.stride[axis] + 1
    };
    [n, c, along(0, h), along(1, w)]
}

/// The pooled images; or, with a gradient by them, the gradient by the images.
pub(super) fn pooled(pool: &Pool2d, dims: [usize; 4], x: &Array, upstream: Option<&Array>) -> Expected {
    let out = places(pool, dims);
    let last = pool.window.format == Format::ChannelsLast;
    let at = |dims: [usize; 4], [n, c, h, w]: [usize; 4]| {
        let [_, dc, dh, dw] = dims;
        if last { ((n * dh + h) * dw + w) * dc + c } else { ((n * dc + c) * dh + h) * dw + w }
    };
    let mut pooled = vec![0.0; out.iter().product()];
    let mut scale = vec![0.0; if upstream.is_some() { x.len() } else { pooled.len() }];
    let mut back = vec![0.0; x.len()];
    for n in 0..out[0] {
        for c in 0..out[1] {
            for (oh, ow) in (0..out[2]).flat_map(|h| (0..out[3]).map(move |w| (h, w))) {
                let mut within = Vec::new();
                for (a, b) in (0..pool.size[0]).flat_map(|a| (0..pool.size[1]).map(move |b| (a, b))) {
                    let place = |axis: usize, o: usize, k: usize| {
                        let w = &pool.window;
                        (o * w.stride[axis] + k * w.dilation[axis]).checked_sub(w.padding[axis][0])
                    };
                    if let (Some(h), Some(w)) = (place(0, oh, a), place(1, ow, b))
                        && h < dims[2]
                        && w < dims[3]
                    {
                        within.push(at(dims, [n, c, h, w]));
                    }
                }
                let y = at(out, [n, c, oh, ow]);
                let values: Vec<f64> = within.iter().map(|i| x.reals()[*i]).collect();
                let part = upstream.map_or(0.0, |g| g.reals()[y]);
                match pool.kind {
                    PoolKind::Average => {
                        pooled[y] = values.iter().sum::<f64>() / values.len() as f64;
                        for i in &within {
                            back[*i] += part / values.len() as f64;
                        }
                        if upstream.is_none() {
                            scale[y] = values.iter().map(|v| v.abs()).sum::<f64>() / values.len() as f64;
                        }
                    }
                    PoolKind::Max => {
                        let mut best = 0;
                        for (i, v) in values.iter().enumerate() {
                            let held = values[best];
                            if *v > held || (v.is_nan() && !held.is_nan()) {
                                best = i;
                            }
                        }
                        pooled[y] = values[best];
                        back[within[best]] += part;
                    }
                }
                if upstream.is_some() {
                    within.iter().for_each(|i| scale[*i] += part.abs());
                }
            }
        }
    }
    let (dims, values) = match upstream {
        None => (out, pooled),
        Some(_) => (dims, back),
    };
    let array = Array::unrounded(x.dtype, &shaped(pool.window.format, dims), values);
    Expected { array, scale: Some(scale) }
}
