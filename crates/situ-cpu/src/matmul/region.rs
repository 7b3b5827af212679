//! Computes one tile of the output over a range of k, block of k by block, panel of B by panel, strip of rows
//! by strip.

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
const ROWS_AHEAD: usize = 16;

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
    /// How many steps ahead the first strip of rows is to ask for it.
    rows_ahead: usize,
    /// Whether the next panel lies right behind it.
    next_follows: bool,
}

/// Strips of rows that meet a panel one after the other: `count` of `strips`, from `first` on.
#[derive(Clone, Copy)]
struct Group<T> {
    strips: Strips,
    first: usize,
    count: usize,
    /// The first strip's first row in the region.
    row: usize,
    /// The first strip.
    a: Strip<T>,
}

impl<T> Group<T> {
    /// Goes on to the strips behind these.
    fn advance(&mut self) {
        for i in self.first..self.first + self.count {
            self.a.advance(self.strips.height(i));
            self.row += self.strips.height(i);
        }
        self.first += self.count;
    }
}

impl<T> Strip<T> {
    /// Goes on to the strip behind one of this height.
    #[inline(always)]
    fn advance(&mut self, height: usize) {
        self.start = self.start.wrapping_offset(self.per_strip + height as isize * self.per_row);
    }
}

/// Computes a region.
///
/// # Safety
/// As [`super::driver::run`]; no other task writes this tile; where the plan shares panels, `shared` holds
/// this region's.
pub(super) unsafe fn compute<T: Float>(job: &Job<'_, T>, region: &Region, shared: Option<&SharedPanels<T>>) {
    let (p, plan, kernels) = (job.product, &job.plan, job.kernels);
    let rows = plan.tile_rows.min(p.m - region.row);
    let cols = plan.tile_cols.min(p.n - region.col);
    let strips = Strips::new(rows, kernels.rows);
    let a_len = if plan.a == Packing::InTask { strips.count * a_panel_len(kernels, plan) } else { 0 };
    let b_len = match plan.b {
        Packing::Direct if kernels.masked => 0,
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
                let a = find_strips(job, region, shared, &block, strips, local_a);
                let count = if plan.strips_first { 1 } else { strips.count };
                let mut group = Group { strips, first: 0, count, row: 0, a };
                while group.first < strips.count {
                    let mut col = 0;
                    while col < cols {
                        let width = kernels.cols.min(cols - col);
                        let panel =
                            find_panel(job, region, shared, &block, region.col + col, width, rows, local_b);
                        multiply(job, region, &block, &group, panel, region.col + col, width, local_b);
                        col += width;
                    }
                    group.advance();
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
        rows_ahead: 0,
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
                let in_place = |pack_on_the_way, rows_ahead| Panel {
                    start: b,
                    stride: p.b.row_stride,
                    pack_on_the_way,
                    rows_ahead,
                    next_follows: false,
                };
                // Without masks the kernels read whole registers: a narrower panel must be filled up.
                let readable = kernels.masked || width == kernels.cols || width == kernels.lanes;
                if plan.b == Packing::Direct && readable {
                    in_place(false, plan.rows_ahead)
                } else if p.b.col_stride == 1 && width == kernels.cols && rows >= 2 * kernels.rows {
                    in_place(true, ROWS_AHEAD)
                } else if p.b.col_stride == 1 && kernels.masked {
                    in_place(false, plan.rows_ahead)
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

/// Multiplies a group of strips with one panel of B.
///
/// # Safety
/// As [`compute`]; `group` and `panel` are of this region and block, and the group begins with the first
/// strip where the panel is to be packed on the way.
#[inline]
unsafe fn multiply<T: Float>(
    job: &Job<'_, T>,
    region: &Region,
    block: &Block,
    group: &Group<T>,
    panel: Panel<T>,
    col: usize,
    width: usize,
    local_b: *mut T,
) {
    let (p, kernels) = (job.product, job.kernels);
    let last = block.first_k + block.steps == p.k;
    let registers = usize::from(width > kernels.lanes);
    let mut strip = group.a;
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
        // SAFETY: the group's first row and this column are in the output.
        out: unsafe { p.out.add((region.batch * p.m + region.row + group.row) * p.n + col) },
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
    let (first, end) = (group.first, group.first + group.count);
    for i in first..end {
        let height = group.strips.height(i);
        let mut kernel = kernels.tiles[height - 1][strip.kernel][registers];
        if i == 0 && panel.rows_ahead > 0 {
            let ahead = panel.start.wrapping_offset(panel.rows_ahead as isize * panel.stride);
            // The end of the panel's first line: where rows do not begin on one, the panel before has asked
            // for its beginning.
            tile.prefetch = ahead.wrapping_add(workspace::CACHE_LINE / size_of::<T>() - 1);
            tile.prefetch_stride = panel.stride;
        } else if panel.next_follows && i + 1 == end {
            tile.prefetch = panel.start.wrapping_add(kernels.cols * block.steps);
            tile.prefetch_stride = panel.stride;
        } else {
            (tile.prefetch, tile.prefetch_stride) = (tile.b, 0);
        }
        let packs = i == 0 && panel.pack_on_the_way;
        if packs {
            kernel = kernels.packing_tiles[strip.kernel];
        }
        // SAFETY: the operands and the output have these rows and columns; the first strip of several is of
        // full height.
        unsafe { kernel(&tile) };
        if packs {
            (tile.b, tile.b_stride) = (local_b, kernels.cols as isize);
        }
        strip.advance(height);
        tile.a = strip.start;
        tile.out = tile.out.wrapping_add(height * p.n);
    }
}
