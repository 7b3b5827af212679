//! Softmax, cross-entropies, layer norm.

use super::harness::*;
use situ_core::Real;
use situ_core::error::Fault;
use situ_ir::ops::{CrossEntropy, LayerNorm, Softmax, SparseCrossEntropy};

const INF: f32 = f32::INFINITY;

fn log_softmax(row: &[f32]) -> Vec<f64> {
    let max = row.iter().fold(f64::NEG_INFINITY, |m, x| m.max(f64::from(*x)));
    let broken = !max.is_finite() || row.iter().any(|x| x.is_nan());
    let log = row.iter().map(|x| (f64::from(*x) - max).exp()).sum::<f64>().ln();
    row.iter().map(|x| if broken { f64::NAN } else { f64::from(*x) - max - log }).collect()
}

#[test]
fn softmax_over_any_axis_and_its_logarithm() {
    on_every_path(|| {
        let t =
            Tensor::new(&[4, 70, 6], &numbers(4 * 70 * 6, 1).iter().map(|x| x * 20.0).collect::<Vec<_>>());
        for (tensor, axis) in
            [(t.view(t.layout), 2), (t.view(t.layout), 1), (t.view(t.layout), 0), (t.permute(&[2, 0, 1]), 2)]
        {
            let rank = 3;
            let to_last: Vec<usize> = (0..rank).filter(|a| *a != axis).chain([axis]).collect();
            let rows: Vec<f32> = tensor.permute(&to_last).read();
            let want: Vec<f64> = rows.chunks(tensor.layout.shape()[axis]).flat_map(log_softmax).collect();
            let log = run(Softmax { axis: axis as u8, log: true }, &[&tensor]);
            assert_close(&log.permute(&to_last).read(), &want, 1e-6, 1e-6);
            let plain = run(Softmax { axis: axis as u8, log: false }, &[&tensor]);
            let want: Vec<f64> = want.iter().map(|x| x.exp()).collect();
            // x - max is rounded to 4e-6 where the two are 64 apart, and e^x makes a relative error of that.
            assert_close(&plain.permute(&to_last).read(), &want, 1e-5, 2e-38);
        }
    });
}

#[test]
fn masked_rows_and_rows_without_meaning() {
    on_every_path(|| {
        for padding in [0, 100] {
            let mut data = Vec::new();
            for row in [
                [1.0, -INF, 2.0],
                [-INF, -INF, -INF],
                [INF, 0.0, 1.0],
                [f32::NAN, 0.0, 1.0],
                [-INF, 5.0, -INF],
            ] {
                data.extend(row);
                data.extend(vec![-INF; padding]);
            }
            let columns = 3 + padding;
            let t = Tensor::new(&[5, columns], &data);
            let want: Vec<f64> = data.chunks(columns).flat_map(log_softmax).collect();
            assert_close(&run(Softmax { axis: 1, log: true }, &[&t]).read(), &want, 1e-6, 1e-6);
            let want: Vec<f64> = want.iter().map(|x| x.exp()).collect();
            assert_close(&run(Softmax { axis: 1, log: false }, &[&t]).read(), &want, 1e-6, 1e-6);
        }
    });
}

#[test]
fn cross_entropy_of_dense_and_sparse_labels() {
    on_every_path(|| {
        for classes in [1, 10, 200] {
            let rows = 12;
            let logits: Vec<f32> = numbers(rows * classes, 2).iter().map(|x| x * 8.0).collect();
            let labels: Vec<f32> = numbers(rows * classes, 3).iter().map(|x| x.max(0.0)).collect();
            let want: Vec<f64> = logits
                .chunks(classes)
                .zip(labels.chunks(classes))
                .map(|(x, w)| log_softmax(x).iter().zip(w).map(|(l, w)| -l * f64::from(*w)).sum())
                .collect();
            let t = Tensor::new(&[3, 4, classes], &logits);
            let dense = run(CrossEntropy, &[&t, &Tensor::new(&[3, 4, classes], &labels)]);
            assert_close(&dense.read(), &want, 5e-6, 1e-5);
            let chosen: Vec<i32> = (0..rows).map(|i| (i * 7 % classes) as i32).collect();
            let sparse = run(SparseCrossEntropy, &[&t, &Tensor::new(&[3, 4], &chosen)]);
            let want: Vec<f64> = logits
                .chunks(classes)
                .zip(&chosen)
                .map(|(x, label)| -log_softmax(x)[*label as usize])
                .collect();
            assert_close(&sparse.read(), &want, 5e-6, 2e-6);
            assert!(sparse.check.unwrap().outcome().unwrap().is_none());
        }
    });
}

#[test]
fn a_zero_label_beside_a_masked_logit_contributes_nothing() {
    on_every_path(|| {
        let logits = Tensor::new(&[2, 2], &[0.0, -INF, 0.0, -INF]);
        let labels = Tensor::new(&[2, 2], &[1.0f32, 0.0, 0.5, 0.5]);
        assert_eq!(run(CrossEntropy, &[&logits, &labels]).read::<f32>(), [0.0, INF]);
    });
}

#[test]
fn a_label_out_of_range_is_named_with_its_row() {
    on_every_path(|| {
        let logits = Tensor::new(&[4, 3], &numbers(12, 1));
        let result = run(SparseCrossEntropy, &[&logits, &Tensor::new(&[4], &[0, 2, 7, -1])]);
        let check = result.check.clone().unwrap();
        assert!(check.outcome().is_none());
        result.read::<f32>();
        let data = check.outcome().unwrap().unwrap();
        let fault = Fault::OutOfRange { what: "label", value: 7, limit: 3 };
        assert_eq!((data.op, data.row, data.fault), ("sparse_softmax_cross_entropy", 2, fault));
    });
}

#[test]
fn layer_norm_of_short_and_long_rows_through_views() {
    on_every_path(|| {
        for columns in [1, 8, 300] {
            let rows = 6;
            let data: Vec<f32> = numbers(rows * columns, 4).iter().map(|x| x * 3.0 + 10.0).collect();
            let (scale, shift) = (numbers(columns, 5), numbers(columns, 6));
            let turned = Tensor::new(
                &[columns, rows],
                &Tensor::new(&[rows, columns], &data).permute(&[1, 0]).read::<f32>(),
            );
            let back = Tensor::new(&[columns], &scale.iter().rev().copied().collect::<Vec<_>>()).slice(
                &[columns - 1],
                &[-1],
                &[columns],
            );
            let got = run(
                LayerNorm { epsilon: Real(1e-5) },
                &[&turned.permute(&[1, 0]), &back, &Tensor::new(&[columns], &shift)],
            );
            let want: Vec<f64> = data
                .chunks(columns)
                .flat_map(|row| {
                    let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / columns as f64;
                    let variance =
                        row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / columns as f64;
                    let factor = 1.0 / (variance + 1e-5).sqrt();
                    row.iter()
                        .zip(scale.iter().zip(&shift))
                        .map(|(x, (g, b))| (f64::from(*x) - mean) * factor * f64::from(*g) + f64::from(*b))
                        .collect::<Vec<_>>()
                })
                .collect();
            assert_close(&got.read(), &want, 1e-5, 1e-5);
        }
    });
}
