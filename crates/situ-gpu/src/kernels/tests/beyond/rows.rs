//! Softmax, cross-entropies and layer norm of rows as long as a vocabulary, and longer.

use super::super::harness::*;
use situ_core::Real;
use situ_core::error::Fault;
use situ_ir::ops::{CrossEntropy, LayerNorm, Softmax, SparseCrossEntropy};

const SIZES: [(usize, usize); 3] = [(64, 22_000), (3, 70_001), (70, 5_000)];

fn log_softmax(row: &[f32]) -> Vec<f64> {
    let max = row.iter().fold(f64::NEG_INFINITY, |m, x| m.max(f64::from(*x)));
    let broken = !max.is_finite() || row.iter().any(|x| x.is_nan());
    let log = row.iter().map(|x| (f64::from(*x) - max).exp()).sum::<f64>().ln();
    row.iter().map(|x| if broken { f64::NAN } else { f64::from(*x) - max - log }).collect()
}

/// Numbers around 0, with some rows that are masked in part, or have no meaning.
fn logits(rows: usize, length: usize) -> Vec<f32> {
    let mut data: Vec<f32> = numbers(rows * length, 1).iter().map(|x| x * 4.0).collect();
    let (inf, row) = (f32::INFINITY, |i: usize| i * length..(i + 1) * length);
    // Whole cuts of a row may be masked.
    data[row(0)][..length - 5].fill(-inf);
    data[row(1)].fill(-inf);
    if rows > 3 {
        data[row(2)][length - 2] = f32::NAN;
        data[row(3)][length / 2] = inf;
    }
    data
}

#[test]
fn every_element_of_a_long_softmax_is_right() {
    on_every_path(|| {
        for (rows, length) in SIZES {
            let data = logits(rows, length);
            let want: Vec<f64> = data.chunks(length).flat_map(log_softmax).collect();
            let t = Tensor::new(&[rows, length], &data);
            assert_close(&run(Softmax { axis: 1, log: true }, &[&t]).read(), &want, 2e-6, 4e-6);
            let plain: Vec<f64> = want.iter().map(|x| x.exp()).collect();
            assert_close(&run(Softmax { axis: 1, log: false }, &[&t]).read(), &plain, 1e-5, 2e-38);
            // Down the columns: through a view, and of a dense tensor.
            let down = run(Softmax { axis: 0, log: true }, &[&t.permute(&[1, 0])]);
            assert_close(&down.permute(&[1, 0]).read(), &want, 2e-6, 4e-6);
        }
        let same = Tensor::new(&[64, 30_000], &vec![0.5f32; 64 * 30_000]);
        let got: Vec<f32> = run(Softmax { axis: 1, log: false }, &[&same]).read();
        assert_close(&got, &vec![1.0 / 30_000.0; 64 * 30_000], 1e-6, 0.0);
    });
}

#[test]
fn cross_entropies_count_every_class() {
    on_every_path(|| {
        for (rows, length) in SIZES {
            let data = logits(rows, length);
            let want: Vec<Vec<f64>> = data.chunks(length).map(log_softmax).collect();
            let t = Tensor::new(&[rows, length], &data);
            let labels: Vec<i32> = (0..rows).map(|r| (length - 1 - r * 31 % length) as i32).collect();
            let sparse = run(SparseCrossEntropy, &[&t, &Tensor::new(&[rows], &labels)]);
            let chosen: Vec<f64> = want.iter().zip(&labels).map(|(r, l)| -r[*l as usize]).collect();
            assert_close(&sparse.read(), &chosen, 5e-6, 2e-6);
            assert!(sparse.check.unwrap().outcome().unwrap().is_none());
            let weights: Vec<f32> = (0..rows * length).map(|i| if i % 3 == 0 { 0.0 } else { 1.0 }).collect();
            let weights: Vec<f32> =
                weights.iter().zip(&data).map(|(w, x)| if *x == -f32::INFINITY { 0.0 } else { *w }).collect();
            let dense = run(CrossEntropy, &[&t, &Tensor::new(&[rows, length], &weights)]);
            let sums: Vec<f64> = want
                .iter()
                .zip(weights.chunks(length))
                .map(|(row, w)| {
                    let broken = row[0].is_nan();
                    let sum = row.iter().zip(w).filter(|(_, w)| **w != 0.0).map(|(l, w)| -l * f64::from(*w));
                    if broken { f64::NAN } else { sum.sum() }
                })
                .collect();
            assert_close(&dense.read(), &sums, 5e-6, 1e-5);
        }
        let uniform = Tensor::new(&[64, 50_257], &vec![1f32; 64 * 50_257]);
        let loss = run(SparseCrossEntropy, &[&uniform, &Tensor::new(&[64], &[50_256; 64])]);
        assert_close(&loss.read(), &[50_257f64.ln(); 64], 1e-6, 0.0);
    });
}

#[test]
fn a_bad_label_of_a_long_row_is_named() {
    on_every_path(|| {
        let logits = Tensor::new(&[64, 9_000], &numbers(64 * 9_000, 2));
        let mut labels = vec![3; 64];
        labels[40] = 9_000;
        let result = run(SparseCrossEntropy, &[&logits, &Tensor::new(&[64], &labels)]);
        result.read::<f32>();
        let check = result.check.unwrap();
        let data = check.outcome().unwrap().unwrap();
        let fault = Fault::OutOfRange { what: "label", value: 9_000, limit: 9_000 };
        assert_eq!((data.op, data.row, data.fault), ("sparse_softmax_cross_entropy", 40, fault));
    });
}

#[test]
fn layer_norm_far_from_zero_is_as_exact_as_its_input() {
    on_every_path(|| {
        for (rows, length, far) in
            [(64, 8_192, 1000.0), (64, 4_000, 1000.0), (66, 70_000, 10.0), (3, 33_000, 1000.0)]
        {
            let data: Vec<f32> = numbers(rows * length, 4).iter().map(|x| x + far).collect();
            let (scale, shift) = (numbers(length, 5), numbers(length, 6));
            let got = run(
                LayerNorm { epsilon: Real(1e-5) },
                &[
                    &Tensor::new(&[rows, length], &data),
                    &Tensor::new(&[length], &scale),
                    &Tensor::new(&[length], &shift),
                ],
            );
            let want: Vec<f64> = data
                .chunks(length)
                .flat_map(|row| {
                    let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / length as f64;
                    let variance =
                        row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / length as f64;
                    let factor = 1.0 / (variance + 1e-5).sqrt();
                    row.iter()
                        .zip(scale.iter().zip(&shift))
                        .map(|(x, (g, b))| (f64::from(*x) - mean) * factor * f64::from(*g) + f64::from(*b))
                        .collect::<Vec<_>>()
                })
                .collect();
            // The mean itself is a float: half a unit in its last place, times the scale.
            assert_close(&got.read(), &want, 1e-5, f64::from(far) * 1.2e-7 + 2e-5);
        }
    });
}
