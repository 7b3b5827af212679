//! Convolutions' gradients by one invocation for each element of the result: what would leave most of a tile
//! empty. That is the gradient by large filters that each see a channel of their own, and by images where
//! strides are so long that pixels met few taps.
//!
//! Loops that are too long for one invocation are cut into boxes, which add to the result one after the
//! other. The gradient by the filter sums over all pixels: those are shared by parts, whose sums are added in
//! a second round.

use super::boxes::Boxes;
use super::conv2d::params;
use super::implicit;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, per_output};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::pipelines::PipelineKey;
use situ_ir::ops::conv2d::{Conv2d, ConvSizes};

/// Bytes of the workspace that parts of the gradient by the filter may take.
const PARTS_BYTES: usize = 64 << 20;
/// Up to so many pixels are summed by one invocation where there is no need for more.
const FEW_PIXELS: usize = 512;

/// The parameters of a convolution whose result has so many elements.
fn conv_params(run: &Run<'_>, conv: &Conv2d, sizes: &ConvSizes, elements: usize) -> Params {
    let ConvSizes { input, filter, output } = sizes;
    let [before_rows, before_columns] = conv.window.padding.map(|p| p[0] as u32);
    let more = [before_rows, before_columns, conv.groups as u32, (filter.out / conv.groups) as u32];
    let words = [elements as u32, filter.taken as u32, filter.size[0] as u32, filter.size[1] as u32];
    let strides = conv.window.format.filter_strides(filter).map(|n| n as u32);
    params(run, &conv.window, words, more, input, output).axis(3, strides)
}

fn source(text: &str) -> String {
    [include_str!("wgsl/conv2d.wgsl"), include_str!("wgsl/conv2d_before.wgsl"), text].concat()
}

/// The gradient by the image.
pub(super) fn by_input(run: &Run<'_>, conv: &Conv2d, sizes: &ConvSizes) -> Result<(), Fault> {
    let elements = run.output().layout.shape().elements();
    let params = conv_params(run, conv, sizes, elements);
    let filter = &sizes.filter;
    let boxes = Boxes::of([filter.out / conv.groups, filter.size[0], filter.size[1]], run.borders());
    let text = include_str!("wgsl/conv2d_by_input.wgsl");
    let pipeline = run.pipeline(PipelineKey::new("conv2d_by_input", ()), || {
        per_output(Elem::F32, 2, false, &source(text))
    })?;
    let blocks = [run.block(run.input(0))?, run.block(run.input(1))?, run.block(run.output())?];
    let run = run.shared_by(boxes.count());
    for params in boxes.params(params) {
        run.dispatch(&pipeline, &blocks, &params, groups_for(elements))?;
    }
    Ok(())
}

/// How the pixels of a gradient by the filter are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Lines of all images, and columns of a line.
    lines: usize,
    columns: usize,
    /// Parts with sums of their own.
    parts: usize,
    /// Lines of a part and columns that one dispatch sums.
    lines_at_once: usize,
    columns_at_once: usize,
}

impl Share {
    /// For a gradient of so many elements.
    pub(super) fn new(elements: usize, sizes: &ConvSizes, borders: &Borders) -> Share {
        let output = &sizes.output;
        Share::of(elements, output.batch * output.size[0], output.size[1], borders)
    }

    fn of(elements: usize, lines: usize, columns: usize, borders: &Borders) -> Share {
        // An invocation makes four elements; see `per_output`.
        let budget = (borders.trips / 4).saturating_sub(8).max(8);
        let columns_at_once = columns.clamp(1, budget - 4);
        let most = (budget / (columns_at_once + 2)).max(1);
        // Enough invocations to keep a device busy, if each has something to do.
        let busy = if borders.software { 1 << 12 } else { 1 << 16 };
        let wanted = if lines * columns <= FEW_PIXELS { 1 } else { busy / elements.max(1) };
        let bytes = PARTS_BYTES.min(borders.block / 2);
        let parts = Borders::parts(lines, most)
            .max(wanted.min(lines))
            .min(borders.trips / 8)
            .min(bytes / (4 * elements).max(1))
            .max(1);
        let lines_at_once = lines.div_ceil(parts).clamp(1, most);
        Share { lines, columns, parts, lines_at_once, columns_at_once }
    }

    /// Bytes of the parts' sums.
    pub(super) fn bytes(&self, elements: usize) -> usize {
        if self.parts == 1 { 0 } else { 4 * self.parts * elements }
    }
}

/// The gradient by the filter.
pub(super) fn by_filter(run: &Run<'_>, conv: &Conv2d, sizes: &ConvSizes, share: Share) -> Result<(), Fault> {
    let elements = run.output().layout.shape().elements();
    let units = elements * share.parts;
    let result = (run.block(run.output())?, element_offset(run.output()));
    let (to, offset) = if share.parts == 1 { result } else { run.workspace()? };
    let mut params = conv_params(run, conv, sizes, units);
    params.put(1, &[element_offset(run.input(0)), element_offset(run.input(1)), 0, offset]);
    let text = include_str!("wgsl/conv2d_by_filter.wgsl");
    let pipeline = run.pipeline(PipelineKey::new("conv2d_by_filter", ()), || {
        per_output(Elem::F32, 2, false, &source(text))
    })?;
    let blocks = [run.block(run.input(0))?, run.block(run.input(1))?, to];
    let (lines, columns) = (share.parts * share.lines_at_once, share.columns_at_once);
    let dispatches = Borders::parts(share.lines, lines) * Borders::parts(share.columns, columns);
    let each = run.shared_by(dispatches);
    let mut before = 0;
    for line in (0..share.lines).step_by(lines) {
        for column in (0..share.columns).step_by(columns) {
            let end = [share.lines.min(line + lines), share.columns.min(column + columns)].map(|n| n as u32);
            params.put(9, &[elements as u32, share.lines_at_once as u32, line as u32, end[0]]);
            params.put(10, &[column as u32, end[1], before, 0]);
            each.dispatch(&pipeline, &blocks, &params, groups_for(units))?;
            before = 1;
        }
    }
    if before == 0 {
        // Nothing to sum: parts of no lines are zero.
        params.put(9, &[elements as u32, 0, 0, 0]);
        each.dispatch(&pipeline, &blocks, &params, groups_for(units))?;
    }
    if share.parts > 1 {
        implicit::add_parts(run, share.parts, elements, (to, offset), result)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_lines_within_the_borders() {
        let borders = Borders {
            trips: 32767,
            groups: 65535,
            work: 1 << 30,
            block: 128 << 20,
            elements: i32::MAX as usize,
            software: true,
            subgroups: false,
        };
        for (elements, lines, columns) in [
            (9, 0, 5),
            (288, 128 * 26, 26),
            (1, 100_000, 3),
            (2_359_296, 256 * 14, 14),
            (18, 6, 70_000),
            (40 << 20, 9000, 90),
        ] {
            let share = Share::of(elements, lines, columns, &borders);
            let trips = share.lines_at_once * (share.columns_at_once + 2);
            assert!(4 * trips <= borders.trips && 4 * share.parts <= borders.trips / 2, "{share:?}");
            assert!(share.bytes(elements) <= PARTS_BYTES, "{share:?}");
        }
        assert_eq!(Share::of(288, 8, 8, &borders).parts, 1, "little is summed in one go");
    }
}
