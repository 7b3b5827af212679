//! Concat, pad and tile.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, Numbers, indices, position};
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::{DType, MAX_RANK, Scalar};
use situ_ir::ops::{Concat, Pad, Tile};

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in DType::ALL {
        let mut noise = Noise::named(dtype.name());
        concats(list, dtype, &mut noise);
        pads(list, dtype, &mut noise);
        tiles(list, dtype, &mut noise);
    }
}

fn concats(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    let mut push = |label: &str, axis: u8, inputs: Vec<Input>| {
        let label = format!("along {axis} {label}");
        list.push(Case::new(&label, Concat { axis }, inputs, Tolerance::BITS, move |i| {
            concat(axis.into(), i)
        }));
    };
    let groups: [(u8, &[&[usize]]); 8] = [
        (0, &[&[3]]),
        (0, &[&[3], &[4], &[0], &[1]]),
        (0, &[&[2, 3], &[1, 3]]),
        (1, &[&[2, 3], &[2, 5], &[2, 1]]),
        (1, &[&[2, 0, 3], &[2, 4, 3]]),
        (2, &[&[2, 3, 1], &[2, 3, 2]]),
        (0, &[&[0, 2], &[0, 2]]),
        (1, &[&[130, 301], &[130, 299]]),
    ];
    for (axis, shapes) in groups {
        push("", axis, shapes.iter().map(|dims| noise.array(dtype, dims).into()).collect());
    }
    for form in Form::VIEWS {
        let inputs = [&[3, 4][..], &[3, 5]].map(|dims| Input::formed(noise.array(dtype, dims), form));
        push(form.name(), 1, inputs.into());
    }
    // More inputs than any kernel has bindings for.
    push("many", 0, (0..20).map(|i| noise.array(dtype, &[i % 3 + 1, 2]).into()).collect());
}

fn concat(axis: usize, inputs: &[Array]) -> Expected {
    let mut dims = inputs[0].dims.clone();
    dims[axis] = inputs.iter().map(|i| i.dims[axis]).sum();
    let mut sources = Vec::new();
    for mut index in indices(&dims) {
        let mut which = 0;
        while index[axis] >= inputs[which].dims[axis] {
            index[axis] -= inputs[which].dims[axis];
            which += 1;
        }
        sources.push((which, position(&inputs[which].dims, &index)));
    }
    gathered(inputs[0].dtype, &dims, sources.into_iter().map(|(which, at)| Some((&inputs[which], at))), 0.0)
        .into()
}

/// Elements from here and there; `None` stands for `other`.
fn gathered<'a>(
    dtype: DType,
    dims: &[usize],
    sources: impl Iterator<Item = Option<(&'a Array, usize)>>,
    other: f64,
) -> Array {
    let (mut reals, mut wholes) = (Vec::new(), Vec::new());
    for source in sources {
        match source.map(|(array, at)| (&array.numbers, at)) {
            Some((Numbers::Real(v), at)) => reals.push(v[at]),
            Some((Numbers::Whole(v), at)) => wholes.push(v[at]),
            None if dtype.is_float() => reals.push(other),
            None => wholes.push(other as i128),
        }
    }
    if dtype.is_float() { Array::real(dtype, dims, reals) } else { Array::whole(dtype, dims, wholes) }
}

fn pads(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    type Widths = &'static [(usize, usize)];
    let table: [(&[usize], Widths, f64); 8] = [
        (&[], &[], 1.0),
        (&[4], &[(2, 3)], 0.0),
        (&[2, 3], &[(0, 1), (2, 0)], 1.0),
        (&[2, 3], &[(0, 0), (0, 0)], 7.0),
        (&[0, 2], &[(1, 1), (1, 0)], 1.0),
        (&[2, 1, 3], &[(1, 0), (0, 2), (1, 1)], 100.0),
        (&[1, 1, 1, 2], &[(0, 1), (1, 0), (1, 1), (1, 1)], 0.0),
        (&[130, 257], &[(3, 1), (1, 2)], 1.0),
    ];
    for (dims, widths, value) in table {
        for form in [Form::Dense, Form::Transposed, Form::Stepped] {
            if form != Form::Dense && dims.len() < 2 {
                continue;
            }
            let op = Pad::new(widths, Scalar::of(dtype, value)).expect("valid widths");
            let value = if dtype == DType::Bool { f64::from(u8::from(value != 0.0)) } else { value };
            let label = format!("{widths:?}");
            let arrays = vec![noise.array(dtype, dims)];
            list.push(Case::formed(&label, form, op, arrays, Tolerance::BITS, move |i| {
                pad(&i[0], widths, value)
            }));
        }
    }
    if dtype.is_float() {
        let op = Pad::new(&[(1, 1)], Scalar::of(dtype, f64::NEG_INFINITY)).expect("valid widths");
        let array = Array::real(dtype, &[2], vec![f64::NAN, -0.0]);
        list.push(Case::new("with -inf", op, vec![array.into()], Tolerance::BITS, |i| {
            pad(&i[0], &[(1, 1)], f64::NEG_INFINITY)
        }));
    }
}

fn pad(x: &Array, widths: &[(usize, usize)], value: f64) -> Expected {
    let dims: Vec<usize> = x.dims.iter().zip(widths).map(|(d, (before, after))| d + before + after).collect();
    let sources: Vec<Option<usize>> = indices(&dims)
        .map(|index| {
            let inner: Option<Vec<usize>> = index
                .iter()
                .zip(widths)
                .zip(&x.dims)
                .map(|((&at, &(before, _)), &d)| at.checked_sub(before).filter(|&i| i < d))
                .collect();
            inner.map(|inner| position(&x.dims, &inner))
        })
        .collect();
    gathered(x.dtype, &dims, sources.into_iter().map(|s| s.map(|at| (x, at))), value).into()
}

fn tiles(list: &mut Vec<Case>, dtype: DType, noise: &mut Noise) {
    for (dims, repeats) in [
        (&[] as &[usize], &[] as &[usize]),
        (&[3], &[4]),
        (&[2, 3], &[2, 1]),
        (&[2, 3], &[3, 2]),
        (&[2, 3], &[0, 2]),
        (&[0, 3], &[2, 2]),
        (&[2, 1, 3], &[1, 4, 2]),
        (&[65, 33], &[5, 7]),
    ] {
        let mut held = [1; MAX_RANK];
        held[..repeats.len()].copy_from_slice(repeats);
        let op = Tile { repeats: held, rank: repeats.len() as u8 };
        let repeats = repeats.to_vec();
        for form in [Form::Dense, Form::Transposed, Form::Offset] {
            if form != Form::Dense && dims.len() < 2 {
                continue;
            }
            let repeats = repeats.clone();
            let label = format!("by {repeats:?}");
            let arrays = vec![noise.array(dtype, dims)];
            list.push(Case::formed(&label, form, op, arrays, Tolerance::BITS, move |i| {
                let dims: Vec<usize> = i[0].dims.iter().zip(&repeats).map(|(d, r)| d * r).collect();
                let places: Vec<usize> = indices(&dims)
                    .map(|index| {
                        let own: Vec<usize> = index.iter().zip(&i[0].dims).map(|(at, d)| at % d).collect();
                        position(&i[0].dims, &own)
                    })
                    .collect();
                i[0].pick(&dims, places).into()
            }));
        }
    }
}
