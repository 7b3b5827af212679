//! Copies and tensors made from nothing, of more elements than one dispatch of 65,535 groups of 256 has.

use super::elements::SIDE;
use super::{Answer, Cost, Given, Table};
use crate::suite::case::Tolerance;
use situ_core::{DType, MAX_RANK, Scalar, Shape};
use situ_ir::ops::{Concat, Dense, Eye, Fill, Pad, Range, Tile};

/// The first dtype of kernels that move elements by their size, and the others.
const DTYPES: [(DType, Cost); 4] = [
    (DType::I32, Cost::Quick),
    (DType::F32, Cost::Long),
    (DType::Bool, Cost::Long),
    (DType::F64, Cost::Long),
];

pub(super) fn cases(table: &mut Table) {
    for (dtype, cost) in DTYPES {
        let (rows, columns) = (SIDE, SIDE + 1);
        let turned = Given::noise(dtype, &[rows, columns], 193).reversed();
        table.push(cost, "transposed", Dense, vec![turned], Tolerance::EQUAL, move |i| {
            let x = i[0].clone();
            Answer::each(move |place| x.at(place % rows * columns + place / rows))
        });
        concats(table, dtype, cost);
        pads(table, dtype, cost);
        made(table, dtype, cost);
    }
}

fn concats(table: &mut Table, dtype: DType, cost: Cost) {
    let (rows, first, second) = (SIDE, 2_050, 2_051);
    let parts =
        |dims: [[usize; 2]; 2]| vec![Given::noise(dtype, &dims[0], 197), Given::noise(dtype, &dims[1], 199)];
    let beside = parts([[rows, first], [rows, second]]);
    table.push(cost, "beside", Concat { axis: 1 }, beside, Tolerance::EQUAL, move |i| {
        let (a, b) = (i[0].clone(), i[1].clone());
        Answer::each(move |place| {
            let (row, column) = (place / (first + second), place % (first + second));
            if column < first { a.at(row * first + column) } else { b.at(row * second + column - first) }
        })
    });
    let below = parts([[first, rows], [second, rows]]);
    table.push(Cost::Long, "below", Concat { axis: 0 }, below, Tolerance::EQUAL, move |i| {
        let (a, b) = (i[0].clone(), i[1].clone());
        Answer::each(move |place| if place < first * rows { a.at(place) } else { b.at(place - first * rows) })
    });
}

fn pads(table: &mut Table, dtype: DType, cost: Cost) {
    let inner = 3_900;
    let pad = Pad::new(&[(100, 99), (1, 198)], Scalar::of(dtype, 1.0)).expect("valid widths");
    let x = vec![Given::noise(dtype, &[inner, inner], 211)];
    table.push(cost, "", pad, x, Tolerance::EQUAL, move |i| {
        let x = i[0].clone();
        Answer::each(move |place| {
            let (row, column) = (place / SIDE, place % SIDE);
            let inside = (100..100 + inner).contains(&row) && (1..=inner).contains(&column);
            if inside { x.at((row - 100) * inner + column - 1) } else { 1.0 }
        })
    });
    let (rows, columns, times) = (41, 43, 100);
    let mut repeats = [1; MAX_RANK];
    (repeats[0], repeats[1]) = (times, times);
    let x = vec![Given::noise(dtype, &[rows, columns], 223)];
    table.push(cost, "", Tile { repeats, rank: 2 }, x, Tolerance::EQUAL, move |i| {
        let x = i[0].numbers();
        let wide = columns * times;
        Answer::each(move |place| x[place / wide % rows * columns + place % wide % columns])
    });
}

fn made(table: &mut Table, dtype: DType, cost: Cost) {
    let shape = Shape::new(&[SIDE, SIDE]).expect("a valid shape");
    let fill = Fill { shape, value: Scalar::of(dtype, 1.0) };
    table.push(cost, dtype.name(), fill, vec![], Tolerance::EQUAL, |_| Answer::each(|_| 1.0));
    let eye = Eye { rows: SIDE, columns: SIDE, dtype };
    table.push(cost, dtype.name(), eye, vec![], Tolerance::EQUAL, |_| {
        Answer::each(|place| f64::from(u8::from(place / SIDE == place % SIDE)))
    });
    if dtype != DType::Bool {
        let range =
            Range { start: Scalar::of(dtype, -5.0), step: Scalar::of(dtype, 1.0), count: SIDE * SIDE };
        // The number, the product and the sum are each rounded.
        let rounded = move |x: f64| if dtype == DType::F32 { f64::from(x as f32) } else { x };
        table.push(cost, dtype.name(), range, vec![], Tolerance::EQUAL, move |_| {
            Answer::each(move |place| rounded(rounded(place as f64) - 5.0))
        });
    }
}
