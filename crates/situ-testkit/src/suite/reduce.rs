//! Reductions over any axes.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, indices, position, wrap};
use crate::input::{Form, Input};
use crate::numbers::{Noise, special};
use situ_core::{Axes, DType, Shape, TensorType};
use situ_ir::Op;
use situ_ir::ops::{Reduce, ReduceKind};

pub(super) fn cases(list: &mut Vec<Case>) {
    for kind in ReduceKind::ALL {
        for dtype in DType::ALL {
            let op = Op::from(Reduce { kind, axes: Axes::default(), keep_dims: false });
            if op.infer(&[TensorType::new(dtype, Shape::SCALAR)]).is_ok() {
                of_dtype(list, kind, dtype);
            }
        }
    }
}

fn of_dtype(list: &mut Vec<Case>, kind: ReduceKind, dtype: DType) {
    let mut noise = Noise::named(kind.name());
    let tolerance = match kind {
        ReduceKind::Sum | ReduceKind::Mean => Tolerance::units(dtype, 8.0, 2.0),
        // Every factor rounds: half a unit for each.
        ReduceKind::Prod => Tolerance::units(dtype, 64.0, 2.0),
        _ => Tolerance::EQUAL,
    };
    let mut push = |label: &str, axes: &[isize], keep_dims: bool, input: Input| {
        let shape = *input.layout().shape();
        let axes = Axes::of("reduce", &shape, axes).expect("a test's axes are valid");
        let label = format!("over {axes}{} {label}", if keep_dims { " kept" } else { "" });
        let op = Reduce { kind, axes, keep_dims };
        list.push(Case::new(&label, op, vec![input], tolerance, move |i| reduce(op, &i[0])));
    };
    let mut draw = |dims: &[usize]| match kind {
        // Around one, so that long products stay in range.
        ReduceKind::Prod if dtype.is_float() => noise.reals(dtype, dims, 0.9, 1.1),
        // Mostly true, or mostly false, so that the answer is not always the same.
        ReduceKind::All => Array::whole(dtype, dims, noise.wholes(DType::I32, dims, 0, 9).wholes().to_vec()),
        ReduceKind::Any => {
            let rare =
                noise.wholes(DType::I32, dims, 0, 9).wholes().iter().map(|v| i128::from(*v == 0)).collect();
            Array::whole(dtype, dims, rare)
        }
        _ => noise.array(dtype, dims),
    };
    for axes in [&[] as &[isize], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]] {
        push("", axes, false, draw(&[3, 4, 5]).into());
        push("", axes, true, draw(&[3, 4, 5]).into());
    }
    push("", &[], false, draw(&[]).into());
    push("", &[0], false, draw(&[1]).into());
    push("", &[1], false, draw(&[0, 3]).into());
    push("", &[1, 3], false, draw(&[2, 3, 2, 3, 2]).into());
    for form in Form::VIEWS {
        push(form.name(), &[0], false, Input::formed(draw(&[6, 7]), form));
        push(form.name(), &[1], false, Input::formed(draw(&[6, 7]), form));
        push(form.name(), &[0, 1], false, Input::formed(draw(&[6, 7]), form));
    }
    push("expanded", &[0], false, Input::expanded(draw(&[1, 5]), &[4, 5]));
    let large = matches!(dtype, DType::F32 | DType::I32 | DType::Bool);
    if large {
        push("large", &[0], false, draw(&[257, 300]).into());
        push("large", &[1], false, draw(&[257, 300]).into());
        push("large", &[0, 1], true, draw(&[257, 300]).into());
    }
    let of_nothing = matches!(
        kind,
        ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Prod | ReduceKind::Any | ReduceKind::All
    );
    if of_nothing {
        push("of nothing", &[0], false, draw(&[0, 3]).into());
        push("of nothing", &[0, 1], true, draw(&[2, 0]).into());
    }
    // Corners: NaN wins in max and min; the first of equals is the position; integers wrap.
    let corners = special(dtype);
    let n = corners.len();
    push("corners", &[0], false, corners.clone().into());
    push("each corner twice", &[1], false, corners.pick(&[n, 2], (0..n).flat_map(|i| [i, i])).into());
    if dtype.is_float() {
        let without_nan = corners.pick(&[n - 1], 1..n);
        push("corners without NaN", &[0], false, without_nan.into());
    }
}

fn reduce(op: Reduce, x: &Array) -> Expected {
    let kept: Vec<usize> =
        x.dims.iter().enumerate().map(|(a, &d)| if op.axes.contains(a) { 1 } else { d }).collect();
    let count: usize = kept.iter().product();
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (flat, index) in indices(&x.dims).enumerate() {
        let own: Vec<usize> =
            index.iter().enumerate().map(|(a, &i)| if op.axes.contains(a) { 0 } else { i }).collect();
        groups[position(&kept, &own)].push(flat);
    }
    let dims: Vec<usize> = if op.keep_dims {
        kept
    } else {
        x.dims.iter().enumerate().filter(|(a, _)| !op.axes.contains(*a)).map(|(_, &d)| d).collect()
    };
    match op.kind {
        ReduceKind::ArgMax | ReduceKind::ArgMin => {
            let positions = groups.iter().map(|g| best(op.kind, x, g) as i128).collect();
            Array::whole(DType::I32, &dims, positions).into()
        }
        _ if x.dtype.is_float() => {
            let values: Vec<f64> =
                groups.iter().map(|g| real(op.kind, g.iter().map(|&p| x.reals()[p]))).collect();
            let scale = match op.kind {
                ReduceKind::Sum => Some(1.0),
                ReduceKind::Mean => Some(x.len() as f64 / count.max(1) as f64),
                _ => None,
            };
            let scale = scale.map(|over| {
                let size = |g: &Vec<usize>| {
                    g.iter().map(|&p| x.reals()[p].abs()).filter(|v| v.is_finite()).sum::<f64>()
                };
                groups.iter().map(|g| size(g) / over).collect()
            });
            Expected { array: Array::unrounded(x.dtype, &dims, values), scale }
        }
        _ => {
            let value = |g: &Vec<usize>| wrap(x.dtype, whole(op.kind, g.iter().map(|&p| x.wholes()[p])));
            Array::whole(x.dtype, &dims, groups.iter().map(value).collect()).into()
        }
    }
}

fn real(kind: ReduceKind, values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let count = values.len() as f64;
    match kind {
        // From 0.0, so that a sum of nothing is not -0.
        ReduceKind::Sum => values.fold(0.0, |a, b| a + b),
        ReduceKind::Mean => values.fold(0.0, |a, b| a + b) / count,
        ReduceKind::Prod => values.product(),
        ReduceKind::Max | ReduceKind::Min if values.clone().any(f64::is_nan) => f64::NAN,
        ReduceKind::Max => values.fold(f64::NEG_INFINITY, f64::max),
        ReduceKind::Min => values.fold(f64::INFINITY, f64::min),
        other => unreachable!("{} is not of floats", other.name()),
    }
}

fn whole(kind: ReduceKind, values: impl Iterator<Item = i128>) -> i128 {
    match kind {
        ReduceKind::Sum => values.fold(0, i128::wrapping_add),
        ReduceKind::Prod => values.fold(1, i128::wrapping_mul),
        ReduceKind::Max => values.max().expect("not of nothing"),
        ReduceKind::Min => values.min().expect("not of nothing"),
        ReduceKind::Any => values.fold(0, |a, b| a | b),
        ReduceKind::All => values.fold(1, |a, b| a & b),
        other => unreachable!("{} is not of integers", other.name()),
    }
}

/// The place within the group of its first best element; NaN beats everything.
fn best(kind: ReduceKind, x: &Array, group: &[usize]) -> usize {
    let better = |a: usize, b: usize| {
        if x.dtype.is_float() {
            let (a, b) = (x.reals()[a], x.reals()[b]);
            let beats = if kind == ReduceKind::ArgMax { a > b } else { a < b };
            !b.is_nan() && (a.is_nan() || beats)
        } else {
            let (a, b) = (x.wholes()[a], x.wholes()[b]);
            if kind == ReduceKind::ArgMax { a > b } else { a < b }
        }
    };
    let mut found = 0;
    for at in 1..group.len() {
        if better(group[at], group[found]) {
            found = at;
        }
    }
    found
}
