//! Normalisation over the last axis.

use super::case::{Case, Expected, Tolerance};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::Real;
use situ_ir::ops::LayerNorm;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        let tolerance = Tolerance::units(dtype, 8.0, 4.0);
        let mut push = |label: &str, epsilon: f64, inputs: Vec<Input>| {
            let op = LayerNorm { epsilon: Real(epsilon) };
            list.push(Case::new(label, op, inputs, tolerance, move |i| normalize(epsilon, i)));
        };
        let shapes: [&[usize]; 9] =
            [&[1], &[7], &[3, 64], &[2, 3, 33], &[5, 1], &[0, 4], &[4, 0], &[3, 1000], &[130, 257]];
        for dims in shapes {
            let n = dims[dims.len() - 1];
            let inputs = [dims, &[n], &[n]].map(|d| noise.array(dtype, d).into());
            push("", 1e-5, inputs.into());
        }
        // A mean far from zero: a variance from sums of squares would have no digit left.
        let far = noise.reals(dtype, &[4, 100], 1000.0, 1001.0);
        push(
            "far from zero",
            1e-5,
            vec![far.into(), noise.array(dtype, &[100]).into(), noise.array(dtype, &[100]).into()],
        );
        let flat = Array::real(dtype, &[2, 5], vec![3.0; 10]);
        push(
            "constant rows",
            1e-3,
            vec![flat.into(), noise.array(dtype, &[5]).into(), noise.array(dtype, &[5]).into()],
        );
        let mut with_nan = vec![1.0; 12];
        (with_nan[1], with_nan[4]) = (f64::NAN, f64::INFINITY);
        (with_nan[8], with_nan[9]) = (2.0, 3.0);
        let bad = Array::real(dtype, &[3, 4], with_nan);
        push(
            "a NaN row and an infinite one",
            1e-5,
            vec![bad.into(), noise.array(dtype, &[4]).into(), noise.array(dtype, &[4]).into()],
        );
        for form in Form::VIEWS {
            let inputs = [&[6, 9][..], &[9], &[9]].map(|d| Input::formed(noise.array(dtype, d), form));
            push(form.name(), 1e-5, inputs.into());
        }
    }
}

fn normalize(epsilon: f64, inputs: &[Array]) -> Expected {
    let [x, gain, shift] = inputs else { unreachable!("three inputs") };
    let n = gain.len();
    let (mut values, mut scale) = (Vec::new(), Vec::new());
    for row in x.reals().chunks(n.max(1)) {
        let mean = row.iter().sum::<f64>() / n as f64;
        let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64;
        let deviation = (variance + epsilon).sqrt();
        for (i, v) in row.iter().enumerate() {
            values.push((v - mean) / deviation * gain.reals()[i] + shift.reals()[i]);
            // The row's values are known to a unit of their own size, the mean's rounding included.
            let size = (v.abs() + mean.abs()) / deviation;
            scale.push((1.0 + size) * gain.reals()[i].abs() + shift.reals()[i].abs());
        }
    }
    Expected { array: Array::unrounded(x.dtype, &x.dims, values), scale: Some(scale) }
}
