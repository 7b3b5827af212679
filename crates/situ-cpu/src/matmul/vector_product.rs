//! Products with one row or one column: bound by reading the matrix, so it is cut into pieces that are read
//! from beginning to end, and handed to the kernels of [`super::gemv`].

use super::gemv::MatVec;
use super::plan::MatrixOrder;
use super::vector::{Float, Kernels};
use super::{Activation, Product, workspace};
use crate::threads::Threads;

/// Bytes of a run of outputs where the matrix lies by rows (one per k): the outputs stay in the first-level
/// cache, and a row is read in runs long enough for the processor to fetch ahead by itself.
const RUN_BYTES: usize = 16 << 10;

/// Numbers of the matrix per task, at least.
const TASK_NUMBERS: usize = 256 << 10;

/// Rows of the matrix per piece, at least, where a run of outputs is cut along k.
const PIECE_ROWS: usize = 64;

/// Pieces at most: as many partial outputs of [`RUN_BYTES`] are held at once.
const MOST_PIECES: usize = 24;

/// The longest vector that is copied where it is not contiguous.
const LONGEST_COPY_BYTES: usize = 256 << 10;

/// Which operand is the vector.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

fn side<T>(p: &Product<'_, T>) -> Option<Side> {
    let fits = |stride: isize| stride == 1 || p.k * size_of::<T>() <= LONGEST_COPY_BYTES;
    if p.k == 0 {
        None
    } else if p.m == 1
        && MatrixOrder::of(p.b.row_stride, p.b.col_stride) != MatrixOrder::Strided
        && fits(p.a.col_stride)
    {
        Some(Side::Left)
    } else if p.n == 1
        && MatrixOrder::of(p.a.row_stride, p.a.col_stride) != MatrixOrder::Strided
        && fits(p.b.row_stride)
    {
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
    let (outputs, k_stride, output_stride) = match side {
        Side::Left => (p.n, p.b.row_stride, p.b.col_stride),
        Side::Right => (p.m, p.a.col_stride, p.a.row_stride),
    };
    let job = Job { kernels, product: p, side, outputs, k_stride, output_stride };
    // SAFETY: the caller's promise.
    unsafe {
        if output_stride == 1 && (outputs > 1 || k_stride != 1) {
            job.run_by_rows(threads);
        } else {
            job.run_by_columns(threads);
        }
    }
    true
}

struct Job<'a, T: 'static> {
    kernels: &'static Kernels<T>,
    product: &'a Product<'a, T>,
    side: Side,
    outputs: usize,
    k_stride: isize,
    output_stride: isize,
}

impl<T: Float> Job<'_, T> {
    /// Cut into runs of outputs; and, where those are few, each into pieces along k, whose partial sums are
    /// added in order.
    ///
    /// # Safety
    /// As [`run`]; outputs are contiguous.
    unsafe fn run_by_rows(&self, threads: &Threads) {
        let (p, batch) = (self.product, self.product.batch.len());
        let run = RUN_BYTES / size_of::<T>();
        let runs = self.outputs.div_ceil(run) * batch;
        let wanted =
            (p.k / PIECE_ROWS).min(p.k * self.outputs * batch / TASK_NUMBERS).min(MOST_PIECES) / runs;
        let piece = p.k.div_ceil(wanted.max(1)).next_multiple_of(8);
        let pieces = p.k.div_ceil(piece);
        if pieces == 1 {
            // Short runs of a large batch are handed over several at a time.
            let per_task = TASK_NUMBERS.div_ceil(p.k * run.min(self.outputs));
            threads.run(runs.div_ceil(per_task), &|task| {
                for at in task * per_task..((task + 1) * per_task).min(runs) {
                    let (batch, first) = (at % batch, at / batch * run);
                    let outputs = run.min(self.outputs - first);
                    // SAFETY: the caller's promise; every run is computed once.
                    unsafe {
                        let out = p.out.add(batch * self.outputs + first);
                        self.with_vector(batch, |x| {
                            self.multiply_by_rows(batch, x, (0, p.k), (first, outputs), out, true)
                        });
                    }
                }
            });
            return;
        }
        let total = batch * self.outputs;
        workspace::with_local(pieces * total + pieces, |partial: *mut T| {
            let partial = Partial(partial);
            threads.run(runs * pieces, &|task| {
                let (piece_at, at) = (task / runs, task % runs);
                let (batch, first) = (at % batch, at / batch * run);
                let (first_k, outputs) = (piece_at * piece, run.min(self.outputs - first));
                let steps = piece.min(p.k - first_k);
                // SAFETY: the caller's promise; every piece has partial sums of its own.
                unsafe {
                    let out = partial.start().add(piece_at * total + batch * self.outputs + first);
                    self.with_vector(batch, |x| {
                        self.multiply_by_rows(batch, x, (first_k, steps), (first, outputs), out, false)
                    });
                }
            });
            // The sum of the partial sums is their product with ones.
            // SAFETY: the ones lie behind the partial sums, which all are written.
            unsafe {
                let ones = partial.start().add(pieces * total);
                (0..pieces).for_each(|i| *ones.add(i) = T::ONE);
                for batch in 0..batch {
                    (self.kernels.mat_vec_by_rows)(&MatVec {
                        k: pieces,
                        x: ones,
                        matrix: partial.start().add(batch * self.outputs),
                        stride: total as isize,
                        out: p.out.add(batch * self.outputs),
                        outputs: self.outputs,
                        ..self.epilogue(0, true)
                    });
                }
            }
        });
    }

    /// Multiplies a range of k of the matrix, for a range of outputs.
    ///
    /// # Safety
    /// As [`run`]; the ranges are inside the matrix, and `out` has room.
    unsafe fn multiply_by_rows(
        &self,
        batch: usize,
        x: *const T,
        (first_k, k): (usize, usize),
        (first, outputs): (usize, usize),
        out: *mut T,
        finish: bool,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            (self.kernels.mat_vec_by_rows)(&MatVec {
                k,
                x: x.add(first_k),
                matrix: self.matrix(batch).offset(first_k as isize * self.k_stride).add(first),
                stride: self.k_stride,
                out,
                outputs,
                ..self.epilogue(first, finish)
            })
        }
    }

    /// Cut into groups of outputs.
    ///
    /// # Safety
    /// As [`run`]; for one output, k is contiguous.
    unsafe fn run_by_columns(&self, threads: &Threads) {
        let p = self.product;
        let group = TASK_NUMBERS.div_ceil(4 * p.k).next_multiple_of(8);
        let groups = self.outputs.div_ceil(group);
        threads.run(p.batch.len() * groups, &|task| {
            let (batch, first) = (task / groups, task % groups * group);
            // SAFETY: inside the operands and the output, as the caller promises; tasks have outputs of their
            // own.
            unsafe {
                self.with_vector(batch, |x| {
                    (self.kernels.mat_vec_by_columns)(&MatVec {
                        k: p.k,
                        x,
                        matrix: self.matrix(batch).offset(first as isize * self.output_stride),
                        stride: self.output_stride,
                        out: p.out.add(batch * self.outputs + first),
                        outputs: group.min(self.outputs - first),
                        ..self.epilogue(first, true)
                    })
                });
            }
        });
    }

    /// A [`MatVec`] with what happens on the way out, if this is the way out, for outputs from `first` on.
    fn epilogue(&self, first: usize, finish: bool) -> MatVec<T> {
        let epilogue = &self.product.epilogue;
        let bias_stride = usize::from(self.side == Side::Left);
        MatVec {
            k: 0,
            x: std::ptr::null(),
            matrix: std::ptr::null(),
            stride: 0,
            out: std::ptr::null_mut(),
            outputs: 0,
            bias: match epilogue.bias {
                Some(bias) if finish => bias.wrapping_add(first * bias_stride),
                _ => std::ptr::null(),
            },
            bias_stride,
            relu: finish && epilogue.activation == Activation::Relu,
        }
    }

    /// The matrix of one product.
    fn matrix(&self, batch: usize) -> *const T {
        let (p, offsets) = (self.product, self.product.batch[batch]);
        match self.side {
            Side::Left => p.b.ptr.wrapping_offset(offsets.b),
            Side::Right => p.a.ptr.wrapping_offset(offsets.a),
        }
    }

    /// Calls `f` with the vector of one product, copied if it is not contiguous.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn with_vector(&self, batch: usize, f: impl FnOnce(*const T)) {
        let (p, offsets) = (self.product, self.product.batch[batch]);
        let (vector, stride) = match self.side {
            Side::Left => (p.a.ptr.wrapping_offset(offsets.a), p.a.col_stride),
            Side::Right => (p.b.ptr.wrapping_offset(offsets.b), p.b.row_stride),
        };
        if stride == 1 {
            return f(vector);
        }
        workspace::with_local(p.k, |copy: *mut T| {
            for i in 0..p.k {
                // SAFETY: the vector has `k` numbers, and the copy room for them.
                unsafe { *copy.add(i) = *vector.offset(i as isize * stride) };
            }
            f(copy);
        });
    }
}

/// Partial sums as the tasks share them.
struct Partial<T>(*mut T);

// SAFETY: every task writes sums of its own, and they are read when all tasks are done.
unsafe impl<T: Send> Sync for Partial<T> {}

impl<T> Partial<T> {
    fn start(&self) -> *mut T {
        self.0
    }
}
