//! The product on slices: checked, so that it is safe to call.

use super::{Element, Matrix, Product, matmul};
use crate::level::Level;
use crate::threads::Threads;

/// A matrix inside a slice.
#[derive(Clone, Copy, Debug)]
pub struct MatrixSlice<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> MatrixSlice<'a, T> {
    /// A matrix of `rows` × `cols` whose first element is the slice's first. `None` if an element would lie
    /// outside.
    pub fn new(
        data: &'a [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Option<Self> {
        if rows > 0 && cols > 0 {
            let last =
                (rows - 1).checked_mul(row_stride)?.checked_add((cols - 1).checked_mul(col_stride)?)?;
            if last >= data.len() {
                return None;
            }
        }
        Some(MatrixSlice { data, rows, cols, row_stride, col_stride })
    }

    /// A dense matrix, row after row. `None` if the slice is too short.
    pub fn dense(data: &'a [T], rows: usize, cols: usize) -> Option<Self> {
        MatrixSlice::new(data, rows, cols, cols, 1)
    }

    /// The same elements with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        MatrixSlice {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    fn matrix(&self) -> Matrix<T> {
        Matrix {
            ptr: self.data.as_ptr(),
            row_stride: self.row_stride as isize,
            col_stride: self.col_stride as isize,
        }
    }
}

/// Computes `a · b`, dense, row after row. `None` if `a` has not as many columns as `b` has rows, or the size
/// overflows.
///
/// ```
/// use situ_cpu::{level::Level, matmul::{MatrixSlice, matmul_slices}, threads::Threads};
///
/// let a = MatrixSlice::dense(&[1, 2, 3, 4, 5, 6], 2, 3).unwrap();
/// let out = matmul_slices(Level::detect(), &Threads::new(1, None)?, a, a.transposed());
/// assert_eq!(out, Some(vec![14, 32, 32, 77]));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn matmul_slices<T: Element + Default>(
    level: Level,
    threads: &Threads,
    a: MatrixSlice<'_, T>,
    b: MatrixSlice<'_, T>,
) -> Option<Vec<T>> {
    if a.cols != b.rows {
        return None;
    }
    let mut out = vec![T::default(); a.rows.checked_mul(b.cols)?];
    let product = Product::new(a.rows, a.cols, b.cols, a.matrix(), b.matrix(), out.as_mut_ptr());
    // SAFETY: every element of both sides was checked to be in its slice, and the output has `rows * cols`
    // elements.
    unsafe { matmul(level, threads, &product) };
    Some(out)
}
