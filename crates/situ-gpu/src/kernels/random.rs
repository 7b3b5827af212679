//! Random tensors from a counter, to the CPU's definition: uniform, bernoulli and permutation to the bit,
//! normal to 1e-5 of the deviation, because square roots and division round as the hardware likes.

use super::Kernel;
use super::elem::LANES;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, entry, per_output};
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::Scalar;
use situ_device::{Check, Registry};
use situ_ir::ops::{Distribution, Random};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Random, Elem::DTYPES, Kernel::new(run));
}

/// A distribution as WGSL: the bits `r` of four elements from the four words `x` of a block (of floats, as
/// f32; of integers, the low words, and `h` the high ones); and its own words.
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
        let elem = Elem::moved(op.dtype);
        let pipeline = run.pipeline(PipelineKey::new("permutation", elem), || {
            let bits = if elem.size() == 8 { "vec2<u32>(place_of(e), 0u)" } else { "place_of(e)" };
            let element = format!("fn element(e: u32) -> {} {{ return {bits}; }}\n", elem.bits_type());
            per_output(elem, 0, false, &(prelude() + include_str!("wgsl/permutation.wgsl") + &element))
        })?;
        run.dispatch(&pipeline, &blocks, &params.with([half, 0, 0, 0]), groups_for(elements))?;
        return Ok(None);
    }
    let draw = draw(op, elem)?;
    // Of integers the low bits are stored, whatever their sign.
    let stored = if elem.is_float() { elem } else { Elem::moved(op.dtype) };
    let key = PipelineKey::new("random", (draw.text, stored));
    let pipeline = run.pipeline(key, || source(stored, draw.text))?;
    run.dispatch(&pipeline, &blocks, &params.with(draw.own), groups_for(elements))?;
    Ok(None)
}

fn draw(op: &Random, elem: Elem) -> Result<Draw, Fault> {
    let bits = |x: f64| (x as f32).to_bits();
    Ok(match op.distribution {
        Distribution::Uniform { low, high } if elem.is_float() => {
            // Below the upper bound even after rounding: up to the dtype's number before it.
            let [low, high] = [low.0, high.0].map(|bound| match op.dtype.is_half() {
                true => Scalar::of(op.dtype, bound).to_f64(),
                false => bound,
            });
            let top = Scalar::of(op.dtype, high).before().to_f64().max(f64::from(low as f32));
            Draw {
                text: "    let own = bitcast<vec4<f32>>(params.w[2]);
    let u = vec4<f32>(x >> vec4<u32>(8u)) * 5.9604644775390625e-8;
    let t = u * own.y;
    let y = own.x + vec4<f32>(hide(t.x), hide(t.y), hide(t.z), hide(t.w));
    let r = bitcast<vec4<u32>>(min(y, vec4<f32>(own.z)));\n",
                own: [bits(low), bits(high - low), bits(top), 0],
            }
        }
        Distribution::Uniform { low, high } => {
            let (low, range) = (low.0 as i128 as u64, (high.0 - low.0) as u64);
            Draw {
                text: "    let own = params.w[2];
    let y = vec4<u32>(mul_hi(x.x, own.y), mul_hi(x.y, own.y), mul_hi(x.z, own.y), mul_hi(x.w, own.y));
    let d = select(y, x, own.z != 0u);
    let r = vec4<u32>(own.x) + d;
    let h = vec4<u32>(own.w) + select(vec4<u32>(0u), vec4<u32>(1u), r < d);\n",
                // A range of 2^32 is 0 in 32 bits, and has a flag.
                own: [low as u32, range as u32, (range >> 32) as u32, (low >> 32) as u32],
            }
        }
        Distribution::Bernoulli { p } => {
            // The product is exact, and the cast rounds down.
            let ones = (p.0 * 4_294_967_296.0) as u64;
            let one = if elem.is_float() { 1f32.to_bits() } else { 1 };
            Draw {
                text: "    let own = params.w[2];
    let r = select(vec4<u32>(0u), vec4<u32>(own.y), x <= vec4<u32>(own.x));
    let h = vec4<u32>(0u);\n",
                own: [(ones.max(1) - 1) as u32, if ones == 0 { 0 } else { one }, 0, 0],
            }
        }
        Distribution::Normal { mean, deviation } => Draw {
            text: "    let r = vec4<u32>(normal_pair(x.x, x.y), normal_pair(x.z, x.w));\n",
            own: [bits(mean.0), bits(deviation.0), 0, 0],
        },
        Distribution::Permutation => return Err(Fault::Internal("permutations are not drawn".into())),
    })
}

fn prelude() -> String {
    (Math::WIDE | Math::HALVES).text() + include_str!("wgsl/philox.wgsl")
}

/// One invocation draws one block: four elements.
fn source(elem: Elem, draw: &str) -> Source {
    let mut wgsl = prelude() + include_str!("wgsl/normal.wgsl") + &entry(256);
    wgsl += "    let first = (group * 256u + lane) * 4u;
    if first >= params.w[0].x { return; }
    let x = philox(first >> 2u);
";
    wgsl += draw;
    let bits = LANES.map(|lane| match (elem.is_float(), elem.size()) {
        (true, _) => elem.bits(&format!("bitcast<f32>(r.{lane})")),
        (false, 8) => format!("vec2<u32>(r.{lane}, h.{lane})"),
        (false, _) => elem.bits(&format!("r.{lane}")),
    });
    wgsl += "    let to = params.w[1].w + first;\n";
    let (per, size) = (elem.per_word(), 8 * elem.size());
    if per > 1 {
        for (n, bits) in bits.chunks(per).enumerate() {
            let parts: Vec<String> =
                bits.iter().enumerate().map(|(k, bits)| format!("({bits} << {}u)", k * size)).collect();
            wgsl += &format!("    b0[to / {per}u + {n}u] = {};\n", parts.join(" | "));
        }
    } else {
        for (k, bits) in bits.iter().enumerate() {
            let store = match size {
                64 => format!("b0[2u * (to + {k}u)] = {bits}.x; b0[2u * (to + {k}u) + 1u] = {bits}.y;"),
                _ => format!("b0[to + {k}u] = {bits};"),
            };
            wgsl += &format!("    if first + {k}u < params.w[0].x {{ {store} }}\n");
        }
    }
    wgsl += "}\n";
    Source { buffers: vec![View::Words], wgsl }
}
