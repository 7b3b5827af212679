//! Functions of elements, choices, conversions, random numbers and optimizers' steps over more elements than
//! one dispatch of 65,535 groups of 256 has.

use super::{Answer, Cost, Given, Table};
use crate::suite::case::Tolerance;
use crate::suite::random::philox;
use situ_core::{DType, Real, Scalar, Shape};
use situ_ir::ops::fused::{Fused, Program, Register, Step};
use situ_ir::ops::{
    Binary, BinaryKind, Cast, Distribution, Dropout, Random, Unary, UnaryKind, Update, UpdateKind, Where,
};
use std::sync::Arc;

/// Rows, and columns, of a square of 16,801,801 elements.
pub(super) const SIDE: usize = 4_099;
const SQUARE: [usize; 2] = [SIDE, SIDE];

/// The square of a dtype: rows that together just fit into 128 MiB, the largest buffer of small adapters.
fn square(dtype: DType) -> [usize; 2] {
    if dtype.size() == 8 { [4_093, SIDE] } else { SQUARE }
}

/// The row and the column of a square's element.
fn split(place: usize) -> (usize, usize) {
    (place / SIDE, place % SIDE)
}

pub(super) fn cases(table: &mut Table) {
    unaries(table);
    pairs(table);
    fused(table);
    drawn(table);
    updates(table);
}

fn unaries(table: &mut Table) {
    for (dtype, cost) in [(DType::F32, Cost::Quick), (DType::I32, Cost::Long), (DType::F64, Cost::Long)] {
        for kind in [UnaryKind::Neg, UnaryKind::Square] {
            let cost = if kind == UnaryKind::Neg { cost } else { Cost::Long };
            let inputs = vec![Given::noise(dtype, &square(dtype), 127)];
            table.push(cost, "", Unary::new(kind), inputs, Tolerance::EQUAL, move |i| {
                let x = i[0].clone();
                Answer::each(move |place| match kind {
                    UnaryKind::Neg => -x.at(place),
                    _ => x.at(place) * x.at(place),
                })
            });
        }
    }
    for (from, to, cost) in [
        (DType::I32, DType::F32, Cost::Quick),
        (DType::F32, DType::Bool, Cost::Long),
        (DType::U8, DType::F32, Cost::Long),
        (DType::F32, DType::I32, Cost::Long),
        (DType::I64, DType::U8, Cost::Long),
    ] {
        let inputs = vec![Given::noise(from, &square(from), 131)];
        table.push(cost, &format!("to {to}"), Cast { to }, inputs, Tolerance::EQUAL, move |i| {
            let x = i[0].clone();
            Answer::each(move |place| match to {
                DType::Bool => f64::from(u8::from(x.at(place) != 0.0)),
                DType::U8 => f64::from(x.at(place) as i128 as u8),
                _ if to.is_float() => x.at(place),
                _ => x.at(place).trunc(),
            })
        });
    }
}

fn pairs(table: &mut Table) {
    for dtype in [DType::F32, DType::I32, DType::F64, DType::I64] {
        let cost = if matches!(dtype, DType::F32) { Cost::Quick } else { Cost::Long };
        let column = Given::noise(dtype, &[square(dtype)[0], 1], 137);
        let row = Given::noise(dtype, &[1, SIDE], 139);
        let add = Binary { kind: BinaryKind::Add };
        table.push(cost, "", add, vec![column.clone(), row.clone()], Tolerance::EQUAL, |i| {
            let (a, b) = (i[0].numbers(), i[1].numbers());
            Answer::each(move |place| a[split(place).0] + b[split(place).1])
        });
        let less = Binary { kind: BinaryKind::Less };
        table.push(Cost::Long, "", less, vec![column.clone(), row.clone()], Tolerance::EQUAL, |i| {
            let (a, b) = (i[0].numbers(), i[1].numbers());
            Answer::each(move |place| f64::from(u8::from(a[split(place).0] < b[split(place).1])))
        });
        // Two that are as large as the result.
        let mul = Binary { kind: BinaryKind::Mul };
        let both = [149, 151].map(|seed| Given::noise(dtype, &square(dtype), seed)).to_vec();
        table.push(Cost::Long, "", mul, both, Tolerance::EQUAL, |i| {
            let (a, b) = (i[0].clone(), i[1].clone());
            Answer::each(move |place| a.at(place) * b.at(place))
        });
        let condition = Given::noise(DType::Bool, &[square(dtype)[0], 1], 157);
        let inputs = vec![condition, row, Given::full(dtype, &[], -3.0)];
        table.push(cost, "", Where, inputs, Tolerance::EQUAL, |i| {
            let (c, a) = (i[0].numbers(), i[1].numbers());
            Answer::each(move |place| if c[split(place).0] != 0.0 { a[split(place).1] } else { -3.0 })
        });
    }
}

fn fused(table: &mut Table) {
    for dtype in [DType::F32, DType::I32, DType::F64] {
        let cost = if dtype == DType::F32 { Cost::Quick } else { Cost::Long };
        // max(a · b + 1, 0), of a column and a row.
        let steps = vec![
            Step::Binary(Binary { kind: BinaryKind::Mul }, Register(0), Register(1)),
            Step::Constant(Scalar::of(dtype, 1.0)),
            Step::Binary(Binary { kind: BinaryKind::Add }, Register(2), Register(3)),
            Step::Unary(Unary::new(UnaryKind::Relu), Register(4)),
        ];
        let program = Program::new(vec![dtype; 2], steps, vec![Register(5)]).expect("a valid program");
        let inputs = vec![Given::noise(dtype, &[SIDE, 1], 163), Given::noise(dtype, &[1, SIDE], 167)];
        let op = Fused { program: Arc::new(program) };
        // Products of multiples of 1/1024 below 4 have 24 bits at most: nothing rounds.
        table.push(cost, "", op, inputs, Tolerance::EQUAL, |i| {
            let (a, b) = (i[0].numbers(), i[1].numbers());
            Answer::each(move |place| (a[split(place).0] * b[split(place).1] + 1.0).max(0.0))
        });
    }
}

fn drawn(table: &mut Table) {
    let (seed, stream) = (0xdead_beef_0123_4567, 5);
    let word = move |place: usize| philox(seed, stream, place as u64 / 4)[place % 4];
    for dtype in [DType::F32, DType::F64] {
        let cost = if dtype == DType::F32 { Cost::Quick } else { Cost::Long };
        let op = Dropout { rate: Real(0.5), seed, stream };
        let inputs = vec![Given::noise(dtype, &SQUARE, 173)];
        table.push(cost, "", op, inputs, Tolerance::EQUAL, move |i| {
            let x = i[0].clone();
            Answer::each(move |place| if word(place) < 1 << 31 { 2.0 * x.at(place) } else { 0.0 })
        });
    }
    let shape = Shape::new(&SQUARE).expect("a valid shape");
    let mut push = |cost, label: &str, distribution, dtype, value: fn(u32) -> f64| {
        let op = Random { distribution, seed, stream, shape, dtype };
        table.push(cost, label, op, vec![], Tolerance::EQUAL, move |_| {
            Answer::each(move |place| value(word(place)))
        });
    };
    let uniform = |low: f64, high: f64| Distribution::Uniform { low: Real(low), high: Real(high) };
    let unit = |word: u32| f64::from(word >> 8) / 16_777_216.0;
    push(Cost::Quick, "uniform", uniform(0.0, 1.0), DType::F32, unit);
    push(Cost::Long, "integers", uniform(0.0, 1024.0), DType::I32, |word| f64::from(word >> 22));
    let bernoulli = Distribution::Bernoulli { p: Real(0.25) };
    push(Cost::Quick, "bernoulli", bernoulli, DType::Bool, |word| f64::from(u8::from(word < 1 << 30)));
    permutation(table);
}

/// Every number once: what a permutation is, whatever its order.
fn permutation(table: &mut Table) {
    let count = 1 << 20;
    let shape = Shape::new(&[count]).expect("a valid shape");
    let op = Random { distribution: Distribution::Permutation, seed: 3, stream: 4, shape, dtype: DType::I32 };
    table.push(Cost::Long, "permutation", op, vec![], Tolerance::EQUAL, move |_| {
        Answer::plain(
            (0..count).map(|place| crate::suite::random::permuted(op, place, count) as f64).collect(),
        )
    });
}

fn updates(table: &mut Table) {
    let sgd = UpdateKind::Sgd { momentum: Real(0.5), nesterov: false };
    for dtype in [DType::F32, DType::F64] {
        let cost = if dtype == DType::F32 { Cost::Quick } else { Cost::Long };
        let op = Update { kind: sgd, decay: Real(0.0), decoupled: false };
        let big = |seed| Given::noise(dtype, &square(dtype), seed);
        let rates = Given::by(dtype, &[2], |place| if place == 0 { 0.25 } else { 3.0 });
        let inputs = vec![big(179), big(181), rates, big(191)];
        for output in 0..2 {
            let label = format!("output {output}");
            // Halves and quarters of multiples of 1/1024: nothing rounds.
            let reference = move |i: &[Given]| {
                let (p, g, v) = (i[0].clone(), i[1].clone(), i[3].clone());
                Answer::each(move |place| {
                    let velocity = 0.5 * v.at(place) + g.at(place);
                    if output == 1 { velocity } else { p.at(place) - 0.25 * velocity }
                })
            };
            let cost = if output == 0 { cost } else { Cost::Long };
            table.push_output(cost, &label, op, inputs.clone(), output, Tolerance::EQUAL, reference);
        }
    }
}
