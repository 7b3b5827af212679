//! Tensors made from nothing: constants, ranges, identity matrices.

use super::Kernel;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, per_output};
use crate::fault::Fault;
use crate::pipelines::PipelineKey;
use situ_core::DType;
use situ_device::{Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Fill, Elem::DTYPES, Kernel::new(run));
    registry.add(OpKind::Range, &[DType::F32, DType::I32], Kernel::new(run));
    registry.add(OpKind::Eye, Elem::DTYPES, Kernel::new(run));
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let elem = Elem::of(run.output().dtype)?;
    let (kernel, own, value) = match run.call.op {
        Op::Fill(op) => ("fill", [op.value.bits() as u32, 0, 0, 0], "own.x"),
        Op::Range(op) => {
            let own = [op.start.bits() as u32, op.step.bits() as u32, 0, 0];
            match elem {
                Elem::F32 => {
                    ("range", own, "bitcast<u32>(bitcast<f32>(own.x) + hide(f32(e) * bitcast<f32>(own.y)))")
                }
                Elem::I32 | Elem::Bool => ("range", own, "own.x + e * own.y"),
            }
        }
        Op::Eye(op) => {
            let one = match elem {
                Elem::F32 => 1f32.to_bits(),
                Elem::I32 | Elem::Bool => 1,
            };
            let own = [one, (op.columns as u32).max(1), 0, 0];
            ("eye", own, "select(0u, own.x, e / own.y == e % own.y)")
        }
        other => return Err(Fault::Internal(format!("{} is not made from nothing", other.name()))),
    };
    let elements = run.output().layout.shape().elements();
    let params = Params::new([elements as u32, 0, 0, 0], [0, 0, 0, element_offset(run.output())]).with(own);
    let pipeline = run.pipeline(PipelineKey::new(kernel, (value, elem.is_word())), || {
        let text = super::shader::Math::NONE.text()
            + &format!("fn element(e: u32) -> u32 {{\n    let own = params.w[2];\n    return {value};\n}}\n");
        per_output(elem, 0, false, &text)
    })?;
    run.dispatch(&pipeline, &[run.block(run.output())?], &params, groups_for(elements))?;
    Ok(None)
}
