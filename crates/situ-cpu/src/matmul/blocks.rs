//! Products with few rows and a long sum, on several threads: each block of k is a task's own, and the
//! blocks' sums are added at the end.
//!
//! What such a product waits for is B. Cut along k, a thread reads rows of B that lie one behind the other:
//! those that it wrote itself, where B is a layer's weights and the step before changed them row by row. Cut
//! into columns, it reads a piece of every row, half of them from another core's cache, and takes them away
//! from there.
//!
//! The bits are those of the product in one piece, which also sums each block from zero and adds the sums in
//! the order of k. So this is a choice that may depend on the number of threads.

use super::driver::{self, Job};
use super::plan::{MatrixOrder, TASK_WORK, k_block};
use super::region::{self, Region};
use super::vector::{Float, Kernels, Vector};
use super::{Activation, Epilogue, Matrix, Product, SINGLE, Workspace, workspace};
use crate::exec::Shared;
use crate::threads::Threads;

/// The most rows: their sums are written and read once more, which should be little beside a block of B.
const MOST_ROWS: usize = 48;

/// The most bytes of sums that wait to be added: they stay in a second-level cache.
const MOST_BYTES: usize = 256 << 10;

/// Numbers to be added that are worth a task.
const TASK_NUMBERS: usize = 32 << 10;

/// Computes the product, if it is one of these; says whether it was.
///
/// # Safety
/// As [`super::matmul`].
pub(super) unsafe fn run<T: Float>(
    kernels: &'static Kernels<T>,
    threads: &Threads,
    product: &Product<'_, T>,
) -> bool {
    let p = product;
    let length = k_block(p.k);
    let blocks = p.k.div_ceil(length);
    let numbers = p.m * p.n;
    let waiting = numbers * (blocks.max(1) - 1);
    if threads.count() == 1
        || blocks < 2
        || p.batch.len() != 1
        || p.m > MOST_ROWS
        || MatrixOrder::of(p.b.row_stride, p.b.col_stride) != MatrixOrder::RowMajor
        || p.m * p.n * length < TASK_WORK
        || waiting * size_of::<T>() > MOST_BYTES
    {
        return false;
    }
    let offsets = p.batch[0];
    // SAFETY: both operands have the first row and column.
    let (a, b) = unsafe { (p.a.at(offsets.a, 0, 0), p.b.at(offsets.b, 0, 0)) };
    let whole = Product {
        batch: SINGLE,
        k: length,
        a: Matrix { ptr: a, ..p.a },
        b: Matrix { ptr: b, ..p.b },
        epilogue: Epilogue::default(),
        workspace: Workspace::NONE,
        ..*p
    };
    let plan = driver::plan(kernels, &whole, false);
    if plan.shares() || plan.tile_rows < p.m {
        return false;
    }
    let across = p.n.div_ceil(plan.tile_cols);
    workspace::with_local(waiting, |partial: *mut T| {
        let partial = Shared(partial);
        let whole = &whole;
        threads.run(blocks * across, &|task| {
            let (block, col) = (task / across, task % across * plan.tile_cols);
            let first = block * length;
            let k = length.min(p.k - first);
            // SAFETY: both operands have the step `first`; each block but the first has a place of its own
            // among the sums.
            let product = unsafe {
                let out = if block == 0 { p.out } else { partial.get().add((block - 1) * numbers) };
                let a = Matrix { ptr: whole.a.at(0, 0, first), ..whole.a };
                let b = Matrix { ptr: whole.b.at(0, first, 0), ..whole.b };
                Product { k, a, b, out, ..*whole }
            };
            let job = Job { kernels, product: &product, packed_b: std::ptr::null(), plan };
            // SAFETY: the caller's promise; every tile of every block is computed once.
            unsafe { region::compute(&job, &Region { batch: 0, row: 0, col, first_k: 0, k }, None) }
        });
        let rows = TASK_NUMBERS.div_ceil(p.n * blocks);
        threads.run(p.m.div_ceil(rows), &|task| {
            let first = task * rows;
            // SAFETY: the rows are in the output and in every block's sums, which are complete; no two tasks
            // have the same.
            unsafe {
                (kernels.add_blocks)(&AddBlocks {
                    out: p.out.add(first * p.n),
                    partial: partial.get().add(first * p.n),
                    apart: numbers,
                    blocks,
                    rows: rows.min(p.m - first),
                    cols: p.n,
                    bias: p.epilogue.bias.unwrap_or(std::ptr::null()),
                    relu: p.epilogue.activation == Activation::Relu,
                });
            }
        });
    });
    true
}

/// Rows of the output with the first block's sums, those of the other blocks, and what is done last.
pub(super) struct AddBlocks<T> {
    out: *mut T,
    /// The second block's sums.
    partial: *const T,
    /// From one block's sums to the next one's.
    apart: usize,
    blocks: usize,
    rows: usize,
    cols: usize,
    /// One number per column, or null.
    bias: *const T,
    relu: bool,
}

/// Adds the sums of blocks in the order of k, as [`super::tile::finish`] does.
///
/// # Safety
/// The processor has the vector's instructions, and the memory is as [`AddBlocks`] says.
#[inline(always)]
pub(super) unsafe fn add_blocks<V: Vector>(p: &AddBlocks<V::Elem>) {
    for row in 0..p.rows {
        for col in (0..p.cols).step_by(V::LANES) {
            let (at, count) = (row * p.cols + col, V::LANES.min(p.cols - col));
            // SAFETY: `count` numbers from here on are in the row.
            unsafe {
                let load = |from: *const V::Elem| {
                    if count == V::LANES { V::load(from) } else { V::load_first(from, count) }
                };
                let mut value = load(p.out.add(at));
                for block in 0..p.blocks - 1 {
                    value = V::add(value, load(p.partial.add(block * p.apart + at)));
                }
                if !p.bias.is_null() {
                    value = V::add(value, load(p.bias.add(col)));
                }
                if p.relu {
                    value = value.relu();
                }
                if count == V::LANES {
                    value.store(p.out.add(at));
                } else {
                    value.store_first(p.out.add(at), count);
                }
            }
        }
    }
}
