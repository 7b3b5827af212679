//! Fused elementwise programs, against their steps one by one.

use super::case::{Case, Expected, Tolerance};
use super::{binary, cast, select, unary};
use crate::array::Array;
use crate::input::{Form, Input};
use crate::numbers::{Noise, special_and_ordinary};
use situ_core::{DType, Scalar};
use situ_ir::ops::fused::{Fused, Program, Register, Step};
use situ_ir::ops::{Binary, BinaryKind, Cast, Unary, UnaryKind};
use std::sync::Arc;

pub(super) fn cases(list: &mut Vec<Case>) {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::U8] {
        arithmetic(list, dtype);
    }
    activations(list);
    mixed(list);
    logic(list);
}

fn function(kind: UnaryKind, a: u16) -> Step {
    Step::Unary(Unary::new(kind), Register(a))
}

fn pair(kind: BinaryKind, a: u16, b: u16) -> Step {
    Step::Binary(Binary { kind }, Register(a), Register(b))
}

fn push(list: &mut Vec<Case>, label: &str, steps: &[Step], inputs: Vec<Input>, units: f64) {
    let dtypes: Vec<DType> = inputs.iter().map(Input::dtype).collect();
    let last = Register((dtypes.len() + steps.len() - 1) as u16);
    let program = Program::new(dtypes, steps.to_vec(), vec![last]).expect("a valid program");
    let tolerance = match program.dtype(last) {
        // As for gelu alone, whose left tail is the loosest.
        DType::F64 if units > 0.0 => Tolerance::units(DType::F64, 64.0, 1.0).plus(1e-17),
        dtype if units > 0.0 => Tolerance::units(dtype, units, 4.0),
        _ => Tolerance::EQUAL,
    };
    let op = Fused { program: Arc::new(program) };
    let steps = steps.to_vec();
    list.push(Case::new(label, op, inputs, tolerance, move |inputs| interpret(&steps, inputs)));
}

/// Every register in turn, each rounded to its dtype.
fn interpret(steps: &[Step], inputs: &[Array]) -> Expected {
    let mut registers: Vec<Array> = inputs.to_vec();
    for step in steps {
        let at = |r: Register| registers[r.index()].clone();
        let Expected { array, .. } = match *step {
            Step::Constant(value) => Array::of(value.dtype(), &[], &[value.to_f64()]).into(),
            Step::Unary(op, a) => unary::apply(op, &at(a)),
            Step::Binary(op, a, b) => binary::apply(op.kind, &at(a), &at(b)),
            Step::Where(c, a, b) => select::choose(&[at(c), at(a), at(b)]),
            Step::Cast(op, a) => cast::convert(&at(a), op.to),
        };
        registers.push(if array.dtype.is_float() {
            Array::real(array.dtype, &array.dims, array.reals().to_vec())
        } else {
            array
        });
    }
    registers.pop().expect("a program has a step").into()
}

/// `clip(neg(a + b))`: exact in every dtype.
fn arithmetic(list: &mut Vec<Case>, dtype: DType) {
    let mut noise = Noise::named(dtype.name());
    let clip = Step::Unary(Unary::with(UnaryKind::Clip, -2.0, 60.0), Register(3));
    let steps = [pair(BinaryKind::Add, 0, 1), function(UnaryKind::Neg, 2), clip];
    let shapes: [(&[usize], &[usize]); 6] = [
        (&[37], &[37]),
        (&[4, 5], &[5]),
        (&[4, 1, 3], &[2, 1]),
        (&[6, 7], &[]),
        (&[0, 3], &[3]),
        (&[277, 263], &[263]),
    ];
    for (a, b) in shapes {
        push(list, "sum", &steps, vec![noise.array(dtype, a).into(), noise.array(dtype, b).into()], 0.0);
    }
    for form in Form::VIEWS {
        let inputs = [&[5, 6][..], &[6]].map(|dims| Input::formed(noise.array(dtype, dims), form));
        push(list, &format!("sum {}", form.name()), &steps, inputs.into(), 0.0);
    }
    let expanded = Input::expanded(noise.array(dtype, &[3, 1]), &[2, 3, 4]);
    push(list, "sum expanded", &steps, vec![expanded, noise.array(dtype, &[4]).into()], 0.0);
}

/// What follows a product: a bias and a function, and gates.
fn activations(list: &mut Vec<Case>) {
    for dtype in crate::numbers::floats() {
        let mut noise = Noise::named(dtype.name());
        for kind in [UnaryKind::Relu, UnaryKind::Gelu, UnaryKind::Tanh, UnaryKind::Exp, UnaryKind::Sqrt] {
            let steps = [pair(BinaryKind::Add, 0, 1), function(kind, 2)];
            let corners = special_and_ordinary(dtype, 100, &mut noise);
            let n = corners.len();
            let bias = Array::real(dtype, &[1], vec![0.0]);
            push(list, kind.name(), &steps, vec![corners.into(), bias.into()], 8.0);
            let inputs = vec![noise.array(dtype, &[9, n]).into(), noise.array(dtype, &[n]).into()];
            push(list, kind.name(), &steps, inputs, 16.0);
        }
        // x · sigmoid(x) · 2, with a constant.
        let steps = [
            function(UnaryKind::Sigmoid, 0),
            pair(BinaryKind::Mul, 0, 1),
            Step::Constant(Scalar::of(dtype, 2.0)),
            pair(BinaryKind::Mul, 2, 3),
        ];
        push(list, "gate", &steps, vec![noise.array(dtype, &[3, 41]).into()], 12.0);
        push(list, "gate large", &steps, vec![noise.array(dtype, &[20_003]).into()], 12.0);
    }
}

/// Comparisons, choices and casts between dtypes in one program.
fn mixed(list: &mut Vec<Case>) {
    let mut noise = Noise::named("mixed");
    let steps = [
        pair(BinaryKind::Greater, 0, 1),
        Step::Cast(Cast { to: DType::F32 }, Register(2)),
        pair(BinaryKind::Sub, 0, 1),
        Step::Where(Register(3), Register(5), Register(4)),
        Step::Cast(Cast { to: DType::I32 }, Register(6)),
    ];
    for dims in [&[50][..], &[7, 9], &[]] {
        let inputs = vec![
            noise.array(DType::F32, dims).into(),
            noise.array(DType::F32, dims).into(),
            noise.array(DType::I32, dims).into(),
        ];
        push(list, "choice", &steps, inputs, 0.0);
    }
}

fn logic(list: &mut Vec<Case>) {
    let mut noise = Noise::named("logic");
    let steps = [
        pair(BinaryKind::And, 0, 1),
        function(UnaryKind::Not, 0),
        pair(BinaryKind::Xor, 2, 3),
        pair(BinaryKind::Or, 4, 1),
    ];
    for dims in [&[67][..], &[5, 7], &[0]] {
        let inputs = vec![noise.array(DType::Bool, dims).into(), noise.array(DType::Bool, dims).into()];
        push(list, "logic", &steps, inputs, 0.0);
    }
    for form in Form::VIEWS {
        let inputs = [0, 1].map(|_| Input::formed(noise.array(DType::Bool, &[5, 6]), form));
        push(list, &format!("logic {}", form.name()), &steps, inputs.into(), 0.0);
    }
}
