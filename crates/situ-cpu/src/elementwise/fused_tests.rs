//! Fused programs against the same steps one at a time.

use super::*;
use crate::threads::Threads;
use situ_core::{DType, Real};
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

/// Programs of cheap float steps: every instruction of a chain, values that are read late, several outputs.
fn chains() -> Vec<Program> {
    let maps = [
        UnaryKind::Neg,
        UnaryKind::Abs,
        UnaryKind::Sqrt,
        UnaryKind::Rsqrt,
        UnaryKind::Square,
        UnaryKind::Reciprocal,
        UnaryKind::Relu,
    ];
    let functions = [
        BinaryKind::Add,
        BinaryKind::Sub,
        BinaryKind::Mul,
        BinaryKind::Div,
        BinaryKind::Maximum,
        BinaryKind::Minimum,
    ];
    let comparisons = [
        BinaryKind::Equal,
        BinaryKind::NotEqual,
        BinaryKind::Less,
        BinaryKind::LessEqual,
        BinaryKind::Greater,
        BinaryKind::GreaterEqual,
    ];
    let program = |steps: Vec<Step>, outputs: &[u16]| {
        Program::new(vec![DType::F32; 2], steps, outputs.iter().map(|r| Register(*r)).collect()).unwrap()
    };
    let mut list: Vec<Program> = maps.iter().map(|kind| program(vec![map(*kind, 0)], &[2])).collect();
    for kind in [UnaryKind::LeakyRelu, UnaryKind::Clip] {
        let step = Step::Unary(Unary { kind, params: [Real(0.125), Real(2.5)] }, Register(0));
        list.push(program(vec![step], &[2]));
    }
    for kind in functions {
        // f(a, b), f(b, f(a, b)), f(last, last): the block as either operand and as both.
        list.push(program(vec![op(kind, 0, 1), op(kind, 1, 2), op(kind, 3, 3)], &[4]));
    }
    for kind in comparisons {
        let choose = Step::Where(Register(2), Register(0), Register(3));
        let steps = vec![op(kind, 0, 1), map(UnaryKind::Neg, 1), choose];
        list.push(program(steps, &[4]));
    }
    // Every result is read again at the end, constants between, two results and one of them twice.
    let steps = vec![
        op(BinaryKind::Mul, 0, 1),                          // 2
        Step::Constant(Scalar::F32(3.0)),                   // 3
        op(BinaryKind::Sub, 3, 2),                          // 4
        map(UnaryKind::Square, 4),                          // 5
        op(BinaryKind::Less, 5, 3),                         // 6
        op(BinaryKind::Add, 5, 2),                          // 7
        Step::Where(Register(6), Register(7), Register(5)), // 8
        op(BinaryKind::Add, 8, 4),                          // 9
    ];
    list.push(program(steps, &[9, 7, 9]));
    list
}

/// Ordinary values, and those that comparisons and signs trip over.
fn awkward(count: usize, seed: usize) -> Vec<f32> {
    let odd = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 2.0, 1.0];
    let odd_at = |i: usize| (i + seed).is_multiple_of(3).then(|| odd[(i / 3 + seed) % odd.len()]);
    values(count, seed).into_iter().enumerate().map(|(i, x)| odd_at(i).unwrap_or(x)).collect()
}

#[test]
fn a_chain_in_registers_gives_the_bits_of_the_tiles_streamed_or_not_on_every_level() {
    for program in chains() {
        let kernel = FusedKernel::new(&program).unwrap();
        assert!(kernel.chain.is_some(), "{program:?}");
        let tiles = FusedKernel { chain: None, ..FusedKernel::new(&program).unwrap() };
        for level in Level::available() {
            for (count, streaming_bytes) in [(5, usize::MAX), (64, 1), (1000, usize::MAX), (20_003, 1)] {
                let (a, b) = (awkward(count, 1), awkward(count, 2));
                let threads = Threads::new(2, None).unwrap();
                let exec = Exec { streaming_bytes, ..Exec::new(&threads).with_level(level) };
                let run = |kernel: &FusedKernel| {
                    let mut results = vec![vec![7f32; count]; program.outputs().len()];
                    let outputs: Vec<*mut u8> = results.iter_mut().map(|r| r.as_mut_ptr().cast()).collect();
                    // SAFETY: `count` elements each.
                    unsafe { kernel.run(&exec, &[count], &[dense(&a), dense(&b)], &outputs, 7000) }.unwrap();
                    // Which NaN it is, no operation promises.
                    let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
                    results.iter().map(|r| r.iter().map(bits).collect()).collect::<Vec<Vec<u32>>>()
                };
                assert_eq!(run(&kernel), run(&tiles), "{program:?} at {level}, {count} elements");
            }
        }
    }
}

#[test]
fn a_chain_writes_over_an_operand_where_it_has_read_all_of_it_and_else_into_a_buffer() {
    // The second program reads an input after its first result.
    let first = vec![op(BinaryKind::Mul, 0, 1), op(BinaryKind::Add, 2, 0)];
    let second = vec![op(BinaryKind::Mul, 0, 1), op(BinaryKind::Add, 2, 0)];
    for (steps, outputs) in [(first, vec![Register(3)]), (second, vec![Register(2), Register(3)])] {
        let kernel = FusedKernel::new(&Program::new(vec![DType::F32; 2], steps, outputs.clone()).unwrap());
        let kernel = kernel.unwrap();
        assert_eq!(kernel.chain.as_ref().unwrap().is_in_place(), outputs.len() == 1);
        let count = 5003;
        let (mut a, b) = (values(count, 1), values(count, 2));
        let original = a.clone();
        let mut other = vec![0f32; count];
        let threads = Threads::new(2, None).unwrap();
        let start = a.as_mut_ptr();
        let inputs = [Operand { start: start.cast_const().cast(), size: 4, strides: None }, dense(&b)];
        let places = [start.cast(), other.as_mut_ptr().cast()];
        // SAFETY: `count` elements each; the first result is where a dense operand of its size starts.
        unsafe { kernel.run(&Exec::new(&threads), &[count], &inputs, &places[..outputs.len()], 900) }
            .unwrap();
        for i in 0..count {
            let product = original[i] * b[i];
            let want = [product + original[i], product];
            assert_eq!(a[i], want[outputs.len() - 1]);
            assert!(outputs.len() == 1 || other[i] == want[0]);
        }
    }
}
