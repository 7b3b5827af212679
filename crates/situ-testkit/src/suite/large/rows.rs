//! Rows and columns of the size of a vocabulary: softmax, cross-entropies, normalisations.

use super::sum::{Total, total};
use super::{Answer, Cost, Given, Table};
use crate::suite::case::Tolerance;
use situ_core::{DType, Real};
use situ_ir::ops::{BatchNorm, CrossEntropy, LayerNorm, Softmax, SparseCrossEntropy};

const FLOATS: [DType; 2] = [DType::F32, DType::F64];

/// The cost of a case in the first dtype of a kernel, and in the others.
fn cost_in(dtype: DType, cost: Cost) -> Cost {
    if dtype == DType::F32 { cost } else { Cost::Long }
}

pub(super) fn cases(table: &mut Table) {
    for dtype in FLOATS {
        softmaxes(table, dtype);
        entropies(table, dtype);
        layer_norms(table, dtype);
        batch_norms(table, dtype);
    }
}

fn softmaxes(table: &mut Table, dtype: DType) {
    let shapes: [([usize; 2], u8, Cost); 6] = [
        ([64, 66_000], 1, Cost::Quick),
        ([66_000, 64], 0, Cost::Quick),
        ([2, 1_000_000], 1, Cost::Long),
        ([1_000_000, 2], 0, Cost::Long),
        ([1_000_000, 3], 1, Cost::Long),
        ([1, 300_001], 1, Cost::Long),
    ];
    for (dims, axis, cost) in shapes {
        for log in [false, true] {
            let op = Softmax { axis, log };
            let tolerance = Tolerance::units(dtype, 16.0, 4.0);
            let mut push = |label: &str, x: Given| {
                let label = format!("over {axis} of {label}");
                let cost = cost_in(dtype, cost);
                table.push(cost, &label, op, vec![x], tolerance, move |i| softmax(op, dims, &i[0]));
            };
            push("noise", Given::noise(dtype, &dims, 5));
            // Every element is one part of as many as there are.
            push("equals", Given::full(dtype, &dims, 0.5));
        }
    }
}

/// Places of the rows of a matrix along an axis: where each starts, and how far apart its elements are.
fn lines([rows, columns]: [usize; 2], axis: u8) -> (impl Iterator<Item = usize>, usize, usize) {
    let (count, from, step, length) =
        if axis == 1 { (rows, columns, 1, columns) } else { (columns, 1, columns, rows) };
    ((0..count).map(move |n| n * from), step, length)
}

fn softmax(op: Softmax, dims: [usize; 2], x: &Given) -> Answer {
    let x = x.numbers();
    let (starts, step, length) = lines(dims, op.axis);
    let (mut values, mut scale) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for start in starts {
        let places = || (0..length).map(|n| start + n * step);
        let top = places().fold(f64::NEG_INFINITY, |top, p| x[p].max(top));
        let sum = total(places().map(|p| (x[p] - top).exp()));
        for p in places() {
            values[p] = if op.log { x[p] - top - sum.ln() } else { (x[p] - top).exp() / sum };
            scale[p] = if op.log { x[p].abs() + 1.0 } else { 0.0 };
        }
    }
    Answer::All { values, scale }
}

fn entropies(table: &mut Table, dtype: DType) {
    for (dims, cost) in
        [([64, 66_000], Cost::Quick), ([2, 1_000_000], Cost::Long), ([300_000, 7], Cost::Long)]
    {
        let tolerance = Tolerance::units(dtype, 16.0, 4.0);
        let cost = cost_in(dtype, cost);
        let [rows, classes] = dims;
        for (label, logits) in
            [("noise", Given::noise(dtype, &dims, 7)), ("equals", Given::full(dtype, &dims, 0.25))]
        {
            // All weight on the last class.
            let last = move |place: usize| f64::from(u8::from(place % classes + 1 == classes));
            let weights = Given::by(dtype, &dims, last);
            let reference = move |i: &[Given]| entropy(dims, &i[0], &|place| i[1].at(place));
            table.push(cost, label, CrossEntropy, vec![logits.clone(), weights], tolerance, reference);
            for (which, labels) in [
                ("the last class", Given::full(DType::I32, &[rows], (classes - 1) as f64)),
                ("any class", Given::below(DType::I32, &[rows], classes, 11)),
            ] {
                let label = format!("{label}, {which}");
                let reference = move |i: &[Given]| {
                    let hot = |p: usize| f64::from(u8::from(i[1].at(p / classes) as usize == p % classes));
                    entropy(dims, &i[0], &hot)
                };
                let inputs = vec![logits.clone(), labels];
                table.push(cost, &label, SparseCrossEntropy, inputs, tolerance, reference);
            }
        }
    }
}

fn entropy([rows, classes]: [usize; 2], logits: &Given, weight: &dyn Fn(usize) -> f64) -> Answer {
    let (mut values, mut scale) = (vec![0.0; rows], vec![0.0; rows]);
    for row in 0..rows {
        let places = || row * classes..(row + 1) * classes;
        let top = places().fold(f64::NEG_INFINITY, |top, p| logits.at(p).max(top));
        let sum = total(places().map(|p| (logits.at(p) - top).exp()));
        values[row] = total(places().map(|p| weight(p) * (top + sum.ln() - logits.at(p))));
        scale[row] = 3.0 + values[row].abs();
    }
    Answer::All { values, scale }
}

fn layer_norms(table: &mut Table, dtype: DType) {
    let shapes: [([usize; 2], f64, Cost); 5] = [
        ([64, 66_000], 0.0, Cost::Quick),
        // Far from zero a sum loses the digits that the deviation is made of, unless it is made with care.
        ([64, 8_192], 1_000.0, Cost::Quick),
        ([100_003, 16], 0.0, Cost::Quick),
        ([2, 1_000_000], 0.0, Cost::Long),
        ([1_000_000, 3], 0.0, Cost::Long),
    ];
    for (dims, far, cost) in shapes {
        let [rows, n] = dims;
        let x = Given::noise(dtype, &dims, 13);
        let x = Given::by(dtype, &dims, move |place| x.at(place) + far);
        let inputs = vec![x, Given::noise(dtype, &[n], 17), Given::noise(dtype, &[n], 19)];
        let op = LayerNorm { epsilon: Real(1e-5) };
        let label = format!("{far} from zero");
        let tolerance = Tolerance::units(dtype, 8.0, 4.0);
        table.push(cost_in(dtype, cost), &label, op, inputs, tolerance, move |i| {
            let (mut values, mut scale) = (Vec::new(), Vec::new());
            for row in 0..rows {
                let places = || row * n..(row + 1) * n;
                let mean = total(places().map(|p| i[0].at(p))) / n as f64;
                let variance = total(places().map(|p| (i[0].at(p) - mean).powi(2))) / n as f64;
                let deviation = (variance + 1e-5).sqrt();
                for p in places() {
                    let (x, gain, shift) = (i[0].at(p), i[1].at(p % n), i[2].at(p % n));
                    values.push((x - mean) / deviation * gain + shift);
                    // The row's values are known to a unit of their own size, the mean's rounding included.
                    scale.push((1.0 + (x.abs() + mean.abs()) / deviation) * gain.abs() + shift.abs());
                }
            }
            Answer::All { values, scale }
        });
    }
}

fn batch_norms(table: &mut Table, dtype: DType) {
    let shapes: [(&[usize], usize, Cost); 4] = [
        (&[70_000, 64], 1, Cost::Quick),
        (&[32, 4, 60, 60], 1, Cost::Quick),
        (&[256, 40, 30, 8], 3, Cost::Long),
        (&[1_000_000, 3], 1, Cost::Long),
    ];
    for (dims, axis, cost) in shapes {
        let channels = dims[axis];
        let inner: usize = dims[axis + 1..].iter().product();
        for (label, x) in [("noise", Given::noise(dtype, dims, 23)), ("ones", Given::full(dtype, dims, 1.0))]
        {
            let inputs = vec![x, Given::noise(dtype, &[channels], 29), Given::noise(dtype, &[channels], 31)];
            let op = BatchNorm { axis: axis as u8, epsilon: Real(1e-3) };
            let tolerance = Tolerance::units(dtype, 16.0, 8.0);
            for output in 0..3 {
                let label = format!("axis {axis} of {label}, output {output}");
                let reference = move |i: &[Given]| batch_norm(inner, channels, i, output);
                let cost = cost_in(dtype, cost);
                table.push_output(cost, &label, op, inputs.clone(), output, tolerance, reference);
            }
        }
    }
}

fn batch_norm(inner: usize, channels: usize, inputs: &[Given], output: usize) -> Answer {
    let (x, channel) = (inputs[0].numbers(), |place: usize| place / inner % channels);
    let count = (x.len() / channels) as f64;
    // The mean over each channel of what is made of its elements.
    let over = |of: &dyn Fn(usize, f64) -> f64| {
        let mut totals = vec![Total::default(); channels];
        x.iter()
            .enumerate()
            .for_each(|(place, &value)| totals[channel(place)].add(of(channel(place), value)));
        totals.into_iter().map(|total| total.value() / count).collect::<Vec<f64>>()
    };
    let (mean, size) = (over(&|_, value| value), over(&|_, value| value.abs()));
    let variance = over(&|c, value| (value - mean[c]).powi(2));
    // How a mean that is rounded moves it.
    let spread = over(&|c, value| (value - mean[c]).abs() * size[c]);
    match output {
        1 => Answer::All { values: mean, scale: size },
        2 => {
            let scale = variance.iter().zip(&spread).map(|(v, s)| v + s).collect();
            Answer::All { values: variance, scale }
        }
        _ => {
            let (mut values, mut scale) = (Vec::new(), Vec::new());
            for (place, value) in x.iter().enumerate() {
                let c = channel(place);
                let (rate, shift) = (inputs[1].at(c) / (variance[c] + 1e-3).sqrt(), inputs[2].at(c));
                values.push((value - mean[c]) * rate + shift);
                scale.push((value.abs() + size[c]) * rate.abs() + shift.abs());
            }
            Answer::All { values, scale }
        }
    }
}
