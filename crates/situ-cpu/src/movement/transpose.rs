//! Two axes that the source and the destination order differently, walked in tiles.
//!
//! A tile is read along the source's lines and turned over in a buffer of the first-level cache; rows of the
//! buffer are then written whole, past the caches if the result is large. So every line of either memory is
//! touched once. Where one of the axes is short, tiles are long instead, and go without the buffer.
//!
//! The sizes are those that were quickest of the 16 to 128 units tried along either axis, on matrices of 256
//! KiB to 64 MiB, as was walking the tiles in the order of the source.

mod block;

use super::part::Axis;
use super::runs::{copy_run_to, copy_strided};
use crate::level::Level;
use std::mem::MaybeUninit;

/// An axis shorter than this is walked whole, without the buffer.
const SHORT_AXIS: usize = 8;
/// Units of a tile that goes without the buffer.
const DIRECT_UNITS: usize = 4096;
/// Bytes of a row of a tile in the source: a line of it, or two where the matrix stays in a cache.
const NEAR_BYTES: usize = 64;
const NEAR_BYTES_CACHED: usize = 128;
/// A matrix below this size stays in a cache.
const CACHED_BYTES: usize = 8 << 20;
/// Bytes of a row of a tile in the destination.
const INNER_BYTES: usize = 256;
/// Bytes of the buffer.
const BUFFER_BYTES: usize = 8 << 10;

/// How the two axes are cut into tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles {
    /// Bytes of a unit.
    size: usize,
    /// Which axis of the part is the near one.
    near_axis: usize,
    /// The axis whose units are near to each other in the source.
    near: Axis,
    /// The axis whose units are one run in the destination.
    inner: Axis,
    /// Units of a tile along either.
    near_step: usize,
    inner_step: usize,
    buffered: bool,
}

impl Tiles {
    /// The tiles over axis number `near_axis`, which is `near`, and the innermost.
    pub(super) fn new(size: usize, near_axis: usize, near: Axis, inner: Axis) -> Tiles {
        let buffered = near.size >= SHORT_AXIS && inner.size >= SHORT_AXIS;
        let (near_step, inner_step) = if buffered {
            let cached = near.size.saturating_mul(inner.size).saturating_mul(size) < CACHED_BYTES;
            let near_bytes = if cached { NEAR_BYTES_CACHED } else { NEAR_BYTES };
            let inner_step = (INNER_BYTES / size).clamp(SHORT_AXIS, 128);
            let near_step = (near_bytes / size).max(SHORT_AXIS).min(BUFFER_BYTES / (inner_step * size));
            (near_step, inner_step)
        } else if inner.size <= near.size {
            (DIRECT_UNITS / inner.size.min(SHORT_AXIS), inner.size)
        } else {
            (near.size, DIRECT_UNITS / near.size.min(SHORT_AXIS))
        };
        // A tile that does not fit the buffer would be written past its end.
        assert!(!buffered || near_step * inner_step * size <= BUFFER_BYTES);
        let (near_step, inner_step) = (near_step.min(near.size), inner_step.min(inner.size));
        Tiles { size, near_axis, near, inner, near_step, inner_step, buffered }
    }

    /// Which axis of the part is walked along with the innermost.
    pub(super) fn near_axis(&self) -> usize {
        self.near_axis
    }

    /// How many tiles the two axes are cut into.
    pub(super) fn count(&self) -> usize {
        self.near.size.div_ceil(self.near_step) * self.inner.size.div_ceil(self.inner_step)
    }

    /// Bytes of one tile; those at the ends have less.
    pub(super) fn bytes(&self) -> usize {
        self.near_step * self.inner_step * self.size
    }

    /// Copies tiles `first..last`. `from` and `to` are the first unit of both axes.
    ///
    /// # Safety
    /// Every unit of the two axes is readable at `from` and writable at `to`, without overlap, and `last` is
    /// at most the count.
    pub(super) unsafe fn run(
        &self,
        level: Level,
        from: *const u8,
        to: *mut u8,
        first: usize,
        last: usize,
        streaming: bool,
    ) {
        let mut turned = Buffer(MaybeUninit::uninit());
        let turned = turned.0.as_mut_ptr().cast::<u8>();
        let columns = self.near.size.div_ceil(self.near_step);
        for tile in first..last {
            let (near, inner) = (tile % columns * self.near_step, tile / columns * self.inner_step);
            let near_len = self.near_step.min(self.near.size - near);
            let inner_len = self.inner_step.min(self.inner.size - inner);
            // SAFETY: the tile is within the two axes.
            unsafe {
                let from = from.offset(near as isize * self.near.from + inner as isize * self.inner.from);
                let to = to.offset(near as isize * self.near.to + inner as isize * self.inner.to);
                if self.buffered {
                    let row = self.inner_step * self.size;
                    self.turn(level, from, turned, near_len, inner_len);
                    for i in 0..near_len {
                        let to = to.offset(i as isize * self.near.to);
                        let whole_lines = streaming && row == INNER_BYTES;
                        copy_run_to(turned.add(i * row), to, inner_len * self.size, whole_lines);
                    }
                } else {
                    self.copy_units(from, to, self.near.to, 0..near_len, 0..inner_len);
                }
            }
        }
    }

    /// Copies `near_len` by `inner_len` units to the buffer, where those of the inner axis are runs.
    ///
    /// # Safety
    /// As for [`Tiles::run`].
    unsafe fn turn(&self, level: Level, from: *const u8, turned: *mut u8, near_len: usize, inner_len: usize) {
        let row = (self.inner_step * self.size) as isize;
        let mut done = (0, 0);
        // SAFETY: the units are within the tile, and the buffer has room for one; units of a near axis of
        // that stride are runs.
        unsafe {
            if self.near.from == self.size as isize {
                done = block::turn(level, self.size, from, self.inner.from, turned, row, near_len, inner_len);
            }
            self.copy_units(from, turned, row, done.0..near_len, 0..inner_len);
            self.copy_units(from, turned, row, 0..done.0, done.1..inner_len);
        }
    }

    /// Copies a rectangle of units one by one, along its longer side.
    ///
    /// # Safety
    /// As for [`Tiles::turn`].
    unsafe fn copy_units(
        &self,
        from: *const u8,
        to: *mut u8,
        row: isize,
        near: std::ops::Range<usize>,
        inner: std::ops::Range<usize>,
    ) {
        let (near_len, inner_len) = (near.len(), inner.len());
        let (near_first, inner_first) = (near.start as isize, inner.start as isize);
        let unit = self.size as isize;
        // SAFETY: the units are within the tile.
        unsafe {
            let from = from.offset(near_first * self.near.from + inner_first * self.inner.from);
            let to = to.offset(near_first * row + inner_first * unit);
            if near_len > inner_len {
                for i in 0..inner_len as isize {
                    let (from, to) = (from.offset(i * self.inner.from), to.offset(i * unit));
                    copy_strided(self.size, from, self.near.from, to, row, near_len);
                }
            } else {
                for i in 0..near_len as isize {
                    let (from, to) = (from.offset(i * self.near.from), to.offset(i * row));
                    copy_strided(self.size, from, self.inner.from, to, unit, inner_len);
                }
            }
        }
    }
}

#[repr(align(64))]
struct Buffer(MaybeUninit<[u8; BUFFER_BYTES]>);
