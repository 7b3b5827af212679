//! Softmax over one axis, and its logarithm.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, strides};
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::DType;
use situ_ir::ops::Softmax;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        for log in [false, true] {
            of_dtype(list, dtype, log);
        }
    }
}

fn of_dtype(list: &mut Vec<Case>, dtype: DType, log: bool) {
    let mut noise = Noise::named(dtype.name());
    // Twice the exponential's error, and a sum's.
    let tolerance = Tolerance::units(dtype, 16.0, 2.0);
    let mut push = |label: &str, axis: u8, input: Input| {
        let label = format!("over {axis} {label}");
        let op = Softmax { axis, log };
        list.push(Case::new(&label, op, vec![input], tolerance, move |i| softmax(op, &i[0])));
    };
    let shapes: [(&[usize], u8); 14] = [
        (&[1], 0),
        (&[7], 0),
        (&[3, 5], 0),
        (&[3, 5], 1),
        (&[2, 3, 4], 0),
        (&[2, 3, 4], 1),
        (&[2, 3, 4], 2),
        (&[4, 1], 1),
        (&[0, 4], 1),
        (&[4, 0], 1),
        (&[2, 1000], 1),
        (&[37, 300], 0),
        (&[130, 301], 1),
        (&[1, 20_001], 1),
    ];
    for (dims, axis) in shapes {
        push("", axis, noise.array(dtype, dims).into());
    }
    let large = Array::real(dtype, &[2, 4], vec![1e4, 1e4, -1e4, 1e4 - 1.0, -1e4, -1e4, -1e4, -1e4 - 2.0]);
    push("far from zero", 1, large.into());
    let inf = f64::INFINITY;
    let masked = vec![0.5, -inf, 1.5, -inf, -inf, -inf, 2.0, -inf, f64::NAN, 1.0, 2.0, 3.0];
    push("masked, with a NaN row", 1, Array::real(dtype, &[3, 4], masked).into());
    push("an infinite row", 1, Array::real(dtype, &[2, 3], vec![inf, 0.0, 1.0, 1.0, 2.0, 3.0]).into());
    push("a row masked wholly", 1, Array::real(dtype, &[2, 3], vec![-inf, -inf, -inf, 1.0, 2.0, 3.0]).into());
    for form in Form::VIEWS {
        push(form.name(), 0, Input::formed(noise.array(dtype, &[6, 9]), form));
        push(form.name(), 1, Input::formed(noise.array(dtype, &[6, 9]), form));
    }
    push("expanded", 1, Input::expanded(noise.array(dtype, &[1, 5]), &[4, 5]));
}

fn softmax(op: Softmax, x: &Array) -> Expected {
    let axis = usize::from(op.axis);
    let (size, step) = (x.dims[axis], strides(&x.dims)[axis]);
    let mut values = vec![0.0; x.len()];
    let mut scale = vec![0.0; x.len()];
    for start in (0..x.len()).filter(|at| size > 0 && at / step % size == 0) {
        let row: Vec<usize> = (0..size).map(|i| start + i * step).collect();
        let logits: Vec<f64> = row.iter().map(|&p| x.reals()[p]).collect();
        for (&p, value) in row.iter().zip(softmax_row(&logits, op.log)) {
            values[p] = value;
            // A logarithm is a difference of numbers of this size.
            scale[p] = if op.log && x.reals()[p].is_finite() { x.reals()[p].abs() + 1.0 } else { 0.0 };
        }
    }
    Expected { array: Array::unrounded(x.dtype, &x.dims, values), scale: Some(scale) }
}

/// One row, by the definition, shifted by its maximum.
pub(super) fn softmax_row(logits: &[f64], log: bool) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|v| (v - top).exp()).sum();
    logits.iter().map(|v| if log { v - top - sum.ln() } else { (v - top).exp() / sum }).collect()
}
