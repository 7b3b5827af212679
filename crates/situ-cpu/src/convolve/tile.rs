//! The innermost product: a tile of results in registers, summed over a list of places in memory.
//!
//! `out[i, j] = Σ a[i + table[k]] · b[k, j]`: rows are broadcast from wherever the table says, columns are
//! registers of a packed panel. Rows are pixels of an image and columns filters, or rows are elements of a
//! window and columns filters again.

use super::channels::SideBySide;
use super::dots::Sums;
use super::few::Lines;
use crate::level::Level;
use std::ops::{Add, Sub};

/// Rows of any level's tile, at most.
pub(super) const MOST_ROWS: usize = 14;
/// Bytes of a row of any level's tile, at most.
pub(super) const MOST_COLUMN_BYTES: usize = 128;

/// A tile to compute. Distances are in bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Tile<T> {
    /// The first row, and the one in the middle: rows `0..(rows + 1) / 2` and the others lie at even
    /// distances each.
    pub(super) rows: [*const T; 2],
    /// From one row to the next.
    pub(super) distance: isize,
    /// Distances to be added to all rows, one for each step.
    pub(super) table: *const isize,
    /// Steps of the sum: products that an element of the tile is made of.
    pub(super) depth: usize,
    /// The panel: `depth` rows of one or two registers.
    pub(super) panel: *const T,
    /// Where the result goes.
    pub(super) out: *mut T,
    /// From one row of the result to the next.
    pub(super) out_distance: usize,
    /// Not zero if sums go on from what is in the result. As wide as a register: the tiles of `tile_x86` read
    /// it.
    pub(super) more: usize,
}

/// A compiled tile. Safe to call if the processor has the level's instructions, every row can be read at
/// every distance of the table, the panel can be read, and `out` written.
pub(super) type TileFn<T> = unsafe fn(&Tile<T>);

/// The tiles of one level.
#[derive(Debug)]
pub(super) struct Tiles<T: 'static> {
    /// Numbers in a register.
    pub(super) lanes: usize,
    /// By rows less one, and registers of a row less one.
    pub(super) by_size: &'static [[TileFn<T>; 2]],
}

impl<T> Tiles<T> {
    /// Rows at most.
    pub(super) fn rows(&self) -> usize {
        self.by_size.len()
    }

    /// Columns at most.
    pub(super) fn columns(&self) -> usize {
        2 * self.lanes
    }
}

/// A number that images are made of.
#[allow(private_bounds, private_interfaces)] // the seal: nobody else can implement it
pub trait Number:
    Copy
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Lines
    + Sums
    + SideBySide
    + Send
    + Sync
    + 'static
{
    /// The level's tiles, or those of the best level that the processor has.
    #[doc(hidden)]
    fn tiles(level: Level) -> &'static Tiles<Self>;
    /// `a · b + c` for levels without registers of their own.
    #[doc(hidden)]
    fn multiply_add(a: Self, b: Self, c: Self) -> Self;
}

macro_rules! number {
    ($t:ty, $tiles:ident, $lanes:literal) => {
        #[allow(private_interfaces)]
        impl Number for $t {
            fn tiles(level: Level) -> &'static Tiles<$t> {
                static PORTABLE: Tiles<$t> = Tiles {
                    lanes: $lanes,
                    by_size: &[
                        [portable::<$t, 1, $lanes>, portable::<$t, 1, { 2 * $lanes }>],
                        [portable::<$t, 2, $lanes>, portable::<$t, 2, { 2 * $lanes }>],
                        [portable::<$t, 3, $lanes>, portable::<$t, 3, { 2 * $lanes }>],
                        [portable::<$t, 4, $lanes>, portable::<$t, 4, { 2 * $lanes }>],
                    ],
                };
                match level.min(Level::detect()) {
                    Level::Portable => &PORTABLE,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => &super::tile_x86::avx2::$tiles,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => &super::tile_x86::avx512::$tiles,
                    #[cfg(not(target_arch = "x86_64"))]
                    Level::Avx2 | Level::Avx512 => &PORTABLE,
                }
            }
            #[inline(always)]
            fn multiply_add(a: $t, b: $t, c: $t) -> $t {
                // NEON has a fused multiply-add in its baseline; SSE2 has not.
                if cfg!(target_arch = "aarch64") { a.mul_add(b, c) } else { a * b + c }
            }
        }
    };
}
number!(f32, F32, 4);
number!(f64, F64, 2);

/// A tile by plain loops, which the compiler turns into the target's own registers.
///
/// # Safety
/// As [`TileFn`].
unsafe fn portable<T: Number, const ROWS: usize, const COLUMNS: usize>(tile: &Tile<T>) {
    let mut sums = [[T::default(); COLUMNS]; ROWS];
    let half = ROWS.div_ceil(2);
    // SAFETY: the caller's promise.
    unsafe {
        if tile.more != 0 {
            for (i, sums) in sums.iter_mut().enumerate() {
                *sums = tile.out.byte_add(i * tile.out_distance).cast::<[T; COLUMNS]>().read_unaligned();
            }
        }
        for k in 0..tile.depth {
            let panel = tile.panel.add(k * COLUMNS).cast::<[T; COLUMNS]>().read_unaligned();
            let by = *tile.table.add(k);
            for (i, sums) in sums.iter_mut().enumerate() {
                let (row, i) = if i < half { (tile.rows[0], i) } else { (tile.rows[1], i - half) };
                let a = *row.wrapping_byte_offset(by + i as isize * tile.distance);
                for (sum, b) in sums.iter_mut().zip(panel) {
                    *sum = T::multiply_add(a, b, *sum);
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            tile.out.byte_add(i * tile.out_distance).cast::<[T; COLUMNS]>().write_unaligned(*sums);
        }
    }
}
