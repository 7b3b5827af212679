//! How operands of different layouts are fed to code that takes dense runs.

use super::engine::Operand;
use super::walk::{Position, Walk, gather};
use std::mem::MaybeUninit;

/// Bytes of a tile. A few of them stay in the first-level cache.
pub(super) const TILE_BYTES: usize = 4096;
/// Rows at least this long are read in place; shorter ones are gathered, several to a tile.
const MIN_ROW: usize = 32;

/// A dense run of elements.
#[repr(align(64))]
pub(super) struct Tile(MaybeUninit<[u8; TILE_BYTES]>);

impl Tile {
    /// With contents undefined.
    #[inline(always)]
    pub(super) fn new() -> Tile {
        Tile(MaybeUninit::uninit())
    }

    /// Its first byte.
    #[inline(always)]
    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// Spreads a scalar, or an operand that repeats, over the tile, beginning at the phase of element
    /// `first`.
    ///
    /// # Safety
    /// The operand has `period` elements in a row, and `room` of them fit the tile.
    pub(super) unsafe fn fill_periodic(
        &mut self,
        period: usize,
        input: &Operand<'_>,
        first: usize,
        room: usize,
    ) {
        let start = self.start();
        let copies = room / period;
        let phase = first % period;
        let head = (period - phase) * input.size;
        // SAFETY: `copies` periods fit the tile; the two parts of the first are within the operand.
        unsafe {
            if period == 1 {
                return spread(input.start, input.size, start, copies);
            }
            std::ptr::copy_nonoverlapping(input.start.add(phase * input.size), start, head);
            std::ptr::copy_nonoverlapping(input.start, start.add(head), phase * input.size);
            let bytes = period * input.size;
            for copy in 1..copies {
                std::ptr::copy_nonoverlapping(start, start.add(copy * bytes), bytes);
            }
        }
    }
}

/// How an operand is fed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feed {
    /// Dense over the whole result: read in place.
    Dense,
    /// Repeats every so many elements: spread over a tile once.
    Periodic,
    /// Read in place, row by row.
    Row,
    /// One value a row: spread over a tile at each row.
    RowValue,
    /// Gathered tile by tile.
    Gathered,
}

/// How every operand is fed, and how many elements go to one call.
#[derive(Debug)]
pub(super) struct FeedPlan<const N: usize> {
    pub(super) feeds: [Feed; N],
    /// The most elements of one call.
    pub(super) step: usize,
    /// Whether calls end where rows end.
    pub(super) by_row: bool,
    /// Whether any operand is gathered.
    pub(super) gathers: bool,
}

impl<const N: usize> FeedPlan<N> {
    /// The plan for so many inputs, with `tile` elements to a tile.
    pub(super) fn new(walk: &Walk<N>, inputs: usize, elements: usize, tile: usize) -> FeedPlan<N> {
        let mut periods = [Some(elements); N];
        for (k, period) in periods[..inputs].iter_mut().enumerate() {
            *period = walk.period(k);
        }
        // One period, if it is short, can be spread over a tile; two different ones would be out of step.
        let common =
            periods.iter().flatten().copied().filter(|p| *p != elements && *p != 1).max().unwrap_or(1);
        let spreads = |p: usize| p == elements || p == 1 || (p == common && common <= tile / 4);
        if periods.iter().all(|p| p.is_some_and(spreads)) {
            let feeds = periods.map(|p| if p == Some(elements) { Feed::Dense } else { Feed::Periodic });
            return FeedPlan { feeds, step: tile / common * common, by_row: false, gathers: false };
        }
        let whole = |p: Option<usize>| matches!(p, Some(p) if p == elements || p == 1);
        let by_row = walk.row() >= MIN_ROW
            && (0..inputs).all(|k| whole(periods[k]) || matches!(walk.row_stride(k), 0 | 1));
        let mut feeds = [Feed::Dense; N];
        for (k, feed) in feeds[..inputs].iter_mut().enumerate() {
            *feed = match periods[k] {
                Some(p) if p == elements => Feed::Dense,
                Some(1) => Feed::Periodic,
                _ if !by_row => Feed::Gathered,
                _ if walk.row_stride(k) == 1 => Feed::Row,
                _ => Feed::RowValue,
            };
        }
        let in_place = feeds.iter().all(|feed| matches!(feed, Feed::Dense | Feed::Row));
        let step = if in_place { usize::MAX } else { tile };
        FeedPlan { feeds, step, by_row, gathers: feeds.contains(&Feed::Gathered) }
    }
}

/// Writes one element of `size` bytes `len` times.
///
/// # Safety
/// `value` is readable and `to` writable for that, both aligned.
pub(super) unsafe fn spread(value: *const u8, size: usize, to: *mut u8, len: usize) {
    /// # Safety
    /// As for [`spread`].
    unsafe fn typed<T: Copy>(value: *const u8, to: *mut u8, len: usize) {
        // SAFETY: as for `spread`.
        unsafe { std::slice::from_raw_parts_mut(to.cast(), len).fill(MaybeUninit::new(*value.cast::<T>())) };
    }
    // SAFETY: as for this function.
    unsafe {
        match size {
            1 => typed::<u8>(value, to, len),
            2 => typed::<u16>(value, to, len),
            4 => typed::<u32>(value, to, len),
            _ => typed::<u64>(value, to, len),
        }
    }
}

/// [`gather`] of elements of any size.
///
/// # Safety
/// As for [`gather`].
pub(super) unsafe fn gather_bytes<const N: usize>(
    walk: &Walk<N>,
    k: usize,
    position: Position,
    input: &Operand<'_>,
    to: *mut u8,
    len: usize,
) {
    // SAFETY: as for this function.
    unsafe {
        match input.size {
            1 => gather::<u8, N>(walk, k, position, input.start, to, len),
            2 => gather::<u16, N>(walk, k, position, input.start.cast(), to.cast(), len),
            4 => gather::<u32, N>(walk, k, position, input.start.cast(), to.cast(), len),
            _ => gather::<u64, N>(walk, k, position, input.start.cast(), to.cast(), len),
        }
    }
}
