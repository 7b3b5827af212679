//! Fused programs against the same steps one by one.

use super::harness::*;
use situ_core::{DType, Scalar};
use situ_ir::ops::fused::{Fused, Program, Register, Step};
use situ_ir::ops::{Binary, BinaryKind, Cast, Unary, UnaryKind};
use std::sync::Arc;

fn r(i: u16) -> Register {
    Register(i)
}

fn binary(kind: BinaryKind, a: u16, b: u16) -> Step {
    Step::Binary(Binary { kind }, r(a), r(b))
}

fn fused(inputs: &[DType], steps: Vec<Step>, outputs: &[u16]) -> Fused {
    let outputs = outputs.iter().map(|o| r(*o)).collect();
    Fused { program: Arc::new(Program::new(inputs.to_vec(), steps, outputs).unwrap()) }
}

#[test]
fn a_program_gives_what_its_steps_give_dense_or_through_views() {
    if device().is_none() {
        return;
    }
    // gelu(a · x + b), whether it is above a threshold, and the larger of it and x where it is.
    let op = |scale: f32| {
        fused(
            &[DType::F32; 3],
            vec![
                binary(BinaryKind::Mul, 0, 1),
                binary(BinaryKind::Add, 3, 2),
                Step::Unary(Unary::new(UnaryKind::Gelu), r(4)),
                Step::Constant(Scalar::F32(scale)),
                binary(BinaryKind::Greater, 5, 6),
                binary(BinaryKind::Maximum, 5, 1),
                Step::Where(r(7), r(8), r(5)),
                Step::Unary(Unary::with(UnaryKind::Clip, -0.5, 1.5), r(9)),
                Step::Cast(Cast { to: DType::I32 }, r(7)),
            ],
            &[10, 7, 11],
        )
    };
    let (rows, columns) = (37, 28);
    let x = Tensor::new(&[rows, columns], &numbers(rows * columns, 1));
    let turned = Tensor::new(&[columns, rows], &numbers(rows * columns, 2)).permute(&[1, 0]);
    let same = Tensor::new(&[rows, columns], &numbers(rows * columns, 3));
    let row = Tensor::new(&[columns], &numbers(columns, 4));
    let one = Tensor::new(&[], &[0.75f32]);
    for (a, b) in [(&same, &same), (&one, &same), (&turned, &row), (&row, &one)] {
        for scale in [0.1, -0.2] {
            let run1 = |op: situ_ir::Op, inputs: &[&Tensor]| run(op, inputs);
            let sum = run1(
                Binary { kind: BinaryKind::Add }.into(),
                &[&run1(Binary { kind: BinaryKind::Mul }.into(), &[a, &x]), b],
            );
            let gelu: Vec<f32> = run1(Unary::new(UnaryKind::Gelu).into(), &[&sum]).read();
            let outputs = run_all(op(scale), &[a, &x, b]);
            let above: Vec<bool> = gelu.iter().map(|g| *g > scale).collect();
            let want: Vec<f64> = gelu
                .iter()
                .zip(&above)
                .zip(x.read::<f32>())
                .map(|((g, above), x)| f64::from(if *above { g.max(x) } else { *g }.clamp(-0.5, 1.5)))
                .collect();
            assert_close(&outputs[0].read(), &want, 1e-6, 1e-7);
            assert_eq!(outputs[1].read::<bool>(), above);
            assert_eq!(outputs[2].read::<i32>(), above.iter().map(|a| i32::from(*a)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn six_inputs_of_eight_axes_and_constants_that_no_literal_can_be() {
    if device().is_none() {
        return;
    }
    let dims = [2, 3, 1, 2, 2, 3, 2, 2];
    let n: usize = dims.iter().product();
    let backwards = [7, 6, 5, 4, 3, 2, 1, 0];
    let inputs: Vec<Tensor> = (0..6)
        .map(|i| {
            let turned: Vec<usize> = backwards.iter().map(|a| dims[*a]).collect();
            if i % 2 == 0 {
                Tensor::new(&turned, &numbers(n, i)).permute(&backwards)
            } else {
                Tensor::new(&dims, &numbers(n, i))
            }
        })
        .collect();
    let mut steps: Vec<Step> =
        (0..5).map(|i| binary(BinaryKind::Add, if i == 0 { 0 } else { 5 + i }, i + 1)).collect();
    steps.push(Step::Constant(Scalar::F32(f32::NEG_INFINITY)));
    steps.push(binary(BinaryKind::Maximum, 10, 11));
    let got: Vec<f32> = run(fused(&[DType::F32; 6], steps, &[12]), &inputs.iter().collect::<Vec<_>>()).read();
    let columns: Vec<Vec<f32>> = inputs.iter().map(Tensor::read).collect();
    let want: Vec<f64> =
        (0..n).map(|i| f64::from(columns[1..].iter().fold(columns[0][i], |s, c| s + c[i]))).collect();
    assert_close(&got, &want, 0.0, 0.0);
}

#[test]
fn a_division_by_zero_inside_a_program_is_reported_under_its_own_name() {
    if device().is_none() {
        return;
    }
    for dims in [&[6][..], &[2, 3]] {
        let op =
            fused(&[DType::I32; 2], vec![binary(BinaryKind::Div, 0, 1), binary(BinaryKind::Add, 2, 0)], &[3]);
        let a = Tensor::new(dims, &[10, 20, 30, 40, 50, 60]);
        let good = run(op.clone(), &[&a, &Tensor::new(dims, &[1, 2, 3, 4, 5, 6])]);
        assert_eq!(good.read::<i32>(), [20, 30, 40, 50, 60, 70]);
        assert!(good.check.unwrap().outcome().unwrap().is_none());
        let bad = run(op, &[&a, &Tensor::new(dims, &[1, 2, 3, 4, 0, 0])]);
        bad.read::<i32>();
        let check = bad.check.unwrap();
        let data = check.outcome().unwrap().unwrap();
        assert_eq!((data.op, data.row), ("div", 4));
    }
}
