//! The numbers of a product: what a convolution, or one of its gradients, gathers where.

use super::super::run::Params;
use situ_ir::ops::conv2d::{Conv2d, ConvSizes};
use situ_ir::ops::window::Format;

/// Three counters, the last the fastest, and what each of them adds to four numbers. Negative steps are two's
/// complement in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Counters {
    pub(super) sizes: [usize; 3],
    /// For each counter: to the place of the pixel in memory, to its line, to its column; and, of rows, to
    /// the place of the result, of steps, to the place in the other side.
    pub(super) adds: [[i64; 4]; 3],
}

impl Counters {
    pub(super) fn count(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Counters given as (size, what is added), slowest first; channels go behind the others where they are
    /// last.
    fn of(
        format: Format,
        channel: (usize, [i64; 4]),
        down: (usize, [i64; 4]),
        across: (usize, [i64; 4]),
    ) -> Counters {
        let [a, b, c] = match format {
            Format::ChannelsFirst => [channel, down, across],
            Format::ChannelsLast => [down, across, channel],
        };
        Counters { sizes: [a.0, b.0, c.0], adds: [a.1, b.1, c.1] }
    }
}

/// A product of what is gathered (rows by steps) with the other side (steps by columns).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Product {
    pub(super) rows: Counters,
    pub(super) inner: Counters,
    pub(super) columns: usize,
    /// From column to column, in the other side and in the result.
    pub(super) column_strides: [usize; 2],
    /// Lines and columns of what is gathered from, beyond which are zeros.
    pub(super) size: [usize; 2],
    /// The line and the column at which all counters begin.
    pub(super) first: [i64; 2],
    pub(super) groups: usize,
    /// From group to group and where the first begins, in what is gathered, the other side and the result.
    pub(super) group_strides: [usize; 3],
    pub(super) begins: [i64; 3],
}

fn signed<const N: usize>(list: [usize; N]) -> [i64; N] {
    list.map(|n| n as i64)
}

impl Product {
    /// The words of steps: the first, the end, and those of a part.
    pub(super) const STEPS: usize = 12;

    /// The convolution itself: a row for each place of the window, a column for each filter of a group.
    pub(in super::super) fn forward(conv: &Conv2d, sizes: &ConvSizes) -> Product {
        let (input, output, filters) = strides(conv, sizes);
        let format = conv.window.format;
        let [stride, dilation] = [conv.window.stride, conv.window.dilation].map(signed);
        let before = conv.window.padding.map(|p| p[0] as i64);
        let per_group = sizes.filter.out / conv.groups;
        Product {
            rows: Counters {
                sizes: [sizes.output.batch, sizes.output.size[0], sizes.output.size[1]],
                adds: [
                    [input[0], 0, 0, output[0]],
                    [stride[0] * input[2], stride[0], 0, output[2]],
                    [stride[1] * input[3], 0, stride[1], output[3]],
                ],
            },
            inner: Counters::of(
                format,
                (sizes.filter.taken, [input[1], 0, 0, filters[1]]),
                (sizes.filter.size[0], [dilation[0] * input[2], dilation[0], 0, filters[2]]),
                (sizes.filter.size[1], [dilation[1] * input[3], 0, dilation[1], filters[3]]),
            ),
            columns: per_group,
            column_strides: [filters[0] as usize, output[1] as usize],
            size: sizes.input.size,
            first: before.map(|n| -n),
            groups: conv.groups,
            group_strides: [
                sizes.filter.taken * input[1] as usize,
                per_group * filters[0] as usize,
                per_group * output[1] as usize,
            ],
            begins: [-(before[0] * input[2] + before[1] * input[3]), 0, 0],
        }
    }

    /// The gradient by the filter: a row for each of its taps, a column for each filter of a group, summed
    /// over places of the window.
    pub(in super::super) fn by_filter(conv: &Conv2d, sizes: &ConvSizes) -> Product {
        let forward = Product::forward(conv, sizes);
        // The taps and the places change sides; the filter and the result do too.
        Product {
            rows: forward.inner,
            inner: forward.rows,
            column_strides: [forward.column_strides[1], forward.column_strides[0]],
            group_strides: [forward.group_strides[0], forward.group_strides[2], forward.group_strides[1]],
            ..forward
        }
    }

    /// The gradient by the image, of the pixels whose line and column leave `phase` when divided by the
    /// strides: with a stride, pixels of one phase met the same taps, and no others. A row for each pixel, a
    /// column for each channel of a group. Nothing if there is no such pixel.
    pub(in super::super) fn by_input(conv: &Conv2d, sizes: &ConvSizes, phase: [usize; 2]) -> Option<Product> {
        let (input, output, filters) = strides(conv, sizes);
        let per_group = sizes.filter.out / conv.groups;
        let along = [0, 1].map(|axis| Along::of(conv, sizes, axis, phase[axis]));
        if along.iter().any(|along| along.pixels == 0) {
            return None;
        }
        let stride = signed(conv.window.stride);
        let first = along.map(|along| along.first);
        Some(Product {
            rows: Counters {
                sizes: [sizes.input.batch, along[0].pixels, along[1].pixels],
                adds: [
                    [output[0], 0, 0, input[0]],
                    [output[2], 1, 0, stride[0] * input[2]],
                    [output[3], 0, 1, stride[1] * input[3]],
                ],
            },
            inner: Counters::of(
                conv.window.format,
                (per_group, [output[1], 0, 0, filters[0]]),
                (along[0].taps, [-along[0].back * output[2], -along[0].back, 0, along[0].step * filters[2]]),
                (along[1].taps, [-along[1].back * output[3], 0, -along[1].back, along[1].step * filters[3]]),
            ),
            columns: sizes.filter.taken,
            column_strides: [filters[1] as usize, input[1] as usize],
            size: sizes.output.size,
            first,
            groups: conv.groups,
            group_strides: [
                per_group * output[1] as usize,
                per_group * filters[0] as usize,
                sizes.filter.taken * input[1] as usize,
            ],
            begins: [
                first[0] * output[2] + first[1] * output[3],
                along[0].first_tap * filters[2] + along[1].first_tap * filters[3],
                phase[0] as i64 * input[2] + phase[1] as i64 * input[3],
            ],
        })
    }

    /// Whether no row and step lead beyond the image.
    pub(super) fn is_inside(&self) -> bool {
        (0..2).all(|axis| {
            let counters = [&self.rows, &self.inner];
            let reach = counters.iter().flat_map(|counters| counters.sizes.iter().zip(&counters.adds));
            let far = reach.map(|(size, adds)| adds[axis + 1] * (*size as i64 - 1));
            let (before, after) = far.fold((0, 0), |(b, a), far| (b + far.min(0), a + far.max(0)));
            self.first[axis] + before >= 0 && self.first[axis] + after < self.size[axis] as i64
        })
    }

    /// The parameters, for tensors that begin at `offsets`, where parts have results of `elements` each.
    pub(super) fn params(&self, offsets: [u32; 3], parts: usize, elements: usize) -> Params {
        let [gathered, other, result] = [0, 1, 2].map(|i| offsets[i].wrapping_add(self.begins[i] as u32));
        let (rows, inner) = (&self.rows, &self.inner);
        let mut params = Params::new(
            [rows.count() as u32, self.columns as u32, parts as u32, elements as u32],
            [gathered, other, 0, result],
        )
        .with([rows.sizes[1], rows.sizes[2], inner.sizes[1], inner.sizes[2]].map(|n| n as u32));
        let [lines, columns] = self.size.map(|n| n as u32);
        let [line, column] = self.first.map(|n| n as u32);
        params.put(3, &[lines, columns, line, column]);
        for counter in 0..3 {
            params.put(4 + counter, &rows.adds[counter].map(|n| n as u32));
            params.put(7 + counter, &inner.adds[counter].map(|n| n as u32));
        }
        let [a, b, c] = self.group_strides.map(|n| n as u32);
        params.put(10, &[a, b, c, self.groups as u32]);
        let [other, result] = self.column_strides.map(|n| n as u32);
        params.put(11, &[other, result, 0, 0]);
        params
    }
}

/// Strides of images, results and filters.
pub(super) fn strides(conv: &Conv2d, sizes: &ConvSizes) -> ([i64; 4], [i64; 4], [i64; 4]) {
    let format = conv.window.format;
    (
        signed(format.strides(&sizes.input)),
        signed(format.strides(&sizes.output)),
        signed(format.filter_strides(&sizes.filter)),
    )
}

/// One axis of the gradient by the image, for the pixels of a phase. Pixel `y` met tap `k` at place
/// `(y + before - k · dilation) / stride`.
#[derive(Clone, Copy, Debug)]
struct Along {
    pixels: usize,
    /// The place at which the first pixel met the first tap.
    first: i64,
    first_tap: i64,
    /// From one tap of the phase to the next, and by how many places that is back.
    step: i64,
    back: i64,
    taps: usize,
}

impl Along {
    fn of(conv: &Conv2d, sizes: &ConvSizes, axis: usize, phase: usize) -> Along {
        let (stride, dilation) = (conv.window.stride[axis], conv.window.dilation[axis]);
        let size = sizes.input.size[axis];
        let pixels = if phase < size { (size - phase).div_ceil(stride) } else { 0 };
        let from = phase + conv.window.padding[axis][0];
        let all = sizes.filter.size[axis];
        // Taps of a phase come back after as many as take whole strides.
        let step = stride / common_divisor(stride, dilation);
        let first_tap = (0..step.min(all)).find(|tap| tap * dilation % stride == from % stride);
        let taps = first_tap.map_or(0, |tap| (all - tap).div_ceil(step));
        let first_tap = first_tap.unwrap_or(0);
        // Whole, but where there are no taps.
        let first = (from as i64 - (first_tap * dilation) as i64).div_euclid(stride as i64);
        let back = (step * dilation / stride) as i64;
        Along { pixels, first, first_tap: first_tap as i64, step: step as i64, back, taps }
    }
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
