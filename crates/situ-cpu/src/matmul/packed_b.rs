//! A right side packed once, for products with many left sides.

use super::element::FloatElement;
use super::pack::PackB;
use super::plan::k_block;
use super::workspace::Block;
use super::{Matrix, Product, driver};
use crate::level::Level;
use crate::threads::Threads;

/// A right side, such as a layer's weights, in the order that one level's kernels read.
///
/// Products with it have the same bits as [`super::matmul`]'s, except those with one row, whose order of
/// summing differs.
///
/// The layout: for each block of k, panels of the micro-kernel's width side by side, each of a row per k;
/// what is missing in the last panel is zero.
#[derive(Debug)]
pub struct PackedB<T> {
    memory: Block,
    level: Level,
    k: usize,
    n: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: FloatElement> PackedB<T> {
    /// Bytes that a packed right side of `k` × `n` takes.
    pub fn bytes_for(level: Level, k: usize, n: usize) -> usize {
        let width = T::kernels(level.min(Level::detect())).cols;
        k * n.next_multiple_of(width) * size_of::<T>()
    }

    /// Packs `b`, of `k` × `n`, for a level (or the best that the processor has, if it lacks that).
    ///
    /// # Safety
    /// The elements of `b` can be read.
    pub unsafe fn new(level: Level, threads: &Threads, k: usize, n: usize, b: Matrix<T>) -> PackedB<T> {
        const PANELS_PER_TASK: usize = 16;
        let level = level.min(Level::detect());
        let kernels = T::kernels(level);
        let memory = Block::new(PackedB::<T>::bytes_for(level, k, n));
        let packed: PackedB<T> = PackedB { memory, level, k, n, element: std::marker::PhantomData };
        let panels = n.div_ceil(kernels.cols);
        let parts = panels.div_ceil(PANELS_PER_TASK);
        let k_block = k_block(k);
        let from = &b;
        let to = &packed;
        threads.run(k.div_ceil(k_block) * parts, &|task| {
            let (first_k, first) = (task / parts * k_block, task % parts * PANELS_PER_TASK);
            let (steps, col) = (k_block.min(k - first_k), first * kernels.cols);
            // SAFETY: these rows and columns are in `b`, and the panels are this task's alone.
            unsafe {
                (kernels.pack_b)(&PackB {
                    b: from.at(0, first_k, col),
                    row_stride: from.row_stride,
                    col_stride: from.col_stride,
                    cols: (PANELS_PER_TASK * kernels.cols).min(n - col),
                    k: steps,
                    panels: to.start().add((first_k * panels + first * steps) * kernels.cols),
                    width: kernels.cols,
                });
            }
        });
        packed
    }

    /// Computes a product with this as the right side; the product's own `b` is not looked at, nor its
    /// batch's offsets of it.
    ///
    /// # Safety
    /// As [`super::matmul`] without `b`.
    ///
    /// # Panics
    /// If the product's `k` and `n` are not those of the right side.
    pub unsafe fn matmul(&self, threads: &Threads, product: &Product<'_, T>) {
        assert!(
            (product.k, product.n) == (self.k, self.n),
            "matmul: the packed right side is {}x{}, the product wants {}x{}",
            self.k,
            self.n,
            product.k,
            product.n
        );
        // SAFETY: the caller's promise; the panels are laid out for this level's kernels.
        unsafe { driver::run(T::kernels(self.level), threads, product, self.start()) }
    }

    /// Rows of the right side.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Columns of the right side.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    fn start(&self) -> *mut T {
        self.memory.start().cast()
    }
}
