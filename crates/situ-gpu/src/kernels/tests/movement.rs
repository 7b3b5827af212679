//! Views made dense, concat, pad, tile, fill, range, eye.

use super::harness::*;
use situ_core::{DType, Scalar};
use situ_ir::ops::{Concat, Dense, Expand, Eye, Fill, Pad, Permute, Range, Reshape, Slice, Tile};

#[test]
fn views_of_every_dtype_become_dense() {
    if device().is_none() {
        return;
    }
    let floats = Tensor::new(&[3, 4, 5], &numbers(60, 1));
    let bools: Vec<bool> = (0..60).map(|i| i % 7 < 3).collect();
    let bools = Tensor::new(&[3, 4, 5], &bools);
    for perm in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let view = floats.permute(&perm);
        assert_eq!(run(Dense, &[&view]).read::<f32>(), view.read::<f32>());
        let view = bools.permute(&perm);
        assert_eq!(run(Dense, &[&view]).read::<bool>(), view.read::<bool>());
        let made = run(Permute::new(&perm).unwrap(), &[&bools]);
        assert_eq!(made.read::<bool>(), view.read::<bool>());
    }
    let view = bools.slice(&[2, 1, 4], &[-1, 2, -2], &[3, 2, 3]);
    assert_eq!(run(Dense, &[&view]).read::<bool>(), view.read::<bool>());
    let slice = Slice::new(&[2, 1, 4], &[-1, 2, -2], &[3, 2, 3]).unwrap();
    assert_eq!(run(slice, &[&bools]).read::<bool>(), view.read::<bool>());
    let flat = run(Reshape { shape: shape(&[6, 10]) }, &[&floats.permute(&[2, 0, 1])]);
    assert_eq!(flat.read::<f32>(), floats.permute(&[2, 0, 1]).read::<f32>());
    let wide = run(Expand { shape: shape(&[2, 5]) }, &[&Tensor::new(&[2, 1], &[7, 9])]);
    assert_eq!(wide.read::<i32>(), [7, 7, 7, 7, 7, 9, 9, 9, 9, 9]);
    let nan = Tensor::new(&[1], &[f32::from_bits(0x7fa0_0001)]);
    assert_eq!(run(Dense, &[&nan.expand(&[3])]).read::<f32>()[2].to_bits(), 0x7fa0_0001);
}

#[test]
fn concat_lays_strided_pieces_of_any_dtype_side_by_side() {
    if device().is_none() {
        return;
    }
    let a = Tensor::new(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let b = Tensor::new(&[2, 2], &[7, 9, 8, 10]).permute(&[1, 0]);
    let empty = Tensor::new::<i32>(&[2, 0], &[]);
    assert_eq!(run(Concat { axis: 1 }, &[&a, &empty, &b]).read::<i32>(), [1, 2, 3, 7, 8, 4, 5, 6, 9, 10]);
    let tall = run(Concat { axis: 0 }, &[&a.slice(&[0, 1], &[1, 1], &[2, 2]), &b]);
    assert_eq!(tall.read::<i32>(), [2, 3, 5, 6, 7, 8, 9, 10]);
    let x: Vec<bool> = (0..15).map(|i| i % 2 == 0).collect();
    let y: Vec<bool> = (0..9).map(|i| i % 3 == 0).collect();
    let (tx, ty) = (Tensor::new(&[3, 5], &x), Tensor::new(&[3, 3], &y));
    let got: Vec<bool> = run(Concat { axis: 1 }, &[&tx, &ty, &tx]).read();
    let want: Vec<bool> =
        (0..3).flat_map(|r| [&x[r * 5..][..5], &y[r * 3..][..3], &x[r * 5..][..5]].concat()).collect();
    assert_eq!(got, want);
}

#[test]
fn pad_and_tile_of_every_dtype() {
    if device().is_none() {
        return;
    }
    let a = Tensor::new(&[2, 2], &[1, 2, 3, 4]);
    let pad = Pad::new(&[(1, 0), (0, 2)], Scalar::I32(-9)).unwrap();
    assert_eq!(run(pad, &[&a.permute(&[1, 0])]).read::<i32>(), [-9, -9, -9, -9, 1, 3, -9, -9, 2, 4, -9, -9]);
    let b = Tensor::new(&[3], &[true, false, true]);
    let pad = Pad::new(&[(2, 1)], Scalar::Bool(true)).unwrap();
    assert_eq!(run(pad, &[&b]).read::<bool>(), [true, true, true, false, true, true]);
    let empty = Tensor::new::<f32>(&[0], &[]);
    let pad = Pad::new(&[(1, 2)], Scalar::F32(f32::NEG_INFINITY)).unwrap();
    assert_eq!(run(pad, &[&empty]).read::<f32>(), [f32::NEG_INFINITY; 3]);
    let tile = Tile { repeats: [2, 3, 0, 0, 0, 0, 0, 0], rank: 2 };
    assert_eq!(
        run(tile, &[&a]).read::<i32>(),
        [1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4]
    );
    let tile = Tile { repeats: [3, 0, 0, 0, 0, 0, 0, 0], rank: 1 };
    let got: Vec<bool> = run(tile, &[&b.slice(&[2], &[-1], &[3])]).read();
    assert_eq!(got, [true, false, true].repeat(3));
}

#[test]
fn fill_range_and_eye() {
    if device().is_none() {
        return;
    }
    let fill = |value, dims: &[usize]| run(Fill { shape: shape(dims), value }, &[]);
    assert_eq!(fill(Scalar::F32(-0.0), &[3]).read::<f32>()[1].to_bits(), (-0.0f32).to_bits());
    assert!(fill(Scalar::F32(f32::NAN), &[2, 2]).read::<f32>().iter().all(|x| x.is_nan()));
    assert_eq!(fill(Scalar::I32(i32::MIN), &[]).read::<i32>(), [i32::MIN]);
    assert_eq!(fill(Scalar::Bool(true), &[7]).read::<bool>(), [true; 7]);
    let range = Range { start: Scalar::I32(5), step: Scalar::I32(-3), count: 5 };
    assert_eq!(run(range, &[]).read::<i32>(), [5, 2, -1, -4, -7]);
    let range = Range { start: Scalar::F32(0.1), step: Scalar::F32(0.3), count: 1000 };
    let got: Vec<f32> = run(range, &[]).read();
    assert!(got.iter().enumerate().all(|(i, x)| *x == 0.1 + i as f32 * 0.3));
    let eye = |dtype| run(Eye { rows: 2, columns: 3, dtype }, &[]);
    assert_eq!(eye(DType::F32).read::<f32>(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(eye(DType::I32).read::<i32>(), [1, 0, 0, 0, 1, 0]);
    assert_eq!(eye(DType::Bool).read::<bool>(), [true, false, false, false, true, false]);
}
