//! Products over long inner axes.

use super::super::harness::*;
use situ_ir::ops::{Matmul, MatmulBias, Unary, UnaryKind};

fn product(a: &[f32], b: &[f32], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        for l in 0..k {
            for j in 0..n {
                out[i * n + j] += f64::from(a[i * k + l]) * f64::from(b[l * n + j]);
            }
        }
    }
    out
}

#[test]
fn long_inner_axes_are_counted_to_their_end() {
    on_both_paths(|| {
        for (m, k, n) in [(1, 200_000, 1), (9, 65_535, 10), (18, 20_001, 3)] {
            let ones = |dims: &[usize; 2]| Tensor::new(dims, &vec![1f32; dims[0] * dims[1]]);
            let got: Vec<f32> = run(Matmul::default(), &[&ones(&[m, k]), &ones(&[k, n])]).read();
            assert_eq!(got, vec![k as f32; m * n], "{m} x {k} x {n}");
            let whole = |dims: &[usize; 2]| Tensor::new(dims, &vec![3i32; dims[0] * dims[1]]);
            let got: Vec<i32> = run(Matmul::default(), &[&whole(&[m, k]), &whole(&[k, n])]).read();
            assert_eq!(got, vec![9 * k as i32; m * n], "{m} x {k} x {n}");
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let want = product(&a, &b, m, k, n);
            let tolerance = 1e-5 * (k as f64).sqrt();
            let (ta, tb) = (Tensor::new(&[m, k], &a), Tensor::new(&[k, n], &b));
            assert_close(&run(Matmul::default(), &[&ta, &tb]).read(), &want, 2e-6, tolerance);
            let turned = [
                &Tensor::new(&[k, m], &ta.permute(&[1, 0]).read::<f32>()),
                &Tensor::new(&[n, k], &tb.permute(&[1, 0]).read::<f32>()),
            ];
            let both = Matmul { transpose_a: true, transpose_b: true };
            assert_close(&run(both, &turned).read(), &want, 2e-6, tolerance);
        }
    });
}

#[test]
fn a_bias_and_an_activation_come_once_after_the_whole_sum() {
    on_both_paths(|| {
        let (batch, m, k, n) = (2, 9, 33_001, 8);
        let (a, b, bias) = (numbers(batch * m * k, 1), numbers(k * n, 2), numbers(n, 3));
        let op = MatmulBias { matmul: Matmul::default(), activation: Some(Unary::new(UnaryKind::Relu)) };
        let got = run(
            op,
            &[&Tensor::new(&[batch, m, k], &a), &Tensor::new(&[k, n], &b), &Tensor::new(&[n], &bias)],
        );
        let want: Vec<f64> = a
            .chunks(m * k)
            .flat_map(|a| product(a, &b, m, k, n))
            .enumerate()
            .map(|(i, x)| (x + f64::from(bias[i % n])).max(0.0))
            .collect();
        assert_close(&got.read(), &want, 2e-6, 1e-5 * (k as f64).sqrt());
    });
}
