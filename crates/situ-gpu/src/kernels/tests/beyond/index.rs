//! Indices by the hundred thousand.

use super::super::harness::*;
use situ_core::error::Fault;
use situ_ir::ops::{Gather, ScatterAdd};

fn scatter_add(base: &Tensor, indices: &[i32], updates: &Tensor, axis: u8) -> Tensor {
    run(ScatterAdd { axis }, &[base, &Tensor::new(&[indices.len()], indices), updates])
}

/// Numbers below `limit`, some far more frequent than others.
fn skewed(count: usize, limit: usize) -> Vec<i32> {
    (0..count)
        .map(|i| {
            let mixed = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            let below = if mixed.is_multiple_of(3) { limit.min(3) } else { limit };
            (mixed as usize / 3 % below) as i32
        })
        .collect()
}

#[test]
fn every_update_is_added_once() {
    on_both_paths(|| {
        for (count, rows, inner) in [
            (70_000, 70_000, 1),
            (100_000, 50_257, 3),
            (300_000, 1_000_003, 1),
            (120_000, 1, 2),
            (5_000, 10, 33),
        ] {
            let mut indices: Vec<i32> = (0..count as i32).map(|i| i % rows as i32).collect();
            indices[count - 1] = indices[0];
            for indices in [indices, skewed(count, rows)] {
                let base = Tensor::new(&[rows, inner], &vec![0f32; rows * inner]);
                let ones = Tensor::new(&[count, inner], &vec![1f32; count * inner]);
                let mut want = vec![0f32; rows * inner];
                for row in &indices {
                    (0..inner).for_each(|c| want[*row as usize * inner + c] += 1.0);
                }
                assert!(scatter_add(&base, &indices, &ones, 0).read::<f32>() == want, "{count} into {rows}");
                let whole = Tensor::new(&[rows, inner], &vec![7i32; rows * inner]);
                let updates: Vec<i32> = (0..(count * inner) as i32).map(|i| i.wrapping_mul(7919)).collect();
                let mut want = vec![7i32; rows * inner];
                for (i, row) in indices.iter().enumerate() {
                    for c in 0..inner {
                        let to = &mut want[*row as usize * inner + c];
                        *to = to.wrapping_add(updates[i * inner + c]);
                    }
                }
                let updates = Tensor::new(&[count, inner], &updates);
                assert!(
                    scatter_add(&whole, &indices, &updates, 0).read::<i32>() == want,
                    "{count} into {rows}"
                );
            }
        }
    });
}

#[test]
fn sums_of_floats_are_near_and_the_same_bits_every_time() {
    on_both_paths(|| {
        let (outer, rows, inner, count) = (2, 300, 5, 30_000);
        let indices = skewed(count, rows);
        let (base, updates) = (numbers(outer * rows * inner, 1), numbers(outer * count * inner, 2));
        let mut want: Vec<f64> = base.iter().map(|x| f64::from(*x)).collect();
        for o in 0..outer {
            for (i, row) in indices.iter().enumerate() {
                for c in 0..inner {
                    want[(o * rows + *row as usize) * inner + c] +=
                        f64::from(updates[(o * count + i) * inner + c]);
                }
            }
        }
        let base = Tensor::new(&[outer, rows, inner], &base);
        let updates = Tensor::new(&[outer, count, inner], &updates);
        let first: Vec<f32> = scatter_add(&base, &indices, &updates, 1).read();
        assert_close(&first, &want, 1e-5, 2e-4);
        for _ in 0..3 {
            let again: Vec<f32> = scatter_add(&base, &indices, &updates, 1).read();
            assert!(first.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    });
}

#[test]
fn the_first_bad_index_among_many_is_named_and_harms_nothing() {
    on_both_paths(|| {
        let (rows, count) = (1000, 100_000);
        let mut indices: Vec<i32> = (0..count as i32).map(|i| i % rows as i32).collect();
        (indices[77_777], indices[88_888]) = (-5, rows as i32);
        let base = Tensor::new(&[rows], &vec![0f32; rows]);
        let sums = scatter_add(&base, &indices, &Tensor::new(&[count], &vec![1f32; count]), 0);
        let got: Vec<f32> = sums.read();
        let check = sums.check.unwrap();
        let data = check.outcome().unwrap().unwrap();
        let fault = Fault::OutOfRange { what: "index", value: -5, limit: rows as i64 };
        assert_eq!((data.row, data.fault), (77_777, fault));
        assert_eq!(got.iter().sum::<f32>(), (count - 2) as f32);
    });
}

#[test]
fn many_rows_are_gathered() {
    if device().is_none() {
        return;
    }
    let (rows, inner, count) = (5_003, 3, 700_000);
    let indices = skewed(count, rows);
    let table: Vec<i32> = (0..(rows * inner) as i32).collect();
    let got =
        run(Gather { axis: 0 }, &[&Tensor::new(&[rows, inner], &table), &Tensor::new(&[count], &indices)]);
    let want: Vec<i32> =
        indices.iter().flat_map(|row| (0..inner as i32).map(move |c| row * inner as i32 + c)).collect();
    assert!(got.read::<i32>() == want);
}
