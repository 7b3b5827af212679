//! Indexed reads and writes: gather, scatter_add, one_hot.

use super::case::{Case, Expected, Tolerance};
use crate::array::{Array, indices, position, wrap};
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::{DType, Scalar};
use situ_ir::ops::{Gather, OneHot, ScatterAdd};

pub(super) fn cases(list: &mut Vec<Case>) {
    for index in [DType::I32, DType::I64] {
        for dtype in DType::ALL {
            let mut noise = Noise::named(&format!("{dtype} {index}"));
            gathers(list, dtype, index, &mut noise);
            if dtype != DType::Bool {
                scatters(list, dtype, index, &mut noise);
            }
            one_hots(list, dtype, index, &mut noise);
        }
    }
}

/// Shapes of the data, the axis, and shapes of the indices.
const SHAPES: [(&[usize], u8, &[usize]); 10] = [
    (&[5], 0, &[3]),
    (&[5], 0, &[]),
    (&[4, 3], 0, &[2, 2]),
    (&[4, 3], 1, &[5]),
    (&[2, 5, 3], 1, &[4]),
    (&[2, 5, 3], 2, &[0]),
    (&[2, 0, 3], 2, &[2]),
    (&[3, 1], 1, &[6]),
    (&[50, 64], 0, &[1500]),
    (&[6, 300], 1, &[40]),
];

fn gathers(list: &mut Vec<Case>, dtype: DType, index: DType, noise: &mut Noise) {
    for (dims, axis, wanted) in SHAPES {
        let at = noise.wholes(index, wanted, 0, dims[usize::from(axis)].max(1) as i128);
        let inputs = vec![noise.array(dtype, dims).into(), at.into()];
        let label = format!("along {axis}");
        list.push(Case::new(&label, Gather { axis }, inputs, Tolerance::BITS, move |i| {
            gather(axis.into(), i)
        }));
    }
    for form in Form::VIEWS {
        let inputs = vec![
            Input::formed(noise.array(dtype, &[4, 5]), form),
            Input::formed(noise.wholes(index, &[2, 3], 0, 4), form),
        ];
        list.push(Case::new(form.name(), Gather { axis: 0 }, inputs, Tolerance::BITS, |i| gather(0, i)));
    }
}

/// The index within the data that an index of the result stands for.
fn source(axis: usize, data: &Array, at: &Array, index: &[usize]) -> usize {
    let rank = at.dims.len();
    let picked = at.wholes()[position(&at.dims, &index[axis..axis + rank])] as usize;
    position(&data.dims, &[&index[..axis], &[picked], &index[axis + rank..]].concat())
}

fn gather(axis: usize, inputs: &[Array]) -> Expected {
    let [data, at] = inputs else { unreachable!("two inputs") };
    let dims = [&data.dims[..axis], &at.dims[..], &data.dims[axis + 1..]].concat();
    let places: Vec<usize> = indices(&dims).map(|index| source(axis, data, at, &index)).collect();
    data.pick(&dims, places).into()
}

fn scatters(list: &mut Vec<Case>, dtype: DType, index: DType, noise: &mut Noise) {
    // Added in order, each sum rounded.
    let tolerance = Tolerance::units(dtype, 8.0, 2.0);
    for (dims, axis, wanted) in SHAPES {
        let place = usize::from(axis);
        let at = noise.wholes(index, wanted, 0, dims[place].max(1) as i128);
        let updates = noise.array(dtype, &[&dims[..place], wanted, &dims[place + 1..]].concat());
        let inputs = vec![noise.array(dtype, dims).into(), at.into(), updates.into()];
        let label = format!("along {axis}");
        list.push(Case::new(&label, ScatterAdd { axis }, inputs, tolerance, move |i| {
            scatter(axis.into(), i)
        }));
    }
    for form in Form::VIEWS {
        let arrays =
            [noise.array(dtype, &[4, 5]), noise.wholes(index, &[6], 0, 4), noise.array(dtype, &[6, 5])];
        let inputs = arrays.map(|a| Input::formed(a, form)).into();
        list.push(Case::new(form.name(), ScatterAdd { axis: 0 }, inputs, tolerance, |i| scatter(0, i)));
    }
    let same = Array::whole(index, &[200], vec![1; 200]);
    let inputs = vec![noise.array(dtype, &[3]).into(), same.into(), noise.array(dtype, &[200]).into()];
    list.push(Case::new("all to one", ScatterAdd { axis: 0 }, inputs, tolerance, |i| scatter(0, i)));
}

fn scatter(axis: usize, inputs: &[Array]) -> Expected {
    let [data, at, updates] = inputs else { unreachable!("three inputs") };
    let places = indices(&updates.dims).map(|index| source(axis, data, at, &index));
    if data.dtype.is_float() {
        let mut sums = data.reals().to_vec();
        let mut scale: Vec<f64> = sums.iter().map(|v| v.abs()).collect();
        for (place, update) in places.zip(updates.reals()) {
            sums[place] += update;
            scale[place] += update.abs();
        }
        return Expected { array: Array::unrounded(data.dtype, &data.dims, sums), scale: Some(scale) };
    }
    let mut sums = data.wholes().to_vec();
    for (place, update) in places.zip(updates.wholes()) {
        sums[place] = wrap(data.dtype, sums[place].wrapping_add(*update));
    }
    Array::whole(data.dtype, &data.dims, sums).into()
}

fn one_hots(list: &mut Vec<Case>, dtype: DType, index: DType, noise: &mut Noise) {
    let (on, off) = if dtype == DType::Bool { (1.0, 0.0) } else { (5.0, 2.0) };
    for (dims, depth) in [(&[] as &[usize], 3), (&[4], 5), (&[2, 3], 1), (&[3], 0), (&[0], 4), (&[260], 130)]
    {
        // From -2 to 2 beyond the end: an index out of range gives a row of `off`.
        let at = noise.wholes(index, dims, -2, depth as i128 + 2);
        let op = OneHot { depth, on: Scalar::of(dtype, on), off: Scalar::of(dtype, off) };
        let label = format!("depth {depth} of {dtype}");
        list.push(Case::new(&label, op, vec![at.into()], Tolerance::BITS, move |i| {
            let dims = [&i[0].dims[..], &[depth]].concat();
            let hot = |&label: &i128| (0..depth as i128).map(move |c| if c == label { on } else { off });
            let values: Vec<f64> = i[0].wholes().iter().flat_map(hot).collect();
            Array::of(dtype, &dims, &values).into()
        }));
    }
    for form in Form::VIEWS {
        let at = Input::formed(noise.wholes(index, &[3, 4], 0, 6), form);
        let op = OneHot { depth: 6, on: Scalar::of(dtype, on), off: Scalar::of(dtype, off) };
        list.push(Case::new(
            &format!("{} of {dtype}", form.name()),
            op,
            vec![at],
            Tolerance::BITS,
            move |i| {
                let hot = |&label: &i128| (0..6).map(move |c| if c == label { on } else { off });
                let values: Vec<f64> = i[0].wholes().iter().flat_map(hot).collect();
                Array::of(dtype, &[3, 4, 6], &values).into()
            },
        ));
    }
}
