//! Matrix products.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, indices, position, wrap};
use crate::input::{Form, Input};
use crate::numbers::{Noise, special};
use situ_core::DType;
use situ_ir::ops::Matmul;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_numeric()) {
        products(list, dtype);
    }
    infinities(list);
}

fn products(list: &mut Vec<Case>, dtype: DType) {
    let mut noise = Noise::named(dtype.name());
    // Sums of up to 300 products, each rounded: a few units of what was added up.
    let tolerance = Tolerance::units(dtype, 8.0, 2.0);
    let mut push = |label: &str, op: Matmul, inputs: Vec<Input>| {
        list.push(Case::new(label, op, inputs, tolerance, move |i| multiply(op, &i[0], &i[1])));
    };
    let plain = Matmul::default();
    let shapes: [(&[usize], &[usize]); 16] = [
        (&[1, 1], &[1, 1]),
        (&[3, 5], &[5, 7]),
        (&[1, 67], &[67, 130]),
        (&[131, 65], &[65, 1]),
        (&[1, 300], &[300, 1]),
        (&[17, 1], &[1, 19]),
        (&[64, 64], &[64, 64]),
        (&[65, 129], &[129, 33]),
        (&[2, 0], &[0, 3]),
        (&[0, 4], &[4, 3]),
        (&[4, 3], &[3, 0]),
        (&[3, 4, 5], &[3, 5, 2]),
        (&[2, 3, 4, 5], &[5, 6]),
        (&[4, 5], &[3, 5, 6]),
        (&[2, 1, 3, 4], &[1, 5, 4, 2]),
        (&[0, 3, 4], &[4, 2]),
    ];
    for (a, b) in shapes {
        push("", plain, vec![noise.array(dtype, a).into(), noise.array(dtype, b).into()]);
    }
    if !dtype.is_float() {
        // Products and sums that wrap.
        let corners = special(dtype);
        let n = corners.len();
        push("corners", plain, vec![corners.reshaped(&[1, n]).into(), corners.reshaped(&[n, 1]).into()]);
        push("corners", plain, vec![corners.reshaped(&[n, 1]).into(), corners.reshaped(&[1, n]).into()]);
    }
    for (transpose_a, transpose_b) in [(true, false), (false, true), (true, true)] {
        let op = Matmul { transpose_a, transpose_b };
        let label = format!("transposes {transpose_a} {transpose_b}");
        let side = |rows: usize, columns: usize, swapped: bool| {
            if swapped { [columns, rows] } else { [rows, columns] }
        };
        for (m, k, n) in [(5, 6, 7), (1, 9, 20), (20, 9, 1), (70, 65, 66)] {
            let a = noise.array(dtype, &side(m, k, transpose_a));
            let b = noise.array(dtype, &side(k, n, transpose_b));
            push(&label, op, vec![a.into(), b.into()]);
        }
        let a = noise.array(dtype, &[&[3][..], &side(4, 5, transpose_a)].concat());
        let b = noise.array(dtype, &[&[2, 1][..], &side(5, 6, transpose_b)].concat());
        push(&label, op, vec![a.into(), b.into()]);
    }
    for form in Form::VIEWS {
        let (a, b) = (noise.array(dtype, &[9, 10]), noise.array(dtype, &[10, 11]));
        push(&format!("left {}", form.name()), plain, vec![Input::formed(a.clone(), form), b.clone().into()]);
        push(&format!("right {}", form.name()), plain, vec![a.into(), Input::formed(b, form)]);
        let (a, b) = (noise.array(dtype, &[2, 3, 4]), noise.array(dtype, &[2, 4, 5]));
        push(&format!("both {}", form.name()), plain, vec![Input::formed(a, form), Input::formed(b, form)]);
    }
    let a = Input::expanded(noise.array(dtype, &[4, 5]), &[3, 4, 5]);
    let b = Input::expanded(noise.array(dtype, &[5, 1]), &[5, 6]);
    push("expanded", plain, vec![a, b]);
    // More than one task on a CPU, more than one tile everywhere.
    if matches!(dtype, DType::F32 | DType::F64 | DType::I32) {
        push(
            "large",
            plain,
            vec![noise.array(dtype, &[150, 131]).into(), noise.array(dtype, &[131, 170]).into()],
        );
        push(
            "large",
            plain,
            vec![noise.array(dtype, &[1, 300]).into(), noise.array(dtype, &[300, 517]).into()],
        );
        push(
            "large",
            plain,
            vec![noise.array(dtype, &[9, 40, 33]).into(), noise.array(dtype, &[33, 50]).into()],
        );
    }
}

/// Infinities and NaN go through: inf · 0 is NaN, and a NaN anywhere in a row stays in it.
fn infinities(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut values = vec![1.0; 36];
        (values[0], values[7], values[14], values[21]) = (f64::INFINITY, f64::NAN, f64::NEG_INFINITY, 0.0);
        let a = Array::real(dtype, &[6, 6], values.clone());
        values.rotate_right(3);
        values[5] = 0.0;
        let b = Array::real(dtype, &[6, 6], values);
        let op = Matmul::default();
        list.push(Case::new(
            "infinities",
            op,
            vec![a.into(), b.into()],
            Tolerance::units(dtype, 8.0, 2.0),
            move |i| multiply(op, &i[0], &i[1]),
        ));
    }
}

pub(super) fn multiply(op: Matmul, a: &Array, b: &Array) -> Expected {
    let side = |x: &Array, swapped: bool| {
        let (rows, columns) = (x.dims[x.dims.len() - 2], x.dims[x.dims.len() - 1]);
        if swapped { (columns, rows) } else { (rows, columns) }
    };
    let (m, k) = side(a, op.transpose_a);
    let (_, n) = side(b, op.transpose_b);
    let lead = |x: &Array| x.dims[..x.dims.len() - 2].to_vec();
    let rank = lead(a).len().max(lead(b).len());
    let size = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    let batch: Vec<usize> = (0..rank)
        .map(|axis| if size(&lead(a), axis) == 1 { size(&lead(b), axis) } else { size(&lead(a), axis) })
        .collect();
    let start = |x: &Array, index: &[usize]| {
        let own = lead(x);
        let held: Vec<usize> =
            index[rank - own.len()..].iter().zip(&own).map(|(&i, &d)| if d == 1 { 0 } else { i }).collect();
        position(&own, &held) * x.dims[x.dims.len() - 2] * x.dims[x.dims.len() - 1]
    };
    let (mut reals, mut wholes, mut scale) = (Vec::new(), Vec::new(), Vec::new());
    for index in indices(&batch) {
        let (at_a, at_b) = (start(a, &index), start(b, &index));
        let left = |i: usize, p: usize| at_a + if op.transpose_a { p * m + i } else { i * k + p };
        let right = |p: usize, j: usize| at_b + if op.transpose_b { j * k + p } else { p * n + j };
        for i in 0..m {
            for j in 0..n {
                if a.dtype.is_float() {
                    let products = (0..k).map(|p| a.reals()[left(i, p)] * b.reals()[right(p, j)]);
                    reals.push(products.clone().sum::<f64>());
                    scale.push(products.map(f64::abs).filter(|v| v.is_finite()).sum());
                } else {
                    let products =
                        (0..k).map(|p| a.wholes()[left(i, p)].wrapping_mul(b.wholes()[right(p, j)]));
                    wholes.push(wrap(a.dtype, products.fold(0, i128::wrapping_add)));
                }
            }
        }
    }
    let dims = [&batch[..], &[m, n]].concat();
    if a.dtype.is_float() {
        // An empty sum of floats is 0, not -0.
        let reals = if k == 0 { vec![0.0; reals.len()] } else { reals };
        return Expected { array: Array::unrounded(a.dtype, &dims, reals), scale: Some(scale) };
    }
    Array::whole(a.dtype, &dims, wholes).into()
}
