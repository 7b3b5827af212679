//! Products: sizes around the tiles, transposes, views, batches, integers.

use super::harness::*;
use situ_ir::ops::Matmul;

/// The product of dense matrices in double precision.
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
fn products_of_all_sizes_and_either_side_transposed() {
    on_both_paths(|| {
        for (m, k, n) in [
            (1, 1, 1),
            (1, 70, 33),
            (5, 0, 3),
            (16, 16, 16),
            (17, 33, 65),
            (64, 64, 64),
            (130, 70, 300),
            (257, 20, 255),
        ] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let want = product(&a, &b, m, k, n);
            let (ta, tb) = (Tensor::new(&[m, k], &a), Tensor::new(&[k, n], &b));
            let tolerance = 1e-5 * (k as f64).sqrt();
            let plain = Matmul { transpose_a: false, transpose_b: false };
            assert_close(&run(plain, &[&ta, &tb]).read(), &want, 0.0, tolerance);
            let a_turned = Tensor::new(&[k, m], &ta.permute(&[1, 0]).read::<f32>());
            let b_turned = Tensor::new(&[n, k], &tb.permute(&[1, 0]).read::<f32>());
            let both = Matmul { transpose_a: true, transpose_b: true };
            assert_close(&run(both, &[&a_turned, &b_turned]).read(), &want, 0.0, tolerance);
            // The same as views: no flag, but strides.
            let views = [&a_turned.permute(&[1, 0]), &b_turned.permute(&[1, 0])];
            assert_close(&run(plain, &views).read(), &want, 0.0, tolerance);
        }
    });
}

#[test]
fn batches_broadcast_on_either_side() {
    on_both_paths(|| {
        let (m, k, n) = (6, 5, 7);
        let a = Tensor::new(&[2, 1, 3, m, k], &numbers(2 * 3 * m * k, 1));
        let b = Tensor::new(&[4, 1, k, n], &numbers(4 * k * n, 2));
        let got: Vec<f32> = run(Matmul::default(), &[&a, &b]).read();
        let (da, db) = (a.read::<f32>(), b.read::<f32>());
        let mut want = Vec::new();
        for i in 0..2 {
            for j in 0..4 {
                for l in 0..3 {
                    want.extend(product(
                        &da[(i * 3 + l) * m * k..][..m * k],
                        &db[j * k * n..][..k * n],
                        m,
                        k,
                        n,
                    ));
                }
            }
        }
        assert_close(&got, &want, 0.0, 1e-5);
        // More workgroups than one dimension of a grid has.
        let many = Tensor::new(&[70_000, 1, 2], &numbers(140_000, 3));
        let got: Vec<f32> = run(Matmul::default(), &[&many, &Tensor::new(&[2, 1], &[1.0f32, -2.0])]).read();
        let data = many.read::<f32>();
        assert!(
            got.iter().enumerate().all(|(i, x)| (x - (data[2 * i] - 2.0 * data[2 * i + 1])).abs() < 1e-6)
        );
    });
}

#[test]
fn integer_products_are_exact_and_wrap() {
    on_both_paths(|| {
        let a = Tensor::new(&[2, 3], &[1, -2, 3, i32::MAX, 2, 0]);
        let b = Tensor::new(&[3, 2], &[4, 5, 6, 7, 8, 9]);
        let wrapped = i32::MAX.wrapping_mul(4).wrapping_add(12);
        let wrapped2 = i32::MAX.wrapping_mul(5).wrapping_add(14);
        assert_eq!(run(Matmul::default(), &[&a, &b]).read::<i32>(), [16, 18, wrapped, wrapped2]);
    });
}
