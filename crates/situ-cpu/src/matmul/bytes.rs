//! Products of bytes, summed in 32 bits.
//!
//! Where the processor multiplies and adds four bytes of a lane at once (VNNI), the left side must be
//! unsigned and the right side signed. A signed left side is taken 128 higher, an unsigned right side 128
//! lower, and what that adds is taken off again: 128 times the sum of each column, 128 times the sum of each
//! row. Elsewhere bytes are widened to 16 bits, and two of a lane are multiplied and added at once.
//!
//! All sums wrap, so that they are exact up to 32 bits whatever their order, and every processor gives the
//! same.

use super::groups::{self, Grouping, Sizes};
use super::vector::Kernels;
use super::{Epilogue, Matrix, Offsets, Product, SINGLE, Workspace, driver, portable, workspace};
use crate::exec::Shared;
use crate::level::Level;
use crate::multiversion;
use crate::threads::Threads;

/// A product of bytes to compute: `out[i] = a[i] · b[i]` for every `i` of the batch.
#[derive(Clone, Copy, Debug)]
pub struct IntegerProduct<'a> {
    /// Rows of the left side and of the output.
    pub m: usize,
    /// Columns of the left side, rows of the right one.
    pub k: usize,
    /// Columns of the right side and of the output.
    pub n: usize,
    /// One entry per product.
    pub batch: &'a [Offsets],
    /// The left side, `m` × `k`.
    pub a: Matrix<u8>,
    /// Whether the left side's bytes are i8.
    pub a_signed: bool,
    /// The right side, `k` × `n`.
    pub b: Matrix<u8>,
    /// Whether the right side's bytes are i8.
    pub b_signed: bool,
    /// The output: for each product in turn, `m` rows of `n` elements, dense.
    pub out: *mut i32,
    /// Memory for both sides; see [`integer_workspace_bytes`].
    pub workspace: Workspace,
}

// SAFETY: as for `Product`: it only describes one, and `matmul_integer` alone follows its addresses.
unsafe impl Sync for IntegerProduct<'_> {}

/// Four bytes: in each, `flip` is the sign to be turned.
#[derive(Clone, Copy)]
struct Quads {
    flip: u8,
}

impl Grouping for Quads {
    type Part = u8;
    const STEPS: usize = 4;

    #[inline(always)]
    fn nothing(self) -> u8 {
        self.flip
    }
    #[inline(always)]
    fn join(self, part: impl Fn(usize) -> u8) -> u32 {
        u32::from_le_bytes([part(0), part(1), part(2), part(3)]) ^ u32::from_ne_bytes([self.flip; 4])
    }
}

/// Two bytes as 16 bits each: `Pairs<true>` of i8, `Pairs<false>` of u8.
#[derive(Clone, Copy)]
struct Pairs<const SIGNED: bool>;

impl<const SIGNED: bool> Grouping for Pairs<SIGNED> {
    type Part = u8;
    const STEPS: usize = 2;

    #[inline(always)]
    fn nothing(self) -> u8 {
        0
    }
    #[inline(always)]
    fn join(self, part: impl Fn(usize) -> u8) -> u32 {
        let wide = |s: usize| {
            if SIGNED { i16::from(part(s) as i8) as u16 } else { u16::from(part(s)) }
        };
        u32::from(wide(0)) | u32::from(wide(1)) << 16
    }
}

/// Kernels for products of bytes.
#[derive(Clone, Copy)]
pub(super) struct ByteKernels {
    pub(super) kernels: &'static Kernels<i32>,
    /// Whether elements are four bytes, of which the left side's are unsigned and the right side's signed;
    /// else they are two numbers of 16 bits.
    pub(super) quads: bool,
}

const PORTABLE: ByteKernels = ByteKernels { kernels: &portable::PAIRS, quads: false };

/// Every kind of kernels that a level may use on this processor, worst first.
#[cfg(test)]
pub(super) fn available(level: Level) -> Vec<ByteKernels> {
    let mut list = vec![PORTABLE];
    #[cfg(target_arch = "x86_64")]
    super::bytes_x86::add_available(level, &mut list);
    let _ = level;
    list
}

/// The best of [`available`], without the list.
fn best(level: Level) -> ByteKernels {
    #[cfg(target_arch = "x86_64")]
    if let Some(best) = super::bytes_x86::best(level) {
        return best;
    }
    let _ = level;
    PORTABLE
}

/// Bytes of workspace that a product of these sizes takes on this processor, whatever its strides and the
/// level. Less is no error, as for [`super::workspace_bytes`].
pub fn integer_workspace_bytes(m: usize, k: usize, n: usize) -> usize {
    if m == 0 || n == 0 || k == 0 {
        return 0;
    }
    let bytes = |level| best(level).room(m, k, n) * size_of::<i32>() + workspace::CACHE_LINE;
    Level::available().into_iter().map(bytes).max().unwrap_or(0)
}

/// Computes a product of bytes.
///
/// ```
/// use situ_cpu::matmul::{IntegerProduct, Matrix, SINGLE, Workspace, matmul_integer};
/// use situ_cpu::{level::Level, threads::Threads};
///
/// let threads = Threads::new(2, None)?;
/// let (a, b) = ([-100i8, 100], [200u8, 255]);
/// let mut out = [0];
/// let (left, right) = (Matrix::dense(a.as_ptr().cast(), 2), Matrix::dense(b.as_ptr(), 1));
/// let product = IntegerProduct {
///     m: 1, k: 2, n: 1, batch: SINGLE, a: left, a_signed: true, b: right, b_signed: false,
///     out: out.as_mut_ptr(), workspace: Workspace::NONE,
/// };
/// // SAFETY: the sides have two elements, the output one.
/// unsafe { matmul_integer(Level::detect(), &threads, &product) };
/// assert_eq!(out, [-100 * 200 + 100 * 255]);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Safety
/// As [`super::matmul`].
pub unsafe fn matmul_integer(level: Level, threads: &Threads, product: &IntegerProduct<'_>) {
    let level = level.min(Level::detect());
    // SAFETY: the caller's promise; the processor has the kernels.
    unsafe { best(level).run(level, threads, product) }
}

/// Where a product has its operands as the kernels read them.
#[derive(Clone, Copy)]
struct Room {
    a: *mut u32,
    b: *mut u32,
    /// What is added to each column.
    columns: *mut i32,
    /// What is added to each row.
    rows: *mut i32,
}

impl ByteKernels {
    fn sizes(&self, m: usize, k: usize, n: usize) -> Sizes {
        Sizes::new(self.kernels, if self.quads { Quads::STEPS } else { Pairs::<true>::STEPS }, m, k, n)
    }

    /// Elements of the workspace.
    fn room(&self, m: usize, k: usize, n: usize) -> usize {
        let sizes = self.sizes(m, k, n);
        sizes.a_len() + sizes.b_len() + n.next_multiple_of(self.kernels.cols) + m
    }

    /// # Safety
    /// As [`matmul_integer`], and the processor has the kernels' instructions and the level's.
    pub(super) unsafe fn run(&self, level: Level, threads: &Threads, p: &IntegerProduct<'_>) {
        if p.m == 0 || p.n == 0 || p.batch.is_empty() {
            return;
        }
        if p.k == 0 {
            // SAFETY: the output can be written.
            unsafe { std::slice::from_raw_parts_mut(p.out, p.batch.len() * p.m * p.n) }.fill(0);
            return;
        }
        let sizes = self.sizes(p.m, p.k, p.n);
        let Some(parts) = groups::parts(threads, p.batch.len(), &sizes) else {
            let bytes = self.room(p.m, p.k, p.n) * size_of::<i32>();
            return workspace::with_workspace(p.workspace, bytes, |memory| {
                for number in 0..p.batch.len() {
                    let part = IntegerProduct { out: p.out.wrapping_add(number * p.m * p.n), ..*p };
                    // SAFETY: the caller's promise; the block has room for all of it.
                    unsafe { self.run_one(level, threads, &part, number, memory.cast()) }
                }
            });
        };
        threads.run(p.batch.len() * parts, &|task| {
            let (number, rows) = (task / parts, groups::part_of(p.m, task % parts, parts));
            let part = IntegerProduct {
                m: rows.len(),
                a: Matrix { ptr: p.a.ptr.wrapping_offset(rows.start as isize * p.a.row_stride), ..p.a },
                out: p.out.wrapping_add((number * p.m + rows.start) * p.n),
                ..*p
            };
            workspace::with_local(self.room(part.m, p.k, p.n), |memory: *mut u32| {
                // SAFETY: the caller's promise; the block has room for all of it, and rows are one task's.
                unsafe { self.run_one(level, threads, &part, number, memory) }
            });
        });
    }

    /// One product of the batch, whose result begins at the output.
    ///
    /// # Safety
    /// As [`ByteKernels::run`]; `memory` has [`ByteKernels::room`] elements.
    unsafe fn run_one(
        &self,
        level: Level,
        threads: &Threads,
        p: &IntegerProduct<'_>,
        number: usize,
        memory: *mut u32,
    ) {
        let sizes = self.sizes(p.m, p.k, p.n);
        let b = memory.wrapping_add(sizes.a_len());
        let columns = b.wrapping_add(sizes.b_len()).cast::<i32>();
        let rows = columns.wrapping_add(p.n.next_multiple_of(self.kernels.cols));
        let room = Room { a: memory, b, columns, rows };
        let (on, offsets) = ((level, threads), p.batch[number]);
        // SAFETY: the caller's promise.
        unsafe {
            self.lay_out_right(on, &sizes, p, offsets.b, &room);
            self.lay_out_left(on, &sizes, p, offsets.a, &room);
            self.multiply(on, &sizes, p, &room);
        }
    }

    /// # Safety
    /// As [`ByteKernels::run`]; the room is of these sizes.
    unsafe fn lay_out_left(
        &self,
        on: (Level, &Threads),
        sizes: &Sizes,
        p: &IntegerProduct<'_>,
        offset: isize,
        room: &Room,
    ) {
        let a = Matrix { ptr: p.a.ptr.wrapping_offset(offset), ..p.a };
        let (level, rows) = (on.0, Shared(room.rows));
        // SAFETY: the caller's promise; each row has a sum of its own.
        unsafe {
            match (self.quads, p.a_signed) {
                (true, signed) => {
                    let flip = if signed { 0x80 } else { 0 };
                    sizes.lay_out_rows(on, Quads { flip }, a, room.a, &|row, elements| {
                        if !p.b_signed {
                            let sum = sum_of_unsigned(level, elements);
                            *rows.get().add(row) = sum.wrapping_mul(128);
                        }
                    });
                }
                (false, true) => sizes.lay_out_rows(on, Pairs::<true>, a, room.a, &|_, _| ()),
                (false, false) => sizes.lay_out_rows(on, Pairs::<false>, a, room.a, &|_, _| ()),
            }
        }
    }

    /// # Safety
    /// As [`ByteKernels::run`]; the room is of these sizes.
    unsafe fn lay_out_right(
        &self,
        on: (Level, &Threads),
        sizes: &Sizes,
        p: &IntegerProduct<'_>,
        offset: isize,
        room: &Room,
    ) {
        let b = Matrix { ptr: p.b.ptr.wrapping_offset(offset), ..p.b };
        let (level, columns) = (on.0, Shared(room.columns));
        // SAFETY: the caller's promise; each column has a sum of its own, and a panel is one task's.
        unsafe {
            match (self.quads, p.b_signed) {
                (true, signed) => {
                    let flip = if signed { 0 } else { 0x80 };
                    let lower = if signed { 0 } else { 128 };
                    if p.a_signed {
                        let sums = std::slice::from_raw_parts_mut(room.columns, p.n);
                        sums.fill((-128i32).wrapping_mul(p.k as i32).wrapping_mul(lower));
                    }
                    sizes.lay_out_panels(on, Quads { flip }, b, room.b, &|col, width, elements| {
                        if p.a_signed {
                            let sums =
                                std::slice::from_raw_parts_mut(columns.get().add(col), width.min(p.n - col));
                            take_128_of_signed(level, elements, width, sums);
                        }
                    });
                }
                (false, true) => sizes.lay_out_panels(on, Pairs::<true>, b, room.b, &|_, _, _| ()),
                (false, false) => sizes.lay_out_panels(on, Pairs::<false>, b, room.b, &|_, _, _| ()),
            }
        }
    }

    /// # Safety
    /// As [`ByteKernels::run`]; both sides are laid out in the room.
    unsafe fn multiply(
        &self,
        (level, threads): (Level, &Threads),
        sizes: &Sizes,
        p: &IntegerProduct<'_>,
        room: &Room,
    ) {
        let out = p.out;
        let corrects = |side_is: bool| self.quads && side_is;
        let product = Product {
            m: p.m,
            k: sizes.groups,
            n: p.n,
            batch: SINGLE,
            a: Matrix::dense(room.a.cast::<i32>().cast_const(), sizes.a_stride),
            // In panels already, and not looked at.
            b: Matrix::dense(room.b.cast::<i32>().cast_const(), p.n),
            out,
            epilogue: Epilogue {
                bias: corrects(p.a_signed).then_some(room.columns.cast_const()),
                ..Epilogue::default()
            },
            workspace: Workspace::NONE,
        };
        // SAFETY: both sides are laid out for these kernels, the output is the caller's.
        unsafe { driver::run(self.kernels, threads, &product, room.b.cast::<i32>().cast_const()) };
        if corrects(!p.b_signed) {
            /// Rows worth a task of their own have this many elements.
            const GRAIN: usize = 64 << 10;
            let per_task = GRAIN.div_ceil(p.n);
            let (rows, out) = (Shared(room.rows), Shared(out));
            threads.run(p.m.div_ceil(per_task), &|task| {
                for row in task * per_task..((task + 1) * per_task).min(p.m) {
                    // SAFETY: the output has this row, which is this task's alone.
                    unsafe {
                        let out = std::slice::from_raw_parts_mut(out.get().add(row * p.n), p.n);
                        add_to_all(level, *rows.get().add(row), out);
                    }
                }
            });
        }
    }
}

multiversion! {
    /// The sum of unsigned bytes, four in an element.
    fn sum_of_unsigned[I](elements: &[u32]) -> i32 {
        let sum = |x: &u32| (x & 0xff) + (x >> 8 & 0xff) + (x >> 16 & 0xff) + (x >> 24);
        elements.iter().map(sum).fold(0u32, u32::wrapping_add) as i32
    }
}

multiversion! {
    /// Takes 128 times the signed bytes of each column off its sum; columns beyond the sums are passed over.
    fn take_128_of_signed[I](elements: &[u32], width: usize, sums: &mut [i32]) {
        for row in elements.chunks_exact(width) {
            for (sum, &x) in sums.iter_mut().zip(row) {
                let x = x as i32;
                let bytes = (x << 24 >> 24) + (x << 16 >> 24) + (x << 8 >> 24) + (x >> 24);
                *sum = sum.wrapping_sub(128 * bytes);
            }
        }
    }
}

multiversion! {
    fn add_to_all[I](number: i32, out: &mut [i32]) {
        out.iter_mut().for_each(|x| *x = x.wrapping_add(number));
    }
}
