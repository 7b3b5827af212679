//! Functions of one element.

use super::case::{Case, Expected, Tolerance};
use super::special_functions::{erf, normal};
use crate::array::{Array, wrap};
use crate::input::{Form, Input};
use crate::numbers::{Noise, special_and_ordinary};
use situ_core::{DType, Shape, TensorType};
use situ_ir::Op;
use situ_ir::ops::{Unary, UnaryKind};

/// More elements than one task of any CPU kernel has, and not a multiple of anything.
const LARGE: usize = 70_003;

pub(super) fn cases(list: &mut Vec<Case>) {
    for &kind in UnaryKind::ALL {
        for dtype in DType::ALL {
            let op = Unary { kind, params: parameters(kind).map(situ_core::Real) };
            let ty = TensorType::new(dtype, Shape::SCALAR);
            if Op::from(op).infer(&[ty]).is_ok() {
                of_dtype(list, op, dtype);
            }
        }
    }
}

fn parameters(kind: UnaryKind) -> [f64; 2] {
    match kind {
        UnaryKind::LeakyRelu => [0.125, 0.0],
        UnaryKind::Elu => [1.25, 0.0],
        UnaryKind::Clip => [-1.5, 2.25],
        _ => [0.0, 0.0],
    }
}

fn of_dtype(list: &mut Vec<Case>, op: Unary, dtype: DType) {
    let mut noise = Noise::named(op.kind.name());
    let tolerance = tolerance(op.kind, dtype);
    let reference = move |inputs: &[Array]| apply(op, &inputs[0]);
    let table = special_and_ordinary(dtype, 200, &mut noise);
    list.push(Case::new("corners", op, vec![table.into()], tolerance, reference));
    for form in Form::VIEWS {
        let array = noise.array(dtype, &[5, 7]);
        list.push(Case::formed("", form, op, vec![array], tolerance, reference));
    }
    let expanded = Input::expanded(noise.array(dtype, &[4, 1]), &[3, 4, 6]);
    list.push(Case::new("expanded", op, vec![expanded], tolerance, reference));
    for dims in [&[] as &[usize], &[0, 3], &[1, 1, 3]] {
        list.push(Case::new("", op, vec![noise.array(dtype, dims).into()], tolerance, reference));
    }
    if matches!(dtype, DType::F32 | DType::I32) {
        list.push(Case::new("large", op, vec![noise.array(dtype, &[LARGE]).into()], tolerance, reference));
    }
}

fn tolerance(kind: UnaryKind, dtype: DType) -> Tolerance {
    match kind {
        UnaryKind::Neg | UnaryKind::Abs | UnaryKind::Floor | UnaryKind::Ceil | UnaryKind::Round => {
            Tolerance::BITS
        }
        UnaryKind::Sign | UnaryKind::Square | UnaryKind::Relu | UnaryKind::Clip => Tolerance::EQUAL,
        UnaryKind::Not | UnaryKind::IsNan => Tolerance::EQUAL,
        UnaryKind::Sqrt | UnaryKind::Reciprocal | UnaryKind::LeakyRelu => Tolerance::units(dtype, 1.0, 4.0),
        UnaryKind::Rsqrt => Tolerance::units(dtype, 2.0, 4.0),
        UnaryKind::Sin | UnaryKind::Cos => Tolerance::units(dtype, 4.0, 4.0).plus(match dtype {
            DType::F64 => 1e-15,
            _ => 1e-7,
        }),
        UnaryKind::Exp
        | UnaryKind::Expm1
        | UnaryKind::Log
        | UnaryKind::Log1p
        | UnaryKind::Tanh
        | UnaryKind::Sigmoid => Tolerance::units(dtype, 4.0, 4.0),
        UnaryKind::Elu | UnaryKind::Softplus | UnaryKind::Erf => Tolerance::units(dtype, 6.0, 4.0),
        // Where the sigmoid is denormal, x times its last unit.
        UnaryKind::Silu => {
            Tolerance::units(dtype, 6.0, 4.0).plus(if dtype == DType::F32 { 2e-43 } else { 0.0 })
        }
        // In f64 the left tail magnifies the rounding of x/√2 by x²: kernels keep 1e-14 of it as far as
        // 1e-17.
        UnaryKind::Gelu if dtype == DType::F64 => Tolerance::units(dtype, 64.0, 1.0).plus(1e-17),
        UnaryKind::Gelu => Tolerance::units(dtype, 8.0, 4.0),
    }
}

pub(super) fn apply(op: Unary, x: &Array) -> Expected {
    let [a, b] = op.params.map(|p| p.0);
    match op.kind {
        UnaryKind::Not => Array::whole(DType::Bool, &x.dims, x.wholes().iter().map(|v| 1 - v).collect()),
        UnaryKind::IsNan => {
            Array::whole(DType::Bool, &x.dims, x.reals().iter().map(|v| i128::from(v.is_nan())).collect())
        }
        _ if x.dtype.is_float() => {
            let values = x.reals().iter().map(|&v| real(op.kind, v, a, b)).collect();
            Array::unrounded(x.dtype, &x.dims, values)
        }
        _ => {
            let values = x.wholes().iter().map(|&v| wrap(x.dtype, whole(op.kind, v, a, b))).collect();
            Array::whole(x.dtype, &x.dims, values)
        }
    }
    .into()
}

fn real(kind: UnaryKind, x: f64, a: f64, b: f64) -> f64 {
    match kind {
        UnaryKind::Neg => -x,
        UnaryKind::Abs => x.abs(),
        UnaryKind::Sign => match x {
            x if x > 0.0 => 1.0,
            x if x < 0.0 => -1.0,
            x => x,
        },
        UnaryKind::Exp => x.exp(),
        UnaryKind::Log => x.ln(),
        UnaryKind::Expm1 => x.exp_m1(),
        UnaryKind::Log1p => x.ln_1p(),
        UnaryKind::Sqrt => x.sqrt(),
        UnaryKind::Rsqrt => 1.0 / x.sqrt(),
        UnaryKind::Square => x * x,
        UnaryKind::Reciprocal => 1.0 / x,
        UnaryKind::Sin => x.sin(),
        UnaryKind::Cos => x.cos(),
        UnaryKind::Tanh => x.tanh(),
        UnaryKind::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        UnaryKind::Relu if x < 0.0 => 0.0,
        UnaryKind::Relu => x,
        UnaryKind::LeakyRelu if x < 0.0 => a * x,
        UnaryKind::LeakyRelu => x,
        UnaryKind::Elu if x > 0.0 => x,
        UnaryKind::Elu => a * x.exp_m1(),
        // The limits at -inf are 0, where the formulas give -inf · 0.
        UnaryKind::Gelu | UnaryKind::Silu if x == f64::NEG_INFINITY => 0.0,
        UnaryKind::Gelu => x * normal(x),
        UnaryKind::Silu => x / (1.0 + (-x).exp()),
        UnaryKind::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p() + if x.is_nan() { x } else { 0.0 },
        UnaryKind::Erf => erf(x),
        UnaryKind::Floor => x.floor(),
        UnaryKind::Ceil => x.ceil(),
        UnaryKind::Round => x.round_ties_even(),
        UnaryKind::Clip if x.is_nan() => x,
        UnaryKind::Clip => x.max(a).min(b),
        UnaryKind::Not | UnaryKind::IsNan => unreachable!("done above"),
    }
}

fn whole(kind: UnaryKind, x: i128, a: f64, b: f64) -> i128 {
    match kind {
        UnaryKind::Neg => x.wrapping_neg(),
        UnaryKind::Abs => x.wrapping_abs(),
        UnaryKind::Sign => x.signum(),
        UnaryKind::Square => x.wrapping_mul(x),
        UnaryKind::Relu => x.max(0),
        // The integers within the bounds.
        UnaryKind::Clip => x.max(a.ceil() as i128).min(b.floor() as i128),
        other => unreachable!("{} is for floats", other.name()),
    }
}
