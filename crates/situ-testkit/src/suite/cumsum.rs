//! Running sums along an axis, at every size.

use super::case::{Case, Expected, Tolerance};
use super::large::{Answer, Cost, Given, Table};
use crate::array::{Array, wrap};
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::DType;
use situ_ir::ops::Cumsum;

const WAYS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in DType::ALL.into_iter().filter(|d| *d != DType::Bool) {
        for (exclusive, reverse) in WAYS {
            of_dtype(list, dtype, exclusive, reverse);
        }
    }
}

fn of_dtype(list: &mut Vec<Case>, dtype: DType, exclusive: bool, reverse: bool) {
    let mut noise = Noise::named(dtype.name());
    let mut push = |label: &str, axis: u8, input: Input| {
        let op = Cumsum { axis, exclusive, reverse };
        let way = ["", " exclusive", " reverse", " exclusive reverse"]
            [usize::from(exclusive) + 2 * usize::from(reverse)];
        let label = format!("over {axis}{way} {label}");
        let tolerance = Tolerance::units(dtype, 8.0, 4.0);
        list.push(Case::new(&label, op, vec![input], tolerance, move |i| running(op, &i[0])));
    };
    let shapes: [(&[usize], u8); 14] = [
        (&[1], 0),
        (&[0], 0),
        (&[7], 0),
        (&[3, 5], 0),
        (&[3, 5], 1),
        (&[2, 3, 4], 1),
        (&[2, 0, 4], 1),
        (&[0, 3], 1),
        (&[4, 0], 0),
        (&[5, 1, 3], 1),
        (&[1025], 0),
        (&[3, 2_100], 1),
        (&[2_100, 3], 0),
        (&[2, 130, 70], 1),
    ];
    for (dims, axis) in shapes {
        push("", axis, noise.array(dtype, dims).into());
    }
    for form in Form::VIEWS {
        push(form.name(), 0, Input::formed(noise.array(dtype, &[6, 9]), form));
        push(form.name(), 1, Input::formed(noise.array(dtype, &[6, 9]), form));
    }
    push("expanded", 1, Input::expanded(noise.array(dtype, &[4, 1]), &[4, 5]));
    if dtype.is_float() {
        let corners = vec![1.0, f64::INFINITY, -2.0, f64::NAN, 3.0, -0.0, 5.0, f64::NEG_INFINITY];
        push("corners", 0, Array::real(dtype, &[8], corners).into());
    }
}

/// The places of row-major memory in the order in which an axis is added up, row by row.
fn order(dims: &[usize], op: Cumsum) -> impl Iterator<Item = Vec<usize>> + use<> {
    let axis = usize::from(op.axis);
    let (length, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    let rows: usize = dims[..axis].iter().product::<usize>() * inner;
    (0..rows).map(move |row| {
        let first = row / inner * length * inner + row % inner;
        let along = (0..length).map(|i| first + inner * if op.reverse { length - 1 - i } else { i });
        along.collect()
    })
}

fn running(op: Cumsum, x: &Array) -> Expected {
    if x.dtype.is_float() {
        let (mut values, mut scale) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        for row in order(&x.dims, op) {
            let (mut sum, mut size) = (0.0, 0.0);
            for place in row {
                let before = sum;
                sum += x.reals()[place];
                size += x.reals()[place].abs();
                values[place] = if op.exclusive { before } else { sum };
                scale[place] = if size.is_finite() { size } else { 0.0 };
            }
        }
        return Expected { array: Array::unrounded(x.dtype, &x.dims, values), scale: Some(scale) };
    }
    let mut values = vec![0; x.len()];
    for row in order(&x.dims, op) {
        let mut sum = 0i128;
        for place in row {
            let before = sum;
            sum = sum.wrapping_add(x.wholes()[place]);
            values[place] = wrap(x.dtype, if op.exclusive { before } else { sum });
        }
    }
    Array::whole(x.dtype, &x.dims, values).into()
}

/// Longer than a loop of a GPU counts (65,535 trips), alone and many at once; longer than a piece of a row,
/// and than f32 counts by ones.
const SHAPES: &[(&[usize], u8, Cost)] = &[
    (&[70_001], 0, Cost::Quick),
    (&[1_000_003], 0, Cost::Quick),
    (&[3, 66_000], 1, Cost::Quick),
    (&[66_000, 3], 0, Cost::Quick),
    (&[70_001, 2], 1, Cost::Quick),
    (&[20_000_003], 0, Cost::Long),
    (&[2, 1_000_000, 3], 1, Cost::Long),
    (&[65_537, 257], 0, Cost::Long),
    (&[65_537, 257], 1, Cost::Long),
];

pub(super) fn large(table: &mut Table) {
    for &(dims, axis, cost) in SHAPES {
        for dtype in [DType::F32, DType::I32, DType::F64] {
            for (exclusive, reverse) in WAYS {
                let op = Cumsum { axis, exclusive, reverse };
                let first = dtype == DType::F32 && exclusive == reverse;
                let cost = if first || (dtype, exclusive, reverse) == (DType::I32, false, false) {
                    cost
                } else {
                    Cost::Long
                };
                let tolerance = Tolerance::units(dtype, 16.0, 4.0);
                let label = format!("over {axis}, exclusive {exclusive}, reverse {reverse}, of");
                for (name, x) in
                    [("ones", Given::full(dtype, dims, 1.0)), ("noise", Given::noise(dtype, dims, 5))]
                {
                    let dims = dims.to_vec();
                    table.push(cost, &format!("{label} {name}"), op, vec![x], tolerance, move |i| {
                        let (mut values, mut scale) = (vec![0.0; i[0].len()], vec![0.0; i[0].len()]);
                        for row in order(&dims, op) {
                            // Neither ones nor noise is rounded by sums in f64.
                            let (mut sum, mut size) = (0.0, 0.0);
                            for place in row {
                                let here = i[0].at(place);
                                values[place] = if op.exclusive { sum } else { sum + here };
                                (sum, size) = (sum + here, size + here.abs());
                                scale[place] = size;
                            }
                        }
                        Answer::All { values, scale }
                    });
                }
            }
        }
    }
}
