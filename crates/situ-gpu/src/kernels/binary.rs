//! Functions of two elements, broadcast; and the bias, which is a sum broadcast over rows.

use super::Kernel;
use super::elem::Number;
use super::elementwise::{Function, launch};
use super::run::Run;
use super::shader::{Elem, Math};
use crate::checks::BadValue;
use crate::fault::Fault;
use situ_core::TensorType;
use situ_device::{Check, Registry};
use situ_ir::ops::BinaryKind;
use situ_ir::{Op, OpKind};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add_where(OpKind::Binary, Elem::DTYPES, Kernel::new(run).computing(), supports);
    registry.add(OpKind::BiasAdd, Elem::NUMBERS, Kernel::new(run).computing());
}

fn supports(op: &Op, inputs: &[TensorType], _: &[TensorType]) -> bool {
    let (Op::Binary(op), Ok(elem)) = (op, Elem::of(inputs[0].dtype)) else { return false };
    body(op.kind, elem).is_some()
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let kind = match run.call.op {
        Op::Binary(op) => op.kind,
        Op::BiasAdd(_) => BinaryKind::Add,
        other => return Err(Fault::Internal(format!("{} is no binary op", other.name()))),
    };
    let elem = Elem::of(run.input(0).dtype)?;
    let text = body(kind, elem)
        .ok_or_else(|| Fault::Internal(format!("{} of {elem:?} has no kernel", kind.name())))?;
    let function = Function {
        kernel: "binary",
        inputs: vec![elem; 2],
        output: Elem::of(run.output().dtype)?,
        math: math(kind, elem),
        body: text,
        bad: divides(kind, elem).then(|| (zero_divisor(elem), BadValue::DivisionByZero)),
    };
    launch(run, &function, run.call.inputs, [0; 4])
}

/// Whether it has no value where [`zero_divisor`] holds.
pub(super) fn divides(kind: BinaryKind, elem: Elem) -> bool {
    elem.dtype.is_integer() && matches!(kind, BinaryKind::Div | BinaryKind::Rem)
}

/// The condition under which a division has no value.
pub(super) fn zero_divisor(elem: Elem) -> String {
    format!("b == {}(0)", elem.wgsl())
}

/// The mathematics that the function stands on.
pub(super) fn math(kind: BinaryKind, elem: Elem) -> Math {
    match (kind, elem.number) {
        (BinaryKind::Pow, Number::F32) => Math::POW,
        (BinaryKind::Rem, Number::F32) => Math::REM,
        _ => Math::NONE,
    }
}

/// The function of `a` and `b` as WGSL.
pub(super) fn body(kind: BinaryKind, elem: Elem) -> Option<Cow<'static, str>> {
    // `N` is the type of numbers.
    let whole = |text: &'static str| text.replace("N(", &format!("{}(", elem.wgsl())).into();
    match elem.number {
        Number::F32 => float(kind).map(Cow::from),
        Number::I32 | Number::I64 => signed(kind).map(whole),
        Number::U32 | Number::U64 => unsigned(kind).map(whole),
        Number::Bool => truth(kind).map(Cow::from),
        Number::Pair => None,
    }
}

fn float(kind: BinaryKind) -> Option<&'static str> {
    // Comparisons do not trust the compiler with NaN.
    Some(match kind {
        BinaryKind::Add => "a + b",
        BinaryKind::Sub => "a - b",
        BinaryKind::Mul => "a * b",
        BinaryKind::Div => "a / b",
        BinaryKind::Rem => "rem_of(a, b)",
        BinaryKind::Pow => "pow_of(a, b)",
        BinaryKind::Maximum => "max_nan(a, b)",
        BinaryKind::Minimum => "min_nan(a, b)",
        BinaryKind::Equal => "a == b && !is_nan(a) && !is_nan(b)",
        BinaryKind::NotEqual => "!(a == b && !is_nan(a) && !is_nan(b))",
        BinaryKind::Less => "a < b && !is_nan(a) && !is_nan(b)",
        BinaryKind::LessEqual => "a <= b && !is_nan(a) && !is_nan(b)",
        BinaryKind::Greater => "a > b && !is_nan(a) && !is_nan(b)",
        BinaryKind::GreaterEqual => "a >= b && !is_nan(a) && !is_nan(b)",
        BinaryKind::And | BinaryKind::Or | BinaryKind::Xor => return None,
    })
}

fn signed(kind: BinaryKind) -> Option<&'static str> {
    Some(match kind {
        // By zero is reported; by -1 the least value wraps.
        BinaryKind::Div => {
            "select(select(a / select(b, N(1), b == N(0) || b == N(-1)), -a, b == N(-1)), N(0), b == N(0))"
        }
        BinaryKind::Rem => "select(a % select(b, N(1), b == N(0) || b == N(-1)), N(0), b == N(0))",
        kind => return whole(kind),
    })
}

fn unsigned(kind: BinaryKind) -> Option<&'static str> {
    Some(match kind {
        BinaryKind::Div => "select(a / select(b, N(1), b == N(0)), N(0), b == N(0))",
        BinaryKind::Rem => "select(a % select(b, N(1), b == N(0)), N(0), b == N(0))",
        kind => return whole(kind),
    })
}

/// What is written the same way for integers with a sign and without.
fn whole(kind: BinaryKind) -> Option<&'static str> {
    Some(match kind {
        BinaryKind::Add => "a + b",
        BinaryKind::Sub => "a - b",
        BinaryKind::Mul => "a * b",
        BinaryKind::Maximum => "select(b, a, a > b)",
        BinaryKind::Minimum => "select(b, a, a < b)",
        BinaryKind::Equal => "a == b",
        BinaryKind::NotEqual => "a != b",
        BinaryKind::Less => "a < b",
        BinaryKind::LessEqual => "a <= b",
        BinaryKind::Greater => "a > b",
        BinaryKind::GreaterEqual => "a >= b",
        BinaryKind::Div
        | BinaryKind::Rem
        | BinaryKind::Pow
        | BinaryKind::And
        | BinaryKind::Or
        | BinaryKind::Xor => return None,
    })
}

fn truth(kind: BinaryKind) -> Option<&'static str> {
    Some(match kind {
        BinaryKind::And => "a && b",
        BinaryKind::Or => "a || b",
        BinaryKind::Xor | BinaryKind::NotEqual => "a != b",
        BinaryKind::Equal => "a == b",
        BinaryKind::Add
        | BinaryKind::Sub
        | BinaryKind::Mul
        | BinaryKind::Div
        | BinaryKind::Rem
        | BinaryKind::Pow
        | BinaryKind::Maximum
        | BinaryKind::Minimum
        | BinaryKind::Less
        | BinaryKind::LessEqual
        | BinaryKind::Greater
        | BinaryKind::GreaterEqual => return None,
    })
}
