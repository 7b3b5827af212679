//! Conversions: float to integer rounds toward zero and saturates, NaN is 0; integers narrow by wrapping;
//! anything to bool is "not zero".

use super::Kernel;
use super::elem::Number;
use super::elementwise::{Function, launch};
use super::run::Run;
use super::shader::{Elem, Math};
use crate::fault::Fault;
use situ_core::{DType, TensorType};
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add_where(OpKind::Cast, Elem::DTYPES, Kernel::new(run), supports);
}

fn supports(_: &Op, _: &[TensorType], outputs: &[TensorType]) -> bool {
    Elem::of(outputs[0].dtype).is_ok()
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let function = function(run.input(0).dtype, run.output().dtype)?;
    launch(run, &function, run.call.inputs, [0; 4])
}

/// The conversion from one dtype to another, on any adapter: integers of 64 bits are pairs of words.
pub(super) fn function(from: DType, to: DType) -> Result<Function, Fault> {
    let (from, to) = (Elem::of(from)?.in_words(), Elem::of(to)?.in_words());
    let (math, body) = body(from, to);
    Ok(Function { kernel: "cast", inputs: vec![from], output: to, math, body: body.into(), bad: None })
}

/// The conversion of `a` as WGSL, and the mathematics it stands on.
pub(super) fn body(from: Elem, to: Elem) -> (Math, String) {
    if from == to {
        return (Math::NONE, "a".into());
    }
    let pairs = [from, to].iter().any(|elem| elem.size() == 8);
    let whole = from.dtype.is_integer();
    match to.number {
        Number::Bool if from.is_float() => (Math::NONE, "a != 0.0 || is_nan(a)".into()),
        Number::Bool if pairs => (Math::PAIRS, format!("any({} != vec2<u32>(0u))", pair_of(from, to))),
        Number::Bool => (Math::NONE, format!("a != {}(0)", from.wgsl())),
        // Of more bits than f32 has, on the way to fewer: rounded so that the second rounding sees them.
        Number::F32 if whole && to.dtype == DType::BF16 && from.size() >= 4 => {
            (Math::PAIRS, format!("{}_odd_of({})", sign(from), pair_of(from, to)))
        }
        Number::F32 if whole && pairs => {
            (Math::PAIRS, format!("{}_float_of({})", sign(from), pair_of(from, to)))
        }
        Number::F32 => (
            Math::NONE,
            match from.number {
                Number::F32 => "a".into(),
                Number::Bool => "select(0.0, 1.0, a)".into(),
                _ => "f32(a)".into(),
            },
        ),
        Number::I64 | Number::U64 | Number::Pair => {
            let pair = pair_of(from, to);
            let math = Math::PAIRS | from.math() | to.math();
            match to.number {
                Number::I64 => (math, format!("i64_of({pair})")),
                Number::U64 => (math, format!("u64_of({pair})")),
                _ => (math, pair),
            }
        }
        Number::I32 | Number::U32 if from.is_float() => (Math::NONE, saturated(to)),
        Number::I32 | Number::U32 if pairs => {
            let word = format!("{}.x", pair_of(from, to));
            let word = if to.number == Number::I32 { format!("bitcast<i32>({word})") } else { word };
            (Math::PAIRS | from.math(), word)
        }
        Number::I32 | Number::U32 => {
            let ty = to.wgsl();
            let text = match from.number {
                Number::Bool => format!("select({ty}(0), {ty}(1), a)"),
                _ => format!("bitcast<{ty}>(a)"),
            };
            (Math::NONE, text)
        }
    }
}

fn sign(elem: Elem) -> &'static str {
    if elem.dtype.is_unsigned() { "unsigned" } else { "signed" }
}

/// The two words of `a` as an integer of 64 bits.
fn pair_of(from: Elem, to: Elem) -> String {
    match from.number {
        Number::F32 => format!("{}_pair_of(a)", sign(to)),
        Number::I32 => "sign_extended(a)".into(),
        Number::U32 => "vec2<u32>(a, 0u)".into(),
        Number::Bool => "vec2<u32>(select(0u, 1u, a), 0u)".into(),
        Number::I64 => "i64_bits(a)".into(),
        Number::U64 => "u64_bits(a)".into(),
        Number::Pair => "a".into(),
    }
}

/// A float as an integer of at most 32 bits: the nearest that the dtype has.
fn saturated(to: Elem) -> String {
    let ty = to.wgsl();
    match to.dtype {
        // The largest f32 below 2^31 or 2^32 is an integer: clamping to it leaves the upper end to be said.
        DType::I32 => "select(select(i32(clamp(a, -2147483648.0, 2147483520.0)), 2147483647, a >= 2147483648.0), 0, is_nan(a))".into(),
        DType::U32 => "select(select(u32(clamp(a, 0.0, 4294967040.0)), 4294967295u, a >= 4294967296.0), 0u, is_nan(a))".into(),
        _ => {
            let range = to.dtype.whole_range().unwrap_or(0..=0);
            let (low, high) = (range.start(), range.end());
            format!("select({ty}(clamp(a, {low}.0, {high}.0)), {ty}(0), is_nan(a))")
        }
    }
}
