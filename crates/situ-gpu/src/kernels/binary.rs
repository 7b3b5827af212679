//! Functions of two elements, broadcast; and the bias, which is a sum broadcast over rows.

use super::Kernel;
use super::elementwise::{Function, launch};
use super::run::Run;
use super::shader::{Elem, Math};
use crate::checks::BadValue;
use crate::fault::Fault;
use situ_core::{DType, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::BinaryKind;
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add_where(OpKind::Binary, Elem::DTYPES, Kernel::new(run), supports);
    registry.add(OpKind::BiasAdd, &[DType::F32, DType::I32], Kernel::new(run));
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
        body: text.into(),
        bad: divides(kind, elem).then_some((ZERO_DIVISOR, BadValue::DivisionByZero)),
    };
    launch(run, &function, run.call.inputs, [0; 4])
}

/// Whether it has no value where [`ZERO_DIVISOR`].
pub(super) fn divides(kind: BinaryKind, elem: Elem) -> bool {
    elem == Elem::I32 && matches!(kind, BinaryKind::Div | BinaryKind::Rem)
}

/// The condition under which a division has no value.
pub(super) const ZERO_DIVISOR: &str = "b == 0";

/// The mathematics that the function stands on.
pub(super) fn math(kind: BinaryKind, elem: Elem) -> Math {
    match (kind, elem) {
        (BinaryKind::Pow, Elem::F32) => Math::POW,
        (BinaryKind::Rem, Elem::F32) => Math::REM,
        _ => Math::NONE,
    }
}

/// The function of `a` and `b` as WGSL.
pub(super) fn body(kind: BinaryKind, elem: Elem) -> Option<&'static str> {
    match elem {
        Elem::F32 => float(kind),
        Elem::I32 => integer(kind),
        Elem::Bool => truth(kind),
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

fn integer(kind: BinaryKind) -> Option<&'static str> {
    Some(match kind {
        BinaryKind::Add => "a + b",
        BinaryKind::Sub => "a - b",
        BinaryKind::Mul => "a * b",
        // By zero is reported; by -1 the least value wraps, which WGSL also says.
        BinaryKind::Div => "select(a / select(b, 1, b == 0), 0, b == 0)",
        BinaryKind::Rem => "select(a % select(b, 1, b == 0 || b == -1), 0, b == 0)",
        BinaryKind::Maximum => "max(a, b)",
        BinaryKind::Minimum => "min(a, b)",
        BinaryKind::Equal => "a == b",
        BinaryKind::NotEqual => "a != b",
        BinaryKind::Less => "a < b",
        BinaryKind::LessEqual => "a <= b",
        BinaryKind::Greater => "a > b",
        BinaryKind::GreaterEqual => "a >= b",
        BinaryKind::Pow | BinaryKind::And | BinaryKind::Or | BinaryKind::Xor => return None,
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
