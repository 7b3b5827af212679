//! Views made dense: `dense` itself, and view ops where somebody wants their result in memory of its own.

use super::Kernel;
use super::elementwise::{Function, launch_over};
use super::run::Run;
use super::shader::{Elem, Math};
use crate::fault::Fault;
use situ_core::DType;
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    for kind in [OpKind::Dense, OpKind::Reshape, OpKind::Permute, OpKind::Expand, OpKind::Slice] {
        registry.add(kind, Elem::DTYPES, Kernel::new(run));
    }
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let input = run.input(0);
    let layout = match run.call.op {
        // Elements keep their row-major order, so the input's own axes will do.
        Op::Dense(_) | Op::Reshape(_) => *input.layout,
        op => op
            .view(input.layout, &run.output().tensor_type())
            .ok_or_else(|| Fault::Internal(format!("{} is no view of its input", op.name())))?,
    };
    launch_over(run, &identity(input.dtype), layout.shape(), run.call.inputs, &[layout], [0; 4])
}

/// The function that changes nothing.
pub(super) fn identity(dtype: DType) -> Function {
    let elem = Elem::moved(dtype);
    Function {
        kernel: "copy",
        inputs: vec![elem],
        output: elem,
        math: Math::NONE,
        body: "a".into(),
        bad: None,
    }
}
