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

const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.3,
    -2.7,
    1e-8,
    12_582_912.0,
    -16_777_216.0,
    1e30,
    -1e-30,
    f32::MAX,
    1e-40,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Bits, but for NaN, of which there is one.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() }).collect()
}

/// Runs steps one by one, each as its own op.
fn one_by_one(steps: &[Step], inputs: &[&Tensor]) -> Vec<Tensor> {
    let mut made: Vec<Tensor> = Vec::new();
    for step in steps {
        let op = step.op().expect("no constants here");
        let reads: Vec<&Tensor> =
            step.reads()
                .map(|r| {
                    if r.index() < inputs.len() { inputs[r.index()] } else { &made[r.index() - inputs.len()] }
                })
                .collect();
        let one = run(op, &reads);
        made.push(one);
    }
    made
}

/// Functions of register `of` alone and with the others, either way round where that makes a difference.
fn float_functions(of: u16, with: &[u16]) -> Vec<Step> {
    use BinaryKind::{Add, Div, Maximum, Minimum, Mul, Sub};
    use UnaryKind::{Abs, Clip, Floor, LeakyRelu, Neg, Reciprocal, Relu, Rsqrt, Sign, Sqrt, Square};
    let pairs = with.iter().flat_map(|&other| {
        let either = [Add, Sub, Mul, Div, Maximum, Minimum].map(|kind| binary(kind, of, other));
        either.into_iter().chain([Sub, Div].map(|kind| binary(kind, other, of)))
    });
    let plain = [Neg, Abs, Square, Sqrt, Rsqrt, Reciprocal, Sign, Relu, Floor].map(Unary::new);
    let clips = [(-1.0, 1e9), (-0.0, f64::INFINITY), (0.0, 2.0), (-2.0, -0.0)]
        .map(|(low, high)| Unary::with(Clip, low, high));
    let more = clips.into_iter().chain([Unary::with(LeakyRelu, 0.1, 0.0)]);
    pairs.chain(plain.into_iter().chain(more).map(|op| Step::Unary(op, r(of)))).collect()
}

fn all_pairs() -> [Tensor; 2] {
    let n = SPECIAL.len();
    let [a, b]: [Vec<f32>; 2] =
        [(0..n * n).map(|i| SPECIAL[i / n]).collect(), (0..n * n).map(|i| SPECIAL[i % n]).collect()];
    [Tensor::new(&[n * n], &a), Tensor::new(&[n * n], &b)]
}

#[test]
fn no_pair_of_steps_is_computed_as_if_floats_were_real_numbers() {
    if device().is_none() {
        return;
    }
    let [a, b] = all_pairs();
    for first in float_functions(0, &[1]) {
        let seconds = float_functions(2, &[0, 1, 2]);
        for some in seconds.chunks(5) {
            let steps: Vec<Step> = [first].iter().chain(some).copied().collect();
            let outputs: Vec<u16> = (3..3 + some.len() as u16).collect();
            let want = one_by_one(&steps, &[&a, &b]);
            let got = run_all(fused(&[DType::F32; 2], steps, &outputs), &[&a, &b]);
            for (n, second) in some.iter().enumerate() {
                let (got, want) = (got[n].read::<f32>(), want[n + 1].read::<f32>());
                assert_eq!(bits(&got), bits(&want), "{first:?}, {second:?}: {got:?}, one by one {want:?}");
            }
        }
    }
}

#[test]
fn steps_that_a_driver_would_merge_or_see_through_keep_their_values() {
    if device().is_none() {
        return;
    }
    let [a, b] = all_pairs();
    let sub = |x, y| binary(BinaryKind::Sub, x, y);
    let mul = |x, y| binary(BinaryKind::Mul, x, y);
    let cast = |to, x| Step::Cast(Cast { to }, r(x));
    let unary = |kind, x| Step::Unary(Unary::new(kind), r(x));
    let programs: [Vec<Step>; 8] = [
        // The same sum twice, the other way round the second time.
        vec![binary(BinaryKind::Add, 0, 1), binary(BinaryKind::Add, 1, 0), sub(2, 3)],
        // The rest of a sum that rounding lost.
        vec![binary(BinaryKind::Add, 0, 1), sub(2, 0), sub(3, 1), sub(1, 3)],
        // A float made whole and back, made a bool and back, and what is multiplied by it.
        vec![cast(DType::I32, 0), cast(DType::F32, 2), mul(3, 1)],
        vec![cast(DType::Bool, 0), cast(DType::F32, 2), mul(3, 1)],
        // A cast that changes nothing, and twice the opposite.
        vec![cast(DType::F32, 0), sub(2, 0), sub(0, 2)],
        vec![unary(UnaryKind::Neg, 0), unary(UnaryKind::Neg, 2), sub(3, 0), binary(BinaryKind::Add, 0, 2)],
        // A difference that is compared, and a choice between an operand and what was made of it.
        vec![sub(0, 1), sub(0, 0), binary(BinaryKind::Less, 2, 3), Step::Where(r(4), r(0), r(2)), sub(5, 0)],
        // Products that nearly cancel.
        vec![mul(0, 1), mul(0, 0), binary(BinaryKind::Div, 2, 0), sub(4, 1), binary(BinaryKind::Div, 3, 0)],
    ];
    for steps in programs {
        let floats: Vec<u16> = {
            let program = Program::new(vec![DType::F32; 2], steps.clone(), vec![r(2)]).unwrap();
            (2..2 + steps.len() as u16).filter(|i| program.dtype(r(*i)) == DType::F32).collect()
        };
        let want = one_by_one(&steps, &[&a, &b]);
        // Only the last, so that what is in between is seen by nobody; then everything.
        for outputs in [&floats[floats.len() - 1..], &floats] {
            let got = run_all(fused(&[DType::F32; 2], steps.clone(), outputs), &[&a, &b]);
            for (tensor, register) in got.iter().zip(outputs) {
                let (got, want) = (tensor.read::<f32>(), want[usize::from(*register) - 2].read::<f32>());
                assert_eq!(bits(&got), bits(&want), "{steps:?}, register {register}");
            }
        }
    }
}

#[test]
fn parts_of_the_mathematics_meet_in_one_kernel() {
    if device().is_none() {
        return;
    }
    // Pairs of words, exponentials, powers, remainders, trigonometry and 16-bit floats, each of which brings
    // functions of its own.
    let steps = vec![
        Step::Cast(Cast { to: DType::F32 }, r(0)),
        Step::Unary(Unary::new(UnaryKind::Exp), r(1)),
        Step::Unary(Unary::new(UnaryKind::Erf), r(2)),
        Step::Unary(Unary::new(UnaryKind::Softplus), r(3)),
        binary(BinaryKind::Pow, 4, 2),
        binary(BinaryKind::Rem, 5, 4),
        Step::Unary(Unary::new(UnaryKind::Sin), r(6)),
        Step::Unary(Unary::new(UnaryKind::Log), r(4)),
        binary(BinaryKind::Add, 7, 8),
        Step::Cast(Cast { to: DType::F16 }, r(9)),
    ];
    let whole = Tensor::new(&[5], &[-3i64, -1, 0, 1, 2]);
    let outputs = run_all(fused(&[DType::I64], steps, &[9, 10]), &[&whole]);
    let f32_of = |op: situ_ir::Op, inputs: &[&Tensor]| run(op, inputs);
    let unary = |kind: UnaryKind, a: &Tensor| f32_of(Unary::new(kind).into(), &[a]);
    let two = |kind: BinaryKind, a: &Tensor, b: &Tensor| f32_of(Binary { kind }.into(), &[a, b]);
    let x = f32_of(Cast { to: DType::F32 }.into(), &[&whole]);
    let exp = unary(UnaryKind::Exp, &x);
    let plus = unary(UnaryKind::Softplus, &unary(UnaryKind::Erf, &exp));
    let rest = two(BinaryKind::Rem, &two(BinaryKind::Pow, &plus, &exp), &plus);
    let sum = two(BinaryKind::Add, &unary(UnaryKind::Sin, &rest), &unary(UnaryKind::Log, &plus));
    assert_eq!(outputs[0].read::<f32>(), sum.read::<f32>());
}
