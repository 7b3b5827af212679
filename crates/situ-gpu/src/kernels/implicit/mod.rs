//! Convolutions as products of matrices that are never made (implicit GEMM): forward, by the image and by the
//! filter.
//!
//! One side of each product is gathered from images, or from a gradient in their shape. Which element it has
//! at a row and at a step of the sum is linear in three counters of the row and three of the step, and zero
//! beyond the image's ends. So one kernel, told by its parameters, does all three for any stride, dilation,
//! padding, groups and either format; `problem` has the numbers.
//!
//! On hardware, tiles of both sides are shared in workgroup memory: `tile`. On a software driver that memory
//! is no faster than any other; there each invocation makes a block straight from memory: `direct`. Where few
//! filters see a channel there is little to share but pixels of neighbouring windows: `patch`.
//!
//! Long sums are cut: what is left to add is added by later dispatches, or by parts with results of their own
//! that are added at the end.
//!
//! Not here yet, and where it would go: cooperative matrices, and products of f16 that are summed in f32, are
//! shapes of `Shape` with a text of their own beside `tile`, chosen where the adapter has
//! `EXPERIMENTAL_COOPERATIVE_MATRIX` or `SHADER_F16`; what a row and a step are stays as it is. Both need
//! hardware to be measured on.

mod patch;
mod patch_text;
mod problem;
mod shape;
mod text;

pub(super) use patch::Patches;
pub(super) use problem::{Counters, Product};
use shape::Shape;
use text::Form;

use super::run::{Params, Run, groups_for};
use super::shader::{Elem, per_output};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::PipelineKey;

/// Products of one chain of additions: rounding grows with its length.
const LONG_SUM: usize = 1 << 13;
/// Bytes of the workspace that parts may take.
const PARTS_BYTES: usize = 64 << 20;
/// Steps that a part has at least, if nothing but idle processors asks for it.
const FEW_STEPS: usize = 256;

/// How a sum is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Parts with results of their own.
    pub(super) parts: usize,
    /// Steps of a part that one dispatch adds.
    at_once: usize,
    dispatches: usize,
}

/// Steps that an invocation may make in one dispatch.
fn most_steps(borders: &Borders) -> usize {
    // Tiles have short loops within a long one, and an end to each.
    (borders.trips / 4).clamp(1, LONG_SUM)
}

impl Cut {
    /// One result, to which dispatches add one after the other.
    pub(super) fn whole(product: &Product, borders: &Borders) -> Cut {
        Cut::into(1, product.inner.count(), borders)
    }

    /// Parts for a product of few `elements` and long sums.
    pub(super) fn parted(product: &Product, elements: usize, borders: &Borders) -> Cut {
        let steps = product.inner.count();
        let tiles = Shape::choose(product, borders).groups(product);
        // Enough workgroups to keep a device busy, if each has something to do.
        let busy = if borders.software { 32 } else { 256 };
        let wanted = (busy / tiles.max(1)).min(steps / FEW_STEPS);
        let bytes = PARTS_BYTES.min(borders.block / 2);
        let parts = Borders::parts(steps, most_steps(borders))
            .max(wanted)
            .min(borders.trips / 8)
            .min(bytes / (4 * elements).max(1))
            .max(1);
        Cut::into(parts, steps, borders)
    }

    fn into(parts: usize, steps: usize, borders: &Borders) -> Cut {
        let each = steps.div_ceil(parts);
        let dispatches = Borders::parts(each, most_steps(borders));
        Cut { parts, at_once: each.div_ceil(dispatches).max(1), dispatches }
    }

    /// Bytes of the parts' results, if there are several.
    pub(super) fn bytes(&self, elements: usize) -> usize {
        if self.parts == 1 { 0 } else { 4 * self.parts * elements }
    }
}

/// Queues the product of `blocks` (what is gathered, the other side, the result), whose tensors begin at
/// `offsets`, for a result of `elements`.
pub(super) fn run(
    run: &Run<'_>,
    product: &Product,
    cut: Cut,
    blocks: &[&Block; 3],
    offsets: [u32; 3],
    elements: usize,
) -> Result<(), Fault> {
    let shape = Shape::choose(product, run.borders());
    let inside = product.is_inside();
    let mut params = product.params(offsets, cut.parts, elements);
    let each = run.shared_by(cut.dispatches);
    let steps = product.inner.count();
    for number in 0..cut.dispatches {
        let first = number * cut.parts * cut.at_once;
        let end = steps.min(first + cut.parts * cut.at_once);
        params.put(Product::STEPS, &[first.min(end) as u32, end as u32, cut.at_once as u32]);
        let form = Form { shape, inside, adds: number > 0 };
        let pipeline = run.pipeline(PipelineKey::new("implicit_product", form), || text::source(&form))?;
        each.dispatch(&pipeline, blocks, &params, cut.parts * shape.groups(product))?;
    }
    Ok(())
}

/// Adds the parts of each of `elements` from a workspace to a result; each is a block and where it begins.
pub(super) fn add_parts(
    run: &Run<'_>,
    parts: usize,
    elements: usize,
    (from, offset): (&Block, u32),
    result: (&Block, u32),
) -> Result<(), Fault> {
    let add = run.pipeline(PipelineKey::new("add_parts", ()), || {
        per_output(Elem::F32, 1, false, include_str!("../wgsl/add_parts.wgsl"))
    })?;
    let params = Params::new([elements as u32, parts as u32, 0, 0], [offset, 0, 0, result.1]);
    run.shared_by(64).dispatch(&add, &[from, result.0], &params, groups_for(elements))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_cover_every_step_within_the_borders() {
        let borders = Borders {
            trips: 32767,
            groups: 65535,
            work: 1 << 30,
            block: 128 << 20,
            elements: i32::MAX as usize,
            software: true,
            subgroups: false,
        };
        for (rows, columns, steps) in [
            (9, 1, 0),
            (9, 32, 43_264),
            (1, 1, 300_000),
            (4608, 512, 50_176),
            (18, 1, 420_000),
            (9, 4_660_337, 810_000),
        ] {
            let product = Product {
                rows: Counters { sizes: [1, 1, rows], ..Counters::default() },
                inner: Counters { sizes: [1, 1, steps], ..Counters::default() },
                columns,
                ..Product::default()
            };
            for software in [true, false] {
                let borders = Borders { software, ..borders };
                for cut in [Cut::whole(&product, &borders), Cut::parted(&product, rows * columns, &borders)] {
                    assert!(cut.dispatches * cut.parts * cut.at_once >= steps, "{cut:?}");
                    assert!(cut.at_once <= LONG_SUM && 8 * cut.parts <= borders.trips, "{cut:?}");
                    assert!(cut.bytes(rows * columns) <= PARTS_BYTES, "{cut:?}");
                }
            }
        }
    }
}
