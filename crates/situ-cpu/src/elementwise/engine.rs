//! The engine that runs a [`TileFn`] over operands of any layout; see the [module](super) for what it does with each.

use super::tile::{NO_FAULT, Params, TileFn};
use super::walk::{MAX_INPUTS, Position, Walk, gather};
use crate::exec::{Exec, Shared};
use crate::stream;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One operand: where its first element is, bytes of an element, and its strides in elements for every axis of the result.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The first element.
    pub start: *const u8,
    /// Bytes of one element: 1, 4 or 8.
    pub size: usize,
    /// The distance between neighbours along each axis of the result, 0 where it repeats; `None`: dense, in the result's shape.
    pub strides: Option<&'a [isize]>,
}

/// Bytes of a tile. One for each operand and one for the result stay in the first-level cache.
const TILE_BYTES: usize = 4096;
/// Rows at least this long are read in place; shorter ones are gathered, several to a tile.
const MIN_ROW: usize = 32;

#[repr(align(64))]
struct Tile(MaybeUninit<[u8; TILE_BYTES]>);

impl Tile {
    fn new() -> Tile {
        Tile(MaybeUninit::uninit())
    }
    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Applies an op to every element. `grain` is how many elements are worth a task of their own.
///
/// The error is the row-major number of the first element that has no result; all others are written all the same.
///
/// # Safety
/// Every operand has an element of the op's types at each index of `shape`, aligned; `output` is writable for as many elements of
/// `output_size` bytes as `shape` has, aligned, and overlaps no operand. `inputs` are as many as the op reads, at most three.
pub unsafe fn run(
    exec: &Exec<'_>,
    op: TileFn,
    params: Params,
    shape: &[usize],
    inputs: &[Operand<'_>],
    output: *mut u8,
    output_size: usize,
    grain: usize,
) -> Result<(), usize> {
    let elements: usize = shape.iter().product();
    if elements == 0 {
        return Ok(());
    }
    let largest = inputs.iter().map(|input| input.size).fold(output_size, usize::max);
    let streaming = elements * output_size >= exec.streaming_bytes;
    let job = Job {
        op: TileOp { op, params, exec },
        inputs,
        output,
        output_size,
        tile: TILE_BYTES / largest,
        streaming,
    };
    let job = Shared(&job);
    let fault = AtomicUsize::new(NO_FAULT);
    let note = |found: usize| {
        if found != NO_FAULT {
            fault.fetch_min(found, Ordering::Relaxed);
        }
    };
    if inputs.iter().all(|input| input.strides.is_none()) {
        exec.for_ranges(elements, grain, |first, last| {
            // SAFETY: the caller's promise; ranges of different tasks are disjoint.
            note(unsafe { job.get().dense(first, last) });
        });
    } else {
        let dense =
            situ_core::Shape::new(shape).map_or([0; situ_core::MAX_RANK], |shape| shape.dense_strides());
        let strides =
            |input: &Operand<'_>| -> *const [isize] { input.strides.unwrap_or(&dense[..shape.len()]) };
        // SAFETY: the slices live as long as `inputs` and `dense`.
        let walk = Walk::new(shape, inputs.iter().map(|input| unsafe { &*strides(input) }));
        let plan = Plan::new(&walk, inputs.len(), elements, job.get().tile);
        exec.for_ranges(elements, grain, |first, last| {
            // SAFETY: as above.
            note(unsafe { job.get().strided(&walk, &plan, first, last) });
        });
    }
    match fault.into_inner() {
        NO_FAULT => Ok(()),
        element => Err(element),
    }
}

/// The tile function with what it is always called with.
struct TileOp<'a> {
    op: TileFn,
    params: Params,
    exec: &'a Exec<'a>,
}

struct Job<'a> {
    op: TileOp<'a>,
    inputs: &'a [Operand<'a>],
    output: *mut u8,
    output_size: usize,
    /// Elements of a tile.
    tile: usize,
    streaming: bool,
}

/// How an operand is fed to the tile function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feed {
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
struct Plan {
    feeds: [Feed; MAX_INPUTS],
    /// The most elements of one call.
    step: usize,
    /// Whether calls end where rows end.
    by_row: bool,
}

impl Plan {
    fn new(walk: &Walk, inputs: usize, elements: usize, tile: usize) -> Plan {
        let periods: [Option<usize>; MAX_INPUTS] =
            std::array::from_fn(|k| if k < inputs { walk.period(k) } else { Some(elements) });
        let short = |period: usize| period == 1 || period <= tile / 4;
        let common =
            periods.iter().flatten().copied().filter(|p| *p != elements && *p != 1).max().unwrap_or(1);
        let spreadable =
            |p: &Option<usize>| p.is_some_and(|p| p == elements || p == 1 || (p == common && short(common)));
        if periods.iter().all(spreadable) {
            let feeds = periods.map(|p| if p == Some(elements) { Feed::Dense } else { Feed::Periodic });
            return Plan { feeds, step: tile / common * common, by_row: false };
        }
        let rows = walk.row() >= MIN_ROW
            && (0..inputs).all(|k| {
                matches!(periods[k], Some(p) if p == elements || p == 1)
                    || matches!(walk.row_stride(k), 0 | 1)
            });
        let mut feeds = [Feed::Dense; MAX_INPUTS];
        for k in 0..inputs {
            feeds[k] = match periods[k] {
                Some(p) if p == elements => Feed::Dense,
                Some(1) => Feed::Periodic,
                _ if !rows => Feed::Gathered,
                _ if walk.row_stride(k) == 1 => Feed::Row,
                _ => Feed::RowValue,
            };
        }
        let in_place = feeds.iter().all(|feed| matches!(feed, Feed::Dense | Feed::Row));
        Plan { feeds, step: if in_place { usize::MAX } else { tile }, by_row: rows }
    }
}

impl Job<'_> {
    /// Elements `first..last` of operands that are all dense.
    ///
    /// # Safety
    /// As for [`run`]; no other task writes these elements.
    unsafe fn dense(&self, first: usize, last: usize) -> usize {
        let mut at = [std::ptr::null(); MAX_INPUTS];
        for (at, input) in at.iter_mut().zip(self.inputs) {
            // SAFETY: `first` is an element of the operand.
            *at = unsafe { input.start.add(first * input.size) };
        }
        if !self.streaming {
            // SAFETY: the operands have these elements, and the result has room for them.
            return offset_fault(first, unsafe {
                self.call(at, self.output.add(first * self.output_size), last - first)
            });
        }
        let mut scratch = Tile::new();
        let mut fault = NO_FAULT;
        let mut element = first;
        while element < last {
            let len = self.tile.min(last - element);
            // SAFETY: as above, for `len` elements.
            fault = fault
                .min(offset_fault(element, unsafe { self.call_streaming(&mut scratch, at, element, len) }));
            for (at, input) in at.iter_mut().zip(self.inputs) {
                *at = at.wrapping_add(len * input.size);
            }
            element += len;
        }
        stream::fence();
        fault
    }

    /// Elements `first..last` of operands of any layout.
    ///
    /// # Safety
    /// As for [`run`]; no other task writes these elements.
    unsafe fn strided(&self, walk: &Walk, plan: &Plan, first: usize, last: usize) -> usize {
        let mut tiles: [Tile; MAX_INPUTS] = std::array::from_fn(|_| Tile::new());
        let mut scratch = Tile::new();
        let mut position = Position::at(walk, first);
        for (k, input) in self.inputs.iter().enumerate() {
            if plan.feeds[k] == Feed::Periodic {
                // SAFETY: a tile holds `self.tile` elements of any operand. A tile may run past the last element, so it is
                // filled for the elements there are, and the same value or period stays right for every step.
                unsafe { self.fill_periodic(walk, k, input, first, &mut tiles[k]) };
            }
        }
        let step = if self.streaming { plan.step.min(self.tile) } else { plan.step };
        let mut new_row = true;
        let mut fault = NO_FAULT;
        let mut element = first;
        while element < last {
            let mut len = step.min(last - element);
            if plan.by_row {
                len = len.min(position.left_in_row(walk));
            }
            let mut at = [std::ptr::null::<u8>(); MAX_INPUTS];
            for (k, input) in self.inputs.iter().enumerate() {
                // SAFETY: every offset is that of an element of the operand; a tile has room for `step` elements.
                unsafe {
                    at[k] = match plan.feeds[k] {
                        Feed::Dense => input.start.add(element * input.size),
                        Feed::Periodic => tiles[k].start(),
                        Feed::Row => input.start.offset(position.offset(walk, k) * input.size as isize),
                        Feed::RowValue => {
                            if new_row {
                                let value =
                                    input.start.offset(position.offset(walk, k) * input.size as isize);
                                let room = self.tile.min(walk.row());
                                spread(value, input.size, tiles[k].start(), room);
                            }
                            tiles[k].start()
                        }
                        Feed::Gathered => {
                            gather_bytes(walk, k, position, input, tiles[k].start(), len);
                            tiles[k].start()
                        }
                    };
                }
            }
            // SAFETY: `at` points to `len` elements of each operand.
            let found = unsafe {
                if self.streaming {
                    self.call_streaming(&mut scratch, at, element, len)
                } else {
                    self.call(at, self.output.add(element * self.output_size), len)
                }
            };
            fault = fault.min(offset_fault(element, found));
            element += len;
            if plan.by_row {
                new_row = position.advance(walk, len);
            } else if element < last && plan.feeds.contains(&Feed::Gathered) {
                position = Position::at(walk, element);
            }
        }
        if self.streaming {
            stream::fence();
        }
        fault
    }

    /// Spreads a scalar, or an operand that repeats, over a tile, beginning at the phase of element `first`.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn fill_periodic(
        &self,
        walk: &Walk,
        k: usize,
        input: &Operand<'_>,
        first: usize,
        tile: &mut Tile,
    ) {
        let period = walk.period(k).unwrap_or(1);
        let room = self.tile / period * period;
        // SAFETY: the operand has `period` elements in a row, and the tile has `room`.
        unsafe {
            if period == 1 {
                return spread(input.start, input.size, tile.start(), room);
            }
            let phase = first % period;
            let (head, start) = ((period - phase) * input.size, tile.start());
            std::ptr::copy_nonoverlapping(input.start.add(phase * input.size), start, head);
            std::ptr::copy_nonoverlapping(input.start, start.add(head), phase * input.size);
            for copy in 1..room / period {
                std::ptr::copy_nonoverlapping(
                    start,
                    start.add(copy * period * input.size),
                    period * input.size,
                );
            }
        }
    }

    /// # Safety
    /// As for [`TileFn`].
    #[inline(always)]
    unsafe fn call(&self, at: [*const u8; MAX_INPUTS], to: *mut u8, len: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { (self.op.op)(self.op.exec.level, self.op.params, at, to, len) }
    }

    /// Computes into `scratch` and streams that to its place in the result.
    ///
    /// # Safety
    /// As for [`TileFn`], with `len` at most a tile, and room in the result from `element` on.
    #[inline(always)]
    unsafe fn call_streaming(
        &self,
        scratch: &mut Tile,
        at: [*const u8; MAX_INPUTS],
        element: usize,
        len: usize,
    ) -> usize {
        // SAFETY: the caller's promise; the tile has room for `len` elements.
        unsafe {
            let found = self.call(at, scratch.start(), len);
            stream::copy_streaming(
                scratch.start(),
                self.output.add(element * self.output_size),
                len * self.output_size,
            );
            found
        }
    }
}

fn offset_fault(first: usize, found: usize) -> usize {
    if found == NO_FAULT { NO_FAULT } else { first + found }
}

/// Writes one element of `size` bytes `len` times.
///
/// # Safety
/// `value` is readable and `to` writable for that, both aligned.
unsafe fn spread(value: *const u8, size: usize, to: *mut u8, len: usize) {
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
            4 => typed::<u32>(value, to, len),
            _ => typed::<u64>(value, to, len),
        }
    }
}

/// [`gather`] of elements of any size.
///
/// # Safety
/// As for [`gather`].
unsafe fn gather_bytes(
    walk: &Walk,
    k: usize,
    position: Position,
    input: &Operand<'_>,
    to: *mut u8,
    len: usize,
) {
    // SAFETY: as for this function.
    unsafe {
        match input.size {
            1 => gather::<u8>(walk, k, position, input.start, to, len),
            4 => gather::<u32>(walk, k, position, input.start.cast(), to.cast(), len),
            _ => gather::<u64>(walk, k, position, input.start.cast(), to.cast(), len),
        }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
