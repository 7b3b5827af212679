//! A table with some rows replaced: copied first, unless it is written over.

use super::Kernel;
use super::copy::identity;
use super::elementwise;
use super::index::{index_at, is_wide};
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, entry};
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_device::{Check, Registry};
use situ_ir::OpKind;
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    // The table is copied whatever its strides; what is written over is dense.
    let kernel = Kernel::new(run).accepting(|_, input, layout| input == 0 || layout.is_dense());
    registry.add_where(OpKind::PutRows, Elem::DTYPES, kernel, |_, inputs, _| inputs[1].dtype.is_index());
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (table, at, rows, output) = (run.input(0), run.input(1), run.input(2), run.output());
    let shape = output.layout.shape();
    let is_own = std::ptr::eq(table.region.block, output.region.block)
        && element_offset(table) == element_offset(output);
    if shape.elements() > 0 && !is_own {
        elementwise::launch(run, &identity(output.dtype), std::slice::from_ref(table), [0; 4])?;
    }
    let elements = rows.layout.shape().elements();
    if elements == 0 || shape.elements() == 0 {
        return Ok(None);
    }
    let row = elements / at.layout.shape().elements();
    let size = output.dtype.size();
    let offsets = [rows, output].map(|arg| element_offset(arg) as usize);
    // Rows of whole words are moved by words, whatever the dtype. Others share words with their neighbours.
    let in_words = offsets.iter().chain([&row]).all(|count| count * size % 4 == 0);
    let (elem, unit) = if in_words { (Elem::U32, 4) } else { (Elem::moved(output.dtype), size) };
    let pipeline = run
        .pipeline(PipelineKey::new("put_rows", (elem, is_wide(at))), || source(elem, &index_at(at, "b0")))?;
    let [elements, row, from, to] =
        [elements, row, offsets[0], offsets[1]].map(|count| (count * size / unit) as u32);
    let params = Params::new([elements, row, shape[0] as u32, 0], [element_offset(at), from, to, 0]);
    let blocks = [run.block(at)?, run.block(rows)?, run.block(output)?];
    run.dispatch(&pipeline, &blocks, &params, groups_for(elements as usize))?;
    Ok(None)
}

fn source(elem: Elem, index_at: &str) -> Source {
    let (table, put) = match elem.per_word() {
        1 => (View::Words, "    b2[to] = b1[source];\n".to_string()),
        // Invocations that write to one word have bits of their own in it.
        per => (
            View::Atomics,
            format!(
                "    let shift = (to % {per}u) * {}u;
    atomicAnd(&b2[to / {per}u], ~({}u << shift));
    atomicOr(&b2[to / {per}u], {} << shift);\n",
                8 * elem.size(),
                u32::MAX >> (32 - 8 * elem.size()),
                elem.load("b1", "source"),
            ),
        ),
    };
    Source {
        buffers: vec![View::Words, View::Words, table],
        wgsl: format!("{index_at}fn put(to: u32, source: u32) {{\n{put}}}\n")
            + &entry(256)
            + include_str!("wgsl/put_rows.wgsl"),
    }
}
