//! Every dtype that GPUs have: exact where the CPU's arithmetic is, at lengths that fill no word, through
//! views that begin within one. References are Rust's own integers, f64, and the conversions of scalars.

use super::harness::*;
use crate::kernels::elem::Elem;
use situ_core::{Axes, DType, Scalar, f16};
use situ_ir::ops::fused::{Fused, Program, Register, Step};
use situ_ir::ops::{
    Binary, BinaryKind, Cast, Concat, Cumsum, Dense, Gather, Matmul, Pad, Reduce, ReduceKind, ScatterAdd,
    Unary, UnaryKind, Where,
};
use std::sync::Arc;

/// Lengths around words, and one of more than a workgroup, or a dispatch, has.
const LENGTHS: [usize; 7] = [0, 1, 2, 3, 7, 1025, 100_003];

/// Elements of a dtype from all over its range.
fn spread(dtype: DType, count: usize, salt: u64) -> Vec<Scalar> {
    (0..count as u64)
        .map(|i| {
            let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (salt << 17)).rotate_left(29) ^ (i << 3);
            match dtype {
                DType::Bool => Scalar::Bool(mixed & 1 == 1),
                // Quarters: sums and products of two are exact in f32.
                _ if dtype.is_float() => Scalar::of(dtype, (mixed % 2001) as f64 / 4.0 - 250.0),
                _ => Scalar::from_bits(dtype, mixed >> (64 - 8 * dtype.size())),
            }
        })
        .collect()
}

/// The dtypes of numbers that the device computes with.
fn numbers_of() -> impl Iterator<Item = DType> {
    let features = device().map(|device| device.description().features.clone()).unwrap_or_default();
    let wide = features.iter().any(|feature| feature == "64-bit integers");
    Elem::NUMBERS.iter().copied().filter(move |dtype| wide || dtype.size() < 8)
}

/// A function of two elements, computed without bounds and then held by their dtype.
fn exact(kind: BinaryKind, a: Scalar, b: Scalar) -> Scalar {
    match (a.to_whole(), b.to_whole()) {
        (Some(x), Some(y)) => Scalar::of_whole(
            a.dtype(),
            match kind {
                BinaryKind::Add => x + y,
                BinaryKind::Sub => x - y,
                BinaryKind::Mul => x.wrapping_mul(y),
                BinaryKind::Div => x / y,
                BinaryKind::Rem => x % y,
                BinaryKind::Maximum => x.max(y),
                _ => x.min(y),
            },
        ),
        _ => {
            let (x, y) = (a.to_f64(), b.to_f64());
            let exact = match kind {
                BinaryKind::Add => x + y,
                BinaryKind::Sub => x - y,
                BinaryKind::Mul => x * y,
                BinaryKind::Maximum => x.max(y),
                _ => x.min(y),
            };
            Scalar::of(a.dtype(), exact)
        }
    }
}

#[test]
fn arithmetic_of_every_dtype_is_exact_at_every_length_and_offset() {
    if device().is_none() {
        return;
    }
    let kinds = [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Maximum, BinaryKind::Minimum];
    for dtype in numbers_of() {
        for n in LENGTHS {
            let (x, mut y) = (spread(dtype, n + 5, 1), spread(dtype, n + 5, 2));
            // The least by -1, and no division by zero.
            if dtype.is_integer() {
                y.iter_mut().step_by(11).for_each(|v| *v = Scalar::of_whole(dtype, -1));
                y.iter_mut().filter(|v| v.bits() == 0).for_each(|v| *v = Scalar::of_whole(dtype, 3));
            }
            let (a, b) = (Tensor::of(dtype, &[n + 5], &x), Tensor::of(dtype, &[n + 5], &y));
            let whole = dtype.is_integer().then_some([BinaryKind::Div, BinaryKind::Rem]);
            for kind in kinds.into_iter().chain(whole.into_iter().flatten()) {
                // From the start, from within a word, and every second element.
                for (start, step, count) in [(0, 1, n), (3, 1, n), (1, 2, n.div_ceil(2))] {
                    let view = |t: &Tensor| t.slice(&[start], &[step], &[count]);
                    let got = run(Binary { kind }, &[&view(&a), &view(&b)]).scalars();
                    let want: Vec<Scalar> = (0..count)
                        .map(|i| start + i * step as usize)
                        .map(|at| exact(kind, x[at], y[at]))
                        .collect();
                    let wrong = (0..count).find(|&i| got[i] != want[i]);
                    assert_eq!(
                        wrong.map(|i| (i, got[i], want[i])),
                        None,
                        "{} {dtype} {n} {start}",
                        kind.name()
                    );
                }
            }
        }
    }
}

#[test]
fn comparisons_signs_and_clips_of_every_integer_are_those_of_whole_numbers() {
    if device().is_none() {
        return;
    }
    for dtype in numbers_of().filter(|d| d.is_integer()) {
        let n = 4099;
        let (x, mut y) = (spread(dtype, n, 1), spread(dtype, n, 2));
        y.iter_mut().zip(&x).step_by(5).for_each(|(y, x)| *y = *x);
        let (a, b) = (Tensor::of(dtype, &[n], &x), Tensor::of(dtype, &[n], &y));
        let whole = |v: &Scalar| v.to_whole().unwrap();
        for (kind, f) in [
            (BinaryKind::Less, (|x, y| x < y) as fn(i128, i128) -> bool),
            (BinaryKind::GreaterEqual, |x, y| x >= y),
            (BinaryKind::Equal, |x, y| x == y),
        ] {
            let got: Vec<bool> = run(Binary { kind }, &[&a, &b]).read();
            let want: Vec<bool> = x.iter().zip(&y).map(|(x, y)| f(whole(x), whole(y))).collect();
            assert_eq!(got, want, "{} {dtype}", kind.name());
        }
        let range = dtype.whole_range().unwrap();
        let within = |v: i128| v.clamp((-50).max(*range.start()), 100);
        let ops: [(Unary, &dyn Fn(i128) -> i128); 5] = [
            (Unary::new(UnaryKind::Neg), &|v| -v),
            (Unary::new(UnaryKind::Abs), &i128::abs),
            (Unary::new(UnaryKind::Sign), &i128::signum),
            (Unary::new(UnaryKind::Relu), &|v| v.max(0)),
            (Unary::with(UnaryKind::Clip, -50.0, 100.5), &within),
        ];
        for (op, f) in ops {
            let got = run(op, &[&a]).scalars();
            let want: Vec<Scalar> = x.iter().map(|v| Scalar::of_whole(dtype, f(whole(v)))).collect();
            assert_eq!(got, want, "{} {dtype}", op.kind.name());
        }
    }
}

#[test]
fn every_dtype_converts_to_every_other_as_scalars_do() {
    if device().is_none() {
        return;
    }
    for &from in Elem::DTYPES {
        let mut x = spread(from, 2000, 3);
        if from.is_float() {
            // Every exponent and both signs, ties, the ends of ranges, and what is no number.
            let bits = 8 * from.size();
            x.extend(
                (0..4000u64)
                    .map(|i| Scalar::from_bits(from, i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits))),
            );
            for end in [7, 8, 15, 16, 31, 32, 63, 64] {
                for off in [-1.0, -0.5, 0.0, 0.5, 1.0] {
                    let v = 2f64.powi(end) + off;
                    x.extend([Scalar::of(from, v), Scalar::of(from, -v)]);
                }
            }
            x.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0].map(|v| Scalar::of(from, v)));
            // Drivers may take denormals of f32 for zeros.
            let least = f64::from(f32::MIN_POSITIVE);
            x.retain(|v| v.is_nan() || v.to_f64() == 0.0 || v.to_f64().abs() >= least);
        } else if from.size() >= 4 {
            // Sums of two powers of two: the second is cut off, or decides a tie.
            x.extend((0..8 * from.size()).flat_map(|high| {
                (0..high).flat_map(move |low| {
                    let v = (1i128 << high) + (1 << low);
                    [v, -v, v + (1 << (low / 2))].map(|v| Scalar::of_whole(from, v))
                })
            }));
        }
        let tensor = Tensor::of(from, &[x.len()], &x);
        for &to in Elem::DTYPES {
            let got = run(Cast { to }, &[&tensor]).scalars();
            for (v, got) in x.iter().zip(got) {
                let want = v.cast(to);
                let denormal = to.is_float() && want.to_f64().abs() < f64::from(f32::MIN_POSITIVE);
                assert!(
                    got == want || (got.is_nan() && want.is_nan()) || (denormal && got.to_f64() == 0.0),
                    "{v:?} to {to}: {got:?}, not {want:?}"
                );
            }
        }
    }
}

#[test]
fn f32_rounds_to_f16_to_the_nearest_even_around_every_tie() {
    if device().is_none() {
        return;
    }
    // Each f16, the middle to its neighbour, and the f32 next to either.
    let mut x = Vec::new();
    for bits in 0..0x7c00u16 {
        let here = f16::from_bits(bits).to_f32();
        let next = if bits == 0x7bff { 65536.0 } else { f16::from_bits(bits + 1).to_f32() };
        let middle = (here + next) / 2.0;
        x.extend([here, middle.next_down(), middle, middle.next_up()]);
    }
    let signed: Vec<f32> = x.iter().flat_map(|v| [*v, -v]).collect();
    let tensor = Tensor::new(&[signed.len()], &signed);
    let got: Vec<f16> = run(Cast { to: DType::F16 }, &[&tensor]).read();
    for (v, got) in signed.iter().zip(&got) {
        assert_eq!(got.to_bits(), f16::from_f32(*v).to_bits(), "{v:e}");
    }
    let halves: Vec<Scalar> = (0..=u16::MAX).map(|bits| Scalar::F16(f16::from_bits(bits))).collect();
    let back: Vec<f32> =
        run(Cast { to: DType::F32 }, &[&Tensor::of(DType::F16, &[halves.len()], &halves)]).read();
    for (bits, got) in (0..=u16::MAX).zip(back) {
        let want = f16::from_bits(bits).to_f32();
        assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{bits:#x}: {got:e}");
    }
}

#[test]
fn elements_of_every_size_are_moved_as_they_are() {
    if device().is_none() {
        return;
    }
    for &dtype in Elem::DTYPES {
        for columns in [1, 3, 5, 333] {
            let (rows, n) = (301, 301 * columns);
            let x = spread(dtype, n, 4);
            let a = Tensor::of(dtype, &[rows, columns], &x);
            let turned = a.permute(&[1, 0]);
            assert_eq!(run(Dense, &[&turned]).scalars(), turned.scalars(), "{dtype}");
            let back = a.slice(&[rows - 1, 0], &[-1, 1], &[rows, columns]);
            assert_eq!(run(Dense, &[&back]).scalars(), back.scalars(), "{dtype}");
            let joined = run(Concat { axis: 1 }, &[&a, &back]).scalars();
            let backwards = back.scalars();
            for row in 0..rows {
                let at = 2 * columns * row;
                assert_eq!(joined[at..at + columns], x[columns * row..columns * (row + 1)], "{dtype}");
                assert_eq!(
                    joined[at + columns..at + 2 * columns],
                    backwards[columns * row..columns * (row + 1)]
                );
            }
            let value = Scalar::of(dtype, 1.0);
            let padded = run(Pad::new(&[(0, 1), (1, 0)], value).unwrap(), &[&a]).scalars();
            for row in 0..=rows {
                let line = &padded[row * (columns + 1)..(row + 1) * (columns + 1)];
                assert_eq!(line[0], value, "{dtype}");
                for (c, got) in line[1..].iter().enumerate() {
                    assert_eq!(*got, if row == rows { value } else { x[row * columns + c] }, "{dtype}");
                }
            }
            let picked: Vec<i32> = (0..200).map(|i| i * 37 % rows as i32).collect();
            let got = run(Gather { axis: 0 }, &[&a, &Tensor::new(&[200], &picked)]).scalars();
            for (row, from) in picked.iter().enumerate() {
                let from = *from as usize * columns;
                assert_eq!(got[row * columns..(row + 1) * columns], x[from..from + columns], "{dtype}");
            }
            let choice: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
            let chosen = run(Where, &[&Tensor::new(&[rows, columns], &choice), &a, &back]).scalars();
            let want: Vec<Scalar> = (0..n).map(|i| if choice[i] { x[i] } else { backwards[i] }).collect();
            assert_eq!(chosen, want, "{dtype}");
        }
    }
}

fn reduce(kind: ReduceKind, axis: usize) -> Reduce {
    Reduce { kind, axes: Axes::one(axis), keep_dims: false }
}

#[test]
fn integers_of_every_size_are_summed_modulo_their_range() {
    on_every_path(|| {
        for dtype in numbers_of().filter(|d| d.is_integer()) {
            for [rows, columns] in [[3, 100_003], [5, 70], [2501, 3], [1, 1]] {
                let x = spread(dtype, rows * columns, 5);
                let a = Tensor::of(dtype, &[rows, columns], &x);
                let whole = |v: &Scalar| v.to_whole().unwrap();
                let by_row = |f: &dyn Fn(&[Scalar]) -> i128| -> Vec<Scalar> {
                    x.chunks(columns).map(|row| Scalar::of_whole(dtype, f(row))).collect()
                };
                let cases: [(ReduceKind, Vec<Scalar>); 4] = [
                    (ReduceKind::Sum, by_row(&|row| row.iter().map(whole).sum())),
                    (
                        ReduceKind::Prod,
                        by_row(&|row| row.iter().map(whole).fold(1, |a: i128, b| a.wrapping_mul(b))),
                    ),
                    (ReduceKind::Max, by_row(&|row| row.iter().map(whole).max().unwrap())),
                    (ReduceKind::Min, by_row(&|row| row.iter().map(whole).min().unwrap())),
                ];
                for (kind, want) in cases {
                    let got = run(reduce(kind, 1), &[&a]).scalars();
                    assert_eq!(got, want, "{} {dtype} {rows} x {columns}", kind.name());
                }
                let got: Vec<i32> = run(reduce(ReduceKind::ArgMax, 1), &[&a]).read();
                for (row, got) in x.chunks(columns).zip(got) {
                    let best = row.iter().map(whole).max().unwrap();
                    assert_eq!(row.iter().position(|v| whole(v) == best), Some(got as usize), "{dtype}");
                }
            }
        }
    });
}

#[test]
fn integers_of_every_size_multiply_accumulate_and_scatter_modulo_their_range() {
    on_both_paths(|| {
        for dtype in numbers_of().filter(|d| d.is_integer()) {
            let whole = |v: &Scalar| v.to_whole().unwrap();
            let (m, k, n) = (37, 129, 43);
            let (x, y) = (spread(dtype, m * k, 6), spread(dtype, k * n, 7));
            let (a, b) = (Tensor::of(dtype, &[m, k], &x), Tensor::of(dtype, &[k, n], &y));
            let got = run(Matmul::default(), &[&a, &b]).scalars();
            for (at, got) in got.into_iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let sum = (0..k).fold(0i128, |sum, l| {
                    sum.wrapping_add(whole(&x[i * k + l]).wrapping_mul(whole(&y[l * n + j])))
                });
                assert_eq!(got, Scalar::of_whole(dtype, sum), "matmul {dtype} at {i}, {j}");
            }
            for length in [3, 5001] {
                let x = spread(dtype, length, 8);
                let op = Cumsum { axis: 0, exclusive: false, reverse: false };
                let got = run(op, &[&Tensor::of(dtype, &[length], &x)]).scalars();
                let mut sum = 0;
                for (x, got) in x.iter().zip(got) {
                    sum += whole(x);
                    assert_eq!(got, Scalar::of_whole(dtype, sum), "cumsum {dtype}");
                }
            }
            for count in [100, 3000] {
                let (rows, columns) = (17, 3);
                let (base, updates) = (spread(dtype, rows * columns, 9), spread(dtype, count * columns, 10));
                let indices: Vec<i32> = (0..count).map(|i| (i * i % rows) as i32).collect();
                let mut want: Vec<i128> = base.iter().map(whole).collect();
                for (i, at) in indices.iter().enumerate() {
                    for c in 0..columns {
                        want[*at as usize * columns + c] += whole(&updates[i * columns + c]);
                    }
                }
                let got = run(
                    ScatterAdd { axis: 0 },
                    &[
                        &Tensor::of(dtype, &[rows, columns], &base),
                        &Tensor::new(&[count], &indices),
                        &Tensor::of(dtype, &[count, columns], &updates),
                    ],
                );
                let want: Vec<Scalar> = want.into_iter().map(|v| Scalar::of_whole(dtype, v)).collect();
                assert_eq!(got.scalars(), want, "scatter_add {dtype}");
            }
        }
    });
}

/// Whether two numbers of a dtype are the same, or neighbours.
fn near(got: Scalar, want: f64) -> bool {
    let dtype = got.dtype();
    let epsilon = 2f64.powi(1 - dtype.significand_bits().unwrap() as i32);
    (got.to_f64() - want).abs() <= epsilon * want.abs() + dtype.least_normal().unwrap() * epsilon
}

#[test]
fn sums_and_products_of_halves_are_accumulated_in_f32() {
    on_both_paths(|| {
        for dtype in [DType::F16, DType::BF16] {
            // In 16 bits a sum of these stops growing long before its end.
            let n = 100_003;
            let ones = Tensor::of(dtype, &[1, n], &vec![Scalar::of(dtype, 0.5); n]);
            let sum = run(reduce(ReduceKind::Sum, 1), &[&ones]).scalars()[0];
            assert!(near(sum, n as f64 / 2.0), "{sum:?}");
            let (m, k, columns) = (33, 2049, 65);
            let values = |count, salt| -> Vec<Scalar> {
                numbers(count, salt).into_iter().map(|v| Scalar::of(dtype, f64::from(v))).collect()
            };
            let (x, y) = (values(m * k, 1), values(k * columns, 2));
            let (a, b) = (Tensor::of(dtype, &[m, k], &x), Tensor::of(dtype, &[k, columns], &y));
            for (at, got) in run(Matmul::default(), &[&a, &b]).scalars().into_iter().enumerate() {
                let (i, j) = (at / columns, at % columns);
                let terms = (0..k).map(|l| x[i * k + l].to_f64() * y[l * columns + j].to_f64());
                let (want, size) = terms.fold((0.0, 0.0), |(sum, size), t: f64| (sum + t, size + t.abs()));
                // What f32 may lose of a sum of so many terms that cancel.
                let lost = size * k as f64 * 2f64.powi(-24);
                let error = (got.to_f64() - want).abs();
                assert!(near(got, want) || error <= lost, "{got:?}, {want}");
            }
            let rows = values(7 * 1001, 3);
            let means = run(reduce(ReduceKind::Mean, 1), &[&Tensor::of(dtype, &[7, 1001], &rows)]).scalars();
            for (row, got) in rows.chunks(1001).zip(means) {
                let want = row.iter().map(|v| v.to_f64()).sum::<f64>() / 1001.0;
                assert!(near(got, want) || (got.to_f64() - want).abs() < 1e-6, "{got:?}, {want}");
            }
        }
    });
}

#[test]
fn fused_steps_on_narrow_dtypes_round_and_wrap_one_by_one() {
    if device().is_none() {
        return;
    }
    let r = |n: u16| Register(n);
    for dtype in numbers_of() {
        // (a + b) · b - a, where sums do not fit, and a constant.
        let steps = [BinaryKind::Add, BinaryKind::Mul, BinaryKind::Sub];
        let constant = Scalar::of(dtype, 3.0);
        let program = Program::new(
            vec![dtype; 2],
            vec![
                Step::Binary(Binary { kind: steps[0] }, r(0), r(1)),
                Step::Binary(Binary { kind: steps[1] }, r(2), r(1)),
                Step::Binary(Binary { kind: steps[2] }, r(3), r(0)),
                Step::Constant(constant),
                Step::Binary(Binary { kind: BinaryKind::Maximum }, r(4), r(5)),
                Step::Binary(Binary { kind: BinaryKind::Less }, r(4), r(5)),
            ],
            vec![r(6), r(7), r(4)],
        );
        let op = Fused { program: Arc::new(program.unwrap()) };
        for (rows, columns) in [(1, 1), (3, 5), (101, 1003)] {
            let n = rows * columns;
            let (x, y) = (spread(dtype, n, 11), spread(dtype, n, 12));
            let a = Tensor::of(dtype, &[rows, columns], &x);
            let b = Tensor::of(dtype, &[rows, columns], &y);
            let turned = Tensor::of(dtype, &[columns, rows], &y).permute(&[1, 0]);
            for other in [&b, &turned] {
                let y = other.scalars();
                let want: Vec<Scalar> = (0..n)
                    .map(|i| exact(steps[2], exact(steps[1], exact(steps[0], x[i], y[i]), y[i]), x[i]))
                    .collect();
                let got = run_all(op.clone(), &[&a, other]);
                assert_eq!(got[2].scalars(), want, "{dtype}");
                let larger: Vec<Scalar> =
                    want.iter().map(|v| exact(BinaryKind::Maximum, *v, constant)).collect();
                assert_eq!(got[0].scalars(), larger, "{dtype}");
                let below: Vec<bool> = want.iter().map(|v| v.to_f64() < 3.0).collect();
                assert_eq!(got[1].read::<bool>(), below, "{dtype}");
            }
        }
    }
}
