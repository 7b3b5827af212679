//! Products with one row or one column: cut by outputs, and handed to the kernels of [`super::gemv`].

use super::gemv::MatVec;
use super::plan::Lie;
use super::vector::{Float, Kernels};
use super::{Activation, Product, workspace};
use crate::threads::Threads;

/// Outputs per task where the matrix lies by rows (one per k): each row is read in runs of this many numbers.
const OUTPUTS_BY_ROWS: usize = 512;

/// Numbers of the matrix per task where it lies by columns.
const NUMBERS_BY_COLUMNS: usize = 64 << 10;

/// Which operand is the vector.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// The longest vector that is copied where it is not contiguous.
const LONGEST_COPY_BYTES: usize = 256 << 10;

fn side<T>(p: &Product<'_, T>) -> Option<Side> {
    let copied = |stride: isize| if stride == 1 { 0 } else { p.k * size_of::<T>() };
    let fits = |stride: isize| copied(stride) <= LONGEST_COPY_BYTES;
    if p.k == 0 {
        None
    } else if p.m == 1 && Lie::of(p.b.row_stride, p.b.col_stride) != Lie::Apart && fits(p.a.col_stride) {
        Some(Side::Left)
    } else if p.n == 1 && Lie::of(p.a.row_stride, p.a.col_stride) != Lie::Apart && fits(p.b.row_stride) {
        Some(Side::Right)
    } else {
        None
    }
}

/// Computes a product with one row or one column; says whether it was one.
///
/// # Safety
/// As [`super::matmul`].
pub(super) unsafe fn run<T: Float>(
    kernels: &'static Kernels<T>,
    threads: &Threads,
    p: &Product<'_, T>,
) -> bool {
    let Some(side) = side(p) else { return false };
    // The matrix as k × outputs.
    let (outputs, k_stride, output_stride, x_stride) = match side {
        Side::Left => (p.n, p.b.row_stride, p.b.col_stride, p.a.col_stride),
        Side::Right => (p.m, p.a.col_stride, p.a.row_stride, p.b.row_stride),
    };
    let by_rows = output_stride == 1 && (outputs > 1 || k_stride != 1);
    let per_task =
        if by_rows { OUTPUTS_BY_ROWS } else { NUMBERS_BY_COLUMNS.div_ceil(p.k).next_multiple_of(4) };
    let tasks = outputs.div_ceil(per_task);
    threads.run(p.batch.len() * tasks, &|task| {
        let (batch, first) = (task / tasks, task % tasks * per_task);
        let offsets = p.batch[batch];
        // SAFETY: inside the operands and the output, as the caller promises; tasks have outputs of their own.
        unsafe {
            let (vector, matrix) = match side {
                Side::Left => (p.a.ptr.offset(offsets.a), p.b.ptr.offset(offsets.b)),
                Side::Right => (p.b.ptr.offset(offsets.b), p.a.ptr.offset(offsets.a)),
            };
            let copied = if x_stride == 1 { 0 } else { p.k };
            workspace::with_local(copied, |copy: *mut T| {
                for i in 0..copied {
                    *copy.add(i) = *vector.offset(i as isize * x_stride);
                }
                let bias_stride = usize::from(side == Side::Left);
                let mat_vec = MatVec {
                    k: p.k,
                    x: if copied > 0 { copy.cast_const() } else { vector },
                    matrix: matrix.offset(first as isize * output_stride),
                    stride: if by_rows { k_stride } else { output_stride },
                    out: p.out.add(batch * outputs + first),
                    outputs: per_task.min(outputs - first),
                    bias: p.epilogue.bias.map_or(std::ptr::null(), |bias| bias.add(first * bias_stride)),
                    bias_stride,
                    relu: p.epilogue.activation == Activation::Relu,
                };
                if by_rows {
                    (kernels.mat_vec_by_rows)(&mat_vec)
                } else {
                    (kernels.mat_vec_by_columns)(&mat_vec)
                }
            });
        }
    });
    true
}
