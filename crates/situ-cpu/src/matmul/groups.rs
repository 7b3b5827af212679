//! Operands in groups: elements of 32 bits that hold several steps of k, side by side.
//!
//! Instructions that multiply two or four narrow numbers of a lane and add them all to a sum make of a
//! product over k one over k / 2 or k / 4 elements, which is otherwise a product like any other: the left
//! side lies by rows, the right side in panels as [`super::PackedB`] has them, and `driver` does the rest.

use super::Matrix;
use super::plan::grouped_k_block;
use super::vector::Kernels;
use crate::exec::Shared;
use crate::level::Level;
use crate::multiversion;
use crate::threads::Threads;

/// How narrow numbers become an element.
pub(super) trait Grouping: Copy + Send + Sync + 'static {
    /// A narrow number.
    type Part: Copy + Send + Sync + 'static;
    /// Steps of k in an element.
    const STEPS: usize;
    /// What stands where k ends within an element: it adds nothing to any sum.
    fn nothing(self) -> Self::Part;
    /// The element whose step `s` is `part(s)`.
    fn join(self, part: impl Fn(usize) -> Self::Part) -> u32;
}

/// The sizes of a product of grouped operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) m: usize,
    /// Steps of k.
    pub(super) k: usize,
    pub(super) n: usize,
    /// Elements of k.
    pub(super) groups: usize,
    /// From one row of the left side to the next.
    pub(super) a_stride: usize,
    /// Columns of a panel.
    width: usize,
    /// Elements of k in a block.
    block: usize,
}

/// Parts of each product's rows, where rows and products of a batch are better dealt to threads as wholes,
/// each of which lays out what it reads: a small right side is sooner laid out twice than fetched from the
/// other core's cache. None where all threads should share what they lay out, one product after another. No
/// sum depends on it.
pub(super) fn parts(threads: &Threads, batch: usize, sizes: &Sizes) -> Option<usize> {
    /// Elements of a right side, and of both sides, that are small; rows for which it is worth laying out the
    /// right side.
    const SMALL: usize = 64 << 10;
    const BOTH: usize = 256 << 10;
    const ROWS: usize = 128;
    let parts = threads.count().div_ceil(batch.max(1)).min(sizes.m / ROWS).max(1);
    let small = sizes.b_len() <= SMALL && sizes.a_len() / parts + sizes.b_len() <= BOTH;
    (small && batch * parts > 1).then_some(parts)
}

/// The rows of one part.
pub(super) fn part_of(m: usize, part: usize, parts: usize) -> std::ops::Range<usize> {
    m * part / parts..m * (part + 1) / parts
}

/// Numbers worth a task of their own.
const GRAIN: usize = 64 << 10;

impl Sizes {
    pub(super) fn new<T>(kernels: &Kernels<T>, steps: usize, m: usize, k: usize, n: usize) -> Sizes {
        /// Elements of a cache line, and of the distance at which rows fall into the same places of the
        /// first-level cache and push each other out.
        const LINE: usize = 16;
        const BAD: usize = 1024;
        let groups = k.div_ceil(steps);
        let lines = groups.next_multiple_of(LINE);
        let a_stride = if lines.is_multiple_of(BAD) { lines + LINE } else { lines };
        Sizes {
            m,
            k,
            n,
            groups,
            a_stride,
            width: kernels.cols,
            block: grouped_k_block(groups, kernels.group),
        }
    }

    /// Elements of the left side.
    pub(super) fn a_len(&self) -> usize {
        self.m * self.a_stride
    }

    /// Elements of the right side.
    pub(super) fn b_len(&self) -> usize {
        self.groups * self.n.next_multiple_of(self.width)
    }

    /// Lays the left side out, row after row, and calls `done` with each row and its elements.
    ///
    /// # Safety
    /// `a` has `m` × `k` numbers, and `to` room for [`Sizes::a_len`] elements that nobody else touches.
    pub(super) unsafe fn lay_out_rows<G: Grouping>(
        &self,
        (level, threads): (Level, &Threads),
        grouping: G,
        a: Matrix<G::Part>,
        to: *mut u32,
        done: &(dyn Fn(usize, &[u32]) + Sync),
    ) {
        let per_task = GRAIN.div_ceil(self.k.max(1));
        let (to, a) = (Shared(to), &a);
        threads.run(self.m.div_ceil(per_task), &|task| {
            for row in task * per_task..((task + 1) * per_task).min(self.m) {
                // SAFETY: the caller's promise; every row is one task's.
                unsafe {
                    let to = to.get().add(row * self.a_stride);
                    let from = Matrix { ptr: a.at(0, row, 0), ..*a };
                    group_row(level, grouping, from, self.k, to);
                    done(row, std::slice::from_raw_parts(to, self.groups));
                }
            }
        });
    }

    /// Lays the right side out in panels, and calls `done` with the first column of each part of one, how
    /// many columns it has room for, and its elements.
    ///
    /// # Safety
    /// `b` has `k` × `n` numbers, and `to` room for [`Sizes::b_len`] elements that nobody else touches.
    pub(super) unsafe fn lay_out_panels<G: Grouping>(
        &self,
        (level, threads): (Level, &Threads),
        grouping: G,
        b: Matrix<G::Part>,
        to: *mut u32,
        done: &(dyn Fn(usize, usize, &[u32]) + Sync),
    ) {
        let panels = self.n.div_ceil(self.width);
        let per_task = GRAIN.div_ceil((self.k * self.width).max(1));
        let (to, b) = (Shared(to), &b);
        threads.run(panels.div_ceil(per_task), &|task| {
            for panel in task * per_task..((task + 1) * per_task).min(panels) {
                let col = panel * self.width;
                for first in (0..self.groups).step_by(self.block) {
                    let groups = self.block.min(self.groups - first);
                    let steps = (groups * G::STEPS).min(self.k - first * G::STEPS);
                    // SAFETY: the caller's promise; every panel is one task's.
                    unsafe {
                        let to = to.get().add((first * panels + panel * groups) * self.width);
                        let from = Matrix { ptr: b.at(0, first * G::STEPS, col), ..*b };
                        let cols = self.width.min(self.n - col);
                        group_panel(level, grouping, from, (steps, cols), self.width, to);
                        done(col, self.width, std::slice::from_raw_parts(to, groups * self.width));
                    }
                }
            }
        });
    }
}

multiversion! {
    /// Lays out one row of `k` numbers. Not marked unsafe because the macro has no word for it: private, and
    /// called with numbers and room that are there.
    fn group_row[I, G: (Grouping)](grouping: G, from: Matrix<G::Part>, k: usize, to: *mut u32) {
        let whole = k / G::STEPS;
        // SAFETY: the caller's promise.
        unsafe {
            if from.col_stride == 1 {
                let (to, from) = (std::slice::from_raw_parts_mut(to, whole), std::slice::from_raw_parts(from.ptr, k));
                for (to, parts) in to.iter_mut().zip(from.chunks_exact(G::STEPS)) {
                    *to = grouping.join(|s| parts[s]);
                }
            } else {
                for g in 0..whole {
                    *to.add(g) = grouping.join(|s| *from.at(0, 0, g * G::STEPS + s));
                }
            }
            if whole * G::STEPS < k {
                let last = |s: usize| whole * G::STEPS + s;
                *to.add(whole) =
                    grouping.join(|s| if last(s) < k { *from.at(0, 0, last(s)) } else { grouping.nothing() });
            }
        }
    }
}

multiversion! {
    /// Lays out one block of a panel: `k` numbers of each of the columns that exist, zeros for those that do
    /// not. Not marked unsafe as above.
    fn group_panel[I, G: (Grouping)](
        grouping: G,
        from: Matrix<G::Part>,
        sizes: (usize, usize),
        width: usize,
        to: *mut u32,
    ) {
        /// Elements of a column taken at a time, so that what is written stays near.
        const TOGETHER: usize = 16;
        let (k, cols) = sizes;
        let whole = k / G::STEPS;
        // SAFETY: the caller's promise.
        unsafe {
            if from.row_stride == 1 {
                for first in (0..whole).step_by(TOGETHER) {
                    for j in 0..cols {
                        let column = from.at(0, 0, j);
                        for g in first..(first + TOGETHER).min(whole) {
                            *to.add(g * width + j) = grouping.join(|s| *column.add(g * G::STEPS + s));
                        }
                    }
                }
            } else if from.col_stride == 1 {
                for g in 0..whole {
                    let row = std::slice::from_raw_parts_mut(to.add(g * width), cols);
                    let first = from.at(0, g * G::STEPS, 0);
                    for (j, to) in row.iter_mut().enumerate() {
                        *to = grouping.join(|s| *first.offset(s as isize * from.row_stride).add(j));
                    }
                }
            } else {
                for g in 0..whole {
                    for j in 0..cols {
                        *to.add(g * width + j) = grouping.join(|s| *from.at(0, g * G::STEPS + s, j));
                    }
                }
            }
            let groups = k.div_ceil(G::STEPS);
            if whole < groups {
                for j in 0..cols {
                    let last = |s: usize| whole * G::STEPS + s;
                    *to.add(whole * width + j) =
                        grouping.join(|s| if last(s) < k { *from.at(0, last(s), j) } else { grouping.nothing() });
                }
            }
            if cols < width {
                for g in 0..groups {
                    std::slice::from_raw_parts_mut(to.add(g * width + cols), width - cols).fill(0);
                }
            }
        }
    }
}
