//! Dropout: the words of the generator decide, as on the CPU, to the bit.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Math, entry};
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::DType;
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel::new(run).accepting(|_, _, layout| layout.is_dense());
    registry.add(OpKind::Dropout, &[DType::F32], kernel);
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Dropout(op) = run.call.op else { return Err(Fault::Internal("not dropout".into())) };
    let (x, output) = (run.input(0), run.output());
    let elements = output.layout.shape().elements();
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let ([k0, k1], [s0, s1]) = (halves(op.seed), halves(op.stream));
    let step = run.call.inputs.get(1);
    let offsets = [element_offset(x), step.map_or(0, element_offset), 0, element_offset(output)];
    let kept = op.kept();
    let own = [kept.saturating_sub(1) as u32, (op.growth() as f32).to_bits(), u32::from(kept == 0), 0];
    let params = Params::new([elements as u32, 0, 0, 0], offsets).with(own).axis(0, [k0, k1, s0, s1]);
    let pipeline = run.pipeline(PipelineKey::new("dropout", step.is_some()), || source(step.is_some()))?;
    let mut blocks = vec![run.block(x)?];
    if let Some(step) = step {
        blocks.push(run.block(step)?);
    }
    blocks.push(run.block(output)?);
    run.dispatch(&pipeline, &blocks, &params, groups_for(elements))?;
    Ok(None)
}

/// One invocation takes one block of the generator: four elements.
fn source(with_step: bool) -> Source {
    let mut wgsl = Math::WIDE.text() + include_str!("wgsl/philox.wgsl") + &entry(256);
    wgsl += "    let first = (group * 256u + lane) * 4u;
    if first >= params.w[0].x { return; }
    var stream = params.w[3].zw;
";
    if with_step {
        // The step is an i32, added in 64 bits.
        wgsl += "    let step = b1[params.w[1].y];
    stream.x += step;
    stream.y += select(0u, 1u, stream.x < step) + select(0u, 0xffffffffu, (step >> 31u) != 0u);
";
    }
    let out = if with_step { "b2" } else { "b1" };
    wgsl += "    let x = philox_of(first >> 2u, stream);
    let own = params.w[2];
    for (var k = 0u; k < 4u; k++) {
        let e = first + k;
        if e >= params.w[0].x { break; }
        let grown = bitcast<u32>(bitcast<f32>(b0[params.w[1].x + e]) * bitcast<f32>(own.y));
        let stays = x[k] <= own.x && own.z == 0u;
";
    wgsl += &format!("        {out}[params.w[1].w + e] = select(0u, grown, stays);\n    }}\n}}\n");
    Source { buffers: vec![View::Words; if with_step { 3 } else { 2 }], wgsl }
}
