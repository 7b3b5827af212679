//! scatter_add: updates are added to the rows that indices name, in the order of the indices.
//!
//! Few indices are each compared with all others. Many are sorted first, by digits and stably, so that equal
//! ones lie side by side; runs of equal ones are then added up in chunks, and across chunks. The work is
//! linear in indices and updates, no invocation makes more trips than it may, and without float atomics the
//! sum is the same every time.

use super::Kernel;
use super::copy::identity;
use super::elementwise;
use super::index::{around, index_at, is_wide, only_check, out_of_range};
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, entry};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{Form, PipelineKey, Source, View};
use situ_core::TensorType;
use situ_device::{Arg, Check, Registry};
use situ_ir::{Op, OpKind};
use std::sync::Arc;

/// Up to so many indices are compared with each other.
pub(super) const FEW: usize = 512;
/// Bits of a digit, at most, and positions of a chunk, at least: there are no more counters than indices.
const DIGIT: u32 = 8;
const CHUNK: usize = 1 << DIGIT;
/// Chunks, at most, where chunks may be long.
const CHUNKS: usize = 1 << 14;

pub(super) fn register(
    registry: &mut Registry<Kernel>,
    indices_fit: fn(&Op, &[TensorType], &[TensorType]) -> bool,
) {
    let kernel = Kernel::new(run)
        // The base is copied first, whatever its strides.
        .accepting(|_, input, layout| input == 0 || layout.is_dense())
        .with_workspace(workspace);
    registry.add_where(OpKind::ScatterAdd, Elem::WORDS, kernel.computing(), indices_fit);
}

/// How many indices are sorted and added up.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortPlan {
    count: usize,
    /// Bits of a digit, and how many digits keys have.
    digit: u32,
    pub(super) digits: u32,
    /// Positions of a chunk that is sorted by one invocation.
    chunk: usize,
    /// Positions of a chunk that is added up by one invocation.
    run: usize,
    /// Numbers of updates for each index.
    columns: usize,
}

impl SortPlan {
    pub(super) fn of(count: usize, size: usize, elements: usize, borders: &Borders) -> SortPlan {
        // The highest key stands for indices out of range.
        let bits = (u32::BITS - (size as u32).leading_zeros()).max(1);
        let digits = bits.div_ceil(DIGIT);
        SortPlan {
            count,
            digit: bits.div_ceil(digits),
            digits,
            chunk: CHUNK.max(count.div_ceil(CHUNKS)),
            run: 64.max(count.div_ceil(borders.trips / 4)),
            columns: elements / count.max(1),
        }
    }

    fn chunks(&self) -> usize {
        self.count.div_ceil(self.chunk)
    }

    fn counters(&self) -> usize {
        self.chunks() << self.digit
    }

    /// Counters of a block; there are about as many blocks.
    fn block(&self) -> usize {
        self.counters().isqrt().max(64)
    }

    fn units(&self) -> usize {
        self.count.div_ceil(self.run) * self.columns
    }

    /// Words of two orders of positions, of counters, and of sums of blocks. What comes behind them begins
    /// at a multiple of two words.
    pub(super) fn words(&self) -> [usize; 4] {
        let words = [self.count, self.count, self.counters(), self.counters().div_ceil(self.block())];
        let odd = words.iter().sum::<usize>() % 2;
        [words[0], words[1], words[2], words[3] + odd]
    }

    /// Elements of two parts of runs for each unit.
    fn parts(&self) -> usize {
        2 * self.units()
    }
}

fn workspace(borders: &Borders, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
    let Op::ScatterAdd(op) = op else { return 0 };
    let count = inputs[1].shape.elements();
    if count <= FEW {
        // For each index a link to the next equal one, and whether it is the first of its value.
        return 8 * count;
    }
    let size = outputs[0].shape[usize::from(op.axis)];
    let plan = SortPlan::of(count, size, inputs[2].shape.elements(), borders);
    4 * plan.words().iter().sum::<usize>() + outputs[0].dtype.size() * plan.parts()
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::ScatterAdd(op) = run.call.op else { return Err(Fault::Internal("not a scatter_add".into())) };
    let (base, indices, updates, output) = (run.input(0), run.input(1), run.input(2), run.output());
    let elem = Elem::of(output.dtype)?;
    if output.layout.shape().elements() > 0 {
        elementwise::launch(run, &identity(output.dtype), std::slice::from_ref(base), [0; 4])?;
    }
    let (outer, size, inner) = around(output.layout.shape(), usize::from(op.axis));
    let count = indices.layout.shape().elements();
    let elements = updates.layout.shape().elements();
    if elements == 0 {
        return only_check(run, indices, size);
    }
    if count <= FEW {
        return link(run, elem, size, inner);
    }
    let check = only_check(run, indices, size)?;
    let plan = SortPlan::of(count, size, elements, run.borders());
    let run = run.shared_by(5 * plan.digits as usize + 2);
    let sorted = sort(&run, &plan, indices, size)?;
    add_runs(&run, &plan, sorted, elem, [outer, size, inner])?;
    Ok(check)
}

/// A kernel that calls `work` for each of so many units.
pub(super) fn kernel(
    run: &Run<'_>,
    name: &'static str,
    form: impl Form,
    buffers: usize,
    text: &[&str],
    (blocks, params, units): (&[&Block], &Params, usize),
) -> Result<(), Fault> {
    let pipeline = run.pipeline(PipelineKey::new(name, form), || Source {
        buffers: vec![View::Words; buffers],
        wgsl: text.concat()
            + &entry(64)
            + "    let unit = group * 64u + lane;\n    if unit < params.w[3].x { work(unit); }\n}\n",
    })?;
    let mut params = *params;
    params.put(3, &[units as u32]);
    run.dispatch(&pipeline, blocks, &params, units.div_ceil(64))
}

/// Sorts the positions of the indices by what stands there. Where they lie, in words of the workspace's
/// block.
pub(super) fn sort(run: &Run<'_>, plan: &SortPlan, indices: &Arg<'_>, size: usize) -> Result<u32, Fault> {
    const COMMON: &str = include_str!("wgsl/sort.wgsl");
    let (work, start) = run.workspace()?;
    let bound = [run.block(indices)?, work];
    let (at_index, wide) = (index_at(indices, "b0"), is_wide(indices));
    let [first, second, counters, ..] = plan.words().map(|n| n as u32);
    let orders = [start, start + first];
    let at = start + first + second;
    let sizes = [plan.count, size, plan.chunk, plan.chunks()].map(|n| n as u32);
    let block = plan.block();
    let blocks = plan.counters().div_ceil(block);
    let scan = Params::new([counters, block as u32, blocks as u32, 0], [at, at + counters, 0, 0]);
    for round in 0..plan.digits {
        let (from, to) = (orders[(round as usize + 1) % 2], orders[round as usize % 2]);
        let params = Params::new(sizes, [element_offset(indices), from, to, at]).with([
            round * plan.digit,
            (1 << plan.digit) - 1,
            u32::from(round == 0),
            0,
        ]);
        let chunks = (&bound[..], &params, plan.chunks());
        kernel(
            run,
            "sort_count",
            wide,
            2,
            &[&at_index, COMMON, include_str!("wgsl/sort_count.wgsl")],
            chunks,
        )?;
        let each = (&bound[1..], &scan, blocks);
        kernel(run, "scan_sums", (), 1, &[include_str!("wgsl/scan_sums.wgsl")], each)?;
        kernel(run, "scan_blocks", (), 1, &[include_str!("wgsl/scan_blocks.wgsl")], (&bound[1..], &scan, 1))?;
        kernel(run, "scan_counters", (), 1, &[include_str!("wgsl/scan_counters.wgsl")], each)?;
        kernel(
            run,
            "sort_place",
            wide,
            2,
            &[&at_index, COMMON, include_str!("wgsl/sort_place.wgsl")],
            chunks,
        )?;
    }
    Ok(orders[(plan.digits as usize + 1) % 2])
}

/// What kernels read and write elements with.
fn access(elem: Elem, updates: &str, output: &str) -> String {
    (Math::NONE | elem.math()).text()
        + &format!("alias T = {};\n", elem.wgsl())
        + &elem.access("update", updates)
        + &elem.access("output", output)
}

/// Adds the updates of equal indices to their rows.
fn add_runs(
    run: &Run<'_>,
    plan: &SortPlan,
    sorted: u32,
    elem: Elem,
    [outer, size, inner]: [usize; 3],
) -> Result<(), Fault> {
    const COMMON: &str = include_str!("wgsl/segments.wgsl");
    let (indices, updates, output) = (run.input(1), run.input(2), run.output());
    let (work, start) = run.workspace()?;
    let parts = start + plan.words().iter().sum::<usize>() as u32;
    let sizes = [plan.units(), inner, outer, size].map(|n| n as u32);
    let offsets = [element_offset(indices), sorted, element_offset(updates), element_offset(output)];
    let own = [plan.count as u32, plan.run as u32, parts / (elem.size() / 4) as u32, 0];
    let params = Params::new(sizes, offsets).with(own);
    let bound = [run.block(indices)?, work, run.block(updates)?, run.block(output)?];
    let at_index = index_at(indices, "b0");
    let access = access(elem, "b2", "b3") + &elem.access("part", "b1");
    let units = (&bound[..], &params, plan.units());
    for (name, text) in [
        ("segment_sums", include_str!("wgsl/segment_sums.wgsl")),
        ("segment_joins", include_str!("wgsl/segment_joins.wgsl")),
    ] {
        kernel(run, name, (elem, is_wide(indices)), 4, &[&access, &at_index, COMMON, text], units)?;
    }
    Ok(())
}

/// Links equal indices in order, and lets the first of each value add up its chain.
fn link(run: &Run<'_>, elem: Elem, size: usize, inner: usize) -> Result<Option<Arc<Check>>, Fault> {
    let (indices, updates, output) = (run.input(1), run.input(2), run.output());
    let (count, elements) = (indices.layout.shape().elements(), updates.layout.shape().elements());
    let (links, start) = run.workspace()?;
    let link = run.pipeline(PipelineKey::new("link_indices", is_wide(indices)), || Source {
        buffers: vec![View::Words, View::Words, View::Atomics],
        wgsl: index_at(indices, "b0") + &entry(256) + include_str!("wgsl/link_indices.wgsl"),
    })?;
    let params = Params::new([count as u32, 0, 0, size as u32], [element_offset(indices), start, 0, 0]);
    let blocks = [run.block(indices)?, links];
    let (groups, bad) = (count.div_ceil(256), out_of_range(size));
    let check = run.dispatch_checked(&link, &blocks, &params, groups, bad, Some(indices))?;
    let add = run.pipeline(PipelineKey::new("scatter_add", (elem, is_wide(indices))), || Source {
        buffers: vec![View::Words; 4],
        wgsl: access(elem, "b0", "b3")
            + &index_at(indices, "b1")
            + include_str!("wgsl/scatter_add.wgsl")
            + &entry(256)
            + include_str!("wgsl/scatter_add_main.wgsl"),
    })?;
    let offsets = [element_offset(updates), element_offset(indices), start, element_offset(output)];
    let params = Params::new([elements as u32, inner as u32, count as u32, size as u32], offsets);
    let blocks = [run.block(updates)?, run.block(indices)?, links, run.block(output)?];
    run.dispatch(&add, &blocks, &params, groups_for(elements))?;
    Ok(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_hold_every_key_and_chunks_every_position() {
        let borders = Borders {
            trips: 32767,
            groups: 65535,
            work: 1 << 30,
            block: 128 << 20,
            elements: i32::MAX as usize,
            software: true,
            subgroups: false,
        };
        for count in [513, 70_000, 1 << 20, 1 << 25] {
            for size in [1, 2, 255, 256, 50_257, 1_000_003, i32::MAX as usize] {
                let plan = SortPlan::of(count, size, 3 * count, &borders);
                assert!(u64::from(plan.digit * plan.digits) < 64);
                assert!((size as u64) < 1 << (plan.digit * plan.digits), "{plan:?}");
                assert!(plan.digit <= DIGIT && plan.counters() <= count.next_multiple_of(plan.chunk));
                assert!(
                    plan.chunks() * plan.chunk >= count
                        && plan.block().pow(2) <= 4 * plan.counters().max(4096)
                );
                assert!(plan.count.div_ceil(plan.run) <= borders.trips / 4);
                assert!(plan.chunk.max(plan.run).max(plan.block()) <= borders.trips / 2);
            }
        }
    }
}
