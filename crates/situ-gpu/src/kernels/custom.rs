//! Kernels of ops from outside, by the type of op: WGSL text that gives one element of the result.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, per_output};
use crate::custom::{Shader, find};
use crate::fault::Fault;
use crate::pipelines::PipelineKey;
use situ_core::TensorType;
use situ_device::{Check, Lack, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

/// Inputs that there are words for.
const INPUTS: usize = 3;

/// Loop trips for one element, of which an invocation makes four, one after another. Kernels are chosen
/// before a device has counted how far its loops run; one that turns out to count less than this needs is
/// refused at the launch.
const TRIPS: usize = 8_000;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel {
        int64: |_, inputs, outputs| inputs.iter().chain(outputs).any(|ty| ty.dtype.size() == 8),
        ..Kernel::new(run).accepting(|_, _, layout| layout.is_dense())
    };
    registry.add_within(OpKind::Custom, Elem::DTYPES, kernel, supports);
}

fn shader(op: &Op) -> Option<Shader> {
    match op {
        Op::Custom(custom) => find(custom.type_id()),
        _ => None,
    }
}

fn supports(op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> Result<(), Lack> {
    let (Op::Custom(custom), Some(shader)) = (op, shader(op)) else { return Err(Lack::Kernel) };
    let held = |t: &TensorType| Elem::of(t.dtype).is_ok();
    let few = inputs.len() <= INPUTS && outputs.len() == 1;
    let takes = shader.dtypes.contains(&op.kernel_dtype(inputs, outputs));
    if !few || !takes || !inputs.iter().chain(outputs).all(held) {
        return Err(Lack::Kernel);
    }
    match (shader.trips)(custom, inputs) {
        trips if trips > TRIPS => Err(Lack::too_large("loop trips for one element", trips, TRIPS)),
        _ => Ok(()),
    }
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (Op::Custom(op), Some(shader)) = (run.call.op, shader(run.call.op)) else {
        return Err(Fault::Internal(format!("{} has no shader", run.call.op.name())));
    };
    let inputs: Vec<TensorType> = run.call.inputs.iter().map(|arg| arg.tensor_type()).collect();
    let outputs: Vec<TensorType> = run.call.outputs.iter().map(|arg| arg.tensor_type()).collect();
    let trips = 4 * ((shader.trips)(op, &inputs) + 1);
    if trips > run.borders().trips {
        let most = run.borders().trips;
        return Err(Fault::Internal(format!(
            "{} loops {trips} times, and loops end after {most} here",
            run.call.op.name()
        )));
    }
    let mut offsets = [0; 4];
    let mut blocks = Vec::with_capacity(INPUTS + 1);
    let mut elems = [None; INPUTS];
    for (n, arg) in run.call.inputs.iter().enumerate().take(INPUTS) {
        offsets[n] = element_offset(arg);
        elems[n] = Some(Elem::of(arg.dtype)?);
        blocks.push(run.block(arg)?);
    }
    offsets[3] = element_offset(run.output());
    blocks.push(run.block(run.output())?);
    let (output, elements) = (Elem::of(run.output().dtype)?, run.output().layout.shape().elements());
    let params = Params::new([elements as u32, 0, 0, 0], offsets).with((shader.words)(op, &inputs, &outputs));
    // The text follows from the op and from what its operands are made of.
    let key = PipelineKey::new("custom", (op.clone(), elems, output));
    let pipeline = run.pipeline(key, || {
        let elements = elems.iter().flatten().chain([&output]);
        let mut text = elements.fold(Math::NONE, |math, elem| math | elem.math()).text();
        for (n, (elem, lane)) in elems.iter().flatten().zip(["x", "y", "z"]).enumerate() {
            let load = elem.load(&format!("b{n}"), &format!("params.w[1].{lane} + i"));
            text += &format!("fn in{n}(i: u32) -> {} {{ return {load}; }}\n", elem.wgsl());
        }
        text += "fn own() -> vec4<u32> { return params.w[2]; }\n";
        text += &(shader.text)(op);
        let (ty, bits) = (output.bits_type(), output.bits("result(e)"));
        text += &format!("fn element(e: u32) -> {ty} {{ return {bits}; }}\n");
        per_output(output, elems.iter().flatten().count(), false, &text)
    })?;
    run.dispatch(&pipeline, &blocks, &params, groups_for(elements))?;
    Ok(None)
}
