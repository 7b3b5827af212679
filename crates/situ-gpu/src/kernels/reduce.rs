//! Reductions over any axes of any strides.
//!
//! Short rows, and many columns of a dense matrix, are reduced by one invocation each; long rows by a
//! workgroup; fewer columns, of which neighbours lie side by side, by a workgroup for some of them.
//! Rows that are too long for that, or too few, are cut: partial results go to the workspace, and are reduced
//! once more, until there is one for each row. Which of these depends on shapes, strides and the device's
//! borders alone, so a result has the same bits every time.

use super::Kernel;
use super::elem::Number;
use super::run::{Params, Run, element_offset, groups_for};
use super::shader::{Elem, Math, entry, per_output};
use super::space::Space;
use super::team::{ALONE, PASSED, Team};
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{Axes, Layout, MAX_RANK, Shape, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::ReduceKind;
use situ_ir::{Op, OpKind};
use std::sync::Arc;

/// Rows of at least this length are cut up where there are fewer than [`FEW_ROWS`].
const LONG_ROW: usize = 1 << 15;
const FEW_ROWS: usize = 64;
/// The length of a cut for a workgroup, at least; and for one invocation, at most.
const CUT: usize = 1 << 13;
const SHORT_CUT: usize = 1 << 11;
/// From so many rows on, columns of a dense matrix are for one invocation each.
const MANY_COLUMNS: usize = 2048;

/// Columns of a dense matrix that a workgroup reduces, invocations for each, and from how many columns on.
const SIDE: usize = 32;
const STRIPES: usize = 256 / SIDE;
const FEW_COLUMNS: usize = 8;
/// Workgroups that are worked on at once by a device that is worth the name, and by software.
const BUSY: usize = 128;
const BUSY_SOFTWARE: usize = 16;
/// Up to so many results have an invocation each, where one invocation reduces a row: others make four.
const FEW_RESULTS: usize = 1 << 14;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Reduce, Elem::DTYPES, Kernel::new(run).with_workspace(workspace).computing());
}

/// Whether rows lie side by side, as the columns of a matrix do: the last axis is kept.
fn are_columns(axes: &Axes, shape: &Shape) -> bool {
    (0..shape.rank()).rev().find(|axis| shape[*axis] > 1).is_some_and(|axis| !axes.contains(axis))
}

/// Whether a workgroup reduces several of so many columns.
fn in_stripes(rows: usize, length: usize, columns: bool, borders: &Borders) -> bool {
    let many = (FEW_COLUMNS..MANY_COLUMNS).contains(&rows);
    columns && many && Team::choose(rows, length, borders.software) == Team::Group && !borders.software
}

/// The length of the cuts in which each of `rows` rows of `length` elements is reduced; `weight` is loop
/// trips for each element.
fn cut_length(rows: usize, length: usize, weight: usize, columns: bool, borders: &Borders) -> usize {
    if in_stripes(rows, length, columns, borders) {
        let wanted = (BUSY / rows.div_ceil(SIDE)).min(length / (32 * STRIPES)).max(1);
        let most = STRIPES * (borders.trips / 16 / weight).max(1);
        return length.div_ceil(Borders::parts(length, length.div_ceil(wanted).min(most))).max(1);
    }
    // An invocation alone reduces four rows one after the other, in runs of 64; see `per_output`.
    let alone = (borders.trips / 5 / weight).max(64);
    let group = 256 * (borders.trips / 16 / weight).max(1);
    let cut = if rows < FEW_ROWS && length >= LONG_ROW {
        // Each workgroup costs a software driver as much as some thousand elements.
        let most = if borders.software { BUSY_SOFTWARE.div_ceil(rows.max(1)) } else { 256 };
        length.div_ceil((length / CUT).min(most)).min(group)
    } else if Team::choose(rows, length, borders.software) == Team::Alone {
        if length <= alone { length } else { alone.min(SHORT_CUT) }
    } else if rows >= MANY_COLUMNS {
        length.min(alone)
    } else {
        length.min(group)
    };
    // All cuts about as long.
    length.div_ceil(Borders::parts(length, cut)).max(1)
}

/// Loop trips for each element, at most: one, and if there are several axes, one for each of those.
fn weight(axes: &Axes, shape: &Shape) -> usize {
    match axes.iter().filter(|&a| shape[a] > 1).count() {
        0 | 1 => 1,
        many => many + 2,
    }
}

/// How many partial results each row has after each round but the last.
fn rounds(
    rows: usize,
    length: usize,
    weight: usize,
    columns: bool,
    borders: &Borders,
) -> impl Iterator<Item = usize> {
    let (mut left, mut columns) = (length, columns);
    std::iter::from_fn(move || {
        left = left.div_ceil(cut_length(rows, left, weight, columns, borders));
        // Partial results of all rows lie side by side.
        columns = true;
        (left > 1).then_some(left)
    })
}

fn workspace(borders: &Borders, op: &Op, inputs: &[TensorType], outputs: &[TensorType]) -> usize {
    let Op::Reduce(op) = op else { return 0 };
    let rows = outputs[0].shape.elements();
    let length = op.axes.iter().map(|a| inputs[0].shape[a]).product();
    let weight = weight(&op.axes, &inputs[0].shape);
    let columns = are_columns(&op.axes, &inputs[0].shape);
    let partial = partial_size(op.kind, inputs[0].dtype.size());
    partial * rows * rounds(rows, length, weight, columns, borders).sum::<usize>()
}

/// Bytes of a partial result of elements of that size: a number with all its bits, or a position.
fn partial_size(kind: ReduceKind, element: usize) -> usize {
    if is_arg(kind) { 4 } else { element.max(4) }
}

fn is_arg(kind: ReduceKind) -> bool {
    matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin)
}

/// What a round reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum From {
    /// The op's input.
    Input,
    /// Partial results: numbers with all their bits, bools as words.
    Partial,
    /// Positions of elements of the input.
    Positions,
}

/// One round: what is read, how its rows lie, where results go.
struct Round<'a> {
    kind: ReduceKind,
    elem: Elem,
    reads: From,
    /// How the rows of the input lie, or those of the partial results.
    kept: Space<1>,
    reduced: Space<1>,
    rows: usize,
    length: usize,
    cut: usize,
    /// Whether rows lie side by side, for all that shapes tell.
    columns: bool,
    /// Elements that went into each row in all, by which a mean divides.
    count: usize,
    from: (&'a Block, u32),
    /// Positions, where those are read.
    positions: (&'a Block, u32),
    to: (&'a Block, u32),
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Reduce(op) = run.call.op else { return Err(Fault::Internal("not a reduction".into())) };
    let (input, output) = (run.input(0), run.output());
    let length: usize = op.axes.iter().map(|a| input.layout.shape()[a]).product();
    let rows = output.layout.shape().elements();
    let borders = run.borders();
    let weight = weight(&op.axes, input.layout.shape());
    let result = (run.block(output)?, element_offset(output));
    let from = (run.block(input)?, element_offset(input));
    let mut round = Round {
        kind: op.kind,
        elem: Elem::of(input.dtype)?,
        reads: From::Input,
        kept: axes_of(input.layout, |a| !op.axes.contains(a)),
        reduced: axes_of(input.layout, |a| op.axes.contains(a)),
        rows,
        length,
        cut: length.max(1),
        columns: are_columns(&op.axes, input.layout.shape()),
        count: length,
        from,
        positions: from,
        to: result,
    };
    let mut at = 0;
    for cuts in rounds(rows, length, weight, round.columns, borders) {
        let (block, start) = run.workspace()?;
        // In elements of its own size, of which the workspace begins at a multiple.
        let partial = (block, start / (partial_size(op.kind, round.elem.size()) / 4) as u32 + at);
        at += (rows * cuts) as u32;
        // A mean is divided at the end.
        let kind = if op.kind == ReduceKind::Mean { ReduceKind::Sum } else { op.kind };
        let cut = round.length.div_ceil(cuts);
        dispatch(run, &Round { kind, to: partial, cut, ..round })?;
        if is_arg(op.kind) {
            round = Round { reads: From::Positions, positions: partial, ..round };
        } else {
            round = Round {
                reads: From::Partial,
                kept: Space::merged(&[rows], [&[1]]),
                reduced: Space::merged(&[cuts], [&[rows as isize]]),
                from: partial,
                ..round
            };
        }
        round = Round { length: cuts, cut: cuts, columns: true, ..round };
    }
    dispatch(run, &round).map(|()| None)
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
    let columns = round.rows >= MANY_COLUMNS && inner == Some(1);
    let team =
        if columns { Team::Alone } else { Team::choose(round.rows, round.length, run.borders().software) };
    let cuts = round.length.div_ceil(round.cut).max(1);
    let to = match cuts {
        _ if is_arg(round.kind) => Elem::U32,
        1 => round.elem,
        _ => round.elem.whole(),
    };
    let stripes = in_stripes(round.rows, round.length, round.columns, run.borders())
        && inner == Some(1)
        && round.reads != From::Positions
        && to.per_word() == 1;
    let units = round.rows * cuts;
    let sizes = [units as u32, round.kept.rank as u32, round.reduced.rank as u32, round.length as u32];
    let mut params = Params::new(sizes, [round.from.1, round.positions.1, 0, round.to.1]).with([
        (round.count as f32).to_bits(),
        round.rows as u32,
        round.cut as u32,
        0,
    ]);
    for axis in 0..round.kept.rank.max(round.reduced.rank) {
        let (k, r) = (&round.kept, &round.reduced);
        params = params.axis(axis, [k.sizes[axis], k.strides[0][axis], r.sizes[axis], r.strides[0][axis]]);
    }
    let form = Form {
        kind: round.kind,
        elem: round.elem,
        reads: round.reads,
        to,
        stripes,
        few: units <= FEW_RESULTS && to.is_word(),
        axes: round.reduced.rank.min(3) as u8,
        team,
    };
    let pipeline = run.pipeline(PipelineKey::new("reduce", form), || source(&form, run.borders()))?;
    let groups = match team {
        Team::Alone if form.few => team.groups(units),
        Team::Alone => groups_for(units),
        Team::Group if stripes => round.rows.div_ceil(SIDE) * cuts,
        // One workgroup makes all elements of a word.
        Team::Group => units.div_ceil(to.per_word()),
    };
    let blocks = [round.from.0, round.positions.0, round.to.0];
    let blocks: &[&Block] =
        if round.reads == From::Positions { &blocks } else { &[round.from.0, round.to.0] };
    run.dispatch(&pipeline, blocks, &params, groups)
}

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    kind: ReduceKind,
    elem: Elem,
    reads: From,
    /// What results are stored as: the dtype, or, where they are partial, numbers with all their bits.
    to: Elem,
    /// Whether a workgroup reduces several columns.
    stripes: bool,
    /// Whether an invocation makes one result and not four.
    few: bool,
    /// How many axes are reduced, of which three stand for more.
    axes: u8,
    team: Team,
}

/// How one kind of reduction goes, in WGSL. `T` is the element type.
struct ReduceText {
    /// The type that results are joined in.
    acc: &'static str,
    /// The value to begin with, from the first element's `item`, or the identity.
    start: &'static str,
    /// An accumulator from element `x` at position `r`.
    item: &'static str,
    /// Two joined, `a` before `b`.
    join: &'static str,
    /// The result.
    finish: &'static str,
}

fn reduce_text(kind: ReduceKind, elem: Elem) -> ReduceText {
    let plain = |start, join| ReduceText { acc: "T", start, item: "x", join, finish: "a" };
    let float = elem.is_float();
    match kind {
        ReduceKind::Sum => plain("T(0)", "a + b"),
        ReduceKind::Mean => ReduceText {
            finish: "select(a / bitcast<f32>(params.w[2].x), nan(), params.w[2].x == 0u)",
            ..plain("T(0)", "a + b")
        },
        ReduceKind::Prod => plain("T(1)", "a * b"),
        ReduceKind::Max => plain("item(first)", if float { "max_nan(a, b)" } else { "select(b, a, a > b)" }),
        ReduceKind::Min => plain("item(first)", if float { "min_nan(a, b)" } else { "select(b, a, a < b)" }),
        ReduceKind::Any => plain("false", "a || b"),
        ReduceKind::All => plain("true", "a && b"),
        ReduceKind::ArgMax | ReduceKind::ArgMin => ReduceText {
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
    let (nan_a, nan_b) = if elem.is_float() { ("is_nan(a.x)", "is_nan(b.x)") } else { ("false", "false") };
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

/// What the result of a row is passed on as in a subgroup; bools are no numbers, and those of 64 bits are
/// not passed.
fn passed(acc: &str, elem: Elem) -> Option<&'static str> {
    match (acc, elem.number) {
        (_, Number::Bool | Number::I64 | Number::U64 | Number::Pair) => None,
        ("Best", _) => Some("Best(subgroupShuffleXor(x.x, far), subgroupShuffleXor(x.at, far))"),
        _ => Some(PASSED),
    }
}

fn source(form: &Form, borders: &Borders) -> Source {
    let Form { kind, elem, team, .. } = *form;
    let reduce = reduce_text(kind, elem);
    let mut text = (Math::NONE | elem.math()).text() + &format!("alias T = {};\n", elem.wgsl());
    if reduce.acc == "Best" {
        text += &better(kind, elem);
    }
    text += &format!("alias Acc = {};\n", reduce.acc);
    text += include_str!("wgsl/reduce.wgsl");
    text += match form.axes {
        1 => include_str!("wgsl/reduce_one_axis.wgsl"),
        2 => include_str!("wgsl/reduce_two_axes.wgsl"),
        _ => include_str!("wgsl/reduce_axes.wgsl"),
    };
    let load = |from: &str| match form.reads {
        From::Partial if elem == Elem::BOOL => format!("b0[{from}] != 0u"),
        From::Partial => elem.whole().load("b0", from),
        From::Input | From::Positions => elem.load("b0", from),
    };
    // A truth is a word of 0 or 1, stored in as many bits as results have.
    let finish = if elem == Elem::BOOL { elem.bits(reduce.finish) } else { form.to.bits(reduce.finish) };
    // Partial results of a row lie as far apart as there are rows.
    let position =
        if form.reads == From::Positions { "b1[params.w[1].y + i * params.w[2].y + row]" } else { "i" };
    // Where an element is follows from its number; of those that are looked up by position it has to be
    // found.
    let walked = if form.reads == From::Positions { "reduced(r)" } else { "offset(at)" };
    text += &format!(
        "fn item_at(base: u32, row: u32, i: u32) -> Acc {{ let r = {position}; let x = {}; return {item}; }}
fn item_from(base: u32, row: u32, i: u32, at: vec2<u32>) -> Acc {{ let r = {position}; let x = {}; return {item}; }}
fn join(a: Acc, b: Acc) -> Acc {{ return {}; }}
fn finish(a: Acc) -> {} {{ return {finish}; }}
fn start(base: u32, row: u32, first: u32) -> Acc {{ return {}; }}
",
        load("(base + reduced(r))"),
        load(&format!("(base + {walked})")),
        reduce.join,
        form.to.bits_type(),
        reduce.start.replace("item(first)", "item_at(base, row, first)"),
        item = reduce.item,
    );
    let inputs = if form.reads == From::Positions { 2 } else { 1 };
    let out = format!("b{inputs}");
    // A result at `to`, which is an element of one or two words.
    let store = |bits: &str| match form.to.size() {
        8 => format!("let bits = {bits}; {out}[2u * to] = bits.x; {out}[2u * to + 1u] = bits.y;"),
        _ => format!("{out}[to] = {bits};"),
    };
    match team {
        Team::Alone => {
            text += include_str!("wgsl/reduce_alone.wgsl");
            text = text.replace("BITS", form.to.bits_type());
            if form.few {
                text += &team.entry(borders);
                text += &format!(
                    "    let unit = group * {ALONE}u + lane;
    if unit < params.w[0].x {{ {out}[params.w[1].w + unit] = element(unit); }}\n}}\n"
                );
                return Source { buffers: vec![View::Words; inputs + 1], wgsl: text };
            }
            per_output(form.to, inputs, false, &text)
        }
        Team::Group if form.stripes => {
            text += &format!("const SIDE: u32 = {SIDE}u;\nconst STRIPES: u32 = {STRIPES}u;\n");
            text += "var<workgroup> scratch: array<Acc, 256>;\n";
            text += include_str!("wgsl/reduce_stretch.wgsl");
            text += &entry(256);
            text +=
                &include_str!("wgsl/reduce_columns.wgsl").replace("STORE", &store("finish(scratch[lane])"));
            Source { buffers: vec![View::Words; inputs + 1], wgsl: text }
        }
        Team::Group => {
            let passed = passed(reduce.acc, elem);
            text += &team.joins(borders, passed, &[("join", "join(a, b)")]);
            text += include_str!("wgsl/reduce_stretch.wgsl");
            text += include_str!("wgsl/reduce_group.wgsl");
            text += &team.entry(borders);
            text += &match form.to.per_word() {
                1 => include_str!("wgsl/reduce_group_words.wgsl").replace("STORE", &store("finish(acc)")),
                per => include_str!("wgsl/reduce_group_parts.wgsl")
                    .replace("PER_WORD", &format!("{per}u"))
                    .replace("SIZE", &format!("{}u", 8 * form.to.size()))
                    .replace("OUT", &out),
            };
            Source { buffers: vec![View::Words; inputs + 1], wgsl: text }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_merge_within_the_kept_and_within_the_reduced() {
        let layout = Layout::dense(situ_core::Shape::new(&[2, 3, 4, 5]).unwrap());
        let axes = Axes::of("sum", layout.shape(), &[1, 2]).unwrap();
        let kept = axes_of(&layout, |a| !axes.contains(a));
        let reduced = axes_of(&layout, |a| axes.contains(a));
        assert_eq!((kept.rank, &kept.sizes[..2], &kept.strides[0][..2]), (2, &[2, 5][..], &[60, 1][..]));
        assert_eq!((reduced.rank, reduced.sizes[0], reduced.strides[0][0]), (1, 12, 5));
    }

    #[test]
    fn no_invocation_makes_more_trips_than_it_may_and_rounds_come_to_an_end() {
        let borders = |trips, software| Borders {
            trips,
            groups: 65535,
            work: 1 << 30,
            block: 128 << 20,
            elements: i32::MAX as usize,
            software,
            subgroups: false,
        };
        for (trips, software) in [(32767, true), (65536, false), (600, true)] {
            let borders = borders(trips, software);
            for rows in [1, 63, 64, 2047, 2048, 1 << 20] {
                for length in [1, 64, 6553, 6554, 33_000, 1 << 20, (1 << 31) - 1] {
                    for (weight, columns) in [(1, false), (5, true), (10, false), (1, true)] {
                        let cut = cut_length(rows, length, weight, columns, &borders);
                        let lanes = match Team::choose(rows, length, software) {
                            _ if in_stripes(rows, length, columns, &borders) => STRIPES,
                            Team::Group if rows < MANY_COLUMNS => 256,
                            // Alone, four rows to an invocation.
                            _ => 1,
                        };
                        let made = if lanes == 1 { 4 } else { 1 } * cut.div_ceil(lanes) * weight * 67 / 64;
                        assert!(made <= trips.max(4 * 67 * weight), "{rows} rows of {length}: {made} trips");
                        let mut left = length;
                        for cuts in rounds(rows, length, weight, columns, &borders) {
                            assert!(cuts < left);
                            left = cuts;
                        }
                    }
                }
            }
        }
    }
}
