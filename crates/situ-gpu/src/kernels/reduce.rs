//! Reductions over any axes of any strides.
//!
//! Short rows, and columns of a dense matrix, are reduced by one invocation each; long rows by a workgroup; few very
//! long ones by many workgroups into the workspace, and those partial results once more. Which of these depends on
//! shapes and strides alone, so a result has the same bits every time.

use super::Kernel;
use super::run::{Params, Run, block_of, element_offset, groups_for, word_offset};
use super::shader::{Elem, Math, per_output};
use super::space::Space;
use super::team::Team;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{Layout, MAX_RANK, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::ReduceKind;
use situ_ir::{Op, OpKind};
use std::sync::Arc;

/// Rows of at least this length are cut up where there are fewer than [`FEW_ROWS`].
const LONG_ROW: usize = 1 << 15;
const FEW_ROWS: usize = 64;
/// The length of a cut, at least.
const CUT: usize = 1 << 13;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Reduce, Elem::DTYPES, Kernel::new(run).with_workspace(workspace));
}

/// Into how many parts each of `rows` rows of `length` elements is cut.
fn cuts(kind: ReduceKind, rows: usize, length: usize) -> usize {
    match kind {
        ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Max | ReduceKind::Min | ReduceKind::Prod => {
            if rows < FEW_ROWS && length >= LONG_ROW { (length / CUT).min(256) } else { 1 }
        }
        // Positions and bools do not fit the second round.
        ReduceKind::Any | ReduceKind::All | ReduceKind::ArgMax | ReduceKind::ArgMin => 1,
    }
}

fn workspace(op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
    let Op::Reduce(op) = op else { return 0 };
    let rows = outputs[0].shape.elements();
    let length = op.axes.iter().map(|a| inputs[0].shape[a]).product();
    match cuts(op.kind, rows, length) {
        1 => 0,
        cuts => 4 * rows * cuts,
    }
}

/// One round: what is read, how its rows lie, where results go.
struct Round<'a> {
    kind: ReduceKind,
    elem: Elem,
    kept: Space<1>,
    reduced: Space<1>,
    rows: usize,
    length: usize,
    /// Elements that went into each row in all, by which a mean divides.
    count: usize,
    cuts: usize,
    from: (&'a Block, u32),
    to: (&'a Block, u32),
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Reduce(op) = run.call.op else { return Err(Fault::Internal("not a reduction".into())) };
    let (input, output) = (run.input(0), run.output());
    let length: usize = op.axes.iter().map(|a| input.layout.shape()[a]).product();
    let rows = output.layout.shape().elements();
    let cuts = cuts(op.kind, rows, length);
    let round = Round {
        kind: op.kind,
        elem: Elem::of(input.dtype)?,
        kept: axes_of(input.layout, |a| !op.axes.contains(a)),
        reduced: axes_of(input.layout, |a| op.axes.contains(a)),
        rows,
        length,
        count: length,
        cuts,
        from: (run.block(input)?, element_offset(input)),
        to: (run.block(output)?, element_offset(output)),
    };
    if cuts == 1 {
        return dispatch(run, &round).map(|()| None);
    }
    let Some(workspace) = run.call.workspace else {
        return Err(Fault::Internal("the reduction was given no workspace".into()));
    };
    let partial = (block_of(workspace, run.stream)?, word_offset(workspace));
    let kind = if op.kind == ReduceKind::Mean { ReduceKind::Sum } else { op.kind };
    dispatch(run, &Round { kind, to: partial, ..round })?;
    let second = Round {
        kept: Space::merged(&[rows], [&[cuts as isize]]),
        reduced: Space::merged(&[cuts], [&[1]]),
        length: cuts,
        cuts: 1,
        from: partial,
        ..round
    };
    dispatch(run, &second).map(|()| None)
}

/// The axes for which `which` says yes, merged.
fn axes_of(layout: &Layout, which: impl Fn(usize) -> bool) -> Space<1> {
    let mut sizes = [0; MAX_RANK];
    let mut strides = [0; MAX_RANK];
    let mut rank = 0;
    for axis in (0..layout.shape().rank()).filter(|&a| which(a)) {
        sizes[rank] = layout.shape()[axis];
        strides[rank] = layout.strides()[axis];
        rank += 1;
    }
    Space::merged(&sizes[..rank], [&strides[..rank]])
}

fn dispatch(run: &Run<'_>, round: &Round<'_>) -> Result<(), Fault> {
    // Neighbouring invocations read neighbouring elements: then one each is as good as a team.
    let inner = round.kept.rank.checked_sub(1).map(|last| round.kept.strides[0][last]);
    let columns = round.rows >= 2048 && inner == Some(1);
    let software = run.stream.context().is_software();
    let team = match (round.cuts, columns) {
        (1, true) => Team::Alone,
        (1, false) => Team::choose(round.rows, round.length, software),
        _ => Team::Group,
    };
    let sizes = [round.rows as u32, round.kept.rank as u32, round.reduced.rank as u32, round.length as u32];
    let cut = round.length.div_ceil(round.cuts);
    let mut params = Params::new(sizes, [round.from.1, 0, 0, round.to.1]).with([
        (round.count as f32).to_bits(),
        round.cuts as u32,
        cut as u32,
        0,
    ]);
    for axis in 0..round.kept.rank.max(round.reduced.rank) {
        let (k, r) = (&round.kept, &round.reduced);
        params = params.axis(axis, [k.sizes[axis], k.strides[0][axis], r.sizes[axis], r.strides[0][axis]]);
    }
    let variant = (round.kind as u64 * 4 + round.elem as u64) * 2 + team as u64;
    let pipeline =
        run.pipeline(PipelineKey::new("reduce", variant), || source(round.kind, round.elem, team))?;
    let groups = match (team, round.elem) {
        (Team::Alone, _) => groups_for(round.rows),
        // One workgroup makes all four bytes of a word.
        (Team::Group, Elem::Bool) => round.rows.div_ceil(4),
        (Team::Group, _) => round.rows * round.cuts,
    };
    run.dispatch(&pipeline, &[round.from.0, round.to.0], &params, groups)
}

/// How one kind of reduction goes, in WGSL. `T` is the element type.
struct Way {
    /// The type that results are joined in.
    acc: &'static str,
    /// The value to begin with, from the first element's `item`, or the identity.
    start: &'static str,
    /// An accumulator from element `x` at position `r`.
    item: &'static str,
    /// Two joined, `a` before `b`.
    join: &'static str,
    /// The bits of the result.
    finish: &'static str,
}

fn way(kind: ReduceKind, elem: Elem) -> Way {
    let plain = |start, join| Way { acc: "T", start, item: "x", join, finish: "bitcast<u32>(a)" };
    let float = elem == Elem::F32;
    match kind {
        ReduceKind::Sum => plain("T(0)", "a + b"),
        ReduceKind::Mean => Way {
            finish: "bitcast<u32>(select(a / bitcast<f32>(params.w[2].x), nan(), params.w[2].x == 0u))",
            ..plain("T(0)", "a + b")
        },
        ReduceKind::Prod => plain("T(1)", "a * b"),
        ReduceKind::Max => plain("item(first)", if float { "max_nan(a, b)" } else { "max(a, b)" }),
        ReduceKind::Min => plain("item(first)", if float { "min_nan(a, b)" } else { "min(a, b)" }),
        ReduceKind::Any => Way { finish: "select(0u, 1u, a)", ..plain("false", "a || b") },
        ReduceKind::All => Way { finish: "select(0u, 1u, a)", ..plain("true", "a && b") },
        ReduceKind::ArgMax | ReduceKind::ArgMin => Way {
            acc: "Best",
            start: "item(first)",
            item: "Best(x, r)",
            join: "better(a, b)",
            finish: "a.at",
        },
    }
}

/// `fn better`: NaN beats all, and of equals the first wins.
fn better(kind: ReduceKind, elem: Elem) -> String {
    let sign = if kind == ReduceKind::ArgMax { ">" } else { "<" };
    let (nan_a, nan_b) = match elem {
        Elem::F32 => ("is_nan(a.x)", "is_nan(b.x)"),
        Elem::I32 | Elem::Bool => ("false", "false"),
    };
    format!(
        "struct Best {{ x: T, at: u32 }}
fn better(a: Best, b: Best) -> Best {{
    let a_nan = {nan_a};
    let b_nan = {nan_b};
    let b_beats = (b.x {sign} a.x && !a_nan) || (b_nan && !a_nan);
    let a_beats = (a.x {sign} b.x && !b_nan) || (a_nan && !b_nan);
    if b_beats || (!a_beats && b.at < a.at) {{ return b; }}
    return a;
}}
"
    )
}

fn source(kind: ReduceKind, elem: Elem, team: Team) -> Source {
    let way = way(kind, elem);
    let mut text = Math::NONE.text() + &format!("alias T = {};\n", elem.wgsl());
    if way.acc == "Best" {
        text += &better(kind, elem);
    }
    text += &format!("alias Acc = {};\n", way.acc);
    text += include_str!("wgsl/reduce.wgsl");
    text += &format!(
        "fn item_at(base: u32, r: u32) -> Acc {{ let x = {}; return {}; }}
fn join(a: Acc, b: Acc) -> Acc {{ return {}; }}
fn finish(a: Acc) -> u32 {{ return {}; }}
fn start(base: u32, first: u32) -> Acc {{ return {}; }}
",
        elem.load("b0", "(base + reduced(r))"),
        way.item,
        way.join,
        way.finish,
        way.start.replace("item(first)", "item_at(base, first)"),
    );
    match team {
        Team::Alone => {
            text += include_str!("wgsl/reduce_alone.wgsl");
            let output = if elem == Elem::Bool { Elem::Bool } else { Elem::I32 };
            per_output(output, 1, false, &text)
        }
        Team::Group => {
            text += &team.joins(&[("join", "join(a, b)")]);
            text += include_str!("wgsl/reduce_group.wgsl");
            text += if elem == Elem::Bool {
                include_str!("wgsl/reduce_group_bytes.wgsl")
            } else {
                include_str!("wgsl/reduce_group_words.wgsl")
            };
            Source { buffers: vec![View::Words; 2], wgsl: text }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_core::Axes;

    #[test]
    fn axes_merge_within_the_kept_and_within_the_reduced() {
        let layout = Layout::dense(situ_core::Shape::new(&[2, 3, 4, 5]).unwrap());
        let axes = Axes::of("sum", layout.shape(), &[1, 2]).unwrap();
        let kept = axes_of(&layout, |a| !axes.contains(a));
        let reduced = axes_of(&layout, |a| axes.contains(a));
        assert_eq!((kept.rank, &kept.sizes[..2], &kept.strides[0][..2]), (2, &[2, 5][..], &[60, 1][..]));
        assert_eq!((reduced.rank, reduced.sizes[0], reduced.strides[0][0]), (1, 12, 5));
    }
}
