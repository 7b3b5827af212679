//! The engine against a plain loop over indices: every feed, every level, several thread counts.

use super::*;
use crate::elementwise::{binary::binary, cast::cast, select::select, unary::unary};
use crate::level::Level;
use crate::threads::Threads;
use situ_core::{DType, Layout, Shape};
use situ_ir::ops::{BinaryKind, UnaryKind};

/// A value of its own for every element, of both signs and none of them zero.
fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 101) % 1013) as f32 / 64.0 - 7.99).collect()
}

fn layouts(dims: &[usize]) -> Vec<(Layout, usize)> {
    let shape = Shape::new(dims).unwrap();
    let rank = dims.len();
    let mut all = vec![(Layout::dense(shape), shape.elements())];
    // Every subset of axes repeated.
    for mask in 1..1usize << rank {
        let small: Vec<usize> = (0..rank).map(|a| if mask >> a & 1 == 1 { 1 } else { dims[a] }).collect();
        let small = Shape::new(&small).unwrap();
        all.push((Layout::dense(small).expand(shape), small.elements()));
    }
    // Axes reversed in memory, every second element, and backwards.
    let mut strides = vec![0isize; rank];
    let mut step = 1;
    for axis in 0..rank {
        strides[axis] = step;
        step *= dims[axis].max(1) as isize;
    }
    all.push((Layout::strided(shape, &strides, 0), shape.elements()));
    let doubled: Vec<isize> = shape.dense_strides()[..rank].iter().map(|s| s * 2).collect();
    all.push((Layout::strided(shape, &doubled, 0), 2 * shape.elements()));
    let backwards: Vec<isize> = shape.dense_strides()[..rank].iter().map(|s| -s).collect();
    all.push((Layout::strided(shape, &backwards, shape.elements().saturating_sub(1)), shape.elements()));
    all
}

fn operand<'a>(data: &[f32], layout: &'a Layout) -> Operand<'a> {
    Operand {
        start: data.as_ptr().wrapping_add(layout.offset()).cast(),
        size: 4,
        strides: (!layout.is_dense()).then(|| layout.strides()),
    }
}

#[test]
fn every_pair_of_layouts_gives_what_a_loop_over_indices_gives() {
    let add = binary(BinaryKind::Sub, DType::F32).unwrap();
    let pools: Vec<Threads> = [1, 3].into_iter().map(|n| Threads::new(n, None).unwrap()).collect();
    for dims in [
        &[][..],
        &[1],
        &[7],
        &[3, 5],
        &[70, 41],
        &[3, 300],
        &[2, 3, 4],
        &[5, 1, 90],
        &[2, 3, 2, 35],
        &[0, 4],
        &[2000, 3],
    ] {
        for (a_layout, a_len) in layouts(dims) {
            for (b_layout, b_len) in layouts(dims) {
                let (a, b) = (values(a_len, 1), values(b_len, 2));
                let want: Vec<f32> =
                    a_layout.offsets().zip(b_layout.offsets()).map(|(i, j)| a[i] - b[j]).collect();
                for (pool, level, streaming_bytes) in [
                    (&pools[0], Level::detect(), usize::MAX),
                    (&pools[1], Level::Portable, usize::MAX),
                    (&pools[1], Level::detect(), 1),
                ] {
                    let exec = Exec { level, threads: pool, streaming_bytes };
                    let mut out = vec![f32::NAN; want.len()];
                    let inputs = [operand(&a, &a_layout), operand(&b, &b_layout)];
                    // SAFETY: layouts stay within the data made for them.
                    unsafe { run(&exec, add, [0.0; 2], dims, &inputs, out.as_mut_ptr().cast(), 4, 100) }
                        .unwrap();
                    assert_eq!(out, want, "{dims:?} {a_layout:?} {b_layout:?}");
                }
            }
        }
    }
}

#[test]
fn a_choice_of_three_operands_of_two_sizes_broadcasts() {
    let threads = Threads::new(2, None).unwrap();
    let exec = Exec::new(&threads);
    let condition: Vec<u8> = (0..50).map(|i| u8::from(i % 3 == 0)).collect();
    let (a, b) = (values(20, 1), values(1000, 2));
    let inputs = [
        Operand { start: condition.as_ptr(), size: 1, strides: Some(&[1, 0]) },
        Operand { start: a.as_ptr().cast(), size: 4, strides: Some(&[0, 1]) },
        Operand { start: b.as_ptr().cast(), size: 4, strides: None },
    ];
    let mut out = vec![0.0f32; 1000];
    // SAFETY: 50 rows of 20 columns are within the operands by their strides.
    unsafe { run(&exec, select(DType::F32), [0.0; 2], &[50, 20], &inputs, out.as_mut_ptr().cast(), 4, 64) }
        .unwrap();
    for i in 0..1000 {
        assert_eq!(out[i], if (i / 20) % 3 == 0 { a[i % 20] } else { b[i] });
    }
}

#[test]
fn the_number_of_threads_and_the_length_of_the_tail_change_no_bit() {
    for kind in [UnaryKind::Exp, UnaryKind::Gelu, UnaryKind::Log, UnaryKind::Sin] {
        let op = unary(kind, DType::F32).unwrap();
        for level in Level::available() {
            let whole = {
                let threads = Threads::new(1, None).unwrap();
                let x = values(1003, 3);
                let mut out = vec![0.0f32; x.len()];
                let layout = Layout::dense(Shape::new(&[x.len()]).unwrap());
                let exec = Exec::new(&threads).with_level(level);
                // SAFETY: as many results as elements.
                unsafe {
                    run(
                        &exec,
                        op,
                        [0.0; 2],
                        &[x.len()],
                        &[operand(&x, &layout)],
                        out.as_mut_ptr().cast(),
                        4,
                        1 << 20,
                    )
                }
                .unwrap();
                out
            };
            for (count, grain) in [(2, 7), (3, 100), (5, 333)] {
                let threads = Threads::new(count, None).unwrap();
                let x = values(1003, 3);
                let mut out = vec![0.0f32; x.len()];
                let layout = Layout::dense(Shape::new(&[x.len()]).unwrap());
                let exec = Exec::new(&threads).with_level(level);
                // SAFETY: as many results as elements.
                unsafe {
                    run(
                        &exec,
                        op,
                        [0.0; 2],
                        &[x.len()],
                        &[operand(&x, &layout)],
                        out.as_mut_ptr().cast(),
                        4,
                        grain,
                    )
                }
                .unwrap();
                assert!(out.iter().zip(&whole).all(|(a, b)| a.to_bits() == b.to_bits()), "{kind:?} {level}");
            }
        }
    }
}

#[test]
fn dividing_an_integer_by_zero_reports_the_first_place_and_never_traps() {
    let threads = Threads::new(3, None).unwrap();
    let exec = Exec::new(&threads);
    let a: Vec<i32> = (0..500).map(|i| if i == 7 { i32::MIN } else { i }).collect();
    let b: Vec<i32> = (0..500).map(|i| if i == 321 || i == 400 { 0 } else { -1 }).collect();
    let inputs = [&a, &b].map(|v| Operand { start: v.as_ptr().cast(), size: 4, strides: None });
    for kind in [BinaryKind::Div, BinaryKind::Rem] {
        let mut out = vec![9i32; 500];
        let op = binary(kind, DType::I32).unwrap();
        // SAFETY: 500 elements each.
        let result = unsafe { run(&exec, op, [0.0; 2], &[500], &inputs, out.as_mut_ptr().cast(), 4, 64) };
        assert_eq!(result, Err(NoResult { element: 321, step: 0 }));
        assert_eq!(out[7], if kind == BinaryKind::Div { i32::MIN } else { 0 });
        assert_eq!(out[8], if kind == BinaryKind::Div { -8 } else { 0 });
        assert_eq!(out[321], 0);
    }
}

/// Runs one op over a few f32 values.
fn apply<R: Copy + Default>(op: TileFn, params: Params, inputs: &[&[f32]]) -> Vec<R> {
    let threads = Threads::new(1, None).unwrap();
    let mut results: Vec<Vec<R>> = vec![];
    for level in Level::available() {
        let mut out = vec![R::default(); inputs[0].len()];
        let operands: Vec<Operand<'_>> =
            inputs.iter().map(|v| Operand { start: v.as_ptr().cast(), size: 4, strides: None }).collect();
        let exec = Exec::new(&threads).with_level(level);
        let shape = [inputs[0].len()];
        // SAFETY: every operand and the result have that many elements.
        unsafe { run(&exec, op, params, &shape, &operands, out.as_mut_ptr().cast(), size_of::<R>(), 100) }
            .unwrap();
        results.push(out);
    }
    results.swap_remove(0)
}

#[test]
fn long_runs_in_place_give_every_element_and_touch_none_beyond() {
    let (add, neg) =
        (binary(BinaryKind::Add, DType::F32).unwrap(), unary(UnaryKind::Neg, DType::F32).unwrap());
    for len in [4096, 4097, 4111, 4112, 10_007] {
        let (a, b) = (values(len, 1), values(len, 2));
        for level in Level::available() {
            let apply = |op: TileFn, inputs: [*const u8; 3]| {
                let mut out = vec![7.0f32; len + 20];
                // SAFETY: inputs and output have `len` elements.
                unsafe { op(level, [0.0; 2], inputs, out.as_mut_ptr().cast(), len) };
                assert!(out[len..].iter().all(|x| *x == 7.0), "{level} {len}");
                out.truncate(len);
                out
            };
            let (from_a, from_b) = (a.as_ptr().cast(), b.as_ptr().cast());
            let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            assert_eq!(apply(add, [from_a, from_b, std::ptr::null()]), sums, "{level} {len}");
            let negated: Vec<f32> = a.iter().map(|a| -a).collect();
            assert_eq!(apply(neg, [from_a, std::ptr::null(), std::ptr::null()]), negated, "{level} {len}");
        }
    }
}

#[test]
fn nan_stays_nan_in_relu_sign_clip_maximum_and_minimum() {
    let nan = f32::NAN;
    for (kind, params) in
        [(UnaryKind::Relu, [0.0; 2]), (UnaryKind::Sign, [0.0; 2]), (UnaryKind::Clip, [-1.0, 1.0])]
    {
        let out: Vec<f32> = apply(unary(kind, DType::F32).unwrap(), params, &[&[nan, -2.0, 0.0, 3.0]]);
        assert!(out[0].is_nan(), "{kind:?}");
        assert_eq!(out[3], if kind == UnaryKind::Relu { 3.0 } else { 1.0 });
    }
    for kind in [BinaryKind::Maximum, BinaryKind::Minimum] {
        let out: Vec<f32> =
            apply(binary(kind, DType::F32).unwrap(), [0.0; 2], &[&[nan, 1.0, 1.0], &[1.0, nan, 2.0]]);
        assert!(out[0].is_nan() && out[1].is_nan());
        assert_eq!(out[2], if kind == BinaryKind::Maximum { 2.0 } else { 1.0 });
    }
}

#[test]
fn sine_and_cosine_of_huge_arguments_are_right() {
    let x = [1e7f32, -3e10, 1e30, f32::MAX, 0.5, f32::INFINITY];
    let sines: Vec<f32> = apply(unary(UnaryKind::Sin, DType::F32).unwrap(), [0.0; 2], &[&x]);
    let cosines: Vec<f32> = apply(unary(UnaryKind::Cos, DType::F32).unwrap(), [0.0; 2], &[&x]);
    for i in 0..5 {
        assert!((f64::from(sines[i]) - f64::from(x[i]).sin()).abs() < 1e-6);
        assert!((f64::from(cosines[i]) - f64::from(x[i]).cos()).abs() < 1e-6);
    }
    assert!(sines[5].is_nan() && cosines[5].is_nan());
}

#[test]
fn casts_saturate_wrap_and_take_nan_to_zero() {
    let x = [1e20f32, -1e20, f32::NAN, 3.99, -3.99, 255.0, 0.0];
    let out: Vec<i32> = apply(cast(DType::F32, DType::I32), [0.0; 2], &[&x]);
    assert_eq!(out, [i32::MAX, i32::MIN, 0, 3, -3, 255, 0]);
    let out: Vec<u8> = apply(cast(DType::F32, DType::Bool), [0.0; 2], &[&x]);
    assert_eq!(out, [1, 1, 1, 1, 1, 1, 0]);
    let wide = [300i64, -1, i64::MAX, 5];
    let threads = Threads::new(1, None).unwrap();
    let mut out = [0u8; 4];
    let operand = Operand { start: wide.as_ptr().cast(), size: 8, strides: None };
    // SAFETY: four elements each.
    unsafe {
        run(
            &Exec::new(&threads),
            cast(DType::I64, DType::U8),
            [0.0; 2],
            &[4],
            &[operand],
            out.as_mut_ptr(),
            1,
            9,
        )
    }
    .unwrap();
    assert_eq!(out, [44, 255, 255, 5]);
}
