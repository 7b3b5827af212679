//! Rows against plain loops in double precision, at every level and with several thread counts.

use super::*;
use crate::exec::Exec;
use crate::level::Level;
use crate::threads::Threads;

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 10_007) as f32 / 500.0 - 10.0).collect()
}

fn softmax_reference(x: &[f32]) -> Vec<f64> {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let e: Vec<f64> = x.iter().map(|x| (f64::from(*x) - f64::from(max)).exp()).collect();
    let total: f64 = e.iter().sum();
    e.iter().map(|e| e / total).collect()
}

/// Runs `f` on several pools at one level; all must give the same bits.
fn on_all_pools(level: Level, streaming_bytes: usize, mut f: impl FnMut(&Exec<'_>) -> Vec<f32>) -> Vec<f32> {
    let mut first: Option<Vec<f32>> = None;
    for count in [1, 2, 3, 5] {
        let threads = Threads::new(count, None).unwrap();
        let out = f(&Exec { level, threads: &threads, streaming_bytes });
        let first = first.get_or_insert_with(|| out.clone());
        assert!(first.iter().zip(&out).all(|(a, b)| a.to_bits() == b.to_bits()), "{level} {count} threads");
    }
    first.unwrap()
}

const SHAPES: [(usize, usize); 9] =
    [(0, 5), (5, 0), (1, 1), (3, 7), (32, 365), (2, 1025), (100, 33), (4, 5000), (3, 70_000)];

#[test]
fn softmax_and_its_logarithm_are_right_for_any_row_length() {
    for (rows, columns) in SHAPES {
        let x = values(rows * columns);
        for (level, streaming) in Level::available().into_iter().flat_map(|l| [(l, usize::MAX), (l, 1)]) {
            for log in [false, true] {
                let out = on_all_pools(level, streaming, |exec| {
                    let mut y = vec![0.0; x.len()];
                    // SAFETY: as many results as elements.
                    unsafe { softmax(exec, log, x.as_ptr(), y.as_mut_ptr(), rows, columns) };
                    y
                });
                for row in 0..rows {
                    let range = row * columns..(row + 1) * columns;
                    for (got, want) in out[range.clone()].iter().zip(softmax_reference(&x[range])) {
                        // A logarithm near 0 is as exact as the sum near 1 that it is taken of.
                        let slack = if log { 2e-7 } else { 1e-12 };
                        let (got, want) = (f64::from(*got), if log { want.ln() } else { want });
                        assert!(
                            (got - want).abs() <= 2e-6 * want.abs() + slack,
                            "{rows}x{columns} {got} {want}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn softmax_over_a_middle_axis_is_that_of_the_transposed_rows() {
    for (outer, length, inner) in [(1, 5, 3), (2, 33, 7), (3, 4, 300), (1, 700, 2), (2, 0, 3), (0, 3, 3)] {
        let x = values(outer * length * inner);
        for level in Level::available() {
            for log in [false, true] {
                let out = on_all_pools(level, usize::MAX, |exec| {
                    let mut y = vec![0.0; x.len()];
                    // SAFETY: as many results as elements.
                    unsafe { softmax_columns(exec, log, x.as_ptr(), y.as_mut_ptr(), outer, length, inner) };
                    y
                });
                for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
                    let at = |k: usize| (o * length + k) * inner + i;
                    let row: Vec<f32> = (0..length).map(|k| x[at(k)]).collect();
                    for (k, want) in softmax_reference(&row).into_iter().enumerate() {
                        let slack = if log { 2e-7 } else { 1e-12 };
                        let (got, want) = (f64::from(out[at(k)]), if log { want.ln() } else { want });
                        assert!((got - want).abs() <= 2e-6 * want.abs() + slack);
                    }
                }
            }
        }
    }
}

#[test]
fn masked_elements_get_no_weight_and_nan_spoils_only_its_row() {
    let threads = Threads::new(1, None).unwrap();
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for level in Level::available() {
        let exec = Exec::new(&threads).with_level(level);
        let x = [1.0, -inf, 1.0, -inf, nan, 0.0, 0.0, 0.0, -inf, -inf, -inf, -inf, 1e30, -1e30, 0.0, 0.0];
        let mut y = [9.0f32; 16];
        // SAFETY: four rows of four.
        unsafe { softmax(&exec, false, x.as_ptr(), y.as_mut_ptr(), 4, 4) };
        assert_eq!(y[..4], [0.5, 0.0, 0.5, 0.0]);
        assert!(y[4..12].iter().all(|y| y.is_nan()));
        assert_eq!(y[12..], [1.0, 0.0, 0.0, 0.0]);
        // SAFETY: the same, as columns.
        unsafe { softmax_columns(&exec, true, x.as_ptr(), y.as_mut_ptr(), 1, 4, 4) };
        assert!([0, 4, 8, 12].iter().all(|i| y[*i].is_nan()));
        assert_eq!(y[1], -inf);
    }
}

#[test]
fn masks_and_nan_are_kept_apart_in_rows_of_many_pieces() {
    let columns = 5000;
    let inf = f32::INFINITY;
    // A row with whole pieces masked, one all masked, one with a NaN, one with +inf, and one that falls by
    // 200 over its length.
    let mut x = vec![-inf; 5 * columns];
    x[3000..3010].fill(2.0);
    x[2 * columns..4 * columns].fill(1.0);
    x[2 * columns + 4321] = f32::NAN;
    x[3 * columns + 77] = inf;
    (0..columns).for_each(|i| x[4 * columns + i] = -(i as f32) / 25.0);
    for (level, streaming) in Level::available().into_iter().flat_map(|l| [(l, usize::MAX), (l, 1)]) {
        let y = on_all_pools(level, streaming, |exec| {
            let mut y = vec![9.0; x.len()];
            // SAFETY: as many results as elements.
            unsafe { softmax(exec, false, x.as_ptr(), y.as_mut_ptr(), 5, columns) };
            y
        });
        let (masked, rest) = y.split_at(columns);
        assert!(masked[3000..3010].iter().all(|y| (*y - 0.1).abs() < 1e-7), "{level}");
        assert!(masked[..3000].iter().chain(&masked[3010..]).all(|y| *y == 0.0), "{level}");
        assert!(rest[..3 * columns].iter().all(|y| y.is_nan()), "{level}");
        let falling = &rest[3 * columns..];
        for (got, want) in falling.iter().zip(softmax_reference(&x[4 * columns..])) {
            assert!((f64::from(*got) - want).abs() <= 2e-6 * want + 2e-38, "{level} {got} {want}");
        }
    }
}

#[test]
fn cross_entropies_agree_with_the_logarithm_of_softmax() {
    for (rows, columns) in SHAPES.into_iter().filter(|s| s.1 > 0) {
        let x = values(rows * columns);
        let labels: Vec<i64> = (0..rows).map(|row| ((row * 31) % columns) as i64).collect();
        let mut weights = vec![0.0f32; x.len()];
        for (row, label) in labels.iter().enumerate() {
            weights[row * columns + *label as usize] += 0.75;
            weights[row * columns + columns / 2] += 0.25;
        }
        for level in Level::available() {
            let sparse = on_all_pools(level, usize::MAX, |exec| {
                let mut y = vec![0.0; rows];
                // SAFETY: one label and one result for each row.
                unsafe {
                    sparse_cross_entropy(exec, x.as_ptr(), labels.as_ptr(), y.as_mut_ptr(), rows, columns)
                }
                .unwrap();
                y
            });
            let dense = on_all_pools(level, usize::MAX, |exec| {
                let mut y = vec![0.0; rows];
                // SAFETY: labels of the shape of logits, one result for each row.
                unsafe { cross_entropy(exec, x.as_ptr(), weights.as_ptr(), y.as_mut_ptr(), rows, columns) };
                y
            });
            for row in 0..rows {
                let p = softmax_reference(&x[row * columns..(row + 1) * columns]);
                let want = -p[labels[row] as usize].ln();
                assert!((f64::from(sparse[row]) - want).abs() <= 2e-6 * (want.abs() + 1.0));
                let want = 0.75 * want - 0.25 * p[columns / 2].ln();
                assert!((f64::from(dense[row]) - want).abs() <= 4e-6 * (want.abs() + 1.0));
            }
        }
    }
}

#[test]
fn a_label_out_of_range_names_the_first_bad_row() {
    let threads = Threads::new(3, None).unwrap();
    let exec = Exec::new(&threads);
    let x = values(30_000);
    for (row, label) in [(7, 10), (2999, -1), (0, i32::MAX)] {
        let mut labels = vec![3i32; 3000];
        labels[row] = label;
        labels[2999] = -1;
        let mut y = vec![0.0f32; 3000];
        // SAFETY: 3000 rows of 10 with a label and a result each.
        let result =
            unsafe { sparse_cross_entropy(&exec, x.as_ptr(), labels.as_ptr(), y.as_mut_ptr(), 3000, 10) };
        assert_eq!(result, Err(BadLabel { row, label: label.into() }));
    }
}

#[test]
fn layer_norm_is_right_and_keeps_precision_far_from_zero() {
    for (rows, columns) in SHAPES {
        for offset in [0.0f32, 1000.0] {
            let x: Vec<f32> = values(rows * columns).iter().map(|x| x + offset).collect();
            let scale: Vec<f32> = (0..columns).map(|i| 0.5 + (i % 7) as f32).collect();
            let shift: Vec<f32> = (0..columns).map(|i| (i % 5) as f32 - 2.0).collect();
            for (level, streaming) in Level::available().into_iter().flat_map(|l| [(l, usize::MAX), (l, 1)]) {
                let out = on_all_pools(level, streaming, |exec| {
                    let mut y = vec![0.0; x.len()];
                    // SAFETY: as many results as elements.
                    unsafe { layer_norm(exec, 1e-5, x.as_ptr(), &scale, &shift, y.as_mut_ptr(), rows) };
                    y
                });
                for row in 0..rows {
                    let x: Vec<f64> =
                        x[row * columns..(row + 1) * columns].iter().map(|x| f64::from(*x)).collect();
                    let mean = x.iter().sum::<f64>() / columns as f64;
                    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
                    for i in 0..columns {
                        let want = (x[i] - mean) / (variance + 1e-5).sqrt() * f64::from(scale[i])
                            + f64::from(shift[i]);
                        let got = f64::from(out[row * columns + i]);
                        assert!(
                            (got - want).abs()
                                <= 2e-3 * f64::from(offset) / 1000.0 + 2e-5 * (want.abs() + 1.0),
                            "{got} {want}"
                        );
                    }
                }
            }
        }
    }
}
