//! Rows of a table: which indices of a list are the same, and a table with some rows replaced.

use super::case::{Case, Expected, Tolerance};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::Noise;
use situ_core::DType;
use situ_ir::ops::{Distinct, PutRows};

pub(super) fn cases(list: &mut Vec<Case>) {
    for index in [DType::I32, DType::I64] {
        let mut noise = Noise::named(index.name());
        for (count, rows) in [(0, 4), (1, 1), (5, 3), (300, 40), (513, 50_257), (3_000, 700), (3_000, 0)] {
            // From −2 to 2 beyond the end: those that are no row count as one.
            let at = noise.wholes(index, &[count], -2, rows as i128 + 2);
            distinct(list, &format!("{count} of {rows}"), rows, at.into());
        }
        let all = Array::whole(index, &[600], vec![7; 600]);
        distinct(list, "all the same", 8, all.into());
        for form in Form::VIEWS {
            distinct(list, form.name(), 9, Input::formed(noise.wholes(index, &[12], 0, 9), form));
        }
        for dtype in DType::ALL {
            put(list, dtype, index, &mut Noise::named(&format!("{dtype} {index}")));
        }
    }
}

fn distinct(list: &mut Vec<Case>, label: &str, rows: usize, at: Input) {
    for output in 0..2 {
        let label = format!("{label}, output {output}");
        let case = Case::new(&label, Distinct { rows }, vec![at.clone()], Tolerance::BITS, move |i| {
            first(rows, &i[0], output)
        });
        list.push(case.output(output));
    }
}

fn first(rows: usize, at: &Array, output: usize) -> Expected {
    let is_row = |index: i128| (0..rows as i128).contains(&index);
    let same = |a: i128, b: i128| a == b || (!is_row(a) && !is_row(b));
    let list = at.wholes();
    let stood = |n: usize| (0..n).find(|before| same(list[*before], list[n])).unwrap_or(n);
    let places = (0..list.len()).map(stood);
    if output == 0 {
        return Array::whole(DType::I32, &at.dims, places.map(|n| n as i128).collect()).into();
    }
    let own = places.enumerate().map(|(n, first)| if first == n { list[n] } else { -1 });
    Array::whole(at.dtype, &at.dims, own.collect()).into()
}

/// Indices that are each there once, some of which are no row.
fn each_once(index: DType, count: usize, rows: usize) -> Array {
    // No table here has three rows less than a multiple of five.
    let steps = |n: usize| (n as i128 * 5 + 3) % (rows as i128 + 3) - 1;
    Array::whole(index, &[count], (0..count).map(steps).collect())
}

fn put(list: &mut Vec<Case>, dtype: DType, index: DType, noise: &mut Noise) {
    let shapes: [(&[usize], usize); 6] =
        [(&[5], 3), (&[4, 3], 2), (&[6, 2, 3], 0), (&[0, 3], 2), (&[4, 0], 2), (&[500, 70], 300)];
    for (dims, count) in shapes {
        let at = each_once(index, count, dims[0]);
        let rows = noise.array(dtype, &[&[count], &dims[1..]].concat());
        let inputs = vec![noise.array(dtype, dims).into(), at.into(), rows.into()];
        let label = format!("{count} of {dims:?}");
        list.push(Case::new(&label, PutRows, inputs, Tolerance::BITS, replaced));
    }
    for form in Form::VIEWS {
        let arrays = [noise.array(dtype, &[6, 5]), each_once(index, 4, 6), noise.array(dtype, &[4, 5])];
        let inputs = arrays.map(|a| Input::formed(a, form)).into();
        list.push(Case::new(form.name(), PutRows, inputs, Tolerance::BITS, replaced));
    }
}

fn replaced(inputs: &[Array]) -> Expected {
    let [table, at, rows] = inputs else { unreachable!("three inputs") };
    let width: usize = table.dims[1..].iter().product();
    // Both in one array, from which each element is picked.
    let place = |element: usize| {
        let (row, column) = (element / width, element % width);
        let put = at.wholes().iter().position(|index| *index == row as i128);
        put.map(|n| (true, n * width + column)).unwrap_or((false, element))
    };
    let count: usize = table.dims.iter().product();
    let places: Vec<(bool, usize)> = (0..count).map(place).collect();
    if table.dtype.is_float() {
        let pick = |(put, at): &(bool, usize)| if *put { rows.reals()[*at] } else { table.reals()[*at] };
        return Array::real(table.dtype, &table.dims, places.iter().map(pick).collect()).into();
    }
    let pick = |(put, at): &(bool, usize)| if *put { rows.wholes()[*at] } else { table.wholes()[*at] };
    Array::whole(table.dtype, &table.dims, places.iter().map(pick).collect()).into()
}
