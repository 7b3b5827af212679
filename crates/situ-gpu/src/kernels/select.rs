//! `where`: one of two elements, by a third.

use super::Kernel;
use super::elementwise::{Function, launch};
use super::run::Run;
use super::shader::{Elem, Math};
use crate::fault::Fault;
use situ_device::{Check, Registry};
use situ_ir::OpKind;
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Where, Elem::DTYPES, Kernel::new(run));
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    // Integers stand for floats too: the bits are moved as they are.
    let elem = match Elem::of(run.output().dtype)? {
        Elem::F32 | Elem::I32 => Elem::I32,
        Elem::Bool => Elem::Bool,
    };
    let function = Function {
        kernel: "where",
        inputs: vec![Elem::Bool, elem, elem],
        output: elem,
        math: Math::NONE,
        body: "select(c, b, a)".into(),
        bad: None,
    };
    launch(run, &function, run.call.inputs, [0; 4])
}
