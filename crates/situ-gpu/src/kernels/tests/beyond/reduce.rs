//! Reductions of long rows and columns.

use super::super::harness::*;
use situ_core::Axes;
use situ_ir::ops::{Reduce, ReduceKind};

fn reduce(kind: ReduceKind, t: &Tensor, axes: &[isize]) -> Tensor {
    let axes = Axes::of("test", t.layout.shape(), axes).unwrap();
    run(Reduce { kind, axes, keep_dims: false }, &[t])
}

#[test]
fn ones_along_rows_and_columns_are_all_counted() {
    on_every_path(|| {
        for (dims, axes, count, rows) in [
            (&[64, 33_000][..], &[1][..], 33_000, 64),
            (&[64, 70_001], &[1], 70_001, 64),
            (&[3, 200_000], &[1], 200_000, 3),
            (&[40_000, 64], &[0], 40_000, 64),
            (&[70_000, 5], &[0], 70_000, 5),
            (&[6_600, 2_048], &[0], 6_600, 2_048),
            (&[100, 64, 20, 20], &[0, 2, 3], 40_000, 64),
            (&[30, 90, 40, 40], &[0, 2, 3], 48_000, 90),
            (&[3_000_001], &[0], 3_000_001, 1),
        ] {
            let elements: usize = dims.iter().product();
            let t = Tensor::new(dims, &vec![1f32; elements]);
            assert_eq!(reduce(ReduceKind::Sum, &t, axes).read::<f32>(), vec![count as f32; rows], "{dims:?}");
            assert_eq!(reduce(ReduceKind::Mean, &t, axes).read::<f32>(), vec![1.0; rows], "{dims:?}");
        }
        let t = Tensor::new(&[64, 66_000], &vec![1i32; 64 * 66_000]);
        assert_eq!(reduce(ReduceKind::Sum, &t, &[1]).read::<i32>(), [66_000; 64]);
        let one = Tensor::new(&[1, 1], &[1f32]);
        let repeated = one.expand(&[70, 300_000]);
        assert_eq!(reduce(ReduceKind::Sum, &repeated, &[1]).read::<f32>(), [300_000.0; 70]);
    });
}

#[test]
fn the_largest_and_its_place_are_found_wherever_they_stand() {
    on_every_path(|| {
        for (rows, length) in [(64, 50_257), (3, 150_000), (100, 9_001)] {
            let mut data: Vec<f32> = numbers(rows * length, 1).iter().map(|x| x * 0.25).collect();
            let mut want = Vec::new();
            for row in 0..rows {
                let at = (row * 7919 + length - 3) % length;
                // Twice the same: the first of equals is the place.
                let twin = length - 1 - row % 2;
                (data[row * length + at], data[row * length + twin]) = (9.0, 9.0);
                want.push(at.min(twin) as i32);
            }
            let t = Tensor::new(&[rows, length], &data);
            assert_eq!(reduce(ReduceKind::ArgMax, &t, &[1]).read::<i32>(), want, "{rows} x {length}");
            assert_eq!(reduce(ReduceKind::Max, &t, &[1]).read::<f32>(), vec![9.0; rows]);
            // The same along columns, and the smallest.
            let negative: Vec<f32> = data.iter().map(|x| -x).collect();
            let turned: Vec<f32> = Tensor::new(&[rows, length], &negative).permute(&[1, 0]).read();
            let t = Tensor::new(&[length, rows], &turned);
            assert_eq!(reduce(ReduceKind::ArgMin, &t, &[0]).read::<i32>(), want, "{length} x {rows}");
            assert_eq!(reduce(ReduceKind::Min, &t, &[0]).read::<f32>(), vec![-9.0; rows]);
        }
    });
}

#[test]
fn positions_over_several_axes_are_row_major_among_them() {
    on_every_path(|| {
        let (n, c, h, w) = (9, 70, 40, 41);
        let mut data = vec![0f32; n * c * h * w];
        let mut want = Vec::new();
        for channel in 0..c {
            let (i, y, x) = (channel % n, (channel * 3) % h, (channel * 5 + 1) % w);
            data[((i * c + channel) * h + y) * w + x] = 1.0;
            want.push(((i * h + y) * w + x) as i32);
        }
        let t = Tensor::new(&[n, c, h, w], &data);
        assert_eq!(reduce(ReduceKind::ArgMax, &t, &[0, 2, 3]).read::<i32>(), want);
    });
}

#[test]
fn one_bool_among_many_decides() {
    on_every_path(|| {
        for (rows, length) in [(66, 70_003), (3, 140_000)] {
            let lone = |row: usize| (row * 9973 + length - 2) % length;
            let any: Vec<bool> = (0..rows * length)
                .map(|e| (e / length).is_multiple_of(2) && e % length == lone(e / length))
                .collect();
            let all: Vec<bool> = any.iter().map(|x| !x).collect();
            let want: Vec<bool> = (0..rows).map(|row| row % 2 == 0).collect();
            let t = Tensor::new(&[rows, length], &any);
            assert_eq!(reduce(ReduceKind::Any, &t, &[1]).read::<bool>(), want);
            let t = Tensor::new(&[rows, length], &all);
            let not: Vec<bool> = want.iter().map(|x| !x).collect();
            assert_eq!(reduce(ReduceKind::All, &t, &[1]).read::<bool>(), not);
        }
    });
}

#[test]
fn long_sums_and_products_keep_their_precision() {
    on_every_path(|| {
        let (rows, length) = (64, 40_000);
        let data: Vec<f32> = numbers(rows * length, 5).iter().map(|x| x + 2.5).collect();
        let t = Tensor::new(&[rows, length], &data);
        let sums: Vec<f64> = data.chunks(length).map(|r| r.iter().map(|x| f64::from(*x)).sum()).collect();
        assert_close(&reduce(ReduceKind::Sum, &t, &[1]).read(), &sums, 1e-6, 0.0);
        let near: Vec<f32> = data.iter().map(|x| 1.0 + (x - 2.5) * 1e-4).collect();
        let t = Tensor::new(&[rows, length], &near);
        let products: Vec<f64> =
            near.chunks(length).map(|r| r.iter().map(|x| f64::from(*x)).product()).collect();
        assert_close(&reduce(ReduceKind::Prod, &t, &[1]).read(), &products, 1e-3, 0.0);
    });
}
