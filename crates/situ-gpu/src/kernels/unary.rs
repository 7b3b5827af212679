//! Functions of one element.

use super::Kernel;
use super::elem::Number;
use super::elementwise::{Function, launch};
use super::run::Run;
use super::shader::{Elem, Math};
use crate::fault::Fault;
use situ_core::TensorType;
use situ_device::{Check, Registry};
use situ_ir::ops::{Unary, UnaryKind};
use situ_ir::{Op, OpKind};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add_where(OpKind::Unary, Elem::DTYPES, Kernel::new(run).computing(), supports);
}

fn supports(op: &Op, inputs: &[TensorType], _: &[TensorType]) -> bool {
    let (Op::Unary(op), Ok(elem)) = (op, Elem::of(inputs[0].dtype)) else { return false };
    body(op.kind, elem).is_some()
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Unary(op) = run.call.op else { return Err(Fault::Internal("not a unary op".into())) };
    let elem = Elem::of(run.input(0).dtype)?;
    let output = Elem::of(run.output().dtype)?;
    let (math, text) = body(op.kind, elem)
        .ok_or_else(|| Fault::Internal(format!("{} of {elem:?} has no kernel", op.kind.name())))?;
    let function = Function { kernel: "unary", inputs: vec![elem], output, math, body: text, bad: None };
    launch(run, &function, run.call.inputs, own_words(op, elem))
}

/// The parameters as the body reads them: two words, or, of 64-bit integers, two for each.
pub(super) fn own_words(op: &Unary, elem: Elem) -> [u32; 4] {
    let [low, high] = op.params.map(|p| p.0);
    let Some(range) = elem.dtype.whole_range() else {
        return [(low as f32).to_bits(), (high as f32).to_bits(), 0, 0];
    };
    // The integers within the bounds of clip: the bounds round inwards.
    let within = |bound: f64| (bound as i128).clamp(*range.start(), *range.end()) as u64;
    let [low, high] = [within(low.ceil()), within(high.floor())];
    match elem.size() {
        8 => [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32],
        _ => [low as u32, high as u32, 0, 0],
    }
}

/// The function of `a` as WGSL, and the mathematics it stands on.
pub(super) fn body(kind: UnaryKind, elem: Elem) -> Option<(Math, Cow<'static, str>)> {
    // `N` is the type of numbers, `LOW` and `HIGH` are the bounds of clip.
    let whole = |text: &'static str| {
        let bounds = match elem.number {
            Number::I64 => ["i64_of(vec2<u32>(own.x, own.y))", "i64_of(vec2<u32>(own.z, own.w))"],
            Number::U64 => ["u64_of(vec2<u32>(own.x, own.y))", "u64_of(vec2<u32>(own.z, own.w))"],
            Number::I32 => ["bitcast<i32>(own.x)", "bitcast<i32>(own.y)"],
            _ => ["own.x", "own.y"],
        };
        let text = text.replace("LOW", bounds[0]).replace("HIGH", bounds[1]);
        (Math::NONE, text.replace("N(", &format!("{}(", elem.wgsl())).into())
    };
    match elem.number {
        Number::F32 => Some(float(kind)).filter(|_| kind != UnaryKind::Not).map(|(m, t)| (m, t.into())),
        Number::I32 | Number::I64 => signed(kind).map(whole),
        Number::U32 | Number::U64 => unsigned(kind).map(whole),
        Number::Bool => (kind == UnaryKind::Not).then_some((Math::NONE, "!a".into())),
        Number::Pair => None,
    }
}

fn float(kind: UnaryKind) -> (Math, &'static str) {
    match kind {
        UnaryKind::Neg => (Math::NONE, "-a"),
        UnaryKind::Abs => (Math::NONE, "abs(a)"),
        UnaryKind::Sign => (Math::NONE, "select(select(a, -1.0, a < 0.0), 1.0, a > 0.0 && !is_nan(a))"),
        UnaryKind::Exp => (Math::EXP, "exp_of(a)"),
        UnaryKind::Expm1 => (Math::EXP, "expm1_of(a)"),
        UnaryKind::Log => (Math::LOG, "log_of(a)"),
        UnaryKind::Log1p => (Math::LOG, "log1p_of(a)"),
        UnaryKind::Sqrt => (Math::NONE, "select(sqrt(a), nan(), a < 0.0)"),
        UnaryKind::Rsqrt => (Math::NONE, "select(1.0 / sqrt(a), nan(), a < 0.0)"),
        UnaryKind::Square => (Math::NONE, "a * a"),
        UnaryKind::Reciprocal => (Math::NONE, "1.0 / a"),
        UnaryKind::Sin => (Math::TRIG, "sin_of(a)"),
        UnaryKind::Cos => (Math::TRIG, "cos_of(a)"),
        UnaryKind::Tanh => (Math::EXP, "tanh_of(a)"),
        UnaryKind::Sigmoid => (Math::EXP, "sigmoid_of(a)"),
        // NaN is not below 0, so it stays.
        UnaryKind::Relu => (Math::NONE, "select(a, 0.0, a < 0.0 && !is_nan(a))"),
        UnaryKind::LeakyRelu => (Math::NONE, "select(a, bitcast<f32>(own.x) * a, a < 0.0)"),
        UnaryKind::Elu => (Math::EXP, "select(bitcast<f32>(own.x) * expm1_of(a), a, a > 0.0)"),
        UnaryKind::Gelu => (Math::ERF, "gelu_of(a)"),
        UnaryKind::Silu => (Math::EXP, "silu_of(a)"),
        UnaryKind::Softplus => (Math::SOFTPLUS, "softplus_of(a)"),
        UnaryKind::Erf => (Math::ERF, "erf_of(a)"),
        UnaryKind::Floor => (Math::NONE, "floor(a)"),
        UnaryKind::Ceil => (Math::NONE, "ceil(a)"),
        UnaryKind::Round => (Math::NONE, "round(a)"),
        UnaryKind::Clip => (Math::NONE, "clip_of(a, bitcast<f32>(own.x), bitcast<f32>(own.y))"),
        UnaryKind::IsNan => (Math::NONE, "is_nan(a)"),
        UnaryKind::Not => (Math::NONE, ""),
    }
}

fn signed(kind: UnaryKind) -> Option<&'static str> {
    Some(match kind {
        UnaryKind::Neg => "-a",
        UnaryKind::Abs => "select(a, -a, a < N(0))",
        UnaryKind::Sign => "select(select(N(0), N(-1), a < N(0)), N(1), a > N(0))",
        UnaryKind::Relu => "select(a, N(0), a < N(0))",
        kind => return whole(kind),
    })
}

fn unsigned(kind: UnaryKind) -> Option<&'static str> {
    Some(match kind {
        UnaryKind::Neg => "N(0) - a",
        UnaryKind::Abs | UnaryKind::Relu => "a",
        UnaryKind::Sign => "select(N(0), N(1), a > N(0))",
        kind => return whole(kind),
    })
}

/// Those that take integers, and to which their sign makes no difference.
fn whole(kind: UnaryKind) -> Option<&'static str> {
    match kind {
        UnaryKind::Square => Some("a * a"),
        // The bounds are in order: of two that are passed, the upper one counts.
        UnaryKind::Clip => Some("select(select(a, LOW, a < LOW), HIGH, select(a, LOW, a < LOW) > HIGH)"),
        UnaryKind::Neg
        | UnaryKind::Abs
        | UnaryKind::Sign
        | UnaryKind::Relu
        | UnaryKind::Exp
        | UnaryKind::Log
        | UnaryKind::Log1p
        | UnaryKind::Expm1
        | UnaryKind::Sqrt
        | UnaryKind::Rsqrt
        | UnaryKind::Reciprocal
        | UnaryKind::Sin
        | UnaryKind::Cos
        | UnaryKind::Tanh
        | UnaryKind::Sigmoid
        | UnaryKind::LeakyRelu
        | UnaryKind::Elu
        | UnaryKind::Gelu
        | UnaryKind::Silu
        | UnaryKind::Softplus
        | UnaryKind::Erf
        | UnaryKind::Floor
        | UnaryKind::Ceil
        | UnaryKind::Round
        | UnaryKind::Not
        | UnaryKind::IsNan => None,
    }
}
