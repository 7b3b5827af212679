//! Products of few columns, as those of filters that each see a channel of their own: next to nothing is
//! shared between columns, but neighbouring windows share most of their pixels.
//!
//! An invocation makes a block of places of the window. It loads the pixels of all of them once, a patch, and
//! each is multiplied by every tap that meets it. Taps, strides and dilations are part of the text. The
//! gradient by the filter has the sums of all taps in one invocation, over blocks of its part; parts are
//! added at the end.

use super::super::run::{Params, Run};
use super::super::shader::entry;
use super::{LONG_SUM, PARTS_BYTES, Product};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{PipelineKey, Source, View};
use std::collections::BTreeSet;
use std::fmt::Write;

/// With more columns, tiles have enough to share.
const FEW_COLUMNS: usize = 4;
/// Multiplications that are written out, at most.
const MOST: usize = 1024;
/// Blocks of places, and how many of them a device that is worth the name works on at once.
const BLOCKS: [[usize; 2]; 7] = [[4, 4], [2, 4], [1, 4], [4, 2], [2, 2], [1, 2], [1, 1]];
const AT_ONCE: usize = 1 << 12;
const INVOCATIONS: usize = 64;

/// What is summed, and so what the other side and the result are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Sum {
    /// Over taps and channels: a convolution, or its gradient by the image.
    Taps,
    /// Over places: the gradient by the filter.
    Places,
}

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    sum: Sum,
    taps: [usize; 2],
    /// From tap to tap and from place to place, in pixels.
    tap_steps: [i64; 2],
    place_steps: [i64; 2],
    columns: usize,
    block: [usize; 2],
    /// Whether blocks cover the places and nothing else.
    exact: bool,
    inside: bool,
    last: bool,
    adds: bool,
}

/// A product that is made in patches. Its product is the convolution's: of a gradient by the filter, the one
/// in which places are rows.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Patches {
    product: Product,
    form: Form,
    /// Parts with sums of their own, and channels that one dispatch sums.
    pub(in super::super) parts: usize,
    at_once: usize,
}

impl Patches {
    /// Nothing where columns are many, or taps too many to be written out.
    pub(in super::super) fn of(product: &Product, sum: Sum, borders: &Borders) -> Option<Patches> {
        let [channel, down, across] = product.inner_axes();
        let taps = [product.inner.sizes[down], product.inner.sizes[across]];
        let all = taps[0].saturating_mul(taps[1]).saturating_mul(product.columns);
        if product.columns >= FEW_COLUMNS || all == 0 || all > MOST || product.rows.count() == 0 {
            return None;
        }
        let form = |block: [usize; 2]| Form {
            sum,
            taps,
            tap_steps: [product.inner.adds[down][1], product.inner.adds[across][2]],
            place_steps: [product.rows.adds[1][1], product.rows.adds[2][2]],
            columns: product.columns,
            block,
            exact: (0..2).all(|axis| product.rows.sizes[axis + 1].is_multiple_of(block[axis])),
            inside: product.is_inside(),
            last: product.channels_last,
            adds: false,
        };
        let fits = |block: &[usize; 2]| block[0] * block[1] * all <= MOST;
        let block = BLOCKS.into_iter().filter(fits).min_by_key(|block| {
            let units = blocks(product, *block) * product.groups;
            let loads = form(*block).loads();
            // Few units leave processors idle.
            (units.max(AT_ONCE) * loads, loads)
        })?;
        let channels = product.inner.sizes[channel];
        let (parts, at_once) = match sum {
            Sum::Taps => {
                (1, (borders.trips / 4).min(LONG_SUM / (taps[0] * taps[1])).clamp(1, channels.max(1)))
            }
            Sum::Places => (parts(product, channels, all, block, borders)?, channels),
        };
        Some(Patches { product: *product, form: form(block), parts, at_once })
    }

    /// Bytes of the parts' results, if there are several.
    pub(in super::super) fn bytes(&self, elements: usize) -> usize {
        if self.parts == 1 { 0 } else { 4 * self.parts * elements }
    }

    /// Queues the product of `tensors` (what is gathered, the other side, the result), whose tensors begin at
    /// `offsets`; parts have results of `elements` each.
    pub(in super::super) fn run(
        &self,
        run: &Run<'_>,
        tensors: &[&Block; 3],
        offsets: [u32; 3],
        elements: usize,
    ) -> Result<(), Fault> {
        let [channel, ..] = self.product.inner_axes();
        let channels = self.product.inner.sizes[channel];
        let dispatches = Borders::parts(channels, self.at_once);
        let each = run.shared_by(dispatches);
        for number in 0..dispatches {
            let first = number * self.at_once;
            let form = Form { adds: number > 0, ..self.form };
            let key = PipelineKey::new("implicit_patches", form);
            let pipeline = run.pipeline(key, || form.source())?;
            let (params, units) = self.params(offsets, first, channels.min(first + self.at_once), elements);
            each.dispatch(&pipeline, tensors, &params, units.div_ceil(INVOCATIONS))?;
        }
        Ok(())
    }

    /// The parameters of a dispatch over some channels, and its units.
    fn params(&self, offsets: [u32; 3], first: usize, end: usize, elements: usize) -> (Params, usize) {
        let product = &self.product;
        let [channel, down, across] = product.inner_axes();
        let (rows, inner) = (&product.rows, &product.inner);
        let [high, wide] = self.form.block;
        let (lines, strips) = (rows.sizes[1].div_ceil(high), rows.sizes[2].div_ceil(wide));
        let units = match self.form.sum {
            Sum::Taps => rows.sizes[0] * lines * strips * product.groups,
            Sum::Places => self.parts * product.groups * inner.sizes[channel],
        };
        let begins = [0, 1, 2].map(|i| i64::from(offsets[i]) + product.begins[i]);
        let skipped = [0, 3].map(|what| first as i64 * inner.adds[channel][what]);
        let words = |list: [i64; 4]| list.map(|n| n as u32);
        let sizes = [units, strips, lines, product.groups].map(|n| n as u32);
        let mut params =
            Params::new(sizes, words([begins[0] + skipped[0], begins[1] + skipped[1], 0, begins[2]]));
        let size = |axis: usize| product.size[axis] as i64;
        params.put(2, &words([rows.sizes[1] as i64, rows.sizes[2] as i64, size(0), size(1)]));
        params.put(3, &words([product.first[0], product.first[1], (end - first) as i64, self.parts as i64]));
        // From place to place there are so many pixels.
        let along = |axis: usize| rows.adds[axis][0] / rows.adds[axis][axis];
        params.put(4, &words([along(1), along(2), inner.adds[channel][0], rows.adds[0][0]]));
        let taps = [down, across, channel].map(|axis| inner.adds[axis][3]);
        params.put(5, &words([taps[0], taps[1], taps[2], product.column_strides[0] as i64]));
        let [a, b, c] = product.group_strides.map(|n| n as i64);
        params.put(6, &words([a, b, c, product.column_strides[1] as i64]));
        let result = [0, 1, 2].map(|axis| rows.adds[axis][3]);
        let all = rows.sizes[0] * lines * strips;
        params.put(7, &words([result[0], result[1], result[2], elements as i64]));
        params.put(8, &[all as u32, inner.sizes[channel] as u32]);
        (params, units)
    }
}

/// Blocks of all images.
fn blocks(product: &Product, block: [usize; 2]) -> usize {
    let [images, lines, columns] = product.rows.sizes;
    images * lines.div_ceil(block[0]) * columns.div_ceil(block[1])
}

/// Into how many parts the places are cut; nothing if the parts' sums would take too much room.
fn parts(
    product: &Product,
    channels: usize,
    sums: usize,
    block: [usize; 2],
    borders: &Borders,
) -> Option<usize> {
    let blocks = blocks(product, block);
    let places = block[0] * block[1];
    // Enough invocations to keep a device busy, if each has something to do.
    let busy = if borders.software { 1 << 12 } else { 1 << 15 };
    let filters = product.groups * channels;
    let wanted = (busy / filters.max(1)).min(blocks / 4);
    let most = (borders.trips / 2).min(LONG_SUM / places);
    let parts = Borders::parts(blocks, most).max(wanted).max(1);
    let bytes = parts.saturating_mul(4 * sums * filters);
    (parts <= borders.trips / 8 && (parts == 1 || bytes <= PARTS_BYTES.min(borders.block / 2)))
        .then_some(parts)
}

/// An i64 as the u32 that adds it.
fn word(n: i64) -> String {
    format!("{}u", n as u32)
}

impl Form {
    /// The pixels of a patch along an axis, in the order of their places.
    fn pixels(&self, axis: usize) -> BTreeSet<i64> {
        let at = |place: usize, tap: usize| {
            place as i64 * self.place_steps[axis] + tap as i64 * self.tap_steps[axis]
        };
        (0..self.block[axis]).flat_map(|p| (0..self.taps[axis]).map(move |t| at(p, t))).collect()
    }

    /// Loads for one block and channel.
    fn loads(&self) -> usize {
        let [places, taps] = [self.block, self.taps].map(|[a, b]| a * b);
        let other = match self.sum {
            Sum::Taps => taps,
            Sum::Places => places,
        };
        self.pixels(0).len() * self.pixels(1).len() + self.columns * other
    }

    fn source(&self) -> Source {
        let [down, across] = self.block;
        let mut wgsl = format!("const DOWN: u32 = {down}u; const ACROSS: u32 = {across}u;\n");
        let _ = writeln!(wgsl, "const INSIDE: bool = {}; const LAST: bool = {};", self.inside, self.last);
        wgsl += include_str!("../wgsl/patch.wgsl");
        wgsl += &match self.sum {
            Sum::Taps => self.sum_taps(),
            Sum::Places => self.sum_places(),
        };
        wgsl += &entry(INVOCATIONS);
        let _ = writeln!(wgsl, "    make(group * {INVOCATIONS}u + lane);\n}}");
        Source { buffers: vec![View::Words; 3], wgsl }
    }

    /// Every place of a block, or every tap.
    fn pairs([down, across]: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
        (0..down).flat_map(move |y| (0..across).map(move |x| (y, x)))
    }

    /// Where the patch of a block begins (`top`, `left`, and `begin` in memory), and which of its columns are
    /// pixels.
    fn prepare(&self, text: &mut String) {
        let [down, across] = self.place_steps;
        let _ = writeln!(text, "    let top = block.y * {down}u + params.w[3].x;");
        let _ = writeln!(text, "    let left = block.x * {across}u + params.w[3].y;");
        let _ = writeln!(
            text,
            "    var begin = at_channel + block.image * params.w[4].w + block.y * {down}u * params.w[4].x \
             + block.x * {across}u * params.w[4].y;"
        );
        for (number, x) in self.pixels(1).iter().enumerate() {
            let _ = writeln!(text, "    let in{number} = left + {} < params.w[2].w;", word(*x));
        }
    }

    /// The products of one patch: line by line, each pixel is loaded and meets its taps. `multiply` writes
    /// what place and tap make with a pixel.
    fn patch(
        &self,
        text: &mut String,
        multiply: impl Fn(&mut String, (usize, usize), (usize, usize), usize),
    ) {
        let columns: Vec<i64> = self.pixels(1).into_iter().collect();
        for y in self.pixels(0) {
            let _ = writeln!(text, "    {{\n    let within = top + {} < params.w[2].z;", word(y));
            let _ = writeln!(text, "    let line = begin + {} * params.w[4].x;", word(y));
            for (number, x) in columns.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "    let x{number} = pixel(line + {} * params.w[4].y, within && in{number});",
                    word(*x)
                );
            }
            for ((down, across), (high, wide)) in
                Self::pairs(self.block).flat_map(|place| Self::pairs(self.taps).map(move |tap| (place, tap)))
            {
                if down as i64 * self.place_steps[0] + high as i64 * self.tap_steps[0] != y {
                    continue;
                }
                let x = across as i64 * self.place_steps[1] + wide as i64 * self.tap_steps[1];
                if let Some(number) = columns.iter().position(|column| *column == x) {
                    multiply(text, (down, across), (high, wide), number);
                }
            }
            *text += "    }\n";
        }
    }

    fn sum_taps(&self) -> String {
        let mut text = String::from(
            "fn make(unit: u32) {
    let sizes = params.w[0];
    if unit >= sizes.x { return; }
    var number = unit / sizes.w;
    var group = unit - number * sizes.w;
    if !LAST {
        let blocks = sizes.y * sizes.z;
        let above = unit / blocks;
        let image = above / sizes.w;
        group = above - image * sizes.w;
        number = image * blocks + (unit - above * blocks);
    }
    let block = block_of(number);
    let at_channel = params.w[1].x + group * params.w[6].x;
    var other = params.w[1].y + group * params.w[6].y;\n",
        );
        self.prepare(&mut text);
        for ((y, x), j) in Self::pairs(self.block).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
            let _ = writeln!(text, "    var r{y}_{x}_{j} = 0.0;");
        }
        text += "    for (var i = 0u; i < params.w[3].z; i++) {\n";
        for ((y, x), j) in Self::pairs(self.taps).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
            let _ = writeln!(
                text,
                "    let f{y}_{x}_{j} = bitcast<f32>(b1[other + {y}u * params.w[5].x + {x}u * params.w[5].y + {j}u * params.w[5].w]);"
            );
        }
        self.patch(&mut text, |text, (down, across), (high, wide), number| {
            for j in 0..self.columns {
                let _ = writeln!(text, "    r{down}_{across}_{j} += x{number} * f{high}_{wide}_{j};");
            }
        });
        text += "    begin += params.w[4].z;\n    other += params.w[5].z;\n    }\n";
        text += "    let to = params.w[1].w + group * params.w[6].z + block.image * params.w[7].x \
                 + block.y * params.w[7].y + block.x * params.w[7].z;\n";
        for (y, x) in Self::pairs(self.block) {
            if !self.exact {
                let _ = writeln!(text, "    if is_place(block, {y}u, {x}u) {{");
            }
            for j in 0..self.columns {
                let to = format!("to + {y}u * params.w[7].y + {x}u * params.w[7].z + {j}u * params.w[6].w");
                let before = if self.adds { format!("bitcast<f32>(b2[{to}]) + ") } else { String::new() };
                let _ = writeln!(text, "    b2[{to}] = bitcast<u32>({before}r{y}_{x}_{j});");
            }
            if !self.exact {
                text += "    }\n";
            }
        }
        text + "}\n"
    }

    fn sum_places(&self) -> String {
        let mut text = String::from(
            "fn make(unit: u32) {
    if unit >= params.w[0].x { return; }
    let parts = params.w[3].w;
    let all = params.w[8].x;
    // Neighbours are neighbouring channels where those are last, else neighbouring blocks.
    var channel = unit / parts;
    var part = unit - channel * parts;
    if LAST {
        let channels = params.w[0].w * params.w[8].y;
        part = unit / channels;
        channel = unit - part * channels;
    }
    let group = channel / params.w[8].y;
    let own = channel - group * params.w[8].y;
    let at_channel = params.w[1].x + group * params.w[6].x + own * params.w[4].z;\n",
        );
        for ((y, x), j) in Self::pairs(self.taps).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
            let _ = writeln!(text, "    var r{y}_{x}_{j} = 0.0;");
        }
        text += "    for (var number = part; number < all; number += parts) {
    let block = block_of(number);
    let by = params.w[1].w + group * params.w[6].z + block.image * params.w[7].x + block.y * params.w[7].y \
             + block.x * params.w[7].z;\n";
        self.prepare(&mut text);
        for (y, x) in Self::pairs(self.block) {
            if !self.exact {
                let _ = writeln!(text, "    let is{y}_{x} = is_place(block, {y}u, {x}u);");
            }
            for j in 0..self.columns {
                let _ = writeln!(
                    text,
                    "    let g{y}_{x}_{j} = bitcast<f32>(b1[by + {y}u * params.w[7].y + {x}u * params.w[7].z + {j}u * params.w[6].w]);"
                );
            }
        }
        self.patch(&mut text, |text, (down, across), (high, wide), number| {
            for j in 0..self.columns {
                let product = format!("x{number} * g{down}_{across}_{j}");
                // What is beyond the last place is no number of anybody's.
                let product = match self.exact {
                    true => product,
                    false => format!("select(0.0, {product}, is{down}_{across})"),
                };
                let _ = writeln!(text, "    r{high}_{wide}_{j} += {product};");
            }
        });
        text += "    }\n    let to = params.w[1].y + group * params.w[6].y + own * params.w[5].z + part * params.w[7].w;\n";
        for ((y, x), j) in Self::pairs(self.taps).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
            let _ = writeln!(
                text,
                "    b2[to + {y}u * params.w[5].x + {x}u * params.w[5].y + {j}u * params.w[5].w] = bitcast<u32>(r{y}_{x}_{j});"
            );
        }
        text + "}\n"
    }
}
