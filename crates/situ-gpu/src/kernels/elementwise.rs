//! The machinery of elementwise kernels: one function of up to three elements, four elements at a time;
//! `quads` says how those are found.
//!
//! An op supplies the text of `fn apply(..)`; `unary`, `binary`, `select` and `cast` are tables of such
//! texts.

use super::elem::LANES;
use super::quads::Quads;
use super::run::{Params, Run, element_offset, groups_for, offset_of};
use super::shader::{Elem, Math, entry};
use super::space::Space;
use crate::checks::BadValue;
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{Layout, Shape};
use situ_device::{Arg, Check};
use std::borrow::Cow;
use std::sync::Arc;

/// An elementwise function as text.
pub(crate) struct Function {
    /// The name of its family.
    pub(crate) kernel: &'static str,
    pub(crate) inputs: Vec<Elem>,
    pub(crate) output: Elem,
    pub(crate) math: Math,
    /// An expression in `a`, `b`, `c` (the inputs), `own` (the op's four words) and `e` (the element's
    /// number).
    pub(crate) body: Cow<'static, str>,
    /// An expression that is true where an element can't be computed, and what that means.
    pub(crate) bad: Option<(String, BadValue)>,
}

/// Queues the function over `inputs`, broadcast to the output's shape.
pub(crate) fn launch(
    run: &Run<'_>,
    f: &Function,
    inputs: &[Arg<'_>],
    own: [u32; 4],
) -> Result<Option<Arc<Check>>, Fault> {
    let shape = *run.output().layout.shape();
    let layouts: Vec<Layout> = inputs.iter().map(|a| a.layout.expand(shape)).collect();
    launch_over(run, f, &shape, inputs, &layouts, own)
}

/// Queues the function over `inputs` as `layouts` lay them out; all have `shape`, whose elements in row-major
/// order are the output's.
pub(crate) fn launch_over(
    run: &Run<'_>,
    f: &Function,
    shape: &Shape,
    inputs: &[Arg<'_>],
    layouts: &[Layout],
    own: [u32; 4],
) -> Result<Option<Arc<Check>>, Fault> {
    let output = run.output();
    let none: &[isize] = &[0; situ_core::MAX_RANK];
    let strides = std::array::from_fn(|i| layouts.get(i).map_or(none, |l| l.strides()));
    let space = Space::<3>::merged(shape, strides);

    let mut offsets = [0; 4];
    offsets[3] = element_offset(output);
    for (i, arg) in inputs.iter().enumerate() {
        offsets[i] = offset_of(arg, &layouts[i]);
    }
    let quads = Quads::of(&space, &offsets[..inputs.len()]);

    let elements = shape.elements();
    let mut params = Params::new([elements as u32, space.rank as u32, 0, 0], offsets).with(own);
    for axis in 0..space.rank {
        let [a, b, c] = space.strides.map(|s| s[axis]);
        params = params.axis(axis, [space.sizes[axis], a, b, c]);
    }
    let elems: [Option<Elem>; 3] = std::array::from_fn(|i| f.inputs.get(i).copied());
    let key = PipelineKey::new(f.kernel, (f.body.clone(), elems, f.output, f.bad.is_some(), quads.clone()));
    let pipeline = run.pipeline(key, || source(f, &quads))?;
    let mut blocks = Vec::with_capacity(4);
    for arg in inputs {
        blocks.push(run.block(arg)?);
    }
    blocks.push(run.block(output)?);
    let groups = groups_for(elements);
    match &f.bad {
        Some((_, bad)) => run.dispatch_checked(&pipeline, &blocks, &params, groups, *bad, None),
        None => run.dispatch(&pipeline, &blocks, &params, groups).map(|()| None),
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What it stands on, and `fn apply(a: .., b: .., e: u32) -> ..`, which notes an element that can't be
/// computed.
fn apply(f: &Function) -> String {
    let math = f.inputs.iter().chain([&f.output]).fold(f.math, |math, elem| math | elem.math());
    let arguments: String = f.inputs.iter().zip(NAMES).map(|(i, n)| format!("{n}: {}, ", i.wgsl())).collect();
    let note = f.bad.as_ref().map_or(String::new(), |(bad, _)| {
        let slots = f.inputs.len() + 1;
        format!("    if {bad} && e < params.w[0].x {{ atomicMax(&b{slots}[p(63u) * 4u], ~e); }}\n")
    });
    format!(
        "{}fn apply({arguments}e: u32) -> {} {{\n    let own = params.w[2];\n{note}    return {};\n}}\n",
        math.text(),
        f.output.wgsl(),
        f.body
    )
}

fn source(f: &Function, quads: &Quads) -> Source {
    let count = f.inputs.len();
    let mut text = apply(f);
    text += &entry(256);
    text += "    let q = group * 256u + lane;\n    if q * 4u >= params.w[0].x { return; }\n";
    text += &quads.text(
        &f.inputs,
        |i| format!("params.w[1].{}", LANES[i]),
        |axis| format!("params.w[{}].x", Params::AXES + axis),
        |axis, i| format!("params.w[{}].{}", Params::AXES + axis, LANES[i + 1]),
    );
    for (k, lane) in LANES.iter().enumerate() {
        let arguments: String = (0..count).map(|i| format!("v{i}{lane}, ")).collect();
        text += &format!("    let r{lane} = apply({arguments}q * 4u + {k}u);\n");
    }
    text += &f.output.store_four(count, "params.w[1].w", &LANES.map(|lane| format!("r{lane}")));
    text += "}\n";
    let mut buffers: Vec<View> = f.inputs.iter().enumerate().map(|(i, elem)| quads.view(i, *elem)).collect();
    buffers.push(f.output.view_of_four());
    if f.bad.is_some() {
        buffers.push(View::Atomics);
    }
    Source { buffers, wgsl: text }
}
