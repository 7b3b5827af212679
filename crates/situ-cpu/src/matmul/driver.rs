//! Runs a plan: packs what all tasks share, and hands the tiles of the output to the threads.

use super::pack::{PANEL_SLACK, PackA, PackB};
use super::plan::{GemmPlan, Inputs, MatrixOrder, Packing, Strips, TASK_WORK};
use super::region::{self, Region};
use super::vector::{Float, Kernels};
use super::{Product, blocks, vector_product, workspace};
use crate::cache;
use crate::threads::Threads;

/// A product on its way: what was asked for, with which kernels, and how.
pub(super) struct Job<'a, T: 'static> {
    pub(super) kernels: &'static Kernels<T>,
    pub(super) product: &'a Product<'a, T>,
    /// B in panels, or null where it is to be packed from the product's B.
    pub(super) packed_b: *const T,
    pub(super) plan: GemmPlan,
}

// SAFETY: the pointers are read (A, B, bias) or written at places that no two tasks share (the output); the
// caller of `run` promises that they are valid and that nobody else writes there.
unsafe impl<T: Sync> Sync for Job<'_, T> {}

/// Numbers in a packed panel of A: whole cache lines, with room for what packing spills behind it.
pub(super) fn a_panel_len<T>(kernels: &Kernels<T>, plan: &GemmPlan) -> usize {
    (kernels.rows * plan.k_block + PANEL_SLACK).next_multiple_of(PANEL_SLACK)
}

/// Panels packed for all tasks: those of a chunk of rows, columns and k.
pub(super) struct SharedPanels<T> {
    pub(super) a: *mut T,
    pub(super) b: *mut T,
    pub(super) first_row: usize,
    pub(super) first_col: usize,
    /// Panels of A per block of k.
    pub(super) a_panels: usize,
    /// Panels of B per block of k.
    pub(super) b_panels: usize,
}

// SAFETY: written by the packing tasks at places of their own, then only read.
unsafe impl<T: Sync> Sync for SharedPanels<T> {}

/// Computes the product.
///
/// # Safety
/// As [`super::matmul`]; `packed_b`, where not null, holds B as [`super::PackedB`] lays it out for these
/// kernels.
pub(super) unsafe fn run<T: Float>(
    kernels: &'static Kernels<T>,
    threads: &Threads,
    product: &Product<'_, T>,
    packed_b: *const T,
) {
    let p = product;
    if p.m == 0 || p.n == 0 || p.batch.is_empty() {
        return;
    }
    if packed_b.is_null()
        // SAFETY: the caller's promise.
        && unsafe { vector_product::run(kernels, threads, p) || blocks::run(kernels, threads, p) }
    {
        return;
    }
    let job = Job { kernels, product, packed_b, plan: plan(kernels, p, !packed_b.is_null()) };
    if job.plan.shares() {
        for batch in 0..p.batch.len() {
            // SAFETY: the caller's promise.
            unsafe { run_shared(&job, threads, batch) };
        }
        return;
    }
    let plan = &job.plan;
    let (down, across) = (p.m.div_ceil(plan.tile_rows), p.n.div_ceil(plan.tile_cols));
    let tiles = p.batch.len() * down * across;
    // Small products of a batch are handed over several at a time.
    let tile_work = (plan.tile_rows * plan.tile_cols.min(p.n) * p.k).max(1);
    let per_task = TASK_WORK.div_ceil(tile_work);
    threads.run(tiles.div_ceil(per_task), &|task| {
        for tile in task * per_task..((task + 1) * per_task).min(tiles) {
            let region = Region {
                batch: tile / (down * across),
                row: tile % down * plan.tile_rows,
                col: tile / down % across * plan.tile_cols,
                first_k: 0,
                k: p.k,
            };
            // SAFETY: the caller's promise; every tile is computed once.
            unsafe { region::compute(&job, &region, None) }
        }
    });
}

/// The plan of a product that is not a vector's.
pub(super) fn plan<T>(kernels: &Kernels<T>, p: &Product<'_, T>, b_packed: bool) -> GemmPlan {
    GemmPlan::new(&Inputs {
        m: p.m,
        k: p.k,
        n: p.n,
        batch: p.batch.len(),
        a: MatrixOrder::of(p.a.row_stride, p.a.col_stride),
        b: MatrixOrder::of(p.b.row_stride, p.b.col_stride),
        a_row_stride: p.a.row_stride,
        a_col_stride: p.a.col_stride,
        b_row_stride: p.b.row_stride,
        b_packed,
        element_bytes: size_of::<T>(),
        masked: kernels.masked,
        second_level: cache::second_level_bytes(),
        rows: kernels.rows,
        cols: kernels.cols,
        group: kernels.group,
    })
}

/// Numbers of shared panels that a plan packs at a time: of A, and of B.
fn shared_len<T>(kernels: &Kernels<T>, plan: &GemmPlan) -> (usize, usize) {
    let a = match plan.a {
        Packing::Shared => {
            let strips = plan.chunk_rows.div_ceil(plan.tile_rows) * plan.tile_rows.div_ceil(kernels.rows);
            strips * plan.chunk_blocks * a_panel_len(kernels, plan)
        }
        Packing::Direct | Packing::InTask | Packing::Before => 0,
    };
    let b = match plan.b {
        Packing::Shared => plan.chunk_cols.next_multiple_of(kernels.cols) * plan.chunk_blocks * plan.k_block,
        Packing::Direct | Packing::InTask | Packing::Before => 0,
    };
    (a, b)
}

/// Bytes that a plan takes from its product's workspace.
pub(super) fn workspace_bytes<T>(kernels: &Kernels<T>, plan: &GemmPlan) -> usize {
    let (a, b) = shared_len(kernels, plan);
    // The workspace may begin anywhere.
    if a + b == 0 { 0 } else { (a + b) * size_of::<T>() + workspace::CACHE_LINE }
}

/// One product of the batch with panels packed in steps of their own.
///
/// # Safety
/// As [`run`].
unsafe fn run_shared<T: Float>(job: &Job<'_, T>, threads: &Threads, batch: usize) {
    let (p, plan, kernels) = (job.product, &job.plan, job.kernels);
    let strips_per_tile = plan.tile_rows.div_ceil(kernels.rows);
    let (a_len, b_len) = shared_len(kernels, plan);
    workspace::with_workspace(p.workspace, (a_len + b_len) * size_of::<T>(), |memory| {
        let chunk_k = plan.chunk_blocks * plan.k_block;
        for first_col in (0..p.n).step_by(plan.chunk_cols) {
            let cols = plan.chunk_cols.min(p.n - first_col);
            for first_row in (0..p.m).step_by(plan.chunk_rows) {
                let rows = plan.chunk_rows.min(p.m - first_row);
                let shared = SharedPanels {
                    a: memory.cast::<T>(),
                    // SAFETY: the block has `a_len + b_len` numbers.
                    b: unsafe { memory.cast::<T>().add(a_len) },
                    first_row,
                    first_col,
                    a_panels: rows.div_ceil(plan.tile_rows) * strips_per_tile,
                    b_panels: cols.div_ceil(kernels.cols),
                };
                let mut first_k = 0;
                loop {
                    let k = chunk_k.min(p.k - first_k);
                    // SAFETY: the caller's promise; the chunk's panels fit the memory.
                    unsafe { pack_chunk(job, threads, batch, &shared, (rows, cols), (first_k, k)) };
                    let (down, across) = (rows.div_ceil(plan.tile_rows), cols.div_ceil(plan.tile_cols));
                    threads.run(down * across, &|task| {
                        let region = Region {
                            batch,
                            row: first_row + task % down * plan.tile_rows,
                            col: first_col + task / down * plan.tile_cols,
                            first_k,
                            k,
                        };
                        // SAFETY: the caller's promise; the panels of this chunk are packed; tasks have tiles
                        // of their own.
                        unsafe { region::compute(job, &region, Some(&shared)) }
                    });
                    first_k += k;
                    // No steps at all: the output is still to be written.
                    if first_k >= p.k {
                        break;
                    }
                }
            }
        }
    });
}

/// Whether a part of the packing is of A, and which one of it: A and B take turns, so that threads that are
/// dealt neighbouring parts have as much of each, and of B what they will read.
fn dealt(part: usize, a: usize, b: usize) -> (bool, usize) {
    let turns = a.min(b);
    if part < 2 * turns { (part.is_multiple_of(2), part / 2) } else { (a > b, part - turns) }
}

/// Packs one chunk's shared panels.
///
/// # Safety
/// As [`run`]; `shared` has room for the chunk.
unsafe fn pack_chunk<T: Float>(
    job: &Job<'_, T>,
    threads: &Threads,
    batch: usize,
    shared: &SharedPanels<T>,
    (rows, cols): (usize, usize),
    (first_k, k): (usize, usize),
) {
    const PANELS_PER_TASK: usize = 16;
    let (p, plan, kernels) = (job.product, &job.plan, job.kernels);
    let offsets = p.batch[batch];
    let strips_per_tile = plan.tile_rows.div_ceil(kernels.rows);
    let a_tasks = if plan.a == Packing::Shared { rows.div_ceil(plan.tile_rows) } else { 0 };
    let b_tasks = if plan.b == Packing::Shared { shared.b_panels.div_ceil(PANELS_PER_TASK) } else { 0 };
    let blocks = k.div_ceil(plan.k_block);
    threads.run(blocks * (a_tasks + b_tasks), &|task| {
        let (block, part) = (task / (a_tasks + b_tasks), task % (a_tasks + b_tasks));
        let at = block * plan.k_block;
        let steps = plan.k_block.min(k - at);
        let (of_a, part) = dealt(part, a_tasks, b_tasks);
        if of_a {
            let mut row = part * plan.tile_rows;
            let strips = Strips::new(plan.tile_rows.min(rows - row), kernels.rows);
            for i in 0..strips.count {
                let height = strips.height(i);
                let panel = block * shared.a_panels + part * strips_per_tile + i;
                // SAFETY: these rows and steps exist; the panel is this task's alone.
                unsafe {
                    (kernels.pack_a)(&PackA {
                        a: p.a.at(offsets.a, shared.first_row + row, first_k + at),
                        row_stride: p.a.row_stride,
                        col_stride: p.a.col_stride,
                        rows: height,
                        k: steps,
                        panel: shared.a.add(panel * a_panel_len(kernels, plan)),
                        height: kernels.rows,
                    })
                };
                row += height;
            }
        } else {
            let first = part * PANELS_PER_TASK;
            let col = first * kernels.cols;
            // SAFETY: these columns and steps exist; the panels are this task's alone.
            unsafe {
                (kernels.pack_b)(&PackB {
                    b: p.b.at(offsets.b, first_k + at, shared.first_col + col),
                    row_stride: p.b.row_stride,
                    col_stride: p.b.col_stride,
                    cols: (PANELS_PER_TASK * kernels.cols).min(cols - col),
                    k: steps,
                    panels: shared.b.add((at * shared.b_panels + first * steps) * kernels.cols),
                    width: kernels.cols,
                })
            };
        }
    });
}
