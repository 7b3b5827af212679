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
    let elem = Elem::moved(run.output().dtype);
    let function = Function {
        kernel: "where",
        inputs: vec![Elem::BOOL, elem, elem],
        output: elem,
        math: Math::NONE,
        body: "select(c, b, a)".into(),
        bad: None,
    };
    launch(run, &function, run.call.inputs, [0; 4])
}
