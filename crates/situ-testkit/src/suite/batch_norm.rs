//! Normalisation over a batch: the result, the mean and the variance.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, indices};
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::Real;
use situ_ir::ops::BatchNorm;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        let tolerance = Tolerance::units(dtype, 16.0, 8.0);
        let mut push = |label: &str, axis: u8, inputs: Vec<Input>| {
            for output in 0..3 {
                let op = BatchNorm { axis, epsilon: Real(1e-3) };
                let label = format!("axis {axis} {label} output {output}");
                let reference = move |i: &[Array]| normalised(usize::from(axis), 1e-3, i, output);
                list.push(Case::new(&label, op, inputs.clone(), tolerance, reference).output(output));
            }
        };
        let shapes: [(&[usize], u8); 10] = [
            (&[4, 3], 1),
            (&[5], 0),
            (&[1, 7], 1),
            (&[2, 3, 4, 5], 1),
            (&[2, 4, 5, 3], 3),
            (&[6, 1, 2], 0),
            (&[33, 40], 1),
            (&[2, 0, 3], 1),
            (&[3, 17, 31, 9], 1),
            (&[700, 37], 1),
        ];
        for (dims, axis) in shapes {
            let c = dims[usize::from(axis)];
            push("", axis, [dims, &[c], &[c]].map(|d| noise.array(dtype, d).into()).into());
        }
        let far = noise.reals(dtype, &[50, 4], 100.0, 101.0);
        push(
            "far from zero",
            1,
            vec![far.into(), noise.array(dtype, &[4]).into(), noise.array(dtype, &[4]).into()],
        );
        for form in Form::VIEWS {
            let inputs = [&[3, 4, 2][..], &[4], &[4]].map(|d| Input::formed(noise.array(dtype, d), form));
            push(form.name(), 1, inputs.into());
        }
    }
}

fn normalised(axis: usize, epsilon: f64, inputs: &[Array], output: usize) -> Expected {
    let [x, gain, shift] = inputs else { unreachable!("three inputs") };
    let channels = gain.len();
    let of: Vec<usize> = indices(&x.dims).map(|index| index[axis]).collect();
    let (mut mean, mut variance) = (vec![0.0; channels], vec![0.0; channels]);
    let (mut size, mut spread) = (vec![0.0; channels], vec![0.0; channels]);
    let count = (x.len() / channels.max(1)) as f64;
    for (value, c) in x.reals().iter().zip(&of) {
        mean[*c] += value / count;
        size[*c] += value.abs() / count;
    }
    for (value, c) in x.reals().iter().zip(&of) {
        variance[*c] += (value - mean[*c]).powi(2) / count;
        // How a mean that is rounded moves it.
        spread[*c] += ((value - mean[*c]).abs() * size[*c]) / count;
    }
    match output {
        1 => Expected { array: Array::unrounded(x.dtype, &[channels], mean), scale: Some(size) },
        2 => {
            let scale = variance.iter().zip(&spread).map(|(v, s)| v + s).collect();
            Expected { array: Array::unrounded(x.dtype, &[channels], variance), scale: Some(scale) }
        }
        _ => {
            let (mut values, mut scale) = (Vec::new(), Vec::new());
            for (value, &c) in x.reals().iter().zip(&of) {
                let rate = gain.reals()[c] / (variance[c] + epsilon).sqrt();
                values.push((value - mean[c]) * rate + shift.reals()[c]);
                scale.push((value.abs() + size[c]) * rate.abs() + shift.reals()[c].abs());
            }
            Expected { array: Array::unrounded(x.dtype, &x.dims, values), scale: Some(scale) }
        }
    }
}
