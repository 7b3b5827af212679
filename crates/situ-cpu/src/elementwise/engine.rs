//! The engine that runs a [`Body`] over operands of any layout; see the [module](super) for what it does with
//! each.

use super::feed::{Feed, FeedPlan, TILE_BYTES, Tile, gather_bytes, spread};
use super::tile::{NO_FAULT, Params, TileFn};
use super::walk::{Position, Walk};
use crate::exec::{Exec, Shared};
use crate::level::Level;
use crate::stream;
use situ_core::{MAX_RANK, Shape};
use std::sync::atomic::{AtomicUsize, Ordering};

/// One operand: where its first element is, bytes of an element, and its strides in elements for every axis
/// of the result.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The first element.
    pub start: *const u8,
    /// Bytes of one element: 1, 4 or 8.
    pub size: usize,
    /// The distance between neighbours along each axis of the result, 0 where it repeats; `None`: dense, in
    /// the result's shape.
    pub strides: Option<&'a [isize]>,
}

/// A dense result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The first element.
    pub(super) start: *mut u8,
    /// Bytes of one element: 1, 4 or 8.
    pub(super) size: usize,
}

/// What is computed from dense runs of up to `N` operands, for up to `M` results.
pub(super) trait Body<const N: usize, const M: usize>: Sync {
    /// Computes `len` elements. Returns [`NO_FAULT`], or the first element that has no result, by
    /// [`fault_key`].
    ///
    /// # Safety
    /// As for [`TileFn`], for each operand and each result.
    unsafe fn run(&self, level: Level, from: &[*const u8; N], to: &[*mut u8; M], len: usize) -> usize;

    /// Whether `run` reads every operand of an element before it writes any result of it, so that a result
    /// may be where an operand is.
    fn reads_before_it_writes(&self, level: Level) -> bool {
        let _ = level;
        false
    }

    /// [`Body::run`] with results written past the caches, if the body can do that; else `false`, and nothing
    /// is written.
    ///
    /// # Safety
    /// As for [`Body::run`].
    unsafe fn stream(&self, level: Level, from: &[*const u8; N], to: &[*mut u8; M], len: usize) -> bool {
        let _ = (level, from, to, len);
        false
    }
}

/// An element without a result, and the step of the program that failed: the first element, and of that the
/// first step, is least.
pub(super) const fn fault_key(element: usize, step: usize) -> usize {
    (element << STEP_BITS) | step
}

/// Steps of a program are numbered in 16 bits.
const STEP_BITS: u32 = 16;

/// An element that has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoResult {
    /// Its row-major number.
    pub element: usize,
    /// The step of a fused program that failed; 0 for a single op.
    pub step: usize,
}

/// A single op as a body.
struct Single {
    op: TileFn,
    params: Params,
}

impl Body<3, 1> for Single {
    #[inline(always)]
    unsafe fn run(&self, level: Level, from: &[*const u8; 3], to: &[*mut u8; 1], len: usize) -> usize {
        // SAFETY: the caller's promise.
        let found = unsafe { (self.op)(level, self.params, *from, to[0], len) };
        if found == NO_FAULT { NO_FAULT } else { fault_key(found, 0) }
    }
}

/// Applies an op to every element. `grain` is how many elements are worth a task of their own.
///
/// The error is the first element that has no result; all others are written all the same.
///
/// # Safety
/// Every operand has an element of the op's types at each index of `shape`, aligned; `output` is writable for
/// as many elements of `output_size` bytes as `shape` has, aligned, and overlaps no operand but those that
/// are dense, start where it does and have elements of its size. `inputs` are as many as the op reads, at
/// most three.
pub unsafe fn run(
    exec: &Exec<'_>,
    op: TileFn,
    params: Params,
    shape: &[usize],
    inputs: &[Operand<'_>],
    output: *mut u8,
    output_size: usize,
    grain: usize,
) -> Result<(), NoResult> {
    let largest = inputs.iter().map(|input| input.size).fold(output_size, usize::max);
    let output = [Target { start: output, size: output_size }];
    // SAFETY: as for this function.
    unsafe {
        run_body::<3, 1, _>(exec, &Single { op, params }, shape, inputs, &output, TILE_BYTES / largest, grain)
    }
}

/// [`run`] for any body. `tile` is how many elements of the largest operand or result a tile holds.
///
/// # Safety
/// As for [`run`], for each operand and each result.
pub(super) unsafe fn run_body<const N: usize, const M: usize, B: Body<N, M>>(
    exec: &Exec<'_>,
    body: &B,
    shape: &[usize],
    inputs: &[Operand<'_>],
    outputs: &[Target],
    tile: usize,
    grain: usize,
) -> Result<(), NoResult> {
    let elements: usize = shape.iter().product();
    if elements == 0 {
        return Ok(());
    }
    let largest = outputs.iter().map(|output| output.size).fold(0, usize::max);
    let in_place = |output: &Target| inputs.iter().any(|input| std::ptr::eq(input.start, output.start));
    let store = if outputs.iter().any(in_place) {
        if body.reads_before_it_writes(exec.level) { Store::Direct } else { Store::Buffered }
    } else if elements * largest >= exec.streaming_bytes {
        Store::Streaming
    } else {
        Store::Direct
    };
    let job = Job::<N, M, B> { level: exec.level, body, inputs, outputs, tile, store };
    let job = Shared(&job);
    let fault = AtomicUsize::new(NO_FAULT);
    let note = |found: usize| {
        if found != NO_FAULT {
            fault.fetch_min(found, Ordering::Relaxed);
        }
    };
    if inputs.iter().all(|input| input.strides.is_none()) {
        exec.for_elements(elements, grain, |first, last| {
            // SAFETY: the caller's promise; ranges of different tasks are disjoint.
            note(unsafe { job.get().dense(first, last) });
        });
    } else {
        let dense = Shape::new(shape).map_or([0; MAX_RANK], |shape| shape.dense_strides());
        let walk =
            Walk::<N>::new(shape, inputs.iter().map(|input| input.strides.unwrap_or(&dense[..shape.len()])));
        let plan = FeedPlan::new(&walk, inputs.len(), elements, tile);
        exec.for_elements(elements, grain, |first, last| {
            // SAFETY: as above.
            note(unsafe { job.get().strided(&walk, &plan, first, last) });
        });
    }
    match fault.into_inner() {
        NO_FAULT => Ok(()),
        key => Err(NoResult { element: key >> STEP_BITS, step: key & ((1 << STEP_BITS) - 1) }),
    }
}

/// How results get to their place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Store {
    /// The body writes them there.
    Direct,
    /// The body writes a tile, which is copied there: the place may be that of an operand, which has been
    /// read by then.
    Buffered,
    /// The same past the caches, which results of such a size would only sweep.
    Streaming,
}

struct Job<'a, const N: usize, const M: usize, B> {
    level: Level,
    body: &'a B,
    inputs: &'a [Operand<'a>],
    outputs: &'a [Target],
    /// Elements of a tile.
    tile: usize,
    store: Store,
}

impl<const N: usize, const M: usize, B: Body<N, M>> Job<'_, N, M, B> {
    /// Elements `first..last` of operands that are all dense.
    ///
    /// # Safety
    /// As for [`run`]; no other task writes these elements.
    unsafe fn dense(&self, first: usize, last: usize) -> usize {
        let mut from = [std::ptr::null(); N];
        for (from, input) in from.iter_mut().zip(self.inputs) {
            *from = input.start.wrapping_add(first * input.size);
        }
        if self.store == Store::Direct {
            // SAFETY: the operands have these elements, and the results have room for them.
            return later(first, unsafe {
                self.body.run(self.level, &from, &self.targets(first), last - first)
            });
        }
        if self.store == Store::Streaming
            // SAFETY: as above.
            && unsafe { self.body.stream(self.level, &from, &self.targets(first), last - first) }
        {
            stream::fence();
            return NO_FAULT;
        }
        let mut buffers: [Tile; M] = std::array::from_fn(|_| Tile::new());
        let mut fault = NO_FAULT;
        let mut element = first;
        while element < last {
            let len = self.tile.min(last - element);
            // SAFETY: as above, for `len` elements.
            fault =
                fault.min(later(element, unsafe { self.run_buffered(&mut buffers, &from, element, len) }));
            for (from, input) in from.iter_mut().zip(self.inputs) {
                *from = from.wrapping_add(len * input.size);
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
    unsafe fn strided(&self, walk: &Walk<N>, plan: &FeedPlan<N>, first: usize, last: usize) -> usize {
        let mut tiles: [Tile; N] = std::array::from_fn(|_| Tile::new());
        let mut buffers: [Tile; M] = std::array::from_fn(|_| Tile::new());
        let mut position = Position::at(walk, first);
        for (k, input) in self.inputs.iter().enumerate() {
            if plan.feeds[k] == Feed::Periodic {
                // SAFETY: a tile holds `self.tile` elements of any operand, and the operand has a whole
                // period.
                unsafe { tiles[k].fill_periodic(walk.period(k).unwrap_or(1), input, first, self.tile) };
            }
        }
        let step = if self.store == Store::Direct { plan.step } else { plan.step.min(self.tile) };
        let mut new_row = true;
        let mut fault = NO_FAULT;
        let mut element = first;
        while element < last {
            let mut len = step.min(last - element);
            if plan.by_row {
                len = len.min(position.left_in_row(walk));
            }
            let mut from = [std::ptr::null::<u8>(); N];
            for (k, input) in self.inputs.iter().enumerate() {
                let here = || input.start.wrapping_offset(position.offset(walk, k) * input.size as isize);
                from[k] = match plan.feeds[k] {
                    Feed::Dense => input.start.wrapping_add(element * input.size),
                    Feed::Periodic => tiles[k].start(),
                    Feed::Row => here(),
                    Feed::RowValue => {
                        if new_row {
                            // SAFETY: the offset is that of an element, and the tile has room.
                            unsafe {
                                spread(here(), input.size, tiles[k].start(), self.tile.min(walk.row()))
                            };
                        }
                        tiles[k].start()
                    }
                    Feed::Gathered => {
                        // SAFETY: the operand has these elements, and the tile has room for `step` of them.
                        unsafe { gather_bytes(walk, k, position, input, tiles[k].start(), len) };
                        tiles[k].start()
                    }
                };
            }
            // SAFETY: `from` points to `len` elements of each operand.
            let found = unsafe {
                if self.store == Store::Direct {
                    self.body.run(self.level, &from, &self.targets(element), len)
                } else {
                    self.run_buffered(&mut buffers, &from, element, len)
                }
            };
            fault = fault.min(later(element, found));
            element += len;
            if plan.by_row {
                new_row = position.advance(walk, len);
            } else if element < last && plan.gathers {
                position = Position::at(walk, element);
            }
        }
        if self.store == Store::Streaming {
            stream::fence();
        }
        fault
    }

    /// Where each result of `element` goes.
    #[inline(always)]
    fn targets(&self, element: usize) -> [*mut u8; M] {
        let mut to = [std::ptr::null_mut(); M];
        for (to, output) in to.iter_mut().zip(self.outputs) {
            *to = output.start.wrapping_add(element * output.size);
        }
        to
    }

    /// Computes into `buffers` and copies them to their places in the results.
    ///
    /// # Safety
    /// As for [`Body::run`], with `len` at most a tile, and room in the results from `element` on.
    #[inline(always)]
    unsafe fn run_buffered(
        &self,
        buffers: &mut [Tile; M],
        from: &[*const u8; N],
        element: usize,
        len: usize,
    ) -> usize {
        let mut to = [std::ptr::null_mut(); M];
        for (to, buffer) in to.iter_mut().zip(buffers.iter_mut()) {
            *to = buffer.start();
        }
        // SAFETY: the caller's promise; a buffer has room for `len` elements.
        unsafe {
            let found = self.body.run(self.level, from, &to, len);
            for ((buffer, to), output) in to.iter().zip(self.targets(element)).zip(self.outputs) {
                if self.store == Store::Streaming {
                    stream::copy_streaming(*buffer, to, len * output.size);
                } else {
                    std::ptr::copy_nonoverlapping(*buffer, to, len * output.size);
                }
            }
            found
        }
    }
}

/// A fault of a run that began at `first`, as one of the whole.
fn later(first: usize, found: usize) -> usize {
    if found == NO_FAULT { NO_FAULT } else { found + fault_key(first, 0) }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
