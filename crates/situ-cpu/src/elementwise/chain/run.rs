//! Running a chain: blocks of a run, one after the other, through all instructions.

// The functions of this module are called by each other alone, in one build: how a vector is laid out is no
// matter between them, only that this convention passes it in a register.
#![allow(improper_ctypes_definitions)]

use super::instructions::{self as body, Address, Map, Operands, VECTORS};
use super::instructions::{
    Abs, Add, Clip, Div, Equal, Function, Greater, GreaterEqual, LeakyRelu, Less, LessEqual, Maximum,
    Minimum, Mul, Neg, NotEqual, Reciprocal, Relu, Rsqrt, Sqrt, Square, Sub,
};
use super::lanes::{self, Lanes};
use super::{Chain, Code, Instruction, MAX, Place, WIDEST};
use crate::level::Level;
use crate::scratch::with_scratch;
use crate::stream;
use situ_ir::ops::{BinaryKind, UnaryKind};
use std::arch::x86_64::{__m256, __m512, _mm256_setzero_ps, _mm512_setzero_ps};
use std::mem::MaybeUninit;

/// How far ahead inputs are asked for, in bytes. Processors fetch ahead by themselves, but not across pages.
const AHEAD: usize = 2 << 10;

impl Chain {
    /// Whether a level has the instructions.
    pub(in super::super) fn is_for(level: Level) -> bool {
        level.min(Level::detect()) >= Level::Avx2
    }

    /// Whether results may be written where operands are: each block is read whole before anything of it is
    /// written.
    pub(in super::super) fn is_in_place(&self) -> bool {
        self.reads_first
    }

    /// Computes `len` elements; past the caches if `streaming` and results are aligned for it.
    ///
    /// # Safety
    /// The level [has the instructions](Chain::is_for). Inputs are readable and outputs writable for `len`
    /// floats, aligned for them. An output overlaps no input, unless the chain [may](Chain::is_in_place) and
    /// both start at one place.
    pub(in super::super) unsafe fn run(
        &self,
        level: Level,
        from: &[*const u8; MAX],
        to: &[*mut u8; MAX],
        len: usize,
        streaming: bool,
    ) {
        // SAFETY: the caller's promise; the processor has every level up to the one detected.
        unsafe {
            match level.min(Level::detect()) {
                Level::Portable | Level::Avx2 => avx2::run(self, from, to, len, streaming),
                Level::Avx512 => avx512::run(self, from, to, len, streaming),
            }
        }
    }

    /// Where an operand is, with slots at `slots`.
    fn address(&self, place: Place, from: &[*const u8; MAX], to: &[*mut u8; MAX], slots: *mut u8) -> Address {
        match place {
            Place::Input(k) => Address { start: from[k].cast_mut(), moves: usize::MAX },
            Place::Output(k) => Address { start: to[k], moves: usize::MAX },
            Place::Constant(k) => Address { start: self.constants[k].as_ptr().cast_mut().cast(), moves: 0 },
            Place::Slot(k) => Address { start: slots.wrapping_add(k * WIDEST * 4), moves: 0 },
            Place::Unread => Address { start: std::ptr::null_mut(), moves: 0 },
        }
    }
}

/// An instruction of one width: a function that takes the block in registers and calls the next record's.
macro_rules! instruction {
    ($features:literal, $L:ty, $V:ty, $name:ident $(<$f:ident: $bound:ident>)?) => {
        /// # Safety
        /// Records follow this one, the last of which is `end`; their addresses are good for a block at
        /// `position`.
        #[target_feature(enable = $features)]
        unsafe extern "sysv64" fn $name$(<$f: $bound>)?(
            record: *const Record,
            position: usize,
            v0: $V,
            v1: $V,
            v2: $V,
            v3: $V,
            v4: $V,
            v5: $V,
            v6: $V,
            v7: $V,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                let block = [v0, v1, v2, v3, v4, v5, v6, v7];
                let [v0, v1, v2, v3, v4, v5, v6, v7] =
                    body::$name::<$L $(, $f)?>(&(*record).operands, position, block);
                let next = record.add(1);
                ((*next).run)(next, position, v0, v1, v2, v3, v4, v5, v6, v7)
            }
        }
    };
}

/// Everything of one width.
macro_rules! width {
    ($name:ident, $features:literal, $L:ty, $V:ty, $zero:ident) => {
        mod $name {
            use super::*;

            type Run = unsafe extern "sysv64" fn(*const Record, usize, $V, $V, $V, $V, $V, $V, $V, $V);

            /// An instruction with its addresses.
            #[derive(Clone, Copy)]
            struct Record {
                run: Run,
                operands: Operands,
            }

            /// Floats of a block.
            const BLOCK: usize = VECTORS * <$L as Lanes>::LANES;
            const _: () = assert!(BLOCK <= WIDEST);

            instruction!($features, $L, $V, load);
            instruction!($features, $L, $V, store);
            instruction!($features, $L, $V, store_past_caches);
            instruction!($features, $L, $V, map<F: Map>);
            instruction!($features, $L, $V, both<F: Function>);
            instruction!($features, $L, $V, left<F: Function>);
            instruction!($features, $L, $V, right<F: Function>);
            instruction!($features, $L, $V, choose);

            /// The end of a block.
            ///
            /// # Safety
            /// None: it does nothing.
            #[target_feature(enable = $features)]
            unsafe extern "sysv64" fn end(
                _: *const Record,
                _: usize,
                _: $V,
                _: $V,
                _: $V,
                _: $V,
                _: $V,
                _: $V,
                _: $V,
                _: $V,
            ) {
            }

            fn of_two<F: Function>(code: Code) -> Run {
                match code {
                    Code::Both(_) => both::<F>,
                    Code::Right(_) => right::<F>,
                    _ => left::<F>,
                }
            }

            /// The function of an instruction; `Chain::new` makes none but these.
            fn function(instruction: &Instruction, streaming: bool) -> Run {
                match instruction.code {
                    Code::Load => load,
                    Code::Store if streaming && matches!(instruction.operands[0], Place::Output(_)) => {
                        store_past_caches
                    }
                    Code::Store => store,
                    Code::Choose => choose,
                    Code::Map(kind) => match kind {
                        UnaryKind::Neg => map::<Neg>,
                        UnaryKind::Abs => map::<Abs>,
                        UnaryKind::Sqrt => map::<Sqrt>,
                        UnaryKind::Rsqrt => map::<Rsqrt>,
                        UnaryKind::Square => map::<Square>,
                        UnaryKind::Reciprocal => map::<Reciprocal>,
                        UnaryKind::Relu => map::<Relu>,
                        UnaryKind::LeakyRelu => map::<LeakyRelu>,
                        UnaryKind::Clip => map::<Clip>,
                        _ => unreachable!("{kind:?} is not cheap"),
                    },
                    Code::Both(kind) | Code::Left(kind) | Code::Right(kind) => {
                        let code = instruction.code;
                        match kind {
                            BinaryKind::Add => of_two::<Add>(code),
                            BinaryKind::Sub => of_two::<Sub>(code),
                            BinaryKind::Mul => of_two::<Mul>(code),
                            BinaryKind::Div => of_two::<Div>(code),
                            BinaryKind::Maximum => of_two::<Maximum>(code),
                            BinaryKind::Minimum => of_two::<Minimum>(code),
                            BinaryKind::Equal => of_two::<Equal>(code),
                            BinaryKind::NotEqual => of_two::<NotEqual>(code),
                            BinaryKind::Less => of_two::<Less>(code),
                            BinaryKind::LessEqual => of_two::<LessEqual>(code),
                            BinaryKind::Greater => of_two::<Greater>(code),
                            BinaryKind::GreaterEqual => of_two::<GreaterEqual>(code),
                            _ => unreachable!("{kind:?} is not cheap"),
                        }
                    }
                }
            }

            /// # Safety
            /// As for [`Chain::run`], on a processor of this level.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn run(
                chain: &Chain,
                from: &[*const u8; MAX],
                to: &[*mut u8; MAX],
                len: usize,
                streaming: bool,
            ) {
                let aligned = |to: &*mut u8| to.addr().is_multiple_of(size_of::<$V>());
                let streaming = streaming && to[..chain.outputs].iter().all(aligned);
                let count = chain.instructions.len() + 1;
                // Slots first, as they are aligned to a line.
                let slot_floats = chain.slots * WIDEST;
                let record_floats = count * size_of::<Record>() / 4;
                with_scratch::<f32, _>(slot_floats + record_floats, |scratch| {
                    let slots = scratch.as_mut_ptr().cast::<u8>();
                    let records = slots.wrapping_add(slot_floats * 4).cast::<Record>();
                    let link = |from: &[*const u8; MAX], to: &[*mut u8; MAX], streaming: bool| {
                        for (k, instruction) in chain.instructions.iter().enumerate() {
                            let [m, n] = instruction.operands.map(|place| chain.address(place, from, to, slots));
                            let params = instruction.params.map(|p| p as f32);
                            let run = function(instruction, streaming);
                            // SAFETY: the scratch memory has room for `count` records, aligned, after the
                            // slots.
                            unsafe { records.add(k).write(Record { run, operands: Operands { m, n, params } }) };
                        }
                        let none = chain.address(Place::Unread, from, to, slots);
                        let operands = Operands { m: none, n: none, params: [0.0; 2] };
                        // SAFETY: as above.
                        unsafe { records.add(count - 1).write(Record { run: end, operands }) };
                    };
                    let whole = len / BLOCK * BLOCK;
                    if whole > 0 {
                        link(from, to, streaming);
                    }
                    for position in (0..whole * 4).step_by(BLOCK * 4) {
                        for from in &from[..chain.inputs] {
                            stream::prefetch_all(from.wrapping_add(position + AHEAD), BLOCK * 4);
                        }
                        // SAFETY: operands have the block at this position, by the caller's promise; slots
                        // and constants have one.
                        unsafe { start(records, position) };
                    }
                    if whole < len {
                        let rest = (len - whole) * 4;
                        // As many blocks as the chain has operands are cleared: short runs are many.
                        let mut inputs = [[MaybeUninit::<f32>::uninit(); WIDEST]; MAX];
                        let mut outputs = [[MaybeUninit::<f32>::uninit(); WIDEST]; MAX];
                        let mut tail_from = [std::ptr::null(); MAX];
                        let mut tail_to = [std::ptr::null_mut(); MAX];
                        for k in 0..chain.inputs {
                            inputs[k].fill(MaybeUninit::new(0.0));
                            tail_from[k] = inputs[k].as_ptr().cast();
                            // SAFETY: the input has `rest` more bytes, and a block has room for them.
                            unsafe {
                                let input = from[k].wrapping_add(whole * 4);
                                std::ptr::copy_nonoverlapping(input, inputs[k].as_mut_ptr().cast(), rest);
                            }
                        }
                        for k in 0..chain.outputs {
                            outputs[k].fill(MaybeUninit::new(0.0));
                            tail_to[k] = outputs[k].as_mut_ptr().cast();
                        }
                        link(&tail_from, &tail_to, false);
                        // SAFETY: blocks of our own.
                        unsafe { start(records, 0) };
                        for k in 0..chain.outputs {
                            // SAFETY: the output has room for `rest` more bytes.
                            unsafe {
                                let output = to[k].wrapping_add(whole * 4);
                                std::ptr::copy_nonoverlapping(tail_to[k].cast_const(), output, rest);
                            }
                        }
                    }
                });
            }

            /// Runs all instructions on one block.
            ///
            /// # Safety
            /// As for an instruction.
            #[target_feature(enable = $features)]
            unsafe fn start(records: *const Record, position: usize) {
                let zero = $zero();
                // SAFETY: the caller's promise.
                unsafe { ((*records).run)(records, position, zero, zero, zero, zero, zero, zero, zero, zero) }
            }
        }
    };
}

width!(avx2, "avx2,fma", lanes::Avx2, __m256, _mm256_setzero_ps);
width!(avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", lanes::Avx512, __m512, _mm512_setzero_ps);
