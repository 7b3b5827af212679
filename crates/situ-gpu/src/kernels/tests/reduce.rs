//! Reductions: every kind, axes, strides, lengths that take each path, special values.

#![allow(clippy::type_complexity, reason = "tables of functions read best as they are")]

use super::harness::*;
use situ_core::Axes;
use situ_ir::ops::{Reduce, ReduceKind};

fn reduce(kind: ReduceKind, t: &Tensor, axes: &[isize]) -> Tensor {
    let axes = Axes::of("test", t.layout.shape(), axes).unwrap();
    run(Reduce { kind, axes, keep_dims: false }, &[t])
}

/// The rows that each output element stands for: elements in row-major order of the reduced axes.
fn rows(t: &Tensor, axes: &[usize]) -> Vec<Vec<f32>> {
    let rank = t.layout.shape().rank();
    let perm: Vec<usize> = (0..rank).filter(|a| !axes.contains(a)).chain(axes.iter().copied()).collect();
    let length: usize = axes.iter().map(|&a| t.layout.shape()[a]).product();
    let data: Vec<f32> = t.permute(&perm).read();
    if length == 0 { Vec::new() } else { data.chunks(length).map(<[f32]>::to_vec).collect() }
}

fn reference(kind: ReduceKind, row: &[f32]) -> f64 {
    let wide = row.iter().map(|x| f64::from(*x));
    let nan = row.iter().any(|x| x.is_nan());
    let pick = |better: fn(f32, f32) -> bool| {
        let mut best = 0;
        for (i, x) in row.iter().enumerate() {
            if (better(*x, row[best]) && !row[best].is_nan()) || (x.is_nan() && !row[best].is_nan()) {
                best = i;
            }
        }
        best as f64
    };
    match kind {
        ReduceKind::Sum => wide.sum(),
        ReduceKind::Mean => wide.sum::<f64>() / row.len() as f64,
        ReduceKind::Prod => wide.product(),
        ReduceKind::Max => {
            if nan {
                f64::NAN
            } else {
                wide.fold(f64::NEG_INFINITY, f64::max)
            }
        }
        ReduceKind::Min => {
            if nan {
                f64::NAN
            } else {
                wide.fold(f64::INFINITY, f64::min)
            }
        }
        ReduceKind::ArgMax => pick(|a, b| a > b),
        ReduceKind::ArgMin => pick(|a, b| a < b),
        ReduceKind::Any | ReduceKind::All => unreachable!("of bools"),
    }
}

const NUMERIC: [ReduceKind; 7] = [
    ReduceKind::Sum,
    ReduceKind::Mean,
    ReduceKind::Max,
    ReduceKind::Min,
    ReduceKind::Prod,
    ReduceKind::ArgMax,
    ReduceKind::ArgMin,
];

fn check(t: &Tensor, axes: &[usize]) {
    let signed: Vec<isize> = axes.iter().map(|&a| a as isize).collect();
    let rows = rows(t, axes);
    for kind in NUMERIC {
        let want: Vec<f64> = rows.iter().map(|row| reference(kind, row)).collect();
        let result = reduce(kind, t, &signed);
        if matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin) {
            let got: Vec<f64> = result.read::<i32>().into_iter().map(f64::from).collect();
            assert_eq!(got, want, "{} over {axes:?} of {}", kind.name(), t.layout.shape());
        } else {
            let length = rows.first().map_or(1.0, |r| r.len() as f64);
            // Every factor of a product rounds once, in whatever order.
            let relative = if kind == ReduceKind::Prod { 2e-6 + length * 6e-8 } else { 2e-6 };
            let absolute = if kind == ReduceKind::Sum { 1e-6 * length.sqrt() } else { 1e-6 };
            assert_close(&result.read(), &want, relative, absolute);
        }
    }
}

#[test]
fn every_kind_over_every_set_of_axes_and_through_views() {
    on_every_path(|| {
        let t = Tensor::new(&[3, 5, 7, 2], &numbers(210, 1));
        for axes in [&[][..], &[0], &[1], &[3], &[0, 2], &[1, 2], &[1, 3], &[0, 1, 2, 3]] {
            check(&t, axes);
        }
        check(&t.permute(&[2, 0, 3, 1]), &[0, 3]);
        check(&t.slice(&[2, 4, 6, 1], &[-1, -2, -1, -1], &[3, 2, 7, 2]), &[1, 2]);
        check(&Tensor::new(&[1, 4], &numbers(4, 9)).expand(&[6, 4]), &[0]);
    });
}

#[test]
fn long_rows_many_columns_and_rows_that_are_cut_up() {
    on_every_path(|| {
        let near_one = |n, salt| numbers(n, salt).iter().map(|x| 1.0 + x * 1e-4).collect::<Vec<f32>>();
        check(&Tensor::new(&[3, 300], &near_one(900, 1)), &[1]);
        check(&Tensor::new(&[90, 2500], &near_one(225_000, 2)), &[0]);
        check(&Tensor::new(&[2, 40_000], &near_one(80_000, 3)), &[1]);
        check(&Tensor::new(&[100_001], &near_one(100_001, 4)), &[0]);
    });
}

#[test]
fn columns_side_by_side_of_one_axis_and_of_several() {
    on_every_path(|| {
        let near_one = |dims: &[usize]| {
            let count = dims.iter().product();
            Tensor::new(
                dims,
                &numbers(count, count as u32).iter().map(|x| 1.0 + x * 1e-4).collect::<Vec<f32>>(),
            )
        };
        check(&near_one(&[700, 40]), &[0]);
        check(&near_one(&[5, 900, 3, 11]), &[1]);
        check(&near_one(&[40, 9, 30, 33]), &[0, 2]);
        check(&near_one(&[9000, 9]), &[0]);
        check(&near_one(&[12, 700, 20]).permute(&[2, 1, 0]), &[1]);
    });
}

#[test]
fn nan_and_infinity_and_nothing() {
    on_every_path(|| {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        check(&Tensor::new(&[5, 2], &[-inf, -inf, nan, 1.0, 1.0, nan, inf, -inf, 3.0, 3.0]), &[1]);
        let mut long = vec![-inf; 600];
        check(&Tensor::new(&[2, 300], &long), &[1]);
        (long[299], long[400], long[450]) = (7.0, nan, nan);
        check(&Tensor::new(&[2, 300], &long), &[1]);
        let empty = Tensor::new::<f32>(&[3, 0], &[]);
        assert_eq!(reduce(ReduceKind::Sum, &empty, &[1]).read::<f32>(), [0.0; 3]);
        assert_eq!(reduce(ReduceKind::Prod, &empty, &[1]).read::<f32>(), [1.0; 3]);
        assert!(reduce(ReduceKind::Mean, &empty, &[1]).read::<f32>().iter().all(|x| x.is_nan()));
        assert_eq!(reduce(ReduceKind::Max, &empty, &[0]).read::<f32>(), [0.0; 0]);
    });
}

#[test]
fn sums_of_many_numbers_keep_their_precision() {
    on_every_path(|| {
        let n = 1 << 20;
        let data: Vec<f32> = numbers(n, 5).iter().map(|x| x + 2.5).collect();
        let want: f64 = data.iter().map(|x| f64::from(*x)).sum();
        assert_close(&reduce(ReduceKind::Sum, &Tensor::new(&[n], &data), &[0]).read(), &[want], 1e-6, 0.0);
        let tall = Tensor::new(&[n / 2048, 2048], &data);
        let want: Vec<f64> =
            rows(&tall, &[0]).iter().map(|r| r.iter().map(|x| f64::from(*x)).sum()).collect();
        assert_close(&reduce(ReduceKind::Sum, &tall, &[0]).read(), &want, 1e-6, 0.0);
    });
}

#[test]
fn integers_are_exact_and_wrap() {
    on_every_path(|| {
        let data: Vec<i32> =
            (0..700).map(|i: i32| i.wrapping_mul(2_654_435).wrapping_sub(900_000_000)).collect();
        for (dims, axes) in [(&[7, 100][..], 1), (&[7, 100], 0), (&[2, 350], 1)] {
            let t = Tensor::new(dims, &data);
            let perm = if axes == 0 { [1, 0] } else { [0, 1] };
            let laid: Vec<i32> = t.permute(&perm).read();
            let rows: Vec<&[i32]> = laid.chunks(dims[axes]).collect();
            let cases: [(ReduceKind, fn(&[i32]) -> i32); 6] = [
                (ReduceKind::Sum, |r| r.iter().fold(0, |a, b| a.wrapping_add(*b))),
                (ReduceKind::Prod, |r| r.iter().fold(1, |a, b| a.wrapping_mul(*b))),
                (ReduceKind::Max, |r| *r.iter().max().unwrap()),
                (ReduceKind::Min, |r| *r.iter().min().unwrap()),
                (ReduceKind::ArgMax, |r| r.iter().position(|x| x == r.iter().max().unwrap()).unwrap() as i32),
                (ReduceKind::ArgMin, |r| r.iter().position(|x| x == r.iter().min().unwrap()).unwrap() as i32),
            ];
            for (kind, reference) in cases {
                let want: Vec<i32> = rows.iter().map(|r| reference(r)).collect();
                assert_eq!(reduce(kind, &t, &[axes as isize]).read::<i32>(), want, "{}", kind.name());
            }
        }
    });
}

#[test]
fn any_and_all_of_bools() {
    on_every_path(|| {
        for columns in [1, 3, 64, 65, 300] {
            let data: Vec<bool> = (0..9 * columns)
                .map(|i| i / columns % 3 == 1 || (i / columns % 3 == 2 && i % columns == columns - 1))
                .collect();
            let t = Tensor::new(&[9, columns], &data);
            let rows: Vec<&[bool]> = data.chunks(columns).collect();
            let any: Vec<bool> = rows.iter().map(|r| r.iter().any(|x| *x)).collect();
            let all: Vec<bool> = rows.iter().map(|r| r.iter().all(|x| *x)).collect();
            assert_eq!(reduce(ReduceKind::Any, &t, &[1]).read::<bool>(), any, "{columns}");
            assert_eq!(reduce(ReduceKind::All, &t, &[1]).read::<bool>(), all, "{columns}");
        }
        let empty = Tensor::new::<bool>(&[5, 0], &[]);
        assert_eq!(reduce(ReduceKind::Any, &empty, &[1]).read::<bool>(), [false; 5]);
        assert_eq!(reduce(ReduceKind::All, &empty, &[1]).read::<bool>(), [true; 5]);
    });
}
