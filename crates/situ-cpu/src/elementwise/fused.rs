//! Several elementwise ops in one pass: each step of a [`Program`] runs on a tile that stays in the
//! first-level cache.
//!
//! A program is compiled to a list of tile functions and places: an input's run, a slot of scratch memory, a
//! constant spread over a tile, or the result itself. A slot is used again once its value has had its last
//! reader.

use super::chain::Chain;
use super::engine::{Body, NoResult, Operand, Target, fault_key, run_body};
use super::feed::{TILE_BYTES, spread};
use super::tile::{NO_FAULT, Params, TileFn};
use super::{binary::binary, cast::cast, select::select, unary::unary};
use crate::exec::Exec;
use crate::level::Level;
use crate::scratch::{MOST_BYTES, with_scratch};
use crate::stream;
use situ_core::Scalar;
use situ_ir::ops::fused::{Program, Register, Step};

/// The most inputs and outputs: what the program's own limit allows.
const MAX: usize = Program::MAX_BINDINGS;
/// Bytes of tiles that a step should find in the first-level cache.
const CACHED_BYTES: usize = 24 << 10;

/// The most that is asked for at a time; more would hold up the step itself.
const FETCHED_BYTES: usize = 2 << 10;

/// Where a value is while a tile is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Input(usize),
    Output(usize),
    Constant(usize),
    Slot(usize),
    /// Where a step reads fewer values than the most that one can.
    Unread,
}

/// One step with everything looked up.
#[derive(Clone, Copy, Debug)]
struct Compiled {
    op: TileFn,
    params: Params,
    reads: [Place; 3],
    writes: Place,
    /// Its number in the program.
    step: usize,
}

/// A program ready to run on any shape.
#[derive(Debug)]
pub struct FusedKernel {
    /// The program in registers, where it can be.
    chain: Option<Chain>,
    steps: Vec<Compiled>,
    /// Results that are written a second time: from, and to.
    copies: Vec<(usize, usize)>,
    /// Each constant spread over a tile.
    constants: Vec<[u64; TILE_BYTES / 8]>,
    slots: usize,
    /// Elements of a tile.
    tile: usize,
    /// Bytes of a slot.
    slot_bytes: usize,
    /// Bytes of each input's next tile that are asked for during each step; 0 if the steps are too few to
    /// hide that.
    fetched: usize,
    /// Bytes of an element of each input and of each output.
    input_sizes: Vec<usize>,
    output_sizes: Vec<usize>,
}

impl FusedKernel {
    /// The program with its tile functions; `None` if some step has none, or if more values are alive at once
    /// than fit a cache.
    pub fn new(program: &Program) -> Option<FusedKernel> {
        let inputs = program.inputs().len();
        let registers = inputs + program.steps().len();
        let mut places: Vec<Option<Place>> =
            (0..registers).map(|r| (r < inputs).then_some(Place::Input(r))).collect();
        let mut copies = vec![];
        for (number, register) in program.outputs().iter().enumerate() {
            match places[register.index()] {
                Some(Place::Output(first)) => copies.push((first, number)),
                _ => places[register.index()] = Some(Place::Output(number)),
            }
        }
        let mut last_use = vec![0; registers];
        for (number, step) in program.steps().iter().enumerate() {
            step.reads().for_each(|r| last_use[r.index()] = number);
        }
        let mut constants = vec![];
        let mut free: Vec<usize> = vec![];
        let mut slots = 0;
        let mut steps = vec![];
        for (number, step) in program.steps().iter().enumerate() {
            let result = inputs + number;
            let mut reads = [Place::Unread; 3];
            if let Step::Constant(value) = step {
                let place = Place::Constant(constants.len());
                constants.push(*value);
                if places[result].is_none() {
                    places[result] = Some(place);
                    continue;
                }
                // A constant that is a result is copied there from its tile.
                reads[0] = place;
            }
            let (op, params) = compile(program, step)?;
            for (slot, register) in reads.iter_mut().zip(step.reads()) {
                *slot = places[register.index()]?;
            }
            // The result's slot is taken before those of its operands are freed: a tile function's result
            // overlaps no operand.
            let writes = *places[result].get_or_insert_with(|| {
                Place::Slot(free.pop().unwrap_or_else(|| {
                    slots += 1;
                    slots - 1
                }))
            });
            steps.push(Compiled { op, params, reads, writes, step: number });
            for register in step.reads().filter(|r| last_use[r.index()] == number) {
                // Once, though a step may read a register twice.
                if let Some(Place::Slot(slot)) = places[register.index()].take() {
                    free.push(slot);
                }
            }
        }
        let size = |register: usize| program.dtype(Register(register as u16)).size();
        let largest = (0..registers).map(size).max().unwrap_or(8);
        let tiles = slots + constants.len() + inputs + program.outputs().len();
        // A whole number of cache lines for elements of any size.
        let slot_bytes = (CACHED_BYTES / tiles.max(1)).clamp(512, TILE_BYTES) / 512 * 512;
        let tile = slot_bytes / largest;
        let fetched = slot_bytes.div_ceil(steps.len().max(1)).next_multiple_of(stream::LINE_BYTES);
        let fetched = if inputs * fetched <= FETCHED_BYTES { fetched } else { 0 };
        (slots * slot_bytes <= MOST_BYTES).then(|| FusedKernel {
            chain: Chain::new(program),
            steps,
            copies,
            constants: constants.into_iter().map(|value| spread_over_tile(value, tile)).collect(),
            slots,
            tile,
            slot_bytes,
            fetched,
            input_sizes: (0..inputs).map(size).collect(),
            output_sizes: program.outputs().iter().map(|r| size(r.index())).collect(),
        })
    }

    /// Runs the program on every element of `shape`.
    ///
    /// # Safety
    /// As for [`run`](super::run), for the program's inputs and outputs in their order.
    pub unsafe fn run(
        &self,
        exec: &Exec<'_>,
        shape: &[usize],
        inputs: &[Operand<'_>],
        outputs: &[*mut u8],
        grain: usize,
    ) -> Result<(), NoResult> {
        let mut targets = [Target { start: std::ptr::null_mut(), size: 1 }; MAX];
        for ((target, start), size) in targets.iter_mut().zip(outputs).zip(&self.output_sizes) {
            *target = Target { start: *start, size: *size };
        }
        let body = Evaluation { kernel: self };
        // SAFETY: as for this function.
        unsafe {
            run_body::<MAX, MAX, _>(
                exec,
                &body,
                shape,
                inputs,
                &targets[..outputs.len().min(MAX)],
                self.tile,
                grain,
            )
        }
    }
}

impl FusedKernel {
    /// Asks for part `number` of what each input has at `element`, where its next tile begins. Processors
    /// fetch ahead within a page, but a tile is a page, and is gone through step by step before the next one
    /// is looked at.
    #[inline(always)]
    fn fetch_part(&self, number: usize, from: &[*const u8; MAX], element: usize) {
        let first = number * self.fetched;
        let bytes = self.fetched.min(self.slot_bytes.saturating_sub(first));
        for (from, size) in from.iter().zip(&self.input_sizes) {
            stream::prefetch_all(from.wrapping_add(element * size + first), bytes);
        }
    }
}

/// The tile function of a step, and its parameters.
fn compile(program: &Program, step: &Step) -> Option<(TileFn, Params)> {
    let dtype = |r: Register| program.dtype(r);
    let plain = Params::default();
    Some(match *step {
        Step::Constant(value) => (cast(value.dtype(), value.dtype()), plain),
        Step::Unary(op, a) => (unary(op.kind, dtype(a))?, op.params.map(|p| p.0)),
        Step::Binary(op, a, _) => (binary(op.kind, dtype(a))?, plain),
        Step::Where(_, a, _) => (select(dtype(a)), plain),
        Step::Cast(op, a) => (cast(dtype(a), op.to), plain),
    })
}

/// The first `count` elements of a tile, all of one value.
fn spread_over_tile(value: Scalar, count: usize) -> [u64; TILE_BYTES / 8] {
    let mut tile = [0u64; TILE_BYTES / 8];
    let element = [value.bits()];
    let size = value.dtype().size();
    // SAFETY: an element is the first bytes of its bits (this crate's memory is little-endian, as its x86 and
    // ARM targets are), and a tile has room for `count` elements of any dtype.
    unsafe { spread(element.as_ptr().cast(), size, tile.as_mut_ptr().cast(), count) };
    tile
}

/// A program at work.
struct Evaluation<'a> {
    kernel: &'a FusedKernel,
}

impl Evaluation<'_> {
    /// The program in registers, where that is possible.
    #[inline(always)]
    fn chain(&self, level: Level) -> Option<&Chain> {
        self.kernel.chain.as_ref().filter(|_| Chain::is_for(level))
    }
}

impl Body<MAX, MAX> for Evaluation<'_> {
    fn reads_before_it_writes(&self, level: Level) -> bool {
        self.chain(level).is_some_and(Chain::is_in_place)
    }

    unsafe fn stream(&self, level: Level, from: &[*const u8; MAX], to: &[*mut u8; MAX], len: usize) -> bool {
        let Some(chain) = self.chain(level) else { return false };
        // SAFETY: the caller's promise, for floats.
        unsafe { chain.run(level, from, to, len, true) };
        true
    }

    unsafe fn run(&self, level: Level, from: &[*const u8; MAX], to: &[*mut u8; MAX], len: usize) -> usize {
        let kernel = self.kernel;
        if let Some(chain) = self.chain(level) {
            // SAFETY: the caller's promise, for floats.
            unsafe { chain.run(level, from, to, len, false) };
            return NO_FAULT;
        }
        with_scratch::<u8, _>(kernel.slots * kernel.slot_bytes, |scratch| {
            let scratch = scratch.as_mut_ptr().cast::<u8>();
            let mut fault = NO_FAULT;
            // Where every operand is in place, a run is longer than a tile.
            for done in (0..len).step_by(kernel.tile) {
                let count = kernel.tile.min(len - done);
                let at = |place: Place| match place {
                    Place::Input(k) => from[k].cast_mut().wrapping_add(done * kernel.input_sizes[k]),
                    Place::Output(k) => to[k].wrapping_add(done * kernel.output_sizes[k]),
                    Place::Constant(k) => kernel.constants[k].as_ptr().cast_mut().cast(),
                    Place::Slot(k) => scratch.wrapping_add(k * kernel.slot_bytes),
                    Place::Unread => std::ptr::null_mut(),
                };
                for (number, step) in kernel.steps.iter().enumerate() {
                    kernel.fetch_part(number, from, done + count);
                    let reads = step.reads.map(|read| at(read).cast_const());
                    // SAFETY: inputs and outputs have `len` elements by the caller's promise, slots and
                    // constants a tile; a step's result has a place that none of its operands has.
                    let found = unsafe { (step.op)(level, step.params, reads, at(step.writes), count) };
                    if found != NO_FAULT {
                        fault = fault.min(fault_key(done + found, step.step));
                    }
                }
            }
            for (first, second) in &kernel.copies {
                // SAFETY: both results have `len` elements of one size, in memory of their own.
                unsafe {
                    std::ptr::copy_nonoverlapping(to[*first], to[*second], len * kernel.output_sizes[*first])
                };
            }
            fault
        })
    }
}

#[cfg(test)]
#[path = "fused_tests.rs"]
mod tests;
