//! Tensors laid side by side: concat, pad, tile.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, entry, locate, per_output};
use super::space::Space;
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Concat, Elem::DTYPES, Kernel::new(concat));
    registry.add(OpKind::Pad, Elem::DTYPES, Kernel::new(pad));
    registry.add(OpKind::Tile, Elem::DTYPES, Kernel::new(tile));
}

/// One dispatch for each input, which writes its elements where they belong.
fn concat(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Concat(op) = run.call.op else { return Err(Fault::Internal("not a concat".into())) };
    let axis = usize::from(op.axis);
    let output = run.output();
    let out_strides = output.layout.shape().dense_strides();
    let elem = Elem::moved(output.dtype);
    let pipeline = run.pipeline(PipelineKey::new("place", elem), || place_source(elem))?;
    let out_block = run.block(output)?;
    if elem.per_word() > 1 {
        // Elements are or-ed into words that neighbours share, which must be zero before.
        let bytes = (output.layout.shape().elements() * elem.size()).next_multiple_of(4);
        run.stream.clear(out_block, output.region.offset as u64, bytes as u64)?;
    }
    let mut start = 0;
    for input in run.call.inputs {
        let shape = input.layout.shape();
        let elements = shape.elements();
        if elements > 0 {
            let space = Space::merged(shape, [input.layout.strides(), &out_strides]);
            let out_offset = element_offset(output) + (start * out_strides[axis] as usize) as u32;
            let offsets = [element_offset(input), out_offset, 0, 0];
            let mut params = Params::new([elements as u32, space.rank as u32, 0, 0], offsets);
            for axis in 0..space.rank {
                let [from, to] = space.strides.map(|s| s[axis]);
                params = params.axis(axis, [space.sizes[axis], from, to, 0]);
            }
            run.dispatch(&pipeline, &[run.block(input)?, out_block], &params, groups_for(elements))?;
        }
        start += shape[axis];
    }
    Ok(None)
}

fn place_source(elem: Elem) -> Source {
    let mut wgsl = format!("fn place(e: u32) {{\n{}", locate(2));
    wgsl += &match elem.size() {
        8 => "    b1[2u * at1] = b0[2u * at0];\n    b1[2u * at1 + 1u] = b0[2u * at0 + 1u];\n}\n".to_string(),
        4 => "    b1[at1] = b0[at0];\n}\n".to_string(),
        size => format!(
            "    let bits = {};
    if bits != 0u {{ atomicOr(&b1[at1 / {per}u], bits << ((at1 % {per}u) * {}u)); }}\n}}\n",
            elem.load("b0", "at0"),
            8 * size,
            per = elem.per_word()
        ),
    };
    wgsl += &entry(256);
    wgsl += "    for (var k = 0u; k < 4u; k++) {
        let e = group * 1024u + k * 256u + lane;
        if e < params.w[0].x { place(e); }
    }
}
";
    let out = if elem.per_word() > 1 { View::Atomics } else { View::Words };
    Source { buffers: vec![View::Words, out], wgsl }
}

/// Axis words: size of the output, stride of the input, elements before, size of the input.
fn pad(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Pad(op) = run.call.op else { return Err(Fault::Internal("not a pad".into())) };
    let (input, output) = (run.input(0), run.output());
    let shape = output.layout.shape();
    let offsets = [element_offset(input), 0, 0, element_offset(output)];
    let mut params = Params::new([shape.elements() as u32, shape.rank() as u32, 0, 0], offsets).with([
        op.value.bits() as u32,
        (op.value.bits() >> 32) as u32,
        0,
        0,
    ]);
    for axis in 0..shape.rank() {
        let stride = input.layout.strides()[axis] as u32;
        let size = input.layout.shape()[axis] as u32;
        params = params.axis(axis, [shape[axis] as u32, stride, op.before()[axis] as u32, size]);
    }
    let elem = Elem::moved(output.dtype);
    let value = if elem.size() == 8 { "xy" } else { "x" };
    let text = format!(
        "
        let i = c - axis.z;
        if i >= axis.w {{ return params.w[2].{value}; }}
        at += i * axis.y;"
    );
    walk(run, "pad", elem, &text, &params)
}

/// Axis words: size of the output, stride of the input, size of the input.
fn tile(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (input, output) = (run.input(0), run.output());
    let shape = output.layout.shape();
    let offsets = [element_offset(input), 0, 0, element_offset(output)];
    let mut params = Params::new([shape.elements() as u32, shape.rank() as u32, 0, 0], offsets);
    for axis in 0..shape.rank() {
        let stride = input.layout.strides()[axis] as u32;
        params = params.axis(axis, [shape[axis] as u32, stride, input.layout.shape()[axis] as u32, 0]);
    }
    walk(run, "tile", Elem::moved(output.dtype), "\n        at += (c % axis.z) * axis.y;", &params)
}

/// A kernel that finds each output element's place in the input axis by axis: `step` turns the coordinate `c`
/// along `axis` into a distance added to `at`.
fn walk(
    run: &Run<'_>,
    kernel: &'static str,
    elem: Elem,
    step: &str,
    params: &Params,
) -> Result<Option<Arc<Check>>, Fault> {
    let pipeline = run.pipeline(PipelineKey::new(kernel, elem), || {
        let (ty, value) = (elem.bits_type(), elem.load("b0", "at"));
        let text = format!(
            "fn element(e: u32) -> {ty} {{
    var rest = e;
    var at = params.w[1].x;
    for (var d = params.w[0].y; d > 0u; d--) {{
        let axis = params.w[2u + d];
        let above = rest / axis.x;
        let c = rest - above * axis.x;
        rest = above;{step}
    }}
    return {value};
}}
"
        );
        per_output(elem, 1, false, &text)
    })?;
    let blocks = [run.block(run.input(0))?, run.block(run.output())?];
    run.dispatch(&pipeline, &blocks, params, groups_for(run.output().layout.shape().elements()))?;
    Ok(None)
}
