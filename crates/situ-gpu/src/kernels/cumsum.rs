//! Running sums along an axis. Rows are cut into pieces: the sum of each piece, then the sums of the pieces
//! before each, then every element of a piece. No invocation loops over more than one piece, or over more
//! pieces than one row has.

use super::Kernel;
use super::run::{Params, Run, element_offset};
use super::shader::{Elem, Math, entry};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{Shape, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::Cumsum;
use situ_ir::{Op, OpKind};
use std::sync::Arc;

/// Rows up to this length are one piece.
const WHOLE: usize = 1024;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    let kernel = Kernel::new(run).accepting(|_, _, layout| layout.is_dense()).with_workspace(workspace);
    registry.add(OpKind::Cumsum, Elem::WORDS, kernel.computing());
}

/// How rows lie and are cut.
struct Cuts {
    rows: usize,
    length: usize,
    /// Elements between neighbours of a row.
    inner: usize,
    piece: usize,
    pieces: usize,
}

impl Cuts {
    fn of(op: &Cumsum, shape: &Shape) -> Cuts {
        let axis = usize::from(op.axis);
        let length = shape[axis];
        let inner: usize = shape[axis + 1..].iter().product();
        let outer: usize = shape[..axis].iter().product();
        // As many pieces as a piece has elements: either loop is as short as both can be.
        let piece = if length <= WHOLE { length.max(1) } else { length.isqrt() + 1 };
        Cuts { rows: outer * inner, length, inner, piece, pieces: length.div_ceil(piece).max(1) }
    }
}

/// A sum for each piece, where there are several.
fn workspace(_: &Borders, op: &Op, inputs: &[TensorType], _: &[TensorType]) -> usize {
    let (Op::Cumsum(op), [input]) = (op, inputs) else { return 0 };
    let cuts = Cuts::of(op, &input.shape);
    if cuts.pieces > 1 { input.dtype.size() * cuts.rows * cuts.pieces } else { 0 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// The sum of each piece.
    Pieces,
    /// The sum of the pieces before each.
    Before,
    /// Every element, with the sum of the pieces before it.
    Elements,
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Cumsum(op) = run.call.op else { return Err(Fault::Internal("not a cumsum".into())) };
    let (input, output) = (run.input(0), run.output());
    let elem = Elem::of(input.dtype)?;
    let cuts = Cuts::of(op, input.layout.shape());
    let longest = cuts.piece.max(cuts.pieces) + 1;
    if longest > run.borders().trips {
        let (n, most) = (cuts.length, run.borders().trips);
        return Err(Fault::Internal(format!(
            "running sums of {n} need {longest} trips of a loop, of which {most} are counted"
        )));
    }
    let (work, at) = if cuts.pieces > 1 { run.workspace()? } else { (run.block(output)?, 0) };
    let blocks = [run.block(input)?, work, run.block(output)?];
    let offsets = [element_offset(input), at / (elem.size() / 4) as u32, 0, element_offset(output)];
    let own = [cuts.inner as u32, cuts.pieces as u32, u32::from(op.exclusive), u32::from(op.reverse)];
    let stages: &[Stage] =
        if cuts.pieces > 1 { &[Stage::Pieces, Stage::Before, Stage::Elements] } else { &[Stage::Elements] };
    let each = run.shared_by(stages.len());
    for &stage in stages {
        let units = if stage == Stage::Before { cuts.rows } else { cuts.rows * cuts.pieces };
        let sizes = [units as u32, cuts.rows as u32, cuts.length as u32, cuts.piece as u32];
        let pipeline = each.pipeline(PipelineKey::new("cumsum", (stage, elem)), || source(stage, elem))?;
        each.dispatch(&pipeline, &blocks, &Params::new(sizes, offsets).with(own), units.div_ceil(64))?;
    }
    Ok(None)
}

fn source(stage: Stage, elem: Elem) -> Source {
    let ty = elem.wgsl();
    let body = match stage {
        Stage::Pieces => {
            "    for (var i = first; i < end; i++) { sum += input(params.w[1].x + place(row, i)); }
    set_part(params.w[1].y + unit, sum);"
        }
        // Thousands of sums: what each addition rounds away is carried along, unless there is no number left.
        Stage::Before if elem == Elem::F32 => {
            "    var lost = 0.0;
    for (var k = 0u; k < params.w[2].y; k++) {
        let at = params.w[1].y + k * rows + unit;
        let here = part(at);
        set_part(at, sum + lost);
        let next = hide(sum + here);
        let added = hide(next - sum);
        let off = hide(sum - hide(next - added)) + hide(here - added);
        lost = select(0.0, lost + off, is_finite(next));
        sum = next;
    }"
        }
        Stage::Before => {
            "    for (var k = 0u; k < params.w[2].y; k++) {
        let at = params.w[1].y + k * rows + unit;
        let here = part(at);
        set_part(at, sum);
        sum += here;
    }"
        }
        Stage::Elements => {
            // What came before is added to sums of the piece alone: a large sum would lose small elements
            // that are added to it one by one.
            "    var past = sum;
    if params.w[2].y > 1u { past = part(params.w[1].y + unit); }
    for (var i = first; i < end; i++) {
        let at = place(row, i);
        let before = sum;
        sum += input(params.w[1].x + at);
        set_output(params.w[1].w + at, past + select(sum, before, params.w[2].z != 0u));
    }"
        }
    };
    let access = (Math::NONE | elem.math()).text()
        + &elem.access("input", "b0")
        + &elem.access("part", "b1")
        + &elem.access("output", "b2");
    // Units of one piece lie row by row: neighbours read neighbours.
    let wgsl = format!(
        "{access}fn place(row: u32, i: u32) -> u32 {{
    let inner = params.w[2].x;
    let above = row / inner;
    let along = select(i, params.w[0].z - 1u - i, params.w[2].w != 0u);
    return (above * params.w[0].z + along) * inner + (row - above * inner);
}}
fn work(unit: u32) {{
    let rows = params.w[0].y;
    let piece = unit / rows;
    let row = unit - piece * rows;
    let first = piece * params.w[0].w;
    let end = min(params.w[0].z, first + params.w[0].w);
    var sum = {ty}(0);
{body}
}}
{}    let unit = group * 64u + lane;
    if unit < params.w[0].x {{ work(unit); }}
}}
",
        entry(64)
    );
    Source { buffers: vec![View::Words; 3], wgsl }
}
