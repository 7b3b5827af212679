//! Reads and writes by a hundred thousand indices: each once, all the same, in any order.

use super::{Answer, Cost, Given, Table};
use crate::array::wrap;
use crate::suite::case::Tolerance;
use situ_core::{DType, Scalar};
use situ_ir::ops::{Distinct, Gather, OneHot, PutRows, ScatterAdd};

/// How many indices there are.
const COUNT: usize = 100_003;

/// Indices below `limit`.
fn which(name: &str, dtype: DType, limit: usize) -> Given {
    match name {
        // A step that shares no factor with any size here visits every place before one again.
        "each once" => Given::by(dtype, &[COUNT], move |n| (n * 64_553 % limit) as f64),
        "all the last" => Given::full(dtype, &[COUNT], (limit - 1) as f64),
        _ => Given::below(dtype, &[COUNT], limit, 97),
    }
}

const WAYS: [&str; 3] = ["each once", "all the last", "any"];

pub(super) fn cases(table: &mut Table) {
    // Those that have code of their own for it; others share theirs.
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool] {
        let cost = if matches!(dtype, DType::F32 | DType::I32) { Cost::Quick } else { Cost::Long };
        for index in [DType::I32, DType::I64] {
            let cost = if index == DType::I32 || dtype == DType::F32 { cost } else { Cost::Long };
            for way in WAYS {
                gather(table, cost, dtype, index, way);
                if dtype != DType::Bool {
                    scatter(table, cost, dtype, index, way, 1, COUNT);
                    scatter(table, cost, dtype, index, way, 3, COUNT);
                }
            }
            if dtype != DType::Bool {
                scatter(table, cost, dtype, index, "any", 2, 1_000);
            }
        }
    }
    for way in WAYS {
        distinct(table, way);
    }
    put_rows(table);
    let (rows, depth) = (4_099, 4_099);
    for dtype in [DType::F32, DType::I32, DType::Bool, DType::F64, DType::U8] {
        let cost = if dtype == DType::F32 { Cost::Quick } else { Cost::Long };
        let op = OneHot { depth, on: Scalar::of(dtype, 1.0), off: Scalar::of(dtype, 0.0) };
        let labels = vec![Given::below(DType::I32, &[rows], depth, 101)];
        table.push(cost, dtype.name(), op, labels, Tolerance::EQUAL, move |i| {
            let labels = i[0].numbers();
            Answer::each(move |place| f64::from(u8::from(labels[place / depth] as usize == place % depth)))
        });
    }
}

fn gather(table: &mut Table, cost: Cost, dtype: DType, index: DType, way: &str) {
    let (rows, columns) = (COUNT, 3);
    let inputs = vec![Given::noise(dtype, &[rows, columns], 103), which(way, index, rows)];
    table.push(cost, &format!("rows, {way}"), Gather { axis: 0 }, inputs, Tolerance::EQUAL, move |i| {
        let (data, at) = (i[0].clone(), i[1].numbers());
        Answer::each(move |place| data.at(at[place / columns] as usize * columns + place % columns))
    });
    let (rows, columns) = (5, 1_000);
    let inputs = vec![Given::noise(dtype, &[rows, columns], 107), which(way, index, columns)];
    table.push(cost, &format!("columns, {way}"), Gather { axis: 1 }, inputs, Tolerance::EQUAL, move |i| {
        let (data, at) = (i[0].clone(), i[1].numbers());
        Answer::each(move |place| data.at(place / COUNT * columns + at[place % COUNT] as usize))
    });
}

fn scatter(
    table: &mut Table,
    cost: Cost,
    dtype: DType,
    index: DType,
    way: &str,
    columns: usize,
    rows: usize,
) {
    let tolerance = Tolerance::units(dtype, 8.0, 8.0);
    for (label, updates) in [
        ("ones", Given::full(dtype, &[COUNT, columns], 1.0)),
        ("noise", Given::noise(dtype, &[COUNT, columns], 109)),
    ] {
        let inputs = vec![Given::noise(dtype, &[rows, columns], 113), which(way, index, rows), updates];
        let label = format!("{label}, {way}");
        table.push(cost, &label, ScatterAdd { axis: 0 }, inputs, tolerance, move |i| {
            let mut values = i[0].numbers();
            let mut scale: Vec<f64> = values.iter().map(|v| v.abs()).collect();
            for place in 0..i[2].len() {
                let (row, update) = (i[1].at(place / columns) as usize, i[2].at(place));
                values[row * columns + place % columns] += update;
                scale[row * columns + place % columns] += update.abs();
            }
            if !i[0].dtype.is_float() {
                values.iter_mut().for_each(|v| *v = wrap(i[0].dtype, *v as i128) as f64);
            }
            Answer::All { values, scale }
        });
    }
}

fn distinct(table: &mut Table, way: &str) {
    let rows = 50_257;
    for output in 0..2 {
        let inputs = vec![which(way, DType::I32, rows)];
        let label = format!("{way}, output {output}");
        let op = Distinct { rows };
        table.push_output(Cost::Quick, &label, op, inputs, output, Tolerance::EQUAL, move |i| {
            let mut stood: Vec<Option<usize>> = vec![None; rows];
            let answer = i[0].numbers().into_iter().enumerate().map(|(n, index)| {
                let first = *stood[index as usize].get_or_insert(n);
                match output {
                    0 => first as f64,
                    _ if first == n => index,
                    _ => -1.0,
                }
            });
            Answer::plain(answer.collect())
        });
    }
}

fn put_rows(table: &mut Table) {
    let (rows, columns) = (150_001, 3);
    let inputs = vec![
        Given::noise(DType::F32, &[rows, columns], 127),
        which("each once", DType::I32, rows),
        Given::noise(DType::F32, &[COUNT, columns], 131),
    ];
    table.push(Cost::Quick, "each once", PutRows, inputs, Tolerance::EQUAL, move |i| {
        let mut values = i[0].numbers();
        for place in 0..i[2].len() {
            values[i[1].at(place / columns) as usize * columns + place % columns] = i[2].at(place);
        }
        Answer::plain(values)
    });
}
