//! The WGSL of a product. Blocks are written out, because registers cannot be indexed.

use super::shape::{DEPTH, Shape, TEAM};
use crate::kernels::shader::entry;
use crate::pipelines::{Source, View};
use std::fmt::Write;

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub(super) shape: Shape,
    /// Whether nothing beyond an image is gathered.
    pub(super) inside: bool,
    /// Whether sums are added to what is there.
    pub(super) adds: bool,
}

/// Both sides and the result are bound as words.
pub(super) fn source(form: &Form) -> Source {
    let Form { shape, inside, adds } = form;
    let [down, across] = shape.size();
    let mut wgsl = format!("const DOWN: u32 = {down}u;\nconst ACROSS: u32 = {across}u;\n");
    wgsl += &format!("const INSIDE: bool = {inside};\nconst ADDS: bool = {adds};\n");
    wgsl += include_str!("../wgsl/implicit.wgsl");
    wgsl += &if shape.shared { tile(shape) } else { direct(shape) };
    wgsl += &entry(shape.invocations());
    wgsl += "    make(group, lane);\n}\n";
    Source { buffers: vec![View::Words; 3], wgsl }
}

/// A text that grows by lines.
struct Lines(String);

impl Lines {
    fn add(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{line}");
    }
}

/// Every place of a block.
fn places([down, across]: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
    (0..down).flat_map(move |i| (0..across).map(move |j| (i, j)))
}

/// Where an invocation is along rows (`down`) and columns (`across`).
fn lanes(shape: &Shape) -> String {
    let [down, across] = shape.lanes;
    if shape.order.result_columns {
        format!("    let down = lane / {across}u;\n    let across = lane % {across}u;\n")
    } else {
        format!("    let down = lane % {down}u;\n    let across = lane / {down}u;\n")
    }
}

/// Each invocation loads what it multiplies. Its rows and columns are as far apart as there are invocations,
/// so that neighbours load neighbours.
fn direct(shape: &Shape) -> String {
    let ([down, across], block) = (shape.lanes, shape.block);
    let mut text = Lines("fn make(group: u32, lane: u32) {\n    let place = place_of(group);\n".into());
    text.0 += &lanes(shape);
    text.add(format_args!("    let row = place.row + down;\n    let column = place.column + across;"));
    text.add(format_args!("    if row >= params.w[0].x || column >= params.w[0].y {{ return; }}"));
    // Rows and columns beyond the end are read as the last one, and not stored.
    for i in 0..block[0] {
        text.add(format_args!(
            "    let row{i} = row_of(place, min(row + {}u, params.w[0].x - 1u));",
            i * down
        ));
    }
    for j in 0..block[1] {
        text.add(format_args!(
            "    let column{j} = place.other + min(column + {}u, params.w[0].y - 1u) * params.w[11].x;",
            j * across
        ));
    }
    for (i, j) in places(block) {
        text.add(format_args!("    var r{i}_{j} = 0.0;"));
    }
    text.0 += include_str!("../wgsl/implicit_steps.wgsl");
    for j in 0..block[1] {
        text.add(format_args!("        let y{j} = bitcast<f32>(b1[column{j} + step.w]);"));
    }
    for i in 0..block[0] {
        text.add(format_args!("        let x{i} = gather(row{i} + step);"));
        for j in 0..block[1] {
            text.add(format_args!("        r{i}_{j} += x{i} * y{j};"));
        }
    }
    text.0 += "    }\n";
    for (i, j) in places(block) {
        text.add(format_args!(
            "    store(row{i}.w, row + {}u, column + {}u, r{i}_{j});",
            i * down,
            j * across
        ));
    }
    text.0 + "}\n"
}

/// A workgroup loads tiles of both sides, and each invocation multiplies its block of them.
fn tile(shape: &Shape) -> String {
    let block = shape.block;
    let mut text = Lines(format!("const DEPTH: u32 = {DEPTH}u;\nconst TEAM: u32 = {TEAM}u;\n"));
    // The number of an element of a tile as its step and its row or column, along whichever lies densely.
    for (name, along, wide) in
        [("gathered", shape.order.gather_steps, "DOWN"), ("other", shape.order.other_steps, "ACROSS")]
    {
        let (step, item) = if along { ("i % DEPTH", "i / DEPTH") } else { ("i / WIDE", "i % WIDE") };
        let place = format!("vec2<u32>({step}, {item})").replace("WIDE", wide);
        text.add(format_args!("fn {name}_place(i: u32) -> vec2<u32> {{ return {place}; }}"));
    }
    text.0 += include_str!("../wgsl/implicit_tile.wgsl");
    text.0 += "fn make(group: u32, lane: u32) {\n    let place = place_of(group);\n";
    text.0 += &lanes(shape);
    text.add(format_args!("    let y = down * {}u;\n    let x = across * {}u;", block[0], block[1]));
    for (i, j) in places(block) {
        text.add(format_args!("    var r{i}_{j} = 0.0;"));
    }
    text.0 += "    know_rows(place, lane);
    know_steps(place, place.first, lane);
    workgroupBarrier();
    for (var first = place.first; first < place.end; first += DEPTH) {
        load(place, first, lane);
        workgroupBarrier();
        for (var k = 0u; k < DEPTH; k++) {\n";
    for j in 0..block[1] {
        text.add(format_args!("            let b{j} = others[k * ACROSS + x + {j}u];"));
    }
    for i in 0..block[0] {
        text.add(format_args!("            let a{i} = gathered[k * DOWN + y + {i}u];"));
        for j in 0..block[1] {
            text.add(format_args!("            r{i}_{j} += a{i} * b{j};"));
        }
    }
    text.0 += "        }
        know_steps(place, first + DEPTH, lane);
        workgroupBarrier();
    }\n";
    for (i, j) in places(block) {
        text.add(format_args!(
            "    store(rows[y + {i}u].w, place.row + y + {i}u, place.column + x + {j}u, r{i}_{j});"
        ));
    }
    text.0 + "}\n"
}
