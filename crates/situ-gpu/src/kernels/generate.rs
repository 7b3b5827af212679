//! Tensors made from nothing: constants, ranges, identity matrices.

use super::Kernel;
use super::elem::Number;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, per_output};
use crate::fault::Fault;
use crate::pipelines::PipelineKey;
use situ_core::Scalar;
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Fill, Elem::DTYPES, Kernel::new(run));
    registry.add(OpKind::Range, Elem::NUMBERS, Kernel::new(run).computing());
    registry.add(OpKind::Eye, Elem::DTYPES, Kernel::new(run));
}

/// The two words of an element's bits.
fn words(value: Scalar) -> [u32; 2] {
    [value.bits() as u32, (value.bits() >> 32) as u32]
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let dtype = run.output().dtype;
    let moved = Elem::moved(dtype);
    let bits = if moved.size() == 8 { "own.xy" } else { "own.x" };
    let (kernel, elem, own, value) = match run.call.op {
        Op::Fill(op) => {
            let [low, high] = words(op.value);
            ("fill", moved, [low, high, 0, 0], bits.to_string())
        }
        Op::Range(op) => {
            let elem = Elem::of(dtype)?;
            let (start, step) = (elem.words(op.start), elem.words(op.step));
            let mut own = [0; 4];
            own.iter_mut().zip(start.iter().chain(&step)).for_each(|(to, word)| *to = *word);
            let lanes: [[String; 2]; 2] = match elem.size() {
                8 => [["own.x", "own.y"], ["own.z", "own.w"]],
                _ => [["own.x", ""], ["own.y", ""]],
            }
            .map(|lanes| lanes.map(String::from));
            let [start, step] = lanes.map(|lanes| elem.constant(&lanes));
            let number = match elem.number {
                Number::F32 => format!("{start} + hide(f32(e) * {step})"),
                _ => format!("{start} + {}(e) * {step}", elem.wgsl()),
            };
            ("range", elem, own, elem.bits(&number))
        }
        Op::Eye(op) => {
            let [low, high] = words(Scalar::of(op.dtype, 1.0));
            let on_diagonal = "e / own.z == e % own.z";
            let value = match moved.size() {
                8 => format!("select(vec2<u32>(0u), {bits}, {on_diagonal})"),
                _ => format!("select(0u, {bits}, {on_diagonal})"),
            };
            ("eye", moved, [low, high, (op.columns as u32).max(1), 0], value)
        }
        other => return Err(Fault::Internal(format!("{} is not made from nothing", other.name()))),
    };
    let elements = run.output().layout.shape().elements();
    let params = Params::new([elements as u32, 0, 0, 0], [0, 0, 0, element_offset(run.output())]).with(own);
    let pipeline = run.pipeline(PipelineKey::new(kernel, elem), || {
        let text = (Math::NONE | elem.math()).text()
            + &format!(
                "fn element(e: u32) -> {} {{\n    let own = params.w[2];\n    return {value};\n}}\n",
                elem.bits_type()
            );
        per_output(elem, 0, false, &text)
    })?;
    run.dispatch(&pipeline, &[run.block(run.output())?], &params, groups_for(elements))?;
    Ok(None)
}
