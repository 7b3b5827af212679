//! Products of few columns, as those of filters that each see a channel of their own: next to nothing is
//! shared between columns, but neighbouring windows share most of their pixels.
//!
//! An invocation makes a block of results that lie side by side. It loads the pixels of all of them once, a
//! patch, and each is multiplied by every tap that meets it. Which tap meets which result of a block at which
//! pixel is part of the text, so strides and dilations cost nothing, and the gradient by the image needs no
//! dispatch for each phase of its strides. The gradient by the filter has the sums of all taps in one
//! invocation, over blocks of its part; parts are added at the end.

use super::super::run::{Params, Run};
use super::patch_text::{Axis, Form, INVOCATIONS, Meet, Sum};
use super::problem::strides;
use super::{LONG_SUM, PARTS_BYTES};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::PipelineKey;
use situ_ir::ops::conv2d::{Conv2d, ConvSizes};
use situ_ir::ops::window::Format;

/// With more columns, tiles have enough to share.
const FEW_COLUMNS: usize = 4;
/// Multiplications that are written out, and results of a block, at most.
const MOST: usize = 1024;
const LARGE_BLOCK: usize = 32;

/// A convolution, or one of its gradients, that is made in patches.
#[derive(Clone, Debug)]
pub(in super::super) struct Patches {
    form: Form,
    /// Parts with sums of their own, and channels that one dispatch sums.
    pub(in super::super) parts: usize,
    at_once: usize,
    problem: Problem,
}

/// The numbers of what is made. Of a gradient by the filter they are those of the convolution.
#[derive(Clone, Copy, Debug)]
struct Problem {
    /// Images, and lines and columns of results.
    results: [usize; 3],
    /// Lines and columns of what is gathered from, and where its first patch begins.
    size: [usize; 2],
    first: [i64; 2],
    channels: usize,
    columns: usize,
    groups: usize,
    /// From image to image, channel to channel, line to line and pixel to pixel.
    gathered: [i64; 4],
    /// From column to column, channel to channel, and tap to tap down and across.
    other: [i64; 4],
    /// From image to image, column to column, line to line and result to result.
    result: [i64; 4],
    group_strides: [i64; 3],
    last: bool,
}

impl Problem {
    fn forward(conv: &Conv2d, sizes: &ConvSizes) -> Problem {
        let (input, output, filters) = strides(conv, sizes);
        let [per_group, taken] = [sizes.filter.out / conv.groups, sizes.filter.taken].map(|n| n as i64);
        Problem {
            results: [sizes.output.batch, sizes.output.size[0], sizes.output.size[1]],
            size: sizes.input.size,
            first: conv.window.padding.map(|p| -(p[0] as i64)),
            channels: sizes.filter.taken,
            columns: sizes.filter.out / conv.groups,
            groups: conv.groups,
            gathered: input,
            other: filters,
            result: output,
            group_strides: [taken * input[1], per_group * filters[0], per_group * output[1]],
            last: conv.window.format == Format::ChannelsLast,
        }
    }

    fn by_input(conv: &Conv2d, sizes: &ConvSizes) -> Problem {
        let forward = Problem::forward(conv, sizes);
        let [by_column, by_channel, down, across] = forward.other;
        let [gathered, other, result] = forward.group_strides;
        // Images and results change sides, and so do filters and the channels they see.
        Problem {
            results: [sizes.input.batch, sizes.input.size[0], sizes.input.size[1]],
            size: sizes.output.size,
            first: [0; 2],
            channels: forward.columns,
            columns: forward.channels,
            gathered: forward.result,
            other: [by_channel, by_column, down, across],
            result: forward.gathered,
            group_strides: [result, other, gathered],
            ..forward
        }
    }

    /// Blocks of all images.
    fn blocks(&self, [down, across]: [usize; 2]) -> usize {
        self.results[0] * self.results[1].div_ceil(down) * self.results[2].div_ceil(across)
    }
}

/// Along an axis of a convolution, blocks of so many places.
fn places(conv: &Conv2d, sizes: &ConvSizes, axis: usize, block: usize) -> Axis {
    let (stride, dilation) = (conv.window.stride[axis], conv.window.dilation[axis]);
    let taps = sizes.filter.size[axis];
    let meet =
        |place: usize, tap: usize| Meet { place, tap, pixel: (place * stride + tap * dilation) as i64 };
    let meets = (0..block).flat_map(|place| (0..taps).map(move |tap| meet(place, tap))).collect();
    Axis { block, apart: block * stride, taps, meets }
}

/// Along an axis of a gradient by the image, blocks of so many whole strides of pixels. Pixel `y` met tap `k`
/// at place `(y + before - k · dilation) / stride`, if that is whole.
fn pixels(conv: &Conv2d, sizes: &ConvSizes, axis: usize, strides: usize) -> Axis {
    let (stride, dilation) = (conv.window.stride[axis], conv.window.dilation[axis]);
    let (taps, before) = (sizes.filter.size[axis], conv.window.padding[axis][0]);
    let meet = |place: usize, tap: usize| {
        let at = (place + before) as i64 - (tap * dilation) as i64;
        (at.rem_euclid(stride as i64) == 0).then(|| Meet { place, tap, pixel: at.div_euclid(stride as i64) })
    };
    let block = strides * stride;
    let meets = (0..block).flat_map(|place| (0..taps).filter_map(move |tap| meet(place, tap))).collect();
    Axis { block, apart: strides, taps, meets }
}

impl Patches {
    /// A convolution; nothing where columns are many, or taps too many to be written out.
    pub(in super::super) fn forward(conv: &Conv2d, sizes: &ConvSizes, borders: &Borders) -> Option<Patches> {
        Patches::of(Sum::Taps, Problem::forward(conv, sizes), sizes, borders, |axis, n| {
            places(conv, sizes, axis, n)
        })
    }

    /// Its gradient by the image.
    pub(in super::super) fn by_input(conv: &Conv2d, sizes: &ConvSizes, borders: &Borders) -> Option<Patches> {
        if conv.window.stride[0].saturating_mul(conv.window.stride[1]) > LARGE_BLOCK {
            return None;
        }
        Patches::of(Sum::Taps, Problem::by_input(conv, sizes), sizes, borders, |axis, n| {
            pixels(conv, sizes, axis, n)
        })
    }

    /// Its gradient by the filter.
    pub(in super::super) fn by_filter(
        conv: &Conv2d,
        sizes: &ConvSizes,
        borders: &Borders,
    ) -> Option<Patches> {
        Patches::of(Sum::Places, Problem::forward(conv, sizes), sizes, borders, |axis, n| {
            places(conv, sizes, axis, n)
        })
    }

    fn of(
        sum: Sum,
        problem: Problem,
        sizes: &ConvSizes,
        borders: &Borders,
        axis: impl Fn(usize, usize) -> Axis,
    ) -> Option<Patches> {
        let Problem { columns, channels, results, .. } = problem;
        let taps = sizes.filter.size[0].saturating_mul(sizes.filter.size[1]);
        let none = results.contains(&0) || columns == 0 || problem.groups == 0;
        if columns >= FEW_COLUMNS || taps.saturating_mul(columns) > MOST || none {
            return None;
        }
        let form = |axes: [Axis; 2]| Form {
            sum,
            columns,
            exact: (0..2).all(|n| results[n + 1].is_multiple_of(axes[n].block)),
            inside: (0..2).all(|n| axes[n].is_inside(results[n + 1], problem.first[n], problem.size[n])),
            last: problem.last,
            single: channels == 1,
            adds: false,
            axes,
        };
        // So many units keep a device busy.
        let busy = if borders.software { 1 << 10 } else { 1 << 12 };
        let sides = [4, 2, 1];
        let candidates = sides.into_iter().flat_map(|down| sides.map(|across| [down, across]));
        let candidates = candidates.map(|[down, across]| form([axis(0, down), axis(1, across)]));
        let fits = |form: &Form| {
            let [down, across] = form.axes.each_ref().map(|axis| axis.meets.len());
            form.block()[0] * form.block()[1] <= LARGE_BLOCK && down * across * columns <= MOST
        };
        let form = candidates.filter(fits).min_by_key(|form| {
            let units = problem.blocks(form.block()) * problem.groups;
            (units.max(busy) * form.loads(), form.loads())
        })?;
        let (parts, at_once) = match sum {
            Sum::Taps => (1, (borders.trips / 4).min(LONG_SUM / taps).clamp(1, channels.max(1))),
            Sum::Places => (parts(&problem, taps, form.block(), borders)?, channels),
        };
        Some(Patches { form, parts, at_once, problem })
    }

    /// Bytes of the parts' results, if there are several.
    pub(in super::super) fn bytes(&self, elements: usize) -> usize {
        if self.parts == 1 { 0 } else { 4 * self.parts * elements }
    }

    /// Queues it for `tensors` (what is gathered, the other side, the result) that begin at `offsets`: of
    /// what is gathered, of the filter and of the third. Parts have results of `elements` each.
    pub(in super::super) fn run(
        &self,
        run: &Run<'_>,
        tensors: &[&Block; 3],
        offsets: [u32; 3],
        elements: usize,
    ) -> Result<(), Fault> {
        let channels = self.problem.channels;
        let dispatches = Borders::parts(channels, self.at_once);
        let each = run.shared_by(dispatches);
        for number in 0..dispatches {
            let first = number * self.at_once;
            let form = Form { adds: number > 0, ..self.form.clone() };
            let key = PipelineKey::new("implicit_patches", form.clone());
            let pipeline = run.pipeline(key, || form.source())?;
            let (params, units) = self.params(offsets, first, channels.min(first + self.at_once), elements);
            each.dispatch(&pipeline, tensors, &params, units.div_ceil(INVOCATIONS))?;
        }
        Ok(())
    }

    /// The parameters of a dispatch over some channels, and its units.
    fn params(&self, offsets: [u32; 3], first: usize, end: usize, elements: usize) -> (Params, usize) {
        let problem = &self.problem;
        let [images, lines, columns] = problem.results;
        let [high, wide] = self.form.block();
        let (down, across) = (lines.div_ceil(high), columns.div_ceil(wide));
        let blocks = images * down * across;
        let units = match self.form.sum {
            Sum::Taps => blocks * problem.groups,
            Sum::Places => self.parts * problem.groups * problem.channels,
        };
        let words = |list: [i64; 4]| list.map(|n| n as u32);
        let [from, other, result] = offsets.map(i64::from);
        let begin = problem.first[0] * problem.gathered[2] + problem.first[1] * problem.gathered[3];
        let skipped = [problem.gathered[1], problem.other[1]].map(|stride| first as i64 * stride);
        let sizes = [units, across, down, problem.groups].map(|n| n as u32);
        let mut params =
            Params::new(sizes, words([from + begin + skipped[0], other + skipped[1], 0, result]));
        let size = problem.size.map(|n| n as i64);
        params.put(2, &words([lines as i64, columns as i64, size[0], size[1]]));
        params.put(3, &words([problem.first[0], problem.first[1], (end - first) as i64, self.parts as i64]));
        let [image, channel, line, pixel] = problem.gathered;
        params.put(4, &words([line, pixel, channel, image]));
        let [column, channel, down, across] = problem.other;
        params.put(5, &words([down, across, channel, column]));
        let ([a, b, c], [image, column, line, place]) = (problem.group_strides, problem.result);
        params.put(6, &words([a, b, c, column]));
        params.put(7, &words([image, line, place, elements as i64]));
        params.put(8, &[blocks as u32, problem.channels as u32]);
        (params, units)
    }
}

/// Into how many parts the places are cut; nothing if the parts' sums would take too much room.
fn parts(problem: &Problem, taps: usize, block: [usize; 2], borders: &Borders) -> Option<usize> {
    let blocks = problem.blocks(block);
    // Enough invocations to keep a device busy, if each has something to do.
    let busy = if borders.software { 1 << 12 } else { 1 << 15 };
    let filters = problem.groups * problem.channels;
    let wanted = (busy / filters.max(1)).min(blocks / 4);
    let most = (borders.trips / 2).min(LONG_SUM / (block[0] * block[1]));
    let parts = Borders::parts(blocks, most).max(wanted).max(1);
    let bytes = parts.saturating_mul(4 * taps * problem.columns * filters);
    (parts <= borders.trips / 8 && (parts == 1 || bytes <= PARTS_BYTES.min(borders.block / 2)))
        .then_some(parts)
}
