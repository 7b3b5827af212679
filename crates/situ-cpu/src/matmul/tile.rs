//! The micro-kernel: a tile of the output that stays in registers while k runs.
//!
//! For one tile it computes `acc = Σ a·b` in the order of k, starting at zero, and then stores `acc` or adds
//! it to what the output holds. That order is the same for every tile shape and every way the operands are
//! addressed, so the value of an element does not depend on the tile it fell into: this is what makes the
//! whole product independent of how it is cut.

use super::vector::Vector;

/// One tile's operands. What must hold is said field by field; the compiled kernels trust it.
pub(super) struct Tile<T> {
    /// Steps of k.
    pub(super) k: usize,
    /// A at the tile's first row and first k.
    pub(super) a: *const T,
    /// From one row of A to the next; one element where a kernel is not by rows.
    pub(super) a_row: isize,
    /// From one k to the next in A; one element where a kernel is by rows.
    pub(super) a_step: isize,
    /// B at the first k and the tile's first column; the columns are contiguous. Unless the kernels are
    /// [`masked`](super::vector::Kernels::masked), all the tile's registers full of them can be read,
    /// whatever `cols` says.
    pub(super) b: *const T,
    /// From one k to the next in B.
    pub(super) b_stride: isize,
    /// A cache line to ask for at the first k, and from one k to the next; it need not be a valid address.
    /// Where the tile is wider than a line, the lines behind it too.
    pub(super) prefetch: *const T,
    pub(super) prefetch_stride: isize,
    /// Where a packing kernel writes the panel of B, `k` rows of the tile's width; on a cache line.
    pub(super) packed: *mut T,
    /// The output's first element, with its columns contiguous.
    pub(super) out: *mut T,
    /// From one row of the output to the next.
    pub(super) out_stride: usize,
    /// Columns to store, at most the tile's width, at least one.
    pub(super) cols: usize,
    /// Whether to add to what the output holds, or to replace it.
    pub(super) accumulate: bool,
    /// Added to every row at the end where it is not null; `cols` numbers.
    pub(super) bias: *const T,
    /// Whether negative results become zero, at the very end.
    pub(super) relu: bool,
}

/// Computes a tile of `M` rows and `N` registers of columns.
///
/// # Safety
/// The fields of `t` hold what they promise for this `M`, `N`, `BY_ROWS` and `PACK`, and the processor has
/// `V`'s instructions.
#[inline(always)]
pub(super) unsafe fn compute<
    V: Vector,
    const M: usize,
    const N: usize,
    const BY_ROWS: bool,
    const PACK: bool,
>(
    t: &Tile<V::Elem>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let acc = V::accumulate::<M, N, BY_ROWS, PACK>(t);
        finish(t, &acc);
    }
}

/// The sums of a tile.
///
/// # Safety
/// As [`compute`].
#[inline(always)]
pub(super) unsafe fn accumulate<
    V: Vector,
    const M: usize,
    const N: usize,
    const BY_ROWS: bool,
    const PACK: bool,
>(
    t: &Tile<V::Elem>,
) -> [[V; N]; M] {
    // Steps unrolled: the loop's own instructions then vanish between the arithmetic.
    const UNROLL: usize = 4;
    // SAFETY: `k` steps over A and B stay inside what `Tile` promises.
    unsafe {
        let mut acc = [[V::zero(); N]; M];
        let mut at = Place { a: [t.a; M], b: t.b, packed: t.packed };
        if BY_ROWS {
            for (i, row) in at.a.iter_mut().enumerate() {
                *row = t.a.offset(i as isize * t.a_row);
            }
        }
        let whole = t.k - t.k % UNROLL;
        let mut done = 0;
        while done < whole {
            for u in 0..UNROLL {
                step::<V, M, N, BY_ROWS, PACK>(t, &mut at, done + u, &mut acc);
            }
            done += UNROLL;
        }
        while done < t.k {
            step::<V, M, N, BY_ROWS, PACK>(t, &mut at, done, &mut acc);
            done += 1;
        }
        acc
    }
}

/// Where the next step reads and writes.
struct Place<T, const M: usize> {
    /// By rows: every row at k = 0. Otherwise the first is the first row at this k.
    a: [*const T; M],
    b: *const T,
    packed: *mut T,
}

/// One step of k.
#[inline(always)]
unsafe fn step<V: Vector, const M: usize, const N: usize, const BY_ROWS: bool, const PACK: bool>(
    t: &Tile<V::Elem>,
    at: &mut Place<V::Elem, M>,
    k: usize,
    acc: &mut [[V; N]; M],
) {
    // SAFETY: the caller takes no more steps than `Tile` promises.
    unsafe {
        let mut columns = [V::zero(); N];
        for (j, column) in columns.iter_mut().enumerate() {
            *column = V::load(at.b.add(j * V::LANES));
            if PACK {
                column.store(at.packed.add(j * V::LANES));
            }
        }
        at.b = at.b.wrapping_offset(t.b_stride);
        if PACK {
            at.packed = at.packed.add(N * V::LANES);
        }
        for (i, sums) in acc.iter_mut().enumerate() {
            let x = V::splat(if BY_ROWS { at.a[i].add(k) } else { at.a[0].add(i) });
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = V::mul_add(x, column, *sum);
            }
        }
        if !BY_ROWS {
            at.a[0] = at.a[0].wrapping_offset(t.a_step);
        }
    }
}

/// Stores the accumulated tile.
///
/// # Safety
/// As [`compute`].
#[inline(always)]
pub(super) unsafe fn finish<V: Vector, const M: usize, const N: usize>(t: &Tile<V::Elem>, acc: &[[V; N]; M]) {
    // SAFETY: rows and columns written or read are those `Tile` promises.
    unsafe {
        if t.cols == N * V::LANES {
            for (i, row) in acc.iter().enumerate() {
                for (j, &value) in row.iter().enumerate() {
                    let out = t.out.add(i * t.out_stride + j * V::LANES);
                    let mut value = value;
                    if t.accumulate {
                        value = V::add(V::load(out), value);
                    }
                    if !t.bias.is_null() {
                        value = V::add(value, V::load(t.bias.add(j * V::LANES)));
                    }
                    if t.relu {
                        value = value.relu();
                    }
                    value.store(out);
                }
            }
        } else {
            for (i, row) in acc.iter().enumerate() {
                for (j, &value) in row.iter().enumerate() {
                    let count = t.cols.saturating_sub(j * V::LANES).min(V::LANES);
                    if count == 0 {
                        break;
                    }
                    let out = t.out.add(i * t.out_stride + j * V::LANES);
                    let mut value = value;
                    if t.accumulate {
                        value = V::add(V::load_first(out, count), value);
                    }
                    if !t.bias.is_null() {
                        value = V::add(value, V::load_first(t.bias.add(j * V::LANES), count));
                    }
                    if t.relu {
                        value = value.relu();
                    }
                    value.store_first(out, count);
                }
            }
        }
    }
}
