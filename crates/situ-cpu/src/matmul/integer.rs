//! Products of integers: plain loops, blocked so that what is reused stays near, and left to the compiler to
//! vectorise.
//!
//! Sums wrap around, so their order does not matter.

use super::Product;
use super::plan::{MatrixOrder, TASK_WORK};
use super::workspace;
use super::{Activation, Matrix};
use crate::level::Level;
use crate::multiversion;
use crate::threads::Threads;

/// An integer with wrapping arithmetic.
pub(super) trait Integer: Copy + Send + Sync + Default + Ord + 'static {
    fn wrapping_mul_add(self, b: Self, c: Self) -> Self;
    fn wrapping_sum(self, b: Self) -> Self;
}

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl Integer for $t {
            #[inline(always)]
            fn wrapping_mul_add(self, b: Self, c: Self) -> Self {
                self.wrapping_mul(b).wrapping_add(c)
            }
            #[inline(always)]
            fn wrapping_sum(self, b: Self) -> Self {
                self.wrapping_add(b)
            }
        }
    )*};
}
integer!(u8 u16 i32 i64);

/// Columns of a task, and steps of k of a block: a block of B, copied row by row, stays in the second-level
/// cache.
const COLUMNS: usize = 256;
const STEPS: usize = 128;
/// Rows of a task.
const ROWS: usize = 64;
/// Steps taken together: the output is then loaded and stored once for four rows of B.
const TOGETHER: usize = 4;

/// Computes the product.
///
/// # Safety
/// As [`super::matmul`].
pub(super) unsafe fn run<T: Integer>(level: Level, threads: &Threads, p: &Product<'_, T>) {
    if p.m == 0 || p.n == 0 || p.batch.is_empty() {
        return;
    }
    let (down, across) = (p.m.div_ceil(ROWS), p.n.div_ceil(COLUMNS));
    let tiles = p.batch.len() * down * across;
    let tile_work = (ROWS.min(p.m) * COLUMNS.min(p.n) * p.k).max(1);
    let per_task = TASK_WORK.div_ceil(tile_work);
    threads.run(tiles.div_ceil(per_task), &|task| {
        for tile in task * per_task..((task + 1) * per_task).min(tiles) {
            let (batch, row, col) =
                (tile / (down * across), tile % down * ROWS, tile / down % across * COLUMNS);
            // SAFETY: the caller's promise; every tile is computed once.
            unsafe { compute_tile(level, p, batch, row, col) }
        }
    });
}

/// Computes one tile of the output.
///
/// # Safety
/// As [`run`]; no other task writes this tile.
unsafe fn compute_tile<T: Integer>(level: Level, p: &Product<'_, T>, batch: usize, row: usize, col: usize) {
    let (rows, cols) = (ROWS.min(p.m - row), COLUMNS.min(p.n - col));
    let offsets = p.batch[batch];
    let copies_b = MatrixOrder::of(p.b.row_stride, p.b.col_stride) != MatrixOrder::RowMajor;
    workspace::with_local(if copies_b { STEPS * COLUMNS } else { 0 }, |copy: *mut T| {
        // SAFETY: the tile's rows and columns exist.
        unsafe {
            let out = p.out.add((batch * p.m + row) * p.n + col);
            for i in 0..rows {
                std::slice::from_raw_parts_mut(out.add(i * p.n), cols).fill(T::default());
            }
            for first_k in (0..p.k).step_by(STEPS) {
                let steps = STEPS.min(p.k - first_k);
                let mut b = Matrix { ptr: p.b.at(offsets.b, first_k, col), ..p.b };
                if copies_b {
                    for step in 0..steps {
                        for j in 0..cols {
                            *copy.add(step * COLUMNS + j) = *b.at(0, step, j);
                        }
                    }
                    b = Matrix { ptr: copy, row_stride: COLUMNS as isize, col_stride: 1 };
                }
                let a = Matrix { ptr: p.a.at(offsets.a, row, first_k), ..p.a };
                add_product(level, a, b, (rows, steps, cols), out, p.n);
            }
            for i in 0..rows {
                let out = std::slice::from_raw_parts_mut(out.add(i * p.n), cols);
                if let Some(bias) = p.epilogue.bias {
                    for (j, x) in out.iter_mut().enumerate() {
                        *x = x.wrapping_sum(*bias.add(col + j));
                    }
                }
                if p.epilogue.activation == Activation::Relu {
                    out.iter_mut().for_each(|x| *x = (*x).max(T::default()));
                }
            }
        }
    });
}

multiversion! {
    /// Adds a product to `out`; B's columns are contiguous. Not marked unsafe because the macro has no word
    /// for it: private, and called with operands that have these rows, steps and columns.
    fn add_product[I, T: (Integer)](
        a: Matrix<T>,
        b: Matrix<T>,
        sizes: (usize, usize, usize),
        out: *mut T,
        out_stride: usize,
    ) {
        let (rows, steps, cols) = sizes;
        for i in 0..rows {
            // SAFETY: the caller's promise.
            let out = unsafe { std::slice::from_raw_parts_mut(out.add(i * out_stride), cols) };
            let mut step = 0;
            while step + TOGETHER <= steps {
                // SAFETY: the caller's promise.
                let (x, y) = unsafe {
                    (
                        std::array::from_fn::<T, TOGETHER, _>(|s| *a.at(0, i, step + s)),
                        std::array::from_fn::<&[T], TOGETHER, _>(|s| std::slice::from_raw_parts(b.at(0, step + s, 0), cols)),
                    )
                };
                for j in 0..cols {
                    let mut sum = out[j];
                    for s in 0..TOGETHER {
                        sum = x[s].wrapping_mul_add(y[s][j], sum);
                    }
                    out[j] = sum;
                }
                step += TOGETHER;
            }
            while step < steps {
                // SAFETY: the caller's promise.
                let (x, y) = unsafe { (*a.at(0, i, step), std::slice::from_raw_parts(b.at(0, step, 0), cols)) };
                for (sum, y) in out.iter_mut().zip(y) {
                    *sum = x.wrapping_mul_add(*y, *sum);
                }
                step += 1;
            }
        }
    }
}
