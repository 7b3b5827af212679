//! Steps of optimizers: one invocation for each element, everything in one pass.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Math, entry};
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::DType;
use situ_device::{Check, Registry};
use situ_ir::ops::update::{Update, UpdateKind};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel::new(run).accepting(|_, _, layout| layout.is_dense());
    registry.add(OpKind::Update, &[DType::F32], kernel);
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Update(op) = run.call.op else { return Err(Fault::Internal("not an update".into())) };
    let states = op.states();
    if run.call.inputs.len() != 3 + states || run.call.outputs.len() != 1 + states {
        return Err(Fault::Internal("an update without its state".into()));
    }
    let elements = run.output().layout.shape().elements();
    let all: Vec<_> = run.call.inputs.iter().chain(run.call.outputs).collect();
    let mut offsets = [0; 8];
    for (to, arg) in offsets.iter_mut().zip(&all) {
        *to = element_offset(arg);
    }
    let [a, b, c, d, e, f, g, h] = offsets;
    let bits = |x: f64| (x as f32).to_bits();
    let [first, second, epsilon] = op.numbers();
    let decay = op.decay.0;
    let params = Params::new([elements as u32, 0, 0, 0], [a, b, c, d])
        .with([bits(first), bits(second), bits(epsilon), bits(decay)])
        .axis(0, [e, f, g, h])
        .axis(1, [bits(first.ln()), bits(second.ln()), bits(1.0 - first), bits(1.0 - second)]);
    let nesterov = matches!(op.kind, UpdateKind::Sgd { nesterov: true, .. });
    let key = PipelineKey::new("update", (std::mem::discriminant(&op.kind), states, nesterov, op.decoupled));
    let pipeline = run.pipeline(key, || source(op))?;
    let mut blocks = Vec::with_capacity(all.len());
    for arg in all {
        blocks.push(run.block(arg)?);
    }
    run.dispatch(&pipeline, &blocks, &params, groups_for(elements))?;
    Ok(None)
}

fn source(op: &Update) -> Source {
    let states = op.states();
    let offset = |n: usize| {
        let lane = ["x", "y", "z", "w"][n % 4];
        format!("params.w[{}].{lane}", if n < 4 { 1 } else { 3 })
    };
    let mut wgsl = Math::EXP.text();
    wgsl += &entry(256);
    wgsl += "    let own = bitcast<vec4<f32>>(params.w[2]);
    let more = bitcast<vec4<f32>>(params.w[4]);
";
    wgsl += &format!(
        "    let rate = bitcast<f32>(b2[{0}]);\n    let step = bitcast<f32>(b2[{0} + 1u]);\n",
        offset(2)
    );
    if matches!(op.kind, UpdateKind::Adam { .. }) {
        wgsl += "    let size = rate / -expm1_of(step * more.x);
    let root = 1.0 / sqrt(-expm1_of(step * more.y));
";
    }
    wgsl += &format!(
        "    for (var k = 0u; k < 4u; k++) {{
        let e = group * 1024u + k * 256u + lane;
        if e >= params.w[0].x {{ return; }}
        let p = bitcast<f32>(b0[{} + e]);
        var g = bitcast<f32>(b1[{} + e]);\n",
        offset(0),
        offset(1)
    );
    wgsl += if op.decoupled {
        "        let kept = p * (1.0 - rate * own.w);\n"
    } else {
        "        g += own.w * p;\n        let kept = p;\n"
    };
    for n in 0..states {
        wgsl += &format!("        let s{n} = bitcast<f32>(b{}[{} + e]);\n", 3 + n, offset(3 + n));
    }
    wgsl += match op.kind {
        UpdateKind::Sgd { .. } if states == 0 => "        let next = kept - rate * g;\n",
        UpdateKind::Sgd { nesterov: false, .. } => {
            "        let n0 = own.x * s0 + g;\n        let next = kept - rate * n0;\n"
        }
        UpdateKind::Sgd { nesterov: true, .. } => {
            "        let n0 = own.x * s0 + g;\n        let next = kept - rate * (g + own.x * n0);\n"
        }
        UpdateKind::Adam { .. } => {
            "        let n0 = own.x * s0 + more.z * g;
        let n1 = own.y * s1 + more.w * g * g;
        let next = kept - size * n0 / (root * sqrt(n1) + own.z);\n"
        }
        UpdateKind::RmsProp { .. } => {
            "        let n0 = own.x * s0 + more.z * g * g;
        let next = kept - rate * g / (sqrt(n0) + own.z);\n"
        }
        UpdateKind::Adagrad { .. } => {
            "        let n0 = s0 + g * g;
        let next = kept - rate * g / (sqrt(n0) + own.z);\n"
        }
    };
    let first = 3 + states;
    wgsl += &format!("        b{first}[{} + e] = bitcast<u32>(next);\n", offset(first));
    for n in 0..states {
        let to = first + 1 + n;
        wgsl += &format!("        b{to}[{} + e] = bitcast<u32>(n{n});\n", offset(to));
    }
    wgsl += "    }\n}\n";
    Source { buffers: vec![View::Words; 4 + 2 * states], wgsl }
}
