//! Matrix products (GEMM); batches broadcast, and either side may lie any way.
//!
//! On hardware, tiles are shared in workgroup memory. On a software driver that memory is no faster than any
//! other and every load is dear, so there each invocation makes a large block straight from memory. A long
//! inner axis is summed in stretches, one dispatch each, in order.

use super::Kernel;
use super::run::{Params, Run, element_offset};
use super::shader::{Elem, Math, entry};
use super::space::Space;
use super::unary;
use crate::borders::Borders;
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{DType, Layout, Shape, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::matmul::Dims;
use situ_ir::ops::{Unary, UnaryKind};
use situ_ir::{Op, OpKind};
use std::fmt::Write;
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Matmul, Elem::WORDS, Kernel::new(run).computing());
    registry.add_where(OpKind::MatmulBias, &[DType::F32], Kernel::new(run), |op, _, _| match op {
        Op::MatmulBias(op) => op.activation.is_none_or(|op| unary::body(op.kind, Elem::F32).is_some()),
        _ => false,
    });
}

/// What happens to a result before it is stored: nothing, or a bias of its column and then perhaps an
/// activation.
#[derive(Clone, Copy)]
enum Finish {
    Plain,
    Bias(Option<Unary>),
}

impl Finish {
    /// What its text depends on: the parameters of activations are no part of it.
    fn form(self) -> Option<Option<UnaryKind>> {
        match self {
            Finish::Plain => None,
            Finish::Bias(activation) => Some(activation.map(|op| op.kind)),
        }
    }

    /// The text of `store`, with the mathematics it stands on.
    /// `adds` to what is there already.
    fn source(self, elem: Elem, adds: bool) -> String {
        let (math, finish) = match self {
            Finish::Plain => (Math::NONE, "let done = value;".to_string()),
            Finish::Bias(activation) => {
                // Registered only for activations that have a body.
                let body = activation.and_then(|op| unary::body(op.kind, elem));
                let (math, body) = body.unwrap_or((Math::NONE, "a".into()));
                // The words behind the batch axes: the activation's parameters, where the bias starts, and
                // its stride.
                let text = format!(
                    "let own = params.w[3u + params.w[0].w];
        // Hidden, as between any two ops: the activation is to see a number, and not a sum.
        let a = hide(value + bitcast<T>(b2[own.z + column * own.w]));
        let done = {body};"
                );
                (math, text)
            }
        };
        let output = self.inputs();
        let before = if adds { "output(to) + " } else { "" };
        let access = elem.access("left", "b0")
            + &elem.access("right", "b1")
            + &elem.access("output", &format!("b{output}"));
        format!(
            "{}{access}fn store(place: Place, row: u32, column: u32, sum: T) {{
    if row < params.w[0].x && column < params.w[0].y {{
        let to = place.out + row * params.w[0].y + column;
        let value = {before}sum;
        {finish}
        set_output(to, done);
    }}
}}
",
            (math | elem.math()).text()
        )
    }

    fn inputs(self) -> usize {
        match self {
            Finish::Plain => 2,
            Finish::Bias(_) => 3,
        }
    }
}

/// How a workgroup makes its part of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tile {
    /// 16 by 16 with shared tiles: one result per invocation, for products that would fill few large tiles.
    Small,
    /// 64 by 64 with shared tiles: four by four results per invocation.
    Large,
    /// So many rows and columns of results per invocation, straight from memory.
    Direct { rows: usize, columns: usize },
}

/// Products of one chain of additions: rounding grows with its length.
const LONG_SUM: usize = 1 << 14;

/// Below this many large tiles, most of a GPU would stand idle.
const ENOUGH_TILES: usize = 16;

impl Tile {
    fn choose(m: usize, n: usize, batches: usize, software: bool) -> Tile {
        if software {
            let block = |size| if size < 8 { 1 } else { 8 };
            return Tile::Direct { rows: block(m), columns: block(n) };
        }
        if m < 8 || n < 8 {
            return Tile::Direct { rows: 1, columns: 1 };
        }
        let large = m.div_ceil(64) * n.div_ceil(64) * batches;
        if large >= ENOUGH_TILES && m > 16 && n > 16 { Tile::Large } else { Tile::Small }
    }

    fn invocations(self) -> usize {
        match self {
            Tile::Small | Tile::Large => 256,
            Tile::Direct { .. } => 64,
        }
    }

    /// Rows and columns of results that a workgroup makes. A single row is as wide as the workgroup.
    fn size(self) -> (usize, usize) {
        match self {
            Tile::Small => (16, 16),
            Tile::Large => (64, 64),
            Tile::Direct { rows: 1, columns } => (1, 64 * columns),
            Tile::Direct { rows, columns: 1 } => (64 * rows, 1),
            Tile::Direct { rows, columns } => (8 * rows, 8 * columns),
        }
    }
}

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let (op, finish) = match run.call.op {
        Op::Matmul(op) => (op, Finish::Plain),
        Op::MatmulBias(op) => (&op.matmul, Finish::Bias(op.activation)),
        _ => return Err(Fault::Internal("not a matmul".into())),
    };
    let (a, b, output) = (run.input(0), run.input(1), run.output());
    let types: [TensorType; 2] = [a.tensor_type(), b.tensor_type()];
    let Dims { m, k, n, batch } = op.dims(&types).map_err(|e| Fault::Internal(e.to_string()))?;
    let [a_row, a_inner] = last_strides(a.layout, op.transpose_a);
    let [b_inner, b_column] = last_strides(b.layout, op.transpose_b);
    let (a_batch, b_batch) = (batch_strides(a.layout, &batch), batch_strides(b.layout, &batch));
    let space = Space::merged(&batch, [a_batch.strides(), b_batch.strides()]);

    let tile = Tile::choose(m, n, batch.elements(), run.borders().software);
    let elem = Elem::of(output.dtype)?;
    let offsets = [element_offset(a), element_offset(b), batch.elements() as u32, element_offset(output)];
    let mut params = Params::new([m as u32, n as u32, k as u32, space.rank as u32], offsets)
        .with([a_row, a_inner, b_inner, b_column]);
    for axis in 0..space.rank {
        let [sa, sb] = space.strides.map(|s| s[axis]);
        params = params.axis(axis, [space.sizes[axis], sa, sb, 0]);
    }
    let mut blocks = vec![run.block(a)?, run.block(b)?];
    if let Finish::Bias(activation) = finish {
        let bias = run.input(2);
        let [low, high] = activation.map_or([0; 2], |op| {
            let [low, high, ..] = unary::own_words(&op, elem);
            [low, high]
        });
        let stride = bias.layout.strides()[0] as u32;
        params = params.axis(space.rank, [low, high, element_offset(bias), stride]);
        blocks.push(run.block(bias)?);
    }
    let result = run.block(output)?;
    blocks.push(result);
    let (down, across) = tile.size();
    let groups = m.div_ceil(down) * n.div_ceil(across) * batch.elements();
    // A long inner axis is summed in stretches, each of which adds to those before it; what comes after the
    // sum comes last.
    let step = stretch(k, run.borders());
    let count = Borders::parts(k, step);
    let each = run.shared_by(count);
    for number in 0..count {
        let plain = [blocks[0], blocks[1], result];
        let (finish, bound) =
            if number + 1 == count { (finish, &blocks[..]) } else { (Finish::Plain, &plain[..]) };
        let adds = number > 0;
        let key = PipelineKey::new("matmul", (tile, elem, finish.form(), adds));
        let pipeline = run.pipeline(key, || source(tile, elem, finish, adds))?;
        let first = (number * step) as u32;
        let mut params = params;
        params.put(0, &[m as u32, n as u32, step.min(k - number * step) as u32]);
        params.put(
            1,
            &[
                element_offset(a).wrapping_add(first.wrapping_mul(a_inner)),
                element_offset(b).wrapping_add(first.wrapping_mul(b_inner)),
            ],
        );
        each.dispatch(&pipeline, bound, &params, groups)?;
    }
    Ok(None)
}

/// The most of the inner axis that one dispatch sums, all about as long.
fn stretch(k: usize, borders: &Borders) -> usize {
    // Tiles have a short loop within a long one, and an end to each.
    let most = (borders.trips / 4).min(LONG_SUM);
    k.div_ceil(Borders::parts(k, most)).max(1)
}

/// The strides of the last two axes, swapped if the side is transposed.
fn last_strides(layout: &Layout, transposed: bool) -> [u32; 2] {
    let [rows, columns] = [2, 1].map(|back| layout.strides()[layout.shape().rank() - back] as u32);
    if transposed { [columns, rows] } else { [rows, columns] }
}

/// The leading axes, broadcast to the batch.
fn batch_strides(layout: &Layout, batch: &Shape) -> Layout {
    let lead = layout.shape().rank() - 2;
    let shape = layout.shape().without(|axis| axis >= lead);
    Layout::strided(shape, &layout.strides()[..lead], 0).expand(*batch)
}

fn source(tile: Tile, elem: Elem, finish: Finish, adds: bool) -> Source {
    let mut wgsl = format!("alias T = {0};\nalias V = vec4<{0}>;\n", elem.wgsl());
    let (down, across) = tile.size();
    wgsl += &format!("const DOWN: u32 = {down}u;\nconst ACROSS: u32 = {across}u;\n");
    wgsl += include_str!("wgsl/matmul_load.wgsl");
    wgsl += &finish.source(elem, adds);
    match tile {
        Tile::Small => wgsl += include_str!("wgsl/matmul_small.wgsl"),
        Tile::Large => wgsl += include_str!("wgsl/matmul_large.wgsl"),
        Tile::Direct { rows, columns } => wgsl += &direct(rows, columns, across / columns),
    }
    wgsl += &entry(tile.invocations());
    wgsl += "    tile(group, lane);\n}\n";
    Source { buffers: vec![View::Words; finish.inputs() + 1], wgsl }
}

/// The text of `tile` for blocks of `rows` by `columns`, `beside` of them side by side in a workgroup.
/// Written out, because registers cannot be indexed.
fn direct(rows: usize, columns: usize, beside: usize) -> String {
    let mut text = format!(
        "fn tile(group: u32, lane: u32) {{
    let place = place_of(group);
    let row = place.row + (lane / {beside}u) * {rows}u;
    let column = place.column + (lane % {beside}u) * {columns}u;
    let sizes = params.w[0];
    let own = params.w[2];
    if row >= sizes.x || column >= sizes.y {{ return; }}
    // Rows and columns beyond the end are read as the last one, and not stored.\n"
    );
    let mut line = |args: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "    {args}");
    };
    for i in 0..rows {
        line(format_args!("var a{i} = place.a + min(row + {i}u, sizes.x - 1u) * own.x;"));
    }
    for j in 0..columns {
        line(format_args!("var b{j}_at = place.b + min(column + {j}u, sizes.y - 1u) * own.w;"));
    }
    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
        line(format_args!("var r{i}_{j} = T(0);"));
    }
    line(format_args!("for (var k = 0u; k < sizes.z; k++) {{"));
    for j in 0..columns {
        line(format_args!("    let y{j} = right(b{j}_at); b{j}_at += own.z;"));
    }
    for i in 0..rows {
        line(format_args!("    let x{i} = left(a{i}); a{i} += own.y;"));
        for j in 0..columns {
            line(format_args!("    r{i}_{j} += x{i} * y{j};"));
        }
    }
    line(format_args!("}}"));
    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
        line(format_args!("store(place, row + {i}u, column + {j}u, r{i}_{j});"));
    }
    text + "}\n"
}
