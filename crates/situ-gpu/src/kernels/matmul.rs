//! Matrix products, tiled in workgroup memory; batches broadcast, and either side may lie any way.

use super::Kernel;
use super::run::{Params, Run, element_offset};
use super::shader::{Elem, entry};
use super::space::Space;
use crate::fault::Fault;
use crate::pipelines::{PipelineKey, Source, View};
use situ_core::{DType, Layout, Shape, TensorType};
use situ_device::{Check, Registry};
use situ_ir::ops::matmul::Dims;
use situ_ir::{Op, OpKind};
use std::sync::Arc;

pub(super) fn register(registry: &mut Registry<Kernel>) {
    registry.add(OpKind::Matmul, &[DType::F32, DType::I32], Kernel::new(run));
}

/// The side of the square that a workgroup makes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Tile {
    /// 16: one result per invocation, for products that would fill few large tiles.
    Small = 16,
    /// 64: four by four results per invocation.
    Large = 64,
}

/// Below this many large tiles, most of a GPU would stand idle.
const ENOUGH_TILES: usize = 16;

fn run(run: &Run<'_>) -> Result<Option<Arc<Check>>, Fault> {
    let Op::Matmul(op) = run.call.op else { return Err(Fault::Internal("not a matmul".into())) };
    let (a, b, output) = (run.input(0), run.input(1), run.output());
    let types: [TensorType; 2] = [a.tensor_type(), b.tensor_type()];
    let Dims { m, k, n, batch } = op.dims(&types).map_err(|e| Fault::Internal(e.to_string()))?;
    let [a_row, a_inner] = last_strides(a.layout, op.transpose_a);
    let [b_inner, b_column] = last_strides(b.layout, op.transpose_b);
    let (a_batch, b_batch) = (batch_strides(a.layout, &batch), batch_strides(b.layout, &batch));
    let space = Space::merged(&batch, [a_batch.strides(), b_batch.strides()]);

    let tiles = |side: Tile| m.div_ceil(side as usize) * n.div_ceil(side as usize) * batch.elements();
    let tile = if tiles(Tile::Large) >= ENOUGH_TILES && m > 16 && n > 16 { Tile::Large } else { Tile::Small };
    let elem = Elem::of(output.dtype)?;
    let variant = tile as u64 * 4 + elem as u64;
    let pipeline = run.pipeline(PipelineKey { kernel: "matmul", variant }, || source(tile, elem))?;
    let offsets = [element_offset(a), element_offset(b), batch.elements() as u32, element_offset(output)];
    let mut params = Params::new([m as u32, n as u32, k as u32, space.rank as u32], offsets)
        .with([a_row, a_inner, b_inner, b_column]);
    for axis in 0..space.rank {
        let [sa, sb] = space.strides.map(|s| s[axis]);
        params = params.axis(axis, [space.sizes[axis], sa, sb, 0]);
    }
    let blocks = [run.block(a)?, run.block(b)?, run.block(output)?];
    run.dispatch(&pipeline, &blocks, &params, tiles(tile))?;
    Ok(None)
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

fn source(tile: Tile, elem: Elem) -> Source {
    let mut wgsl = format!("alias T = {0};\nalias V = vec4<{0}>;\n", elem.wgsl());
    wgsl += include_str!("wgsl/matmul_load.wgsl");
    wgsl += &match tile {
        Tile::Small => include_str!("wgsl/matmul_small.wgsl").to_string(),
        Tile::Large => include_str!("wgsl/matmul_large.wgsl").to_string(),
    };
    wgsl += &entry(256);
    wgsl += &format!("    tile(group, lane, {}u);\n}}\n", tile as u8);
    Source { buffers: vec![View::Words; 3], wgsl }
}
