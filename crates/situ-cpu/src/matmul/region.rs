//! Computes one tile of the output over a range of k, block of k by block, panel of B by panel, strip of rows by strip.

use super::Activation;
use super::driver::{Job, SharedPanels, a_panel_len};
use super::pack::{PackA, PackB};
use super::plan::{Packing, Strips};
use super::tile::Tile;
use super::vector::Float;
use super::workspace;

/// A tile of the output, of the plan's size or what is left of it, and the range of k to be summed into it.
pub(super) struct Region {
    pub(super) batch: usize,
    pub(super) row: usize,
    pub(super) col: usize,
    pub(super) first_k: usize,
    pub(super) k: usize,
}

/// How far ahead of its use a row of B is asked for, while a panel is packed on the way.
const ROWS_AHEAD: isize = 16;

/// Where the strips of A are for one block of k.
#[derive(Clone, Copy)]
struct Strip<T> {
    start: *const T,
    /// [`Tile::a_row`].
    row: isize,
    /// [`Tile::a_step`].
    step: isize,
    /// Index into the compiled kernels: 0 where a row's numbers are contiguous, 1 where a k's are.
    kernel: usize,
    /// From one strip to the next: this much for each row of it, and this much besides.
    per_row: isize,
    per_strip: isize,
}

/// Where a panel of B is.
#[derive(Clone, Copy)]
struct Panel<T> {
    start: *const T,
    stride: isize,
    /// Whether the first strip of rows is to write the panel that the others read.
    pack_on_the_way: bool,
    /// Whether the next panel lies right behind it.
    next_follows: bool,
}

/// Computes a region.
///
/// # Safety
/// As [`super::driver::run`]; no other task writes this tile; where the plan shares panels, `shared` holds this region's.
pub(super) unsafe fn compute<T: Float>(job: &Job<'_, T>, region: &Region, shared: Option<&SharedPanels<T>>) {
    let (p, plan, kernels) = (job.product, &job.plan, job.kernels);
    let rows = plan.tile_rows.min(p.m - region.row);
    let cols = plan.tile_cols.min(p.n - region.col);
    let strips = Strips::new(rows, kernels.rows);
    let a_len = if plan.a == Packing::InTask { strips.count * a_panel_len(kernels, plan) } else { 0 };
    let b_len = match plan.b {
        Packing::InTask | Packing::Direct => plan.k_block * kernels.cols,
        Packing::Shared | Packing::Before => 0,
    };
    workspace::with_local(a_len + b_len, |local_a: *mut T| {
        // SAFETY: the block has `a_len + b_len` numbers.
        let local_b = unsafe { local_a.add(a_len) };
        let mut at = 0;
        loop {
            let first_k = region.first_k + at;
            let steps = plan.k_block.min(region.k - at);
            let block = Block { at, first_k, steps };
            // SAFETY: the caller's promise; the local block has room for the strips of A and a panel of B.
            unsafe {
                let strip = find_strips(job, region, shared, &block, strips, local_a);
                let mut col = 0;
                while col < cols {
                    let width = kernels.cols.min(cols - col);
                    let panel =
                        find_panel(job, region, shared, &block, region.col + col, width, rows, local_b);
                    multiply(job, region, &block, strips, strip, panel, region.col + col, width, local_b);
                    col += width;
                }
            }
            at += steps;
            // No steps at all: the output is still to be written.
            if at >= region.k {
                break;
            }
        }
    });
}

/// A block of k: where it begins in the region and in the product, and how long it is.
struct Block {
    at: usize,
    first_k: usize,
    steps: usize,
}

/// Finds A for a block of k, or packs it.
///
/// # Safety
/// As [`compute`]; `local` has room for all strips if this task packs them.
#[inline]
unsafe fn find_strips<T: Float>(
    job: &Job<'_, T>,
    region: &Region,
    shared: Option<&SharedPanels<T>>,
    block: &Block,
    strips: Strips,
    local: *mut T,
) -> Strip<T> {
    let (p, plan, kernels) = (job.product, &job.plan, job.kernels);
    let packed = |start: *const T| Strip {
        start,
        row: 1,
        step: kernels.rows as isize,
        kernel: 1,
        per_row: 0,
        per_strip: a_panel_len(kernels, plan) as isize,
    };
    // SAFETY: inside A, inside the shared panels, or inside the local block.
    unsafe {
        let a = p.a.at(p.batch[region.batch].a, region.row, block.first_k);
        match (plan.a, shared) {
            (Packing::Shared, Some(shared)) => {
                let tile =
                    (region.row - shared.first_row) / plan.tile_rows * plan.tile_rows.div_ceil(kernels.rows);
                let panel = block.at / plan.k_block * shared.a_panels + tile;
                packed(shared.a.add(panel * a_panel_len(kernels, plan)))
            }
            (Packing::InTask, _) => {
                let mut row = 0;
                for i in 0..strips.count {
                    (kernels.pack_a)(&PackA {
                        a: a.offset(row as isize * p.a.row_stride),
                        row_stride: p.a.row_stride,
                        col_stride: p.a.col_stride,
                        rows: strips.height(i),
                        k: block.steps,
                        panel: local.add(i * a_panel_len(kernels, plan)),
                        height: kernels.rows,
                    });
                    row += strips.height(i);
                }
                packed(local)
            }
            _ if p.a.col_stride == 1 => {
                let row = p.a.row_stride;
                Strip { start: a, row, step: 1, kernel: 0, per_row: row, per_strip: 0 }
            }
            _ => Strip { start: a, row: 1, step: p.a.col_stride, kernel: 1, per_row: 1, per_strip: 0 },
        }
    }
}

/// Finds a panel of B for a block of k, or packs it.
///
/// # Safety
/// As [`compute`]; `local` has room for a panel if this task packs it.
#[inline]
unsafe fn find_panel<T: Float>(
    job: &Job<'_, T>,
    region: &Region,
    shared: Option<&SharedPanels<T>>,
    block: &Block,
    col: usize,
    width: usize,
    rows: usize,
    local: *mut T,
) -> Panel<T> {
    let (p, plan, kernels) = (job.product, &job.plan, job.kernels);
    let packed = |start: *const T, next_follows: bool| Panel {
        start,
        stride: kernels.cols as isize,
        pack_on_the_way: false,
        next_follows,
    };
    // SAFETY: inside the packed or shared panels, or inside B.
    unsafe {
        match (plan.b, shared) {
            (Packing::Before, _) => {
                let panels = p.n.div_ceil(kernels.cols);
                let at = (block.first_k * panels + col / kernels.cols * block.steps) * kernels.cols;
                packed(job.packed_b.add(at), true)
            }
            (Packing::Shared, Some(shared)) => {
                let panel = (col - shared.first_col) / kernels.cols;
                packed(shared.b.add((block.at * shared.b_panels + panel * block.steps) * kernels.cols), true)
            }
            _ => {
                let b = p.b.at(p.batch[region.batch].b, block.first_k, col);
                let in_place = |pack_on_the_way| Panel {
                    start: b,
                    stride: p.b.row_stride,
                    pack_on_the_way,
                    next_follows: false,
                };
                // The kernels read whole registers: a narrower panel must be filled up.
                let whole = width == kernels.cols || width == kernels.lanes;
                if plan.b == Packing::Direct && whole {
                    in_place(false)
                } else if p.b.col_stride == 1 && width == kernels.cols && rows >= 2 * kernels.rows {
                    in_place(true)
                } else {
                    (kernels.pack_b)(&PackB {
                        b,
                        row_stride: p.b.row_stride,
                        col_stride: p.b.col_stride,
                        cols: width,
                        k: block.steps,
                        panels: local,
                        width: kernels.cols,
                    });
                    packed(local, false)
                }
            }
        }
    }
}

/// Multiplies every strip of rows with one panel of B.
///
/// # Safety
/// As [`compute`]; `strip` and `panel` are of this region and block.
#[inline]
unsafe fn multiply<T: Float>(
    job: &Job<'_, T>,
    region: &Region,
    block: &Block,
    strips: Strips,
    strip: Strip<T>,
    panel: Panel<T>,
    col: usize,
    width: usize,
    local_b: *mut T,
) {
    let (p, kernels) = (job.product, job.kernels);
    let last = block.first_k + block.steps == p.k;
    let registers = usize::from(width > kernels.lanes);
    let mut tile = Tile {
        k: block.steps,
        a: strip.start,
        a_row: strip.row,
        a_step: strip.step,
        b: panel.start,
        b_stride: panel.stride,
        prefetch: panel.start,
        prefetch_stride: 0,
        packed: local_b,
        // SAFETY: the region's first row and this column are in the output.
        out: unsafe { p.out.add((region.batch * p.m + region.row) * p.n + col) },
        out_stride: p.n,
        cols: width,
        accumulate: block.first_k > 0,
        bias: match p.epilogue.bias {
            // SAFETY: the bias has a number for every column.
            Some(bias) if last => unsafe { bias.add(col) },
            _ => std::ptr::null(),
        },
        relu: last && p.epilogue.activation == Activation::Relu,
    };
    let mut first = 0;
    let advance = |tile: &mut Tile<T>, height: usize| {
        tile.a = tile.a.wrapping_offset(strip.per_strip + height as isize * strip.per_row);
        tile.out = tile.out.wrapping_add(height * p.n);
    };
    // SAFETY: the operands and the output have these rows and columns.
    unsafe {
        if panel.pack_on_the_way {
            let ahead = panel.start.wrapping_offset(ROWS_AHEAD * panel.stride);
            // The end of the panel's first line: where rows do not begin on one, the panel before has asked for its beginning.
            tile.prefetch = ahead.wrapping_add(workspace::CACHE_LINE / size_of::<T>() - 1);
            tile.prefetch_stride = panel.stride;
            (kernels.packing_tiles[strip.kernel])(&tile);
            advance(&mut tile, kernels.rows);
            (tile.b, tile.b_stride) = (local_b, kernels.cols as isize);
            (tile.prefetch, tile.prefetch_stride) = (tile.b, 0);
            first = 1;
        }
        for i in first..strips.count {
            let height = strips.height(i);
            if panel.next_follows && i + 1 == strips.count {
                tile.prefetch = panel.start.wrapping_add(kernels.cols * block.steps);
                tile.prefetch_stride = panel.stride;
            }
            (kernels.tiles[height - 1][strip.kernel][registers])(&tile);
            advance(&mut tile, height);
        }
    }
}
