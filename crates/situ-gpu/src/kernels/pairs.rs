//! i64 as pairs of words, low word first, without 64-bit arithmetic, which many GPUs lack: copies and
//! conversions.

use super::copy::identity;
use super::elementwise::launch_over;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, locate, per_output};
use super::space::Space;
use crate::fault::Fault;
use crate::pipelines::PipelineKey;
use situ_core::{DType, Layout, MAX_RANK, Shape, TensorType};
use situ_device::{Arg, Call, Check};
use std::sync::Arc;

/// The dtypes that are moved so.
pub(super) const DTYPES: &[DType] = &[DType::I64];

/// Whether a tensor has room for the axis of its pairs.
pub(super) fn fit(ty: &TensorType) -> bool {
    ty.shape.rank() < MAX_RANK
}

/// A layout of elements as one of words: one more axis, which the words of a pair lie along.
fn words(layout: &Layout) -> Result<Layout, Fault> {
    let mut dims: Vec<usize> = layout.shape().dims().to_vec();
    let mut strides: Vec<isize> = layout.strides().iter().map(|stride| 2 * stride).collect();
    dims.push(2);
    strides.push(1);
    let shape = Shape::new(&dims).map_err(|error| Fault::Internal(error.to_string()))?;
    Ok(Layout::strided(shape, &strides, 2 * layout.offset()))
}

/// The launch with its output, and those inputs that are so marked, as tensors of words.
pub(super) fn run(
    run: &Run<'_>,
    marked: &[bool],
    launch: fn(&Run<'_>) -> Result<Option<Arc<Check>>, Fault>,
) -> Result<Option<Arc<Check>>, Fault> {
    let call = run.call;
    let is_marked = |n: usize| n >= call.inputs.len() || marked.get(n) == Some(&true);
    let args = call.inputs.iter().chain(call.outputs);
    let layouts = args.clone().map(|arg| words(arg.layout)).collect::<Result<Vec<Layout>, Fault>>()?;
    let args: Vec<Arg<'_>> = args
        .zip(&layouts)
        .enumerate()
        .map(|(n, (arg, layout))| match is_marked(n) {
            true => Arg { dtype: DType::I32, layout, ..*arg },
            false => *arg,
        })
        .collect();
    let (inputs, outputs) = args.split_at(call.inputs.len());
    let call = Call { inputs, outputs, ..*call };
    launch(&Run { call: &call, ..*run })
}

/// Copies what `layout` shows of the input.
pub(super) fn copy(run: &Run<'_>, layout: &Layout) -> Result<Option<Arc<Check>>, Fault> {
    let layout = words(layout)?;
    let (input, output) = (run.input(0), run.output());
    let to = words(output.layout)?;
    let inputs = [Arg { dtype: DType::I32, layout: &layout, ..*input }];
    let outputs = [Arg { dtype: DType::I32, layout: &to, ..*output }];
    let call = Call { inputs: &inputs, outputs: &outputs, ..*run.call };
    let run = Run { call: &call, ..*run };
    launch_over(&run, &identity(Elem::I32), layout.shape(), &inputs, &[layout], [0; 4])
}

/// Converts from i64 to what kernels have, or back.
pub(super) fn cast(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (input, output) = (run.input(0), run.output());
    let (from, to) = (input.dtype, output.dtype);
    let shape = *output.layout.shape();
    let none: &[isize] = &[0; MAX_RANK];
    let space = Space::<3>::merged(&shape, [input.layout.strides(), none, none]);
    let each = if to == DType::I64 { 2 } else { 1 };
    let words = each * shape.elements();
    let offsets = [element_offset(input), 0, 0, each as u32 * element_offset(output)];
    let mut params = Params::new([words as u32, space.rank as u32, 0, 0], offsets);
    for axis in 0..space.rank {
        params = params.axis(axis, [space.sizes[axis], space.strides[0][axis], 0, 0]);
    }
    // What is written is words, or bytes of truth.
    let written = if to == DType::I64 { Elem::I32 } else { Elem::of(to)? };
    let key = PipelineKey::new("cast_pairs", (from, to));
    let load = if from == DType::I64 { String::new() } else { Elem::of(from)?.load("b0", "at0") };
    let pipeline = run.pipeline(key, || per_output(written, 1, false, &source(from, to, &load)))?;
    run.dispatch(&pipeline, &[run.block(input)?, run.block(output)?], &params, groups_for(words))?;
    Ok(None)
}

/// `fn element(n: u32) -> u32`: the bits of element n, or, of i64, of word n.
fn source(from: DType, to: DType, load: &str) -> String {
    let number = if to == DType::I64 { "n >> 1u" } else { "n" };
    // The pair that the element becomes, or is.
    let pair = match from {
        DType::I64 => "vec2<u32>(b0[2u * at0], b0[2u * at0 + 1u])".to_string(),
        DType::F32 => format!("pair_of({load})"),
        DType::Bool => format!("vec2<u32>(select(0u, 1u, {load}), 0u)"),
        _ => format!("sign_extended({load})"),
    };
    let result = match to {
        DType::I64 => "select(pair.x, pair.y, (n & 1u) == 1u)",
        DType::F32 => "bitcast<u32>(float_of(pair))",
        DType::Bool => "select(0u, 1u, (pair.x | pair.y) != 0u)",
        // The low bits, as integers narrow.
        _ => "pair.x",
    };
    Math::NONE.text()
        + include_str!("wgsl/pairs.wgsl")
        + &format!(
            "fn element(n: u32) -> u32 {{\n    let e = {number};\n{}    let pair = {pair};\n    return {result};\n}}\n",
            locate(1)
        )
}
