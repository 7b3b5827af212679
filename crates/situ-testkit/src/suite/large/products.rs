//! Products over a hundred thousand, and of a million rows.

use super::{Answer, Cost, Given, Table};
use crate::array::wrap;
use crate::suite::case::Tolerance;
use situ_core::DType;
use situ_ir::ops::{BiasAdd, Matmul, MatmulBias, MatmulInteger, Unary, UnaryKind};

pub(super) fn cases(table: &mut Table) {
    // Rows, what is summed over, columns.
    let sizes: [([usize; 3], Cost); 8] = [
        ([4, 100_000, 5], Cost::Quick),
        ([1, 100_000, 1], Cost::Quick),
        ([70, 66_000, 3], Cost::Quick),
        ([200_003, 4, 3], Cost::Quick),
        ([1, 100_000, 64], Cost::Long),
        ([64, 100_000, 1], Cost::Long),
        ([3, 1_000_000, 2], Cost::Long),
        ([1_000_000, 4, 3], Cost::Long),
    ];
    for (size, cost) in sizes {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8] {
            for (transpose_a, transpose_b) in [(false, false), (true, false), (false, true)] {
                let plain = !transpose_a && !transpose_b;
                let first = dtype == DType::F32 && (plain || size[1] == 100_000);
                let cost = if first { cost } else { Cost::Long };
                product(table, cost, dtype, size, Matmul { transpose_a, transpose_b });
            }
        }
    }
    for dtype in [DType::F32, DType::F64] {
        let cost = if dtype == DType::F32 { Cost::Quick } else { Cost::Long };
        for activation in [None, Some(Unary::new(UnaryKind::Relu))] {
            with_bias(table, cost, dtype, [4, 100_000, 5], activation);
            with_bias(table, cost, dtype, [1, 100_000, 3], activation);
        }
        with_bias(table, Cost::Long, dtype, [1_000_000, 4, 3], None);
    }
    for (left, right) in [(DType::I8, DType::I8), (DType::U8, DType::U8), (DType::I8, DType::U8)] {
        for (size, cost) in sizes {
            of_bytes(table, cost, [left, right], size);
        }
        of_bytes(table, Cost::Long, [left, right], [500, 700, 900]);
    }
    let (rows, columns) = (65_537, 257);
    for dtype in [DType::F32, DType::I32] {
        let inputs = vec![Given::noise(dtype, &[rows, columns], 41), Given::noise(dtype, &[columns], 43)];
        table.push(Cost::Quick, "", BiasAdd, inputs, Tolerance::EQUAL, move |i| {
            let (x, bias) = (i[0].clone(), i[1].numbers());
            Answer::each(move |place| x.at(place) + bias[place % columns])
        });
    }
}

/// The sizes of a side as the op sees it.
fn side(swapped: bool, rows: usize, columns: usize) -> [usize; 2] {
    if swapped { [columns, rows] } else { [rows, columns] }
}

fn tolerance(dtype: DType) -> Tolerance {
    Tolerance::units(dtype, 8.0, 4.0)
}

fn product(table: &mut Table, cost: Cost, dtype: DType, size: [usize; 3], op: Matmul) {
    let [m, k, n] = size;
    let (a, b) = (side(op.transpose_a, m, k), side(op.transpose_b, k, n));
    for (label, left, right) in [
        ("ones", Given::full(dtype, &a, 1.0), Given::full(dtype, &b, 1.0)),
        ("noise", Given::noise(dtype, &a, 47), Given::noise(dtype, &b, 53)),
    ] {
        let label = format!("{label} {} {}", op.transpose_a, op.transpose_b);
        table.push(cost, &label, op, vec![left, right], tolerance(dtype), move |i| multiply(op, size, i));
    }
}

fn of_bytes(table: &mut Table, cost: Cost, [left, right]: [DType; 2], size: [usize; 3]) {
    let [m, k, n] = size;
    let inputs = vec![Given::noise(left, &[m, k], 71), Given::noise(right, &[k, n], 73)];
    table.push(cost, "", MatmulInteger::default(), inputs, Tolerance::EQUAL, move |i| {
        let Answer::All { values, scale } = sums(Matmul::default(), size, i) else {
            unreachable!("a product gives all")
        };
        let values = values.into_iter().map(|sum| wrap(DType::I32, sum as i128) as f64).collect();
        Answer::All { values, scale }
    });
}

fn multiply(op: Matmul, size: [usize; 3], inputs: &[Given]) -> Answer {
    let Answer::All { mut values, scale } = sums(op, size, inputs) else {
        unreachable!("a product gives all")
    };
    let dtype = inputs[0].dtype;
    if !dtype.is_float() {
        values.iter_mut().for_each(|sum| *sum = wrap(dtype, *sum as i128) as f64);
    }
    Answer::All { values, scale }
}

/// The sums before they wrap: integers of these sizes are exact in f64.
fn sums(op: Matmul, [m, k, n]: [usize; 3], inputs: &[Given]) -> Answer {
    let (a, b) = (inputs[0].numbers(), inputs[1].numbers());
    let left = |row: usize, at: usize| a[if op.transpose_a { at * m + row } else { row * k + at }];
    let right = |at: usize, column: usize| b[if op.transpose_b { column * k + at } else { at * n + column }];
    let (mut values, mut scale) = (Vec::new(), Vec::new());
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let products = (0..k).map(|at| left(row, at) * right(at, column));
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), p: f64| (sum + p, size + p.abs()));
        values.push(sum);
        scale.push(size);
    }
    Answer::All { values, scale }
}

fn with_bias(table: &mut Table, cost: Cost, dtype: DType, size: [usize; 3], activation: Option<Unary>) {
    let [m, k, n] = size;
    let op = MatmulBias { matmul: Matmul::default(), activation };
    let inputs = vec![
        Given::noise(dtype, &[m, k], 59),
        Given::noise(dtype, &[k, n], 61),
        Given::noise(dtype, &[n], 67),
    ];
    let label = if activation.is_some() { "relu" } else { "" };
    table.push(cost, label, op, inputs, tolerance(dtype), move |i| {
        let Answer::All { mut values, scale } = multiply(op.matmul, size, i) else {
            unreachable!("a product gives all")
        };
        for (place, value) in values.iter_mut().enumerate() {
            *value += i[2].at(place % n);
            *value = if op.activation.is_some() { value.max(0.0) } else { *value };
        }
        Answer::All { values, scale }
    });
}
