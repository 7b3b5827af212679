//! Products of bf16 by the instruction that multiplies two of a lane and adds both to a sum of f32
//! (AVX512_BF16).
//!
//! Such a product has the bits of one of the same numbers in f32: a product of two bf16 is exact in f32, and
//! the instruction adds them one after the other, each rounded once, as a fused multiply-add is. It takes the
//! upper number of a lane first, so that is where the earlier step of k goes. What it does otherwise is take
//! subnormal numbers for zeros, as operands and as sums. So operands are looked at as they are laid out:
//! where none is subnormal and no product of any two can be, no sum is either, since all of them are
//! multiples of the least product's last place. Other operands are left to f32.
//!
//! A processor that adds in another order is found by trying, and not used.

use super::groups::{self, Grouping, Sizes};
use super::vector::Kernels;
use super::{Epilogue, Matrix, Offsets, Product, SINGLE, Workspace, driver, workspace};
use crate::level::Level;
use crate::multiversion;
use crate::threads::Threads;
use situ_core::bf16;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// A product of bf16 to compute, in f32: `out[i] = a[i] · b[i]` for every `i` of the batch.
#[derive(Clone, Copy, Debug)]
pub struct Bf16Product<'a> {
    /// Rows of the left side and of the output.
    pub m: usize,
    /// Columns of the left side, rows of the right one.
    pub k: usize,
    /// Columns of the right side and of the output.
    pub n: usize,
    /// One entry per product.
    pub batch: &'a [Offsets],
    /// The left side, `m` × `k`.
    pub a: Matrix<bf16>,
    /// The right side, `k` × `n`.
    pub b: Matrix<bf16>,
    /// The output: for each product in turn, `m` rows of `n` elements, dense.
    pub out: *mut f32,
    /// Memory for both sides; see [`bf16_workspace_bytes`].
    pub workspace: Workspace,
}

// SAFETY: as for `Product`: it only describes one, and `matmul_bf16` alone follows its addresses.
unsafe impl Sync for Bf16Product<'_> {}

/// Two numbers, the earlier in the upper half.
#[derive(Clone, Copy)]
struct Halves;

impl Grouping for Halves {
    type Part = bf16;
    const STEPS: usize = 2;

    #[inline(always)]
    fn nothing(self) -> bf16 {
        bf16::from_bits(0)
    }
    #[inline(always)]
    fn join(self, part: impl Fn(usize) -> bf16) -> u32 {
        u32::from(part(0).to_bits()) << 16 | u32::from(part(1).to_bits())
    }
}

/// The kernels of a level, where the processor has any.
#[cfg(target_arch = "x86_64")]
fn kernels(level: Level) -> Option<&'static Kernels<f32>> {
    (level.min(Level::detect()) == Level::Avx512 && super::bf16_x86::adds_in_turn())
        .then_some(&super::bf16_x86::PAIRS)
}

/// The kernels of a level, where the processor has any.
#[cfg(not(target_arch = "x86_64"))]
fn kernels(_: Level) -> Option<&'static Kernels<f32>> {
    None
}

/// Elements of the workspace.
fn room(sizes: &Sizes) -> usize {
    sizes.a_len() + sizes.b_len()
}

/// Bytes of workspace that a product of these sizes takes on this processor: none where it has no such
/// instruction. Less is no error, as for [`super::workspace_bytes`].
pub fn bf16_workspace_bytes(m: usize, k: usize, n: usize) -> usize {
    let bytes = |kernels| room(&Sizes::new(kernels, Halves::STEPS, m, k, n)) * size_of::<f32>();
    kernels(Level::detect()).map_or(0, |kernels| bytes(kernels) + workspace::CACHE_LINE)
}

/// Computes a product of bf16 in f32, with the bits of [`super::matmul`] of the same numbers in f32; or says
/// no, with anything in the output: where the level and the processor have no instruction for it, where a
/// side is a vector, whose sums have another order, and where numbers are so small that the instruction might
/// take one for zero.
///
/// # Safety
/// As [`super::matmul`].
pub unsafe fn matmul_bf16(level: Level, threads: &Threads, p: &Bf16Product<'_>) -> bool {
    let Some(kernels) = kernels(level) else { return false };
    if p.m < 2 || p.n < 2 || p.k == 0 {
        return false;
    }
    let sizes = Sizes::new(kernels, Halves::STEPS, p.m, p.k, p.n);
    let Some(parts) = groups::parts(threads, p.batch.len(), &sizes) else {
        return workspace::with_workspace(p.workspace, room(&sizes) * size_of::<f32>(), |memory| {
            (0..p.batch.len()).all(|number| {
                let part = Bf16Product { out: p.out.wrapping_add(number * p.m * p.n), ..*p };
                // SAFETY: the caller's promise; the block has room for both sides.
                unsafe { run_one(kernels, (level, threads), &part, number, memory.cast()) }
            })
        });
    };
    let all = AtomicBool::new(true);
    threads.run(p.batch.len() * parts, &|task| {
        let (number, rows) = (task / parts, groups::part_of(p.m, task % parts, parts));
        let part = Bf16Product {
            m: rows.len(),
            a: Matrix { ptr: p.a.ptr.wrapping_offset(rows.start as isize * p.a.row_stride), ..p.a },
            out: p.out.wrapping_add((number * p.m + rows.start) * p.n),
            ..*p
        };
        let sizes = Sizes::new(kernels, Halves::STEPS, part.m, p.k, p.n);
        let done = workspace::with_local(room(&sizes), |memory: *mut u32| {
            // SAFETY: the caller's promise; the block has room for both sides, and rows are one task's.
            unsafe { run_one(kernels, (level, threads), &part, number, memory) }
        });
        all.fetch_and(done, Ordering::Relaxed);
    });
    all.into_inner()
}

/// One product of the batch, whose result begins at the output; or no.
///
/// # Safety
/// As [`matmul_bf16`]; the processor has the kernels' instructions, and `memory` room for both sides.
unsafe fn run_one(
    kernels: &'static Kernels<f32>,
    on: (Level, &Threads),
    p: &Bf16Product<'_>,
    number: usize,
    memory: *mut u32,
) -> bool {
    let sizes = Sizes::new(kernels, Halves::STEPS, p.m, p.k, p.n);
    let (a, b) = (memory, memory.wrapping_add(sizes.a_len()));
    let (least_a, least_b) = (AtomicU16::new(u16::MAX), AtomicU16::new(u16::MAX));
    let Offsets { a: left, b: right } = p.batch[number];
    // SAFETY: the caller's promise.
    unsafe {
        let from = Matrix { ptr: p.b.ptr.wrapping_offset(right), ..p.b };
        sizes.lay_out_panels(on, Halves, from, b, &|_, _, elements| {
            least_b.fetch_min(least(on.0, elements), Ordering::Relaxed);
        });
        let from = Matrix { ptr: p.a.ptr.wrapping_offset(left), ..p.a };
        sizes.lay_out_rows(on, Halves, from, a, &|_, elements| {
            least_a.fetch_min(least(on.0, elements), Ordering::Relaxed);
        });
        if !stays_normal(least_a.into_inner(), least_b.into_inner()) {
            return false;
        }
        let product = Product {
            m: p.m,
            k: sizes.groups,
            n: p.n,
            batch: SINGLE,
            a: Matrix::dense(a.cast::<f32>().cast_const(), sizes.a_stride),
            // In panels already, and not looked at.
            b: Matrix::dense(b.cast::<f32>().cast_const(), p.n),
            out: p.out,
            epilogue: Epilogue::default(),
            workspace: Workspace::NONE,
        };
        driver::run(kernels, on.1, &product, b.cast::<f32>().cast_const());
    }
    true
}

multiversion! {
    /// The least magnitude among pairs of bf16 that are not zero, as bits less one.
    fn least[I](elements: &[u32]) -> u16 {
        let mut least = u16::MAX;
        for x in elements {
            let [upper, lower] = [x >> 16, x & 0xffff].map(|bits| (bits as u16 & 0x7fff).wrapping_sub(1));
            least = least.min(upper).min(lower);
        }
        least
    }
}

/// Whether no operand, no product and no sum can be subnormal, given the least operands of both sides as
/// [`least`] has them.
fn stays_normal(a: u16, b: u16) -> bool {
    /// Bits of a fraction; the bias of exponents; the exponent of the least normal f32.
    const FRACTION: u32 = 7;
    const BIAS: i32 = 127;
    const LEAST: i32 = -126;
    // A side of zeros makes zeros.
    if a == u16::MAX || b == u16::MAX {
        return (a == u16::MAX || !is_subnormal(a)) && (b == u16::MAX || !is_subnormal(b));
    }
    let last_place = |least: u16| i32::from((least + 1) >> FRACTION) - BIAS - FRACTION as i32;
    !is_subnormal(a) && !is_subnormal(b) && last_place(a) + last_place(b) >= LEAST
}

/// Whether bits less one are those of a subnormal number.
fn is_subnormal(least: u16) -> bool {
    least < 0x80 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_might_be_subnormal_is_known_by_the_least_operands() {
        let least = |x: f32| ((x.to_bits() >> 16) as u16).wrapping_sub(1);
        assert!(stays_normal(least(1.0), least(1.0)));
        assert!(stays_normal(least(1e-15), least(1e-15)));
        assert!(!stays_normal(least(1e-18), least(1e-18)), "sums of products may cancel to less");
        assert!(!stays_normal(least(1e-39), least(1e30)), "an operand is subnormal");
        assert!(!stays_normal(least(1e30), least(1e-39)));
        assert!(stays_normal(u16::MAX, least(1.0)), "zeros");
        assert!(!stays_normal(u16::MAX, least(1e-39)));
        // The border: the last places of the two are 2^-63 each.
        assert!(stays_normal(least(2f32.powi(-56)), least(2f32.powi(-56))));
        assert!(!stays_normal(least(2f32.powi(-56)), least(2f32.powi(-57))));
    }
}
