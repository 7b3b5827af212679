//! The matrix product (GEMM) of the CPU.
//!
//! [`matmul`] multiplies matrices of `f32`, `f64`, `i32`, `i64` or `u8`, one or a batch, with any strides on
//! both sides (so a transposed side needs no copy) into a dense output, and can add a bias and apply an
//! activation on the way out. [`PackedB`] keeps a right side, such as a layer's weights, in the order the
//! kernels read.
//!
//! What it promises:
//! - **The same bits for any number of threads.** An element is a sum over k in blocks of a length that
//!   depends on k alone, each block summed in order; which tile or task an element falls into does not change
//!   that. Products with one row or one column have an order of their own, which depends on the shape and on
//!   which way the matrix is contiguous. Levels differ from each other: those with a fused multiply-add round
//!   once per step.
//! - **IEEE arithmetic.** NaN and infinity spread as in the plain triple loop: nothing is skipped because it
//!   is zero. A product over k = 0 is zero. Integers wrap around.
//! - **The level is kept**: a level below the processor's runs no instruction above it. A level the processor
//!   does not have falls to the best it has.
//!
//! It leaves to others checking shapes, broadcasting of batches (the caller gives an offset per product) and
//! allocating.
//!
//! How it is built, from the inside out: `vector` is a register of one level (`portable`, `avx2`, `avx512`);
//! `tile` the micro-kernel that keeps a tile of the output in registers, `pack` the copying of operands into
//! the order it reads, `gemv` the kernels for vectors. `plan` decides how a product is cut, `driver` and
//! `region` do it, `blocks` does it for few rows on several threads, `vector_product` for vectors, `integer`
//! for integers. `groups` lays operands out with several steps of k in one element, for processors that
//! multiply and add these at once: `bytes` does it for products of bytes in 32 bits, `bf16` for bf16 in f32.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_loop;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_tile;
mod bf16;
#[cfg(target_arch = "x86_64")]
mod bf16_x86;
mod blocks;
mod bytes;
#[cfg(target_arch = "x86_64")]
mod bytes_x86;
mod driver;
mod element;
mod gemv;
mod groups;
mod integer;
mod pack;
mod packed_b;
mod plan;
mod portable;
mod region;
mod slices;
mod tile;
mod vector;
mod vector_product;
mod workspace;

pub use bf16::{Bf16Product, bf16_workspace_bytes, matmul_bf16};
pub use bytes::{IntegerProduct, integer_workspace_bytes, matmul_integer};
pub use element::{Element, FloatElement};
pub use packed_b::PackedB;
pub use slices::{MatrixSlice, matmul_slices};

use crate::level::Level;
use crate::threads::Threads;

/// A matrix in memory: where its first element is, and how far it is to the next row and the next column, in
/// elements.
///
/// Strides may be zero (every row the same) or negative, and rows may overlap.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<T> {
    /// The element in row 0 and column 0.
    pub ptr: *const T,
    /// From one row to the next.
    pub row_stride: isize,
    /// From one column to the next.
    pub col_stride: isize,
}

// SAFETY: it only describes a matrix; whoever follows the address answers for it.
unsafe impl<T: Sync> Sync for Matrix<T> {}

impl<T> Matrix<T> {
    /// A dense matrix, row after row, with this many columns.
    pub fn dense(ptr: *const T, columns: usize) -> Matrix<T> {
        Matrix { ptr, row_stride: columns as isize, col_stride: 1 }
    }

    /// The same elements with rows and columns exchanged.
    pub fn transposed(self) -> Matrix<T> {
        Matrix { ptr: self.ptr, row_stride: self.col_stride, col_stride: self.row_stride }
    }

    /// The address of an element, `offset` elements further on.
    ///
    /// # Safety
    /// The element is in the matrix.
    #[inline(always)]
    unsafe fn at(&self, offset: isize, row: usize, col: usize) -> *const T {
        // SAFETY: the caller's promise.
        unsafe { self.ptr.offset(offset + row as isize * self.row_stride + col as isize * self.col_stride) }
    }
}

/// Where one product of a batch finds its operands: in elements from [`Matrix::ptr`]. A side that is
/// broadcast has the same offset in several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// Of the left side.
    pub a: isize,
    /// Of the right side.
    pub b: isize,
}

/// The batch of a single product.
pub const SINGLE: &[Offsets] = &[Offsets { a: 0, b: 0 }];

/// What happens to every element last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Elements stay as they are.
    #[default]
    None,
    /// What is below zero becomes zero; NaN stays.
    Relu,
}

/// What happens to the product on its way out, at no extra pass over the output.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<T> {
    /// Numbers to add, one per column.
    pub bias: Option<*const T>,
    /// Applied after the bias.
    pub activation: Activation,
}

impl<T> Default for Epilogue<T> {
    fn default() -> Epilogue<T> {
        Epilogue { bias: None, activation: Activation::None }
    }
}

/// Memory for packed panels; see [`workspace_bytes`].
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    /// Its first byte; any alignment.
    pub start: *mut u8,
    /// How many there are.
    pub bytes: usize,
}

impl Workspace {
    /// No memory: a product that wants some takes it from a list kept by this module; see
    /// [`release_workspaces`].
    pub const NONE: Workspace = Workspace { start: std::ptr::null_mut(), bytes: 0 };
}

/// A product to compute: `out[i] = activation(a[i] · b[i] + bias)` for every `i` of the batch.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a, T> {
    /// Rows of the left side and of the output.
    pub m: usize,
    /// Columns of the left side, rows of the right one.
    pub k: usize,
    /// Columns of the right side and of the output.
    pub n: usize,
    /// One entry per product.
    pub batch: &'a [Offsets],
    /// The left side, `m` × `k`.
    pub a: Matrix<T>,
    /// The right side, `k` × `n`.
    pub b: Matrix<T>,
    /// The output: for each product in turn, `m` rows of `n` elements, dense.
    pub out: *mut T,
    /// What happens on the way out.
    pub epilogue: Epilogue<T>,
    /// Memory for panels.
    pub workspace: Workspace,
}

// SAFETY: it only describes a product. The addresses in it are followed by `matmul` alone, whose caller
// answers for them.
unsafe impl<T: Sync> Sync for Product<'_, T> {}

impl<T> Product<'static, T> {
    /// A single product with nothing done on the way out and no workspace.
    pub fn new(m: usize, k: usize, n: usize, a: Matrix<T>, b: Matrix<T>, out: *mut T) -> Product<'static, T> {
        let (epilogue, workspace) = (Epilogue::default(), Workspace::NONE);
        Product { m, k, n, batch: SINGLE, a, b, out, epilogue, workspace }
    }
}

/// Computes a product.
///
/// ```
/// use situ_cpu::{level::Level, matmul::{Matrix, Product, matmul}, threads::Threads};
///
/// let threads = Threads::new(2, None)?;
/// let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [10.0f32, 20.0, 30.0, 40.0]);
/// let mut out = [0.0; 4];
/// let (left, right) = (Matrix::dense(a.as_ptr(), 2), Matrix::dense(b.as_ptr(), 2));
/// let product = Product::new(2, 2, 2, left, right, out.as_mut_ptr());
/// // SAFETY: the operands and the output are 2 × 2.
/// unsafe { matmul(Level::detect(), &threads, &product) };
/// assert_eq!(out, [70.0, 100.0, 150.0, 220.0]);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Safety
/// For every entry of the batch the elements of `a` and `b`, and of the bias where there is one, can be read;
/// the output can be written, overlaps none of them, and is touched by nobody else during the call. The same
/// holds for the workspace.
pub unsafe fn matmul<T: Element>(level: Level, threads: &Threads, product: &Product<'_, T>) {
    // SAFETY: the caller's promise; the level is the processor's or lower.
    unsafe { T::run(level.min(Level::detect()), threads, product) }
}

/// Bytes of workspace that a product of these sizes takes, whatever its strides and the level: zero for most,
/// about 16 MiB at most.
///
/// Less than that is no error: the product then takes memory from a list kept by this module.
pub fn workspace_bytes<T: Element>(m: usize, k: usize, n: usize) -> usize {
    T::workspace_bytes(m, k, n)
}

/// Frees the memory kept from products that came without a workspace, and says how many bytes that was.
pub fn release_workspaces() -> usize {
    workspace::release()
}

#[cfg(test)]
mod tests;
