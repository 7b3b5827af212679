//! Functions of two elements, broadcast.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, indices, position, wrap};
use crate::input::{Form, Input};
use crate::numbers::{Noise, special};
use situ_core::{DType, Shape, TensorType};
use situ_ir::Op;
use situ_ir::ops::{Binary, BinaryKind};

pub(super) fn cases(list: &mut Vec<Case>) {
    for &kind in BinaryKind::ALL {
        for dtype in DType::ALL {
            let op = Binary { kind };
            let ty = TensorType::new(dtype, Shape::SCALAR);
            if Op::from(op).infer(&[ty, ty]).is_ok() {
                of_dtype(list, op, dtype);
            }
        }
    }
}

fn of_dtype(list: &mut Vec<Case>, op: Binary, dtype: DType) {
    let mut noise = Noise::named(op.kind.name());
    let tolerance = match op.kind {
        BinaryKind::Div => Tolerance::units(dtype, 1.0, 4.0),
        BinaryKind::Pow => Tolerance::units(dtype, 4.0, 8.0),
        // A quotient that is off by a unit makes another remainder altogether: kernels must do better.
        BinaryKind::Rem => Tolerance::EQUAL,
        _ => Tolerance::EQUAL,
    };
    let reference = move |inputs: &[Array]| apply(op.kind, &inputs[0], &inputs[1]);
    let mut push =
        |label: &str, inputs: Vec<Input>| list.push(Case::new(label, op, inputs, tolerance, reference));

    // Every corner with every corner, as one broadcast.
    let corners = special(dtype);
    let n = corners.len();
    let right = divisor(op.kind, &corners);
    push("corners", vec![corners.reshaped(&[n, 1]).into(), right.reshaped(&[1, right.len()]).into()]);

    let pairs: [(&[usize], &[usize]); 8] = [
        (&[37], &[37]),
        (&[4, 5], &[5]),
        (&[4, 1, 3], &[2, 1]),
        (&[6, 7], &[]),
        (&[], &[]),
        (&[0, 3], &[1, 3]),
        (&[2, 1, 1, 1, 1, 1, 1, 3], &[1, 2, 1, 2, 1, 1, 2, 1]),
        (&[1, 5], &[3, 1]),
    ];
    for (a, b) in pairs {
        let left = noise.array(dtype, a);
        let right = divisor(op.kind, &noise.array(dtype, b));
        push("", vec![left.into(), right.into()]);
    }
    for form in Form::VIEWS {
        let left = noise.array(dtype, &[5, 6]);
        let right = divisor(op.kind, &noise.array(dtype, &[5, 6]));
        push(form.name(), vec![Input::formed(left, form), right.into()]);
        let left = noise.array(dtype, &[5, 6]);
        let right = divisor(op.kind, &noise.array(dtype, &[6]));
        push(&format!("right {}", form.name()), vec![left.into(), Input::formed(right, form)]);
    }
    let left = Input::expanded(noise.array(dtype, &[3, 1]), &[2, 3, 4]);
    let right = Input::expanded(divisor(op.kind, &noise.array(dtype, &[4])), &[2, 3, 4]);
    push("expanded", vec![left, right]);
    // Beyond one task of the CPU's cheap kernels, which is 64 Ki elements; broadcast both ways.
    if matches!(dtype, DType::F32 | DType::I32 | DType::Bool) {
        let left = noise.array(dtype, &[277, 263]);
        let right = divisor(op.kind, &noise.array(dtype, &[277, 263]));
        push("large", vec![left.clone().into(), right.into()]);
        let row = divisor(op.kind, &noise.array(dtype, &[263]));
        push("large", vec![left.clone().into(), row.into()]);
        let column = divisor(op.kind, &noise.array(dtype, &[277, 1]));
        push("large", vec![left.into(), column.into()]);
    }
}

/// The right side of a division of integers without its zeros, which are errors; anything else unchanged.
fn divisor(kind: BinaryKind, array: &Array) -> Array {
    if !matches!(kind, BinaryKind::Div | BinaryKind::Rem) || array.dtype.is_float() {
        return array.clone();
    }
    Array::whole(
        array.dtype,
        &array.dims,
        array.wholes().iter().map(|&v| if v == 0 { 5 } else { v }).collect(),
    )
}

/// The broadcast shape of two, and for each of its elements the positions in either.
fn broadcast(a: &[usize], b: &[usize]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let rank = a.len().max(b.len());
    let size = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    let dims: Vec<usize> =
        (0..rank).map(|axis| if size(a, axis) == 1 { size(b, axis) } else { size(a, axis) }).collect();
    let place = |own: &[usize], index: &[usize]| {
        let index = &index[rank - own.len()..];
        let clamped: Vec<usize> = index.iter().zip(own).map(|(&i, &d)| if d == 1 { 0 } else { i }).collect();
        position(own, &clamped)
    };
    let pairs = indices(&dims).map(|index| (place(a, &index), place(b, &index))).collect();
    (dims, pairs)
}

pub(super) fn apply(kind: BinaryKind, a: &Array, b: &Array) -> Expected {
    let (dims, pairs) = broadcast(&a.dims, &b.dims);
    if kind.is_predicate() {
        let holds: Vec<i128> = if a.dtype.is_float() {
            let (x, y) = (a.reals(), b.reals());
            pairs.iter().map(|&(i, j)| i128::from(compare(kind, x[i].partial_cmp(&y[j])))).collect()
        } else {
            let (x, y) = (a.wholes(), b.wholes());
            let holds = |i: usize, j: usize| match kind {
                BinaryKind::And => x[i] != 0 && y[j] != 0,
                BinaryKind::Or => x[i] != 0 || y[j] != 0,
                BinaryKind::Xor => x[i] != y[j],
                _ => compare(kind, Some(x[i].cmp(&y[j]))),
            };
            pairs.iter().map(|&(i, j)| i128::from(holds(i, j))).collect()
        };
        return Array::whole(DType::Bool, &dims, holds).into();
    }
    if a.dtype.is_float() {
        let (x, y) = (a.reals(), b.reals());
        let values = pairs.iter().map(|&(i, j)| real(kind, x[i], y[j])).collect();
        return Array::unrounded(a.dtype, &dims, values).into();
    }
    let (x, y) = (a.wholes(), b.wholes());
    let values = pairs.iter().map(|&(i, j)| wrap(a.dtype, whole(kind, x[i], y[j]))).collect();
    Array::whole(a.dtype, &dims, values).into()
}

/// `None`: one of them is NaN.
fn compare(kind: BinaryKind, order: Option<std::cmp::Ordering>) -> bool {
    match kind {
        BinaryKind::Equal => order.is_some_and(|o| o.is_eq()),
        BinaryKind::NotEqual => !order.is_some_and(|o| o.is_eq()),
        BinaryKind::Less => order.is_some_and(|o| o.is_lt()),
        BinaryKind::LessEqual => order.is_some_and(|o| o.is_le()),
        BinaryKind::Greater => order.is_some_and(|o| o.is_gt()),
        BinaryKind::GreaterEqual => order.is_some_and(|o| o.is_ge()),
        other => unreachable!("{} is no comparison", other.name()),
    }
}

fn real(kind: BinaryKind, a: f64, b: f64) -> f64 {
    let nan = a.is_nan() || b.is_nan();
    match kind {
        BinaryKind::Add => a + b,
        BinaryKind::Sub => a - b,
        BinaryKind::Mul => a * b,
        BinaryKind::Div => a / b,
        BinaryKind::Rem => a % b,
        BinaryKind::Pow => a.powf(b),
        BinaryKind::Maximum if nan => f64::NAN,
        BinaryKind::Maximum => a.max(b),
        BinaryKind::Minimum if nan => f64::NAN,
        BinaryKind::Minimum => a.min(b),
        other => unreachable!("{} is a predicate", other.name()),
    }
}

fn whole(kind: BinaryKind, a: i128, b: i128) -> i128 {
    match kind {
        BinaryKind::Add => a.wrapping_add(b),
        BinaryKind::Sub => a.wrapping_sub(b),
        BinaryKind::Mul => a.wrapping_mul(b),
        BinaryKind::Div => a.wrapping_div(b),
        BinaryKind::Rem => a.wrapping_rem(b),
        BinaryKind::Maximum => a.max(b),
        BinaryKind::Minimum => a.min(b),
        other => unreachable!("{} is for floats", other.name()),
    }
}
