//! Cross-entropies of logits.

use super::case::{Case, Expected, Tolerance};
use super::softmax::softmax_row;
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::DType;
use situ_ir::ops::{CrossEntropy, SparseCrossEntropy};

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        let tolerance = Tolerance::units(dtype, 16.0, 2.0);
        for dims in [&[4][..], &[1, 1], &[5, 3], &[2, 3, 7], &[0, 4], &[130, 257], &[3, 1000]] {
            let labels = distribution(&mut noise, dtype, dims);
            let inputs = vec![noise.array(dtype, dims).into(), labels.into()];
            list.push(Case::new("", CrossEntropy, inputs, tolerance, full));
        }
        for form in Form::VIEWS {
            let labels = distribution(&mut noise, dtype, &[6, 5]);
            let arrays = vec![noise.array(dtype, &[6, 5]), labels];
            list.push(Case::formed("", form, CrossEntropy, arrays, tolerance, full));
        }
        for index in [DType::I32, DType::I64] {
            for dims in [&[4][..], &[1, 1], &[5, 3], &[2, 3, 7], &[0, 4], &[130, 257], &[3, 1000]] {
                let classes = dims[dims.len() - 1] as i128;
                let labels = noise.wholes(index, &dims[..dims.len() - 1], 0, classes);
                let inputs = vec![noise.array(dtype, dims).into(), labels.into()];
                list.push(Case::new("", SparseCrossEntropy, inputs, tolerance, sparse));
            }
            for form in Form::VIEWS {
                let arrays = vec![noise.array(dtype, &[6, 5]), noise.wholes(index, &[6], 0, 5)];
                list.push(Case::formed("", form, SparseCrossEntropy, arrays, tolerance, sparse));
            }
            let inf = f64::INFINITY;
            let masked = Array::real(dtype, &[2, 3], vec![1.0, -inf, 2.0, 300.0, -300.0, 0.0]);
            let labels = Array::whole(index, &[2], vec![1, 1]);
            let inputs: Vec<Input> = vec![masked.into(), labels.into()];
            list.push(Case::new("of a masked class", SparseCrossEntropy, inputs, tolerance, sparse));
        }
    }
}

/// Rows that sum to one.
fn distribution(noise: &mut Noise, dtype: DType, dims: &[usize]) -> Array {
    let n = dims[dims.len() - 1].max(1);
    let raw = noise.reals(dtype, dims, 0.0, 1.0);
    let rows = raw.reals().chunks(n).flat_map(|row| {
        let sum: f64 = row.iter().sum();
        row.iter().map(move |v| v / sum).collect::<Vec<_>>()
    });
    Array::real(dtype, dims, rows.collect())
}

fn rows(logits: &Array) -> impl Iterator<Item = (&[f64], Vec<f64>)> {
    let n = logits.dims[logits.dims.len() - 1].max(1);
    logits.reals().chunks(n).map(|row| (row, softmax_row(row, true)))
}

fn size(row: &[f64]) -> f64 {
    1.0 + row.iter().filter(|v| v.is_finite()).fold(0.0, |a, v| v.abs().max(a))
}

fn full(inputs: &[Array]) -> Expected {
    let [logits, labels] = inputs else { unreachable!("two inputs") };
    let n = logits.dims[logits.dims.len() - 1].max(1);
    let losses = rows(logits).zip(labels.reals().chunks(n)).map(|((row, logs), weights)| {
        let loss = -logs.iter().zip(weights).map(|(l, w)| l * w).sum::<f64>();
        (loss, size(row) + loss.abs())
    });
    let (values, scale): (Vec<f64>, Vec<f64>) = losses.unzip();
    let dims = &logits.dims[..logits.dims.len() - 1];
    Expected { array: Array::unrounded(logits.dtype, dims, values), scale: Some(scale) }
}

fn sparse(inputs: &[Array]) -> Expected {
    let [logits, labels] = inputs else { unreachable!("two inputs") };
    let losses =
        rows(logits).zip(labels.wholes()).map(|((row, logs), &label)| (-logs[label as usize], size(row)));
    let (values, scale): (Vec<f64>, Vec<f64>) = losses.unzip();
    Expected { array: Array::unrounded(logits.dtype, &labels.dims, values), scale: Some(scale) }
}
