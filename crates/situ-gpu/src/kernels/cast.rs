//! Conversions: float to integer rounds toward zero and saturates, NaN is 0; anything to bool is "not zero".

use super::Kernel;
use super::elementwise::{Function, launch};
use super::pairs;
use super::run::Run;
use super::shader::{Elem, Math};
use crate::fault::Fault;
use situ_core::TensorType;
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add_where(OpKind::Cast, Elem::DTYPES, Kernel::new(run), supports);
    registry.add_where(OpKind::Cast, pairs::DTYPES, Kernel::new(run), supports);
}

fn supports(_: &Op, _: &[TensorType], outputs: &[TensorType]) -> bool {
    Elem::of(outputs[0].dtype).is_ok() || pairs::DTYPES.contains(&outputs[0].dtype)
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    if [run.input(0), run.output()].iter().any(|arg| pairs::DTYPES.contains(&arg.dtype)) {
        return pairs::cast(run);
    }
    let (from, to) = (Elem::of(run.input(0).dtype)?, Elem::of(run.output().dtype)?);
    let function = Function {
        kernel: "cast",
        inputs: vec![from],
        output: to,
        math: Math::NONE,
        body: body(from, to).into(),
        bad: None,
    };
    launch(run, &function, run.call.inputs, [0; 4])
}

/// The conversion of `a` as WGSL.
pub(super) fn body(from: Elem, to: Elem) -> &'static str {
    match (from, to) {
        (Elem::F32, Elem::F32) | (Elem::I32, Elem::I32) | (Elem::Bool, Elem::Bool) => "a",
        // The largest f32 below 2^31 is an integer, so clamping to it and to -2^31 leaves the ends to be
        // said.
        (Elem::F32, Elem::I32) => {
            "select(select(i32(clamp(a, -2147483648.0, 2147483520.0)), 2147483647, a >= 2147483648.0), 0, is_nan(a))"
        }
        (Elem::F32, Elem::Bool) => "a != 0.0 || is_nan(a)",
        (Elem::I32, Elem::F32) => "f32(a)",
        (Elem::I32, Elem::Bool) => "a != 0",
        (Elem::Bool, Elem::F32) => "select(0.0, 1.0, a)",
        (Elem::Bool, Elem::I32) => "select(0, 1, a)",
    }
}
