//! Gather, scatter_add, one_hot, and what they say of bad indices.

use super::harness::*;
use situ_core::Scalar;
use situ_core::error::Fault;
use situ_ir::ops::{Gather, OneHot, ScatterAdd};

fn complaint(tensor: &Tensor) -> Option<(usize, Fault)> {
    tensor.check.as_ref()?.outcome().expect("settled by a read").map(|data| (data.row, data.fault))
}

#[test]
fn gather_takes_slices_along_any_axis_of_any_dtype() {
    if device().is_none() {
        return;
    }
    let data: Vec<i32> = (0..24).collect();
    let t = Tensor::new(&[2, 3, 4], &data);
    let indices = Tensor::new(&[2, 2], &[2, 0, 1, 1]);
    for axis in 0..3u8 {
        let rows = [2, 3, 4][usize::from(axis)];
        let indices =
            if rows == 2 { Tensor::new(&[2, 2], &[1, 0, 1, 1]) } else { indices.view(indices.layout) };
        let result = run(Gather { axis }, &[&t, &indices]);
        let at: Vec<i32> = indices.read();
        let (outer, inner) = ([1, 2, 6][usize::from(axis)], [12, 4, 1][usize::from(axis)]);
        let want: Vec<i32> = (0..outer)
            .flat_map(|o| at.iter().flat_map(move |i| (0..inner).map(move |c| ((o * rows) + i) * inner + c)))
            .collect();
        assert_eq!(result.read::<i32>(), want, "axis {axis}");
        assert_eq!(complaint(&result), None);
    }
    let bools = Tensor::new(&[5], &[true, false, false, true, false]);
    let result = run(Gather { axis: 0 }, &[&bools, &Tensor::new(&[6], &[3, 1, 0, 4, 3, 3])]);
    assert_eq!(result.read::<bool>(), [true, false, true, false, true, true]);
}

#[test]
fn a_bad_index_is_named_with_its_position_and_nothing_is_read_there() {
    if device().is_none() {
        return;
    }
    let t = Tensor::new(&[4, 3], &numbers(12, 1));
    for (indices, row, value) in
        [([0, 1, 4, -1], 2, 4), ([-1, 9, 0, 0], 0, -1), ([3, 3, 3, i32::MIN], 3, i32::MIN)]
    {
        let result = run(Gather { axis: 0 }, &[&t, &Tensor::new(&[4], &indices)]);
        result.read::<f32>();
        let fault = Fault::OutOfRange { what: "index", value: i64::from(value), limit: 4 };
        assert_eq!(complaint(&result), Some((row, fault)));
        let updates = Tensor::new(&[4, 3], &[1.0f32; 12]);
        let sums = run(ScatterAdd { axis: 0 }, &[&t, &Tensor::new(&[4], &indices), &updates]);
        sums.read::<f32>();
        assert_eq!(complaint(&sums), Some((row, fault)));
    }
    let narrow = Tensor::new::<f32>(&[4, 0], &[]);
    let result = run(Gather { axis: 0 }, &[&narrow, &Tensor::new(&[3], &[1, 2, 4])]);
    assert_eq!(result.read::<f32>(), []);
    assert_eq!(complaint(&result), Some((2, Fault::OutOfRange { what: "index", value: 4, limit: 4 })));
    let none = Tensor::new::<f32>(&[0, 3], &[]);
    let result = run(Gather { axis: 0 }, &[&none, &Tensor::new(&[1], &[0])]);
    result.read::<f32>();
    assert_eq!(complaint(&result), Some((0, Fault::OutOfRange { what: "index", value: 0, limit: 0 })));
}

#[test]
fn scatter_add_adds_repeated_indices_in_order() {
    if device().is_none() {
        return;
    }
    let (rows, inner, count) = (7, 5, 200);
    let base = numbers(rows * inner, 1);
    let indices: Vec<i32> = (0..count as i32).map(|i| i * i % 6).collect();
    let updates = numbers(count * inner, 2);
    let result = run(
        ScatterAdd { axis: 0 },
        &[
            &Tensor::new(&[inner, rows], &transposed(&base, rows, inner)).permute(&[1, 0]),
            &Tensor::new(&[count], &indices),
            &Tensor::new(&[count, inner], &updates),
        ],
    );
    let mut want = base.clone();
    for (i, &row) in indices.iter().enumerate() {
        for c in 0..inner {
            want[row as usize * inner + c] += updates[i * inner + c];
        }
    }
    assert_eq!(result.read::<f32>(), want, "the same additions in the same order");
    assert_eq!(complaint(&result), None);
    let middle = run(
        ScatterAdd { axis: 1 },
        &[
            &Tensor::new(&[2, 2], &[1, 2, 3, 4]),
            &Tensor::new(&[3], &[1, 1, 0]),
            &Tensor::new(&[2, 3], &[10, 20, 30, 40, 50, 60]),
        ],
    );
    assert_eq!(middle.read::<i32>(), [31, 32, 63, 94]);
    let nothing = run(
        ScatterAdd { axis: 0 },
        &[&Tensor::new(&[2], &[1, 2]), &Tensor::new::<i32>(&[0], &[]), &Tensor::new::<i32>(&[0], &[])],
    );
    assert_eq!(nothing.read::<i32>(), [1, 2]);
}

fn transposed(data: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|c| (0..rows).map(move |r| data[r * columns + c])).collect()
}

#[test]
fn one_hot_rows_of_every_dtype_and_none_where_the_index_is_out_of_range() {
    if device().is_none() {
        return;
    }
    let indices = Tensor::new(&[4], &[2, -1, 0, 3]);
    let floats = run(OneHot { depth: 3, on: Scalar::F32(5.0), off: Scalar::F32(-1.0) }, &[&indices]);
    assert_eq!(floats.read::<f32>(), [-1.0, -1.0, 5.0, -1.0, -1.0, -1.0, 5.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
    let bools = run(OneHot { depth: 3, on: Scalar::Bool(true), off: Scalar::Bool(false) }, &[&indices]);
    let want: Vec<bool> = floats.read::<f32>().iter().map(|x| *x == 5.0).collect();
    assert_eq!(bools.read::<bool>(), want);
}
