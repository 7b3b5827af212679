//! Random tensors from a counter, to the CPU's definition: uniform, bernoulli and permutation to the bit,
//! normal to 1e-5 of the deviation, because square roots and division round as the hardware likes.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, entry, per_output};
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_device::{Check, Registry};
use situ_ir::ops::{Distribution, Random};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Random, Elem::DTYPES, Kernel::new(run));
}

/// A distribution as WGSL: the bits `r` of four elements from the four words `x` of a block; and its own
/// words.
struct Draw {
    text: &'static str,
    own: [u32; 4],
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Random(op) = run.call.op else { return Err(Fault::Internal("not a random op".into())) };
    let elem = Elem::of(op.dtype)?;
    let elements = op.shape.elements();
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let ([k0, k1], [s0, s1]) = (halves(op.seed), halves(op.stream));
    let params = Params::new([elements as u32, 0, 0, 0], [0, 0, 0, element_offset(run.output())])
        .axis(0, [k0, k1, s0, s1]);
    let blocks = [run.block(run.output())?];
    if op.distribution == Distribution::Permutation {
        let half = (4..16).find(|half| elements <= 1 << (2 * half)).unwrap_or(16);
        let key = PipelineKey::new("permutation", ());
        let text = || prelude() + include_str!("wgsl/permutation.wgsl");
        let pipeline = run.pipeline(key, || per_output(Elem::I32, 0, false, &text()))?;
        run.dispatch(&pipeline, &blocks, &params.with([half, 0, 0, 0]), groups_for(elements))?;
        return Ok(None);
    }
    let draw = draw(op, elem)?;
    let key = PipelineKey::new("random", (draw.text, elem.is_word()));
    let pipeline = run.pipeline(key, || source(elem, draw.text))?;
    run.dispatch(&pipeline, &blocks, &params.with(draw.own), groups_for(elements))?;
    Ok(None)
}

fn draw(op: &Random, elem: Elem) -> Result<Draw, Fault> {
    let bits = |x: f64| (x as f32).to_bits();
    let one = if elem == Elem::F32 { 1f32.to_bits() } else { 1 };
    Ok(match (op.distribution, elem) {
        (Distribution::Uniform { low, high }, Elem::F32) => {
            let top = (high.0 as f32).next_down().max(low.0 as f32);
            Draw {
                text: "    let own = bitcast<vec4<f32>>(params.w[2]);
    let u = vec4<f32>(x >> vec4<u32>(8u)) * 5.9604644775390625e-8;
    let t = u * own.y;
    let y = own.x + vec4<f32>(hide(t.x), hide(t.y), hide(t.z), hide(t.w));
    let r = bitcast<vec4<u32>>(min(y, vec4<f32>(own.z)));\n",
                own: [bits(low.0), bits(high.0 - low.0), top.to_bits(), 0],
            }
        }
        (Distribution::Uniform { low, high }, _) => {
            let range = (high.0 - low.0) as u64;
            Draw {
                text: "    let own = params.w[2];
    let y = vec4<u32>(mul_hi(x.x, own.y), mul_hi(x.y, own.y), mul_hi(x.z, own.y), mul_hi(x.w, own.y));
    let r = vec4<u32>(own.x) + select(y, x, own.z != 0u);\n",
                // A range of 2^32 is 0 in 32 bits, and has a flag.
                own: [low.0 as i32 as u32, range as u32, (range >> 32) as u32, 0],
            }
        }
        (Distribution::Bernoulli { p }, _) => {
            // The product is exact, and the cast rounds down.
            let ones = (p.0 * 4_294_967_296.0) as u64;
            Draw {
                text: "    let own = params.w[2];
    let r = select(vec4<u32>(0u), vec4<u32>(own.y), x <= vec4<u32>(own.x));\n",
                own: [(ones.max(1) - 1) as u32, if ones == 0 { 0 } else { one }, 0, 0],
            }
        }
        (Distribution::Normal { mean, deviation }, _) => Draw {
            text: "    let r = vec4<u32>(normal_pair(x.x, x.y), normal_pair(x.z, x.w));\n",
            own: [bits(mean.0), bits(deviation.0), 0, 0],
        },
        (Distribution::Permutation, _) => return Err(Fault::Internal("permutations are not drawn".into())),
    })
}

fn prelude() -> String {
    Math::WIDE.text() + include_str!("wgsl/philox.wgsl")
}

/// One invocation draws one block: four elements.
fn source(elem: Elem, draw: &str) -> Source {
    let mut wgsl = prelude() + include_str!("wgsl/normal.wgsl") + &entry(256);
    wgsl += "    let first = (group * 256u + lane) * 4u;
    if first >= params.w[0].x { return; }
    let x = philox(first >> 2u);
";
    wgsl += draw;
    wgsl += if elem.is_word() {
        "    for (var k = 0u; k < 4u; k++) {
        if first + k < params.w[0].x { b0[params.w[1].w + first + k] = r[k]; }
    }
}
"
    } else {
        "    b0[(params.w[1].w + first) >> 2u] = r.x | (r.y << 8u) | (r.z << 16u) | (r.w << 24u);\n}\n"
    };
    Source { buffers: vec![View::Words], wgsl }
}
