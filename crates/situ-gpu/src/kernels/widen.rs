//! dtypes for which a kernel has no code of its own: operands are converted to words in the workspace, the
//! kernel of words runs on them, and its results are converted back. 16-bit floats are computed in f32 and
//! rounded once; integers of less than a word are computed in i32, and wrap once.

use super::elementwise;
use super::run::Run;
use super::{Kernel, cast};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::ALIGNMENT;
use situ_core::dtype::Class;
use situ_core::{DType, Layout, TensorType};
use situ_device::{Arg, Call, Check, Region, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

/// Ops on integers that give the same low bits whatever the high ones are.
const WRAPPING: [OpKind; 3] = [OpKind::Matmul, OpKind::Cumsum, OpKind::ScatterAdd];

/// Registers for narrow dtypes the kernels of f32 and i32 of every op that has none of its own for them.
pub(super) fn register(registry: &mut Registry<Kernel>) {
    let widened = |kernel: &Kernel| Kernel { widened: true, ..*kernel };
    for dtype in DType::ALL {
        match (dtype.class(), words_of(dtype)) {
            // In one pass a product or a convolution with its bias would be rounded once where its parts, one
            // after another, round twice: a function would not compute what its ops compute.
            (Class::Half, Some(like)) => OpKind::ALL
                .iter()
                .filter(|kind| !matches!(kind, OpKind::MatmulBias | OpKind::Conv2dBias))
                .for_each(|kind| registry.share(*kind, like, dtype, widened)),
            (_, Some(like)) => {
                WRAPPING.iter().for_each(|kind| registry.share(*kind, like, dtype, widened));
            }
            (_, None) => {}
        }
    }
}

/// The dtype of a word in which elements of this one are computed.
fn words_of(dtype: DType) -> Option<DType> {
    match (dtype.class(), dtype.size()) {
        (Class::Half, _) => Some(DType::F32),
        (Class::Signed | Class::Unsigned, 1 | 2) => Some(DType::I32),
        _ => None,
    }
}

/// The type in which the kernel sees an operand of an op on `of`: labels and the like stay as they are.
fn wide(of: DType, ty: &TensorType) -> TensorType {
    let dtype = if ty.dtype == of { words_of(of).unwrap_or(of) } else { ty.dtype };
    TensorType { dtype, ..*ty }
}

/// Bytes of a tensor's place in the workspace.
fn room(of: DType, ty: &TensorType) -> usize {
    let wide = wide(of, ty);
    if wide.dtype == ty.dtype { 0 } else { wide.bytes().next_multiple_of(ALIGNMENT as usize) }
}

/// Scratch bytes of a kernel, with room for what is converted.
pub(crate) fn workspace(
    kernel: &Kernel,
    borders: &Borders,
    op: &Op,
    inputs: &[TensorType],
    outputs: &[TensorType],
) -> usize {
    if !kernel.widened {
        return (kernel.workspace)(borders, op, inputs, outputs);
    }
    let of = op.kernel_dtype(inputs, outputs);
    let places: usize = inputs.iter().chain(outputs).map(|ty| room(of, ty)).sum();
    let wide = |types: &[TensorType]| types.iter().map(|ty| wide(of, ty)).collect::<Vec<_>>();
    places + (kernel.workspace)(borders, op, &wide(inputs), &wide(outputs))
}

/// Queues the kernel of words on narrow operands.
pub(crate) fn launch(kernel: &Kernel, run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let call = run.call;
    let types = |args: &[Arg<'_>]| args.iter().map(Arg::tensor_type).collect::<Vec<_>>();
    let of = call.op.kernel_dtype(&types(call.inputs), &types(call.outputs));
    let mut left = call.workspace;
    let layouts: Vec<Layout> =
        call.inputs.iter().chain(call.outputs).map(|arg| Layout::dense(*arg.layout.shape())).collect();
    let mut args: Vec<Arg<'_>> = Vec::with_capacity(layouts.len());
    for (arg, layout) in call.inputs.iter().chain(call.outputs).zip(&layouts) {
        let (ty, bytes) = (arg.tensor_type(), room(of, &arg.tensor_type()));
        let dtype = wide(of, &ty).dtype;
        args.push(match left {
            // What is empty is never looked at, but for its dtype.
            _ if bytes == 0 => Arg { dtype, ..*arg },
            Some(whole) if whole.bytes >= bytes => {
                left = Some(Region { offset: whole.offset + bytes, bytes: whole.bytes - bytes, ..whole });
                Arg { region: Region { bytes, ..whole }, dtype, layout }
            }
            _ => return Err(Fault::Internal(format!("{} was given too little workspace", call.op.name()))),
        });
    }
    let (inputs, outputs) = args.split_at(call.inputs.len());
    for (from, to) in call.inputs.iter().zip(inputs) {
        convert(run, from, to)?;
    }
    let check = (kernel.launch)(&Run { call: &Call { inputs, outputs, workspace: left, ..*call }, ..*run })?;
    for (to, from) in call.outputs.iter().zip(outputs) {
        convert(run, from, to)?;
    }
    Ok(check)
}

/// Converts a tensor of any layout to a dense one, where their dtypes differ.
fn convert(run: &Run<'_>, from: &Arg<'_>, to: &Arg<'_>) -> Result<(), Fault> {
    let elements = to.layout.shape().elements();
    if from.dtype == to.dtype || elements == 0 {
        return Ok(());
    }
    let (inputs, outputs) = (std::slice::from_ref(from), std::slice::from_ref(to));
    let call = Call { inputs, outputs, ..*run.call };
    let run = Run { call: &call, work: elements as u64, ..*run };
    elementwise::launch(&run, &cast::function(from.dtype, to.dtype)?, inputs, [0; 4]).map(|_| ())
}
