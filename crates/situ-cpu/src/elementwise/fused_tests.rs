//! Fused programs against the same steps one at a time.

use super::*;
use crate::threads::Threads;
use situ_core::DType;
use situ_ir::ops::{Binary, BinaryKind, Cast, Unary, UnaryKind};

fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 101) % 1013) as f32 / 64.0 - 7.99).collect()
}

fn op(kind: BinaryKind, a: u16, b: u16) -> Step {
    Step::Binary(Binary { kind }, Register(a), Register(b))
}

fn map(kind: UnaryKind, a: u16) -> Step {
    Step::Unary(Unary::new(kind), Register(a))
}

fn dense(data: &[f32]) -> Operand<'_> {
    Operand { start: data.as_ptr().cast(), size: 4, strides: None }
}

#[test]
fn add_and_relu_in_one_pass_is_relu_of_the_sum_at_any_size_streamed_or_not() {
    let program = Program::new(
        vec![DType::F32; 2],
        vec![op(BinaryKind::Add, 0, 1), map(UnaryKind::Relu, 2)],
        vec![Register(3)],
    );
    let kernel = FusedKernel::new(&program.unwrap()).unwrap();
    for count in [0, 1, 7, 1000, 4096, 100_001] {
        let (a, b) = (values(count, 1), values(count, 2));
        for (pool, streaming_bytes) in [(1, usize::MAX), (3, usize::MAX), (2, 1)] {
            let threads = Threads::new(pool, None).unwrap();
            let exec = Exec { streaming_bytes, ..Exec::new(&threads) };
            let mut out = vec![f32::NAN; count];
            // SAFETY: `count` elements each.
            unsafe { kernel.run(&exec, &[count], &[dense(&a), dense(&b)], &[out.as_mut_ptr().cast()], 5000) }
                .unwrap();
            assert!((0..count).all(|i| out[i] == (a[i] + b[i]).max(0.0)));
        }
    }
}

#[test]
fn a_program_with_broadcasts_constants_several_dtypes_and_several_outputs_is_right() {
    // y = where(x > 0.5, x * row, (x + column)²); count = i32(y) and the mask are results too, and y twice.
    let steps = vec![
        Step::Constant(Scalar::F32(0.5)),                   // 3
        op(BinaryKind::Greater, 0, 3),                      // 4
        op(BinaryKind::Mul, 0, 1),                          // 5
        op(BinaryKind::Add, 0, 2),                          // 6
        op(BinaryKind::Mul, 6, 6),                          // 7
        Step::Where(Register(4), Register(5), Register(7)), // 8
        Step::Cast(Cast { to: DType::I32 }, Register(8)),   // 9
    ];
    let outputs = vec![Register(8), Register(9), Register(4), Register(8)];
    let kernel = FusedKernel::new(&Program::new(vec![DType::F32; 3], steps, outputs).unwrap()).unwrap();
    for (rows, columns) in [(3, 5), (70, 41), (2, 3000), (1500, 4)] {
        let (x, row, column) = (values(rows * columns, 1), values(columns, 2), values(rows, 3));
        for streaming_bytes in [usize::MAX, 1] {
            let threads = Threads::new(2, None).unwrap();
            let exec = Exec { streaming_bytes, ..Exec::new(&threads) };
            let n = rows * columns;
            let (mut y, mut y2) = (vec![0f32; n], vec![0f32; n]);
            let (mut whole, mut mask) = (vec![0i32; n], vec![9u8; n]);
            let inputs = [
                dense(&x),
                Operand { strides: Some(&[0, 1]), ..dense(&row) },
                Operand { strides: Some(&[1, 0]), ..dense(&column) },
            ];
            let outputs =
                [y.as_mut_ptr().cast(), whole.as_mut_ptr().cast(), mask.as_mut_ptr(), y2.as_mut_ptr().cast()];
            // SAFETY: the strides are those of a row and a column of that shape.
            unsafe { kernel.run(&exec, &[rows, columns], &inputs, &outputs, 999) }.unwrap();
            for i in 0..n {
                let (x, r, c) = (x[i], row[i % columns], column[i / columns]);
                let want = if x > 0.5 { x * r } else { (x + c) * (x + c) };
                assert_eq!((y[i], y2[i], whole[i], mask[i]), (want, want, want as i32, u8::from(x > 0.5)));
            }
        }
    }
}

#[test]
fn a_long_chain_reuses_its_slots_and_a_constant_can_be_a_result() {
    let mut steps = vec![Step::Constant(Scalar::F32(2.0))];
    for i in 0..40 {
        steps.push(op(
            if i % 2 == 0 { BinaryKind::Add } else { BinaryKind::Sub },
            if i == 0 { 0 } else { 1 + i },
            1,
        ));
    }
    let program = Program::new(vec![DType::F32], steps, vec![Register(41), Register(1)]).unwrap();
    let kernel = FusedKernel::new(&program).unwrap();
    assert!(kernel.slots <= 2, "{}", kernel.slots);
    let x = values(777, 4);
    let threads = Threads::new(1, None).unwrap();
    let (mut y, mut two) = (vec![0f32; 777], vec![0f32; 777]);
    // SAFETY: 777 elements each.
    unsafe {
        kernel
            .run(
                &Exec::new(&threads),
                &[777],
                &[dense(&x)],
                &[y.as_mut_ptr().cast(), two.as_mut_ptr().cast()],
                100,
            )
            .unwrap();
    }
    assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-5));
    assert!(two.iter().all(|x| *x == 2.0));
}

#[test]
fn a_fault_names_the_first_element_and_the_step_that_failed() {
    let steps = vec![op(BinaryKind::Rem, 0, 1), op(BinaryKind::Div, 0, 2)];
    let kernel =
        FusedKernel::new(&Program::new(vec![DType::I32; 2], steps, vec![Register(3)]).unwrap()).unwrap();
    // 6 % 3 is 0, so the division fails first at element 6.
    let a: Vec<i32> = (0..3000).map(|i| if i == 6 || i == 2500 { 6 } else { 7 }).collect();
    let b = vec![3i32; 3000];
    let threads = Threads::new(2, None).unwrap();
    let mut out = vec![0i32; 3000];
    let inputs = [&a, &b].map(|v| Operand { start: v.as_ptr().cast(), size: 4, strides: None });
    // SAFETY: 3000 elements each.
    let result =
        unsafe { kernel.run(&Exec::new(&threads), &[3000], &inputs, &[out.as_mut_ptr().cast()], 700) };
    assert_eq!(result, Err(NoResult { element: 6, step: 1 }));
}
