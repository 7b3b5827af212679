//! The WGSL of products that are made in patches, and what it depends on.

use super::super::shader::entry;
use crate::pipelines::{Source, View};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Invocations of a workgroup, which share nothing.
pub(super) const INVOCATIONS: usize = 64;

/// What is summed, and so what the other side and the result are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sum {
    /// Over taps and channels: a convolution, or its gradient by the image.
    Taps,
    /// Over places: the gradient by the filter.
    Places,
}

/// Along one axis: a result of a block meets a tap at a pixel of the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Meet {
    pub(super) place: usize,
    pub(super) tap: usize,
    pub(super) pixel: i64,
}

/// Blocks along one axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Axis {
    /// Results of a block.
    pub(super) block: usize,
    /// Pixels from the patch of one block to that of the next.
    pub(super) apart: usize,
    pub(super) taps: usize,
    pub(super) meets: Vec<Meet>,
}

impl Axis {
    pub(super) fn pixels(&self) -> BTreeSet<i64> {
        self.meets.iter().map(|meet| meet.pixel).collect()
    }

    /// Whether the patches of so many results lie within so many pixels, the first `first` of them away.
    pub(super) fn is_inside(&self, results: usize, first: i64, pixels: usize) -> bool {
        self.meets.iter().filter(|meet| meet.place < results).all(|meet| {
            let blocks = (results - 1 - meet.place) / self.block;
            let nearest = first + meet.pixel;
            nearest >= 0 && nearest + ((blocks * self.apart) as i64) < pixels as i64
        })
    }
}

/// What the text of a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub(super) sum: Sum,
    pub(super) axes: [Axis; 2],
    pub(super) columns: usize,
    /// Whether blocks cover the results and nothing else.
    pub(super) exact: bool,
    pub(super) inside: bool,
    pub(super) last: bool,
    /// Whether there is one channel to sum.
    pub(super) single: bool,
    pub(super) adds: bool,
}

/// An i64 as the u32 that adds it.
fn word(n: i64) -> String {
    format!("{}u", n as u32)
}

impl Form {
    pub(super) fn block(&self) -> [usize; 2] {
        self.axes.each_ref().map(|axis| axis.block)
    }

    fn taps(&self) -> [usize; 2] {
        self.axes.each_ref().map(|axis| axis.taps)
    }

    /// Loads for one block and channel.
    pub(super) fn loads(&self) -> usize {
        let [[high, wide], [down, across]] = [self.block(), self.taps()];
        let other = match self.sum {
            Sum::Taps => down * across,
            Sum::Places => high * wide,
        };
        let [lines, columns] = self.axes.each_ref().map(|axis| axis.pixels().len());
        lines * columns + self.columns * other
    }

    pub(super) fn source(&self) -> Source {
        let [down, across] = self.block();
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
        let [down, across] = self.axes.each_ref().map(|axis| axis.apart);
        let _ = writeln!(
            text,
            "    let patch_y = block.line * {down}u;\n    let patch_x = block.strip * {across}u;"
        );
        *text += "    let top = patch_y + params.w[3].x;\n    let left = patch_x + params.w[3].y;
    var begin = at_channel + block.image * params.w[4].w + patch_y * params.w[4].x + patch_x * params.w[4].y;\n";
        for (number, x) in self.axes[1].pixels().iter().enumerate() {
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
        let [lines, columns] = &self.axes;
        let numbers: Vec<i64> = columns.pixels().into_iter().collect();
        for y in lines.pixels() {
            let _ = writeln!(text, "    {{\n    let within = top + {} < params.w[2].z;", word(y));
            let _ = writeln!(text, "    let line = begin + {} * params.w[4].x;", word(y));
            for (number, x) in numbers.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "    let x{number} = pixel(line + {} * params.w[4].y, within && in{number});",
                    word(*x)
                );
            }
            for down in lines.meets.iter().filter(|meet| meet.pixel == y) {
                for across in &columns.meets {
                    if let Ok(number) = numbers.binary_search(&across.pixel) {
                        multiply(text, (down.place, across.place), (down.tap, across.tap), number);
                    }
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
        for ((y, x), j) in Self::pairs(self.block()).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
            let _ = writeln!(text, "    var r{y}_{x}_{j} = 0.0;");
        }
        if !self.single {
            text += "    for (var i = 0u; i < params.w[3].z; i++) {\n";
        }
        for ((y, x), j) in Self::pairs(self.taps()).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
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
        if !self.single {
            text += "    begin += params.w[4].z;\n    other += params.w[5].z;\n    }\n";
        }
        text += "    let to = params.w[1].w + group * params.w[6].z + block.image * params.w[7].x \
                 + block.line * DOWN * params.w[7].y + block.strip * ACROSS * params.w[7].z;\n";
        for (y, x) in Self::pairs(self.block()) {
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
        for ((y, x), j) in Self::pairs(self.taps()).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
            let _ = writeln!(text, "    var r{y}_{x}_{j} = 0.0;");
        }
        text += "    for (var number = part; number < all; number += parts) {
    let block = block_of(number);
    let by = params.w[1].w + group * params.w[6].z + block.image * params.w[7].x + block.line * DOWN * params.w[7].y \
             + block.strip * ACROSS * params.w[7].z;\n";
        self.prepare(&mut text);
        for (y, x) in Self::pairs(self.block()) {
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
        for ((y, x), j) in Self::pairs(self.taps()).flat_map(|at| (0..self.columns).map(move |j| (at, j))) {
            let _ = writeln!(
                text,
                "    b2[to + {y}u * params.w[5].x + {x}u * params.w[5].y + {j}u * params.w[5].w] = bitcast<u32>(r{y}_{x}_{j});"
            );
        }
        text + "}\n"
    }
}
