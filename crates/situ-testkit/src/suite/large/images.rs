//! Convolutions and their gradients of large batches, many channels, large windows and large images; pooling
//! of whole images.

use super::{Answer, Cost, Given, Table};
use crate::array::Array;
use crate::suite::case::{Expected, Tolerance};
use crate::suite::conv2d::{Sizes, What, filter, image};
use crate::suite::conv2d_bias::layer;
use crate::suite::pool2d::{places, pooled, shaped};
use situ_core::DType;
use situ_ir::ops::window::{Format, Window};
use situ_ir::ops::{
    Conv2d, Conv2dBias, Conv2dByFilter, Conv2dByInput, Pool2d, Pool2dByInput, PoolKind, Unary, UnaryKind,
};

/// Batch, channels, height, width; filters and their size; padding on all sides.
type Row = ([usize; 4], [usize; 3], usize, Cost);

const ROWS: &[Row] = &[
    // A gradient by the filters over 173,000 pixels.
    ([256, 1, 28, 28], [4, 3, 3], 0, Cost::Quick),
    ([2, 1_024, 4, 4], [8, 3, 3], 1, Cost::Quick),
    ([2, 8, 4, 4], [1_024, 3, 3], 1, Cost::Quick),
    // Columns of more than 2^16 elements: by the images, forward, and by an enormous window.
    ([1, 8, 7, 7], [1_338, 7, 7], 1, Cost::Quick),
    ([1, 4_096, 7, 7], [3, 7, 7], 1, Cost::Quick),
    ([1, 1, 301, 302], [2, 300, 300], 0, Cost::Quick),
    ([2, 3, 7, 7], [4_096, 7, 7], 0, Cost::Quick),
    ([1, 1, 1_100, 1_000], [1, 3, 3], 1, Cost::Quick),
    ([256, 3, 32, 32], [8, 5, 5], 2, Cost::Long),
    ([1, 700, 8, 8], [70, 7, 7], 3, Cost::Long),
    ([70_000, 2, 3, 3], [3, 3, 3], 1, Cost::Long),
    ([1, 2, 2_000, 600], [5, 3, 3], 1, Cost::Long),
    ([3, 1_500, 9, 9], [80, 7, 7], 3, Cost::Long),
];

pub(super) fn cases(table: &mut Table) {
    for row in ROWS {
        for dtype in [DType::F32, DType::F64] {
            for format in [Format::ChannelsFirst, Format::ChannelsLast] {
                // Half the depth is as deep in f64.
                let deep = row.0[1].max(row.1[0]) * row.1[1] * row.1[2] > 1 << 15;
                let first = format == Format::ChannelsFirst && (dtype == DType::F32 || deep);
                convolution(table, if first { row.3 } else { Cost::Long }, dtype, format, row);
            }
        }
    }
    for format in [Format::ChannelsFirst, Format::ChannelsLast] {
        biased(table, Cost::Quick, DType::F32, format, [64, 1, 28, 28], 32);
        biased(table, Cost::Long, DType::F64, format, [64, 32, 13, 13], 64);
    }
    for kind in [PoolKind::Max, PoolKind::Average] {
        for dtype in [DType::F32, DType::F64] {
            let cost = if dtype == DType::F32 { Cost::Quick } else { Cost::Long };
            pool(table, cost, dtype, kind, [1, 2, 500, 500], [500, 500], 1);
            pool(table, cost, dtype, kind, [64, 70, 30, 30], [2, 2], 2);
            pool(table, Cost::Long, dtype, kind, [1, 1, 620, 610], [500, 500], 60);
            pool(table, Cost::Long, dtype, kind, [70, 1, 260, 260], [260, 260], 1);
            pool(table, Cost::Long, dtype, kind, [70_000, 3, 4, 4], [2, 2], 2);
        }
    }
}

fn array(given: &Given) -> Array {
    Array::real(given.dtype, &given.dims(), given.numbers())
}

fn answer(expected: Expected) -> Answer {
    let values = expected.array.reals().to_vec();
    let scale = expected.scale.unwrap_or_else(|| vec![0.0; values.len()]);
    Answer::All { values, scale }
}

fn convolution(table: &mut Table, cost: Cost, dtype: DType, format: Format, row: &Row) {
    let &([n, c, h, w], [out, fh, fw], padding, _) = row;
    let window = Window { padding: [[padding; 2]; 2], format, ..Window::default() };
    let conv = Conv2d { window, groups: 1 };
    let x = image(format, [n, c, h, w]);
    let f = filter(format, [out, c, fh, fw]);
    let y = image(format, [n, out, h + 2 * padding + 1 - fh, w + 2 * padding + 1 - fw]);
    let sizes = Sizes::of(&conv, &x, &f);
    let tolerance = Tolerance::units(dtype, 8.0, 8.0);
    let mut push = |label: &str, make: &dyn Fn(&[usize], u64) -> Given| {
        let [gx, gf, gy] = [(&x, 71), (&f, 73), (&y, 79)].map(|(dims, seed)| make(dims, seed));
        let label = format!("{label} {format:?} padding {padding}");
        table.push(cost, &label, conv, vec![gx.clone(), gf.clone()], tolerance, move |i| {
            answer(sizes.sum(What::Forward, &array(&i[0]), &array(&i[1])))
        });
        // By the images every pixel looks at a whole window: minutes, where one is as large as the image.
        if fh * fw < 10_000 {
            let op = Conv2dByInput { conv, size: [h, w] };
            table.push(cost, &label, op, vec![gy.clone(), gf], tolerance, move |i| {
                answer(sizes.sum(What::ByInput, &array(&i[0]), &array(&i[1])))
            });
        }
        let op = Conv2dByFilter { conv, size: [fh, fw] };
        table.push(cost, &label, op, vec![gx, gy], tolerance, move |i| {
            answer(sizes.sum(What::ByFilter, &array(&i[0]), &array(&i[1])))
        });
    };
    push("noise", &|dims, seed| Given::noise(dtype, dims, seed));
    // Every result is a count of what lies under the window.
    push("ones", &|dims, _| Given::full(dtype, dims, 1.0));
}

/// A layer of a network on 28×28: 3×3 filters, a bias and a relu.
fn biased(table: &mut Table, cost: Cost, dtype: DType, format: Format, [n, c, h, w]: [usize; 4], out: usize) {
    let conv = Conv2d { window: Window { format, ..Window::default() }, groups: 1 };
    let op = Conv2dBias { conv, activation: Some(Unary::new(UnaryKind::Relu)) };
    let bias: &[usize] = if format == Format::ChannelsFirst { &[out, 1, 1] } else { &[out] };
    let dims = [&image(format, [n, c, h, w])[..], &filter(format, [out, c, 3, 3]), bias];
    let inputs = dims.iter().zip([83, 89, 97]).map(|(dims, seed)| Given::noise(dtype, dims, seed)).collect();
    table.push(cost, &format!("bias {format:?}"), op, inputs, Tolerance::units(dtype, 8.0, 8.0), move |i| {
        answer(layer(op, &i.iter().map(array).collect::<Vec<_>>()))
    });
}

fn pool(
    table: &mut Table,
    cost: Cost,
    dtype: DType,
    kind: PoolKind,
    dims: [usize; 4],
    size: [usize; 2],
    stride: usize,
) {
    let format = Format::ChannelsFirst;
    let pool = Pool2d { kind, size, window: Window { stride: [stride; 2], format, ..Window::default() } };
    let (x, y) = (shaped(format, dims), shaped(format, places(&pool, dims)));
    let count = dims.iter().product::<usize>();
    for (label, given) in [
        ("noise", Given::noise(dtype, &x, 83)),
        ("a largest at the far end", Given::by(dtype, &x, move |p| if p + 1 == count { 5.0 } else { 1.0 })),
    ] {
        let label = format!("{label} window {size:?}");
        let tolerance = Tolerance::units(dtype, 8.0, 4.0);
        table.push(cost, &label, pool, vec![given.clone()], tolerance, move |i| {
            answer(pooled(&pool, dims, &array(&i[0]), None))
        });
        let inputs = vec![given, Given::noise(dtype, &y, 89)];
        table.push(cost, &label, Pool2dByInput { pool }, inputs, tolerance, move |i| {
            answer(pooled(&pool, dims, &array(&i[0]), Some(&array(&i[1]))))
        });
    }
}
