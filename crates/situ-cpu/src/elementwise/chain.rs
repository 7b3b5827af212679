//! Fused programs of cheap float steps, evaluated in vector registers.
//!
//! A tile evaluator writes every step's result to the first-level cache and reads it again; for cheap steps
//! that traffic takes longer than main memory does. Here a block of eight vectors stays in registers from
//! step to step: each instruction is a function that takes the block as arguments, computes, and calls the
//! next one, which the optimiser turns into a jump. Only values that are read later than by the next
//! instruction are kept in memory.
//!
//! Every lane goes through the same IEEE operations as the [tile functions](super::tile), so both evaluators
//! give the same bits. Programs with other dtypes or dear functions, and processors below AVX2, are left to
//! the tiles.

use super::tile::Params;
use situ_core::{DType, Scalar};
use situ_ir::ops::fused::{Program, Register, Step};
use situ_ir::ops::{BinaryKind, UnaryKind};

#[cfg(target_arch = "x86_64")]
mod instructions;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod run;

#[cfg(not(target_arch = "x86_64"))]
mod run {
    //! Elsewhere there is one level, whose programs run on tiles.
    use super::{Chain, MAX};
    use crate::level::Level;

    impl Chain {
        pub(in super::super) fn is_for(_: Level) -> bool {
            false
        }

        pub(in super::super) fn is_in_place(&self) -> bool {
            false
        }

        /// # Safety
        /// Never called: no level has the instructions.
        pub(in super::super) unsafe fn run(
            &self,
            _: Level,
            _: &[*const u8; MAX],
            _: &[*mut u8; MAX],
            _: usize,
            _: bool,
        ) {
        }
    }
}

/// The most inputs and outputs: what the program's own limit allows.
const MAX: usize = Program::MAX_BINDINGS;
/// The most floats of a block: eight of the widest vectors.
const WIDEST: usize = 128;

/// Where an operand in memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Input(usize),
    Output(usize),
    Constant(usize),
    Slot(usize),
    Unread,
}

/// What an instruction does with the block in registers, `acc`, and with operands in memory, `m` and `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// `m`
    Load,
    /// `acc`, written to `m` as well.
    Store,
    /// `f(acc)`
    Map(UnaryKind),
    /// `f(acc, acc)`
    Both(BinaryKind),
    /// `f(acc, m)`
    Left(BinaryKind),
    /// `f(m, acc)`
    Right(BinaryKind),
    /// `m` where `acc` holds, else `n`.
    Choose,
}

#[derive(Clone, Copy, Debug)]
struct Instruction {
    code: Code,
    operands: [Place; 2],
    params: Params,
}

/// A program as instructions on a block in registers.
#[derive(Debug)]
pub(super) struct Chain {
    instructions: Vec<Instruction>,
    constants: Vec<[f32; WIDEST]>,
    slots: usize,
    inputs: usize,
    outputs: usize,
    /// Whether every input is read before any output is written.
    reads_first: bool,
}

impl Chain {
    /// The program's instructions; `None` if some step is not a cheap one on floats.
    pub(super) fn new(program: &Program) -> Option<Chain> {
        if program.inputs().iter().any(|dtype| *dtype != DType::F32)
            || program.outputs().iter().any(|r| program.dtype(*r) != DType::F32)
        {
            return None;
        }
        let mut writer = Writer::new(program);
        for number in 0..program.steps().len() {
            writer.step(number)?;
        }
        let Writer { instructions, constants, slots, .. } = writer;
        let is_output = |place: &Place| matches!(place, Place::Output(_));
        let first_write = instructions.iter().position(|i| i.operands.iter().any(is_output))?;
        let is_input = |place: &Place| matches!(place, Place::Input(_));
        let reads_first = !instructions[first_write..].iter().any(|i| i.operands.iter().any(is_input));
        Some(Chain {
            instructions,
            constants,
            slots,
            inputs: program.inputs().len(),
            outputs: program.outputs().len(),
            reads_first,
        })
    }
}

/// A chain in the making.
struct Writer<'a> {
    program: &'a Program,
    instructions: Vec<Instruction>,
    constants: Vec<[f32; WIDEST]>,
    /// Where each register of the program is in memory, if it is.
    places: Vec<Place>,
    /// The register whose value the block holds.
    held: Option<Register>,
    /// The last step that reads each register.
    last_use: Vec<usize>,
    free: Vec<usize>,
    slots: usize,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program) -> Writer<'a> {
        let inputs = program.inputs().len();
        let registers = inputs + program.steps().len();
        let mut last_use = vec![0; registers];
        for (number, step) in program.steps().iter().enumerate() {
            step.reads().for_each(|r| last_use[r.index()] = number);
        }
        let places = (0..registers).map(|r| if r < inputs { Place::Input(r) } else { Place::Unread });
        Writer {
            program,
            instructions: vec![],
            constants: vec![],
            places: places.collect(),
            held: None,
            last_use,
            free: vec![],
            slots: 0,
        }
    }

    fn emit(&mut self, code: Code, operands: [Place; 2], params: Params) {
        self.instructions.push(Instruction { code, operands, params });
    }

    /// Makes the block hold that register.
    fn hold(&mut self, register: Register) {
        if self.held != Some(register) {
            self.emit(Code::Load, [self.places[register.index()], Place::Unread], Params::default());
        }
    }

    fn step(&mut self, number: usize) -> Option<()> {
        let step = self.program.steps()[number];
        let result = Register((self.program.inputs().len() + number) as u16);
        let place = |writer: &Writer<'_>, r: Register| [writer.places[r.index()], Place::Unread];
        let plain = Params::default();
        match step {
            Step::Constant(Scalar::F32(value)) if !self.program.outputs().contains(&result) => {
                self.places[result.index()] = Place::Constant(self.constants.len());
                self.constants.push([value; WIDEST]);
                return Some(());
            }
            Step::Unary(op, a) if is_cheap_map(op.kind) && self.is_float(a) => {
                self.hold(a);
                self.emit(Code::Map(op.kind), [Place::Unread; 2], op.params.map(|p| p.0));
            }
            Step::Binary(op, a, b) if is_cheap_function(op.kind) && self.is_float(a) => {
                if self.held != Some(b) || a == b {
                    self.hold(a);
                    if a == b {
                        self.emit(Code::Both(op.kind), [Place::Unread; 2], plain);
                    } else {
                        self.emit(Code::Left(op.kind), place(self, b), plain);
                    }
                } else {
                    self.emit(Code::Right(op.kind), place(self, a), plain);
                }
            }
            Step::Where(condition, a, b) if self.is_float(a) => {
                // A mask is only ever made by a comparison, in registers.
                self.hold(condition);
                self.emit(Code::Choose, [self.places[a.index()], self.places[b.index()]], plain);
            }
            Step::Constant(_) | Step::Unary(..) | Step::Binary(..) | Step::Where(..) | Step::Cast(..) => {
                return None;
            }
        }
        self.held = Some(result);
        for register in step.reads().filter(|r| self.last_use[r.index()] == number) {
            if let Place::Slot(slot) = std::mem::replace(&mut self.places[register.index()], Place::Unread) {
                self.free.push(slot);
            }
        }
        if self.is_read_from_memory(result, number) {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slots += 1;
                self.slots - 1
            });
            self.places[result.index()] = Place::Slot(slot);
            self.emit(Code::Store, [Place::Slot(slot), Place::Unread], plain);
        }
        for (output, register) in self.program.outputs().iter().enumerate() {
            if *register == result {
                self.emit(Code::Store, [Place::Output(output), Place::Unread], plain);
            }
        }
        Some(())
    }

    fn is_float(&self, register: Register) -> bool {
        self.program.dtype(register) == DType::F32
    }

    /// Whether somebody other than the next instruction reads the result of step `number`, or that one can't
    /// take it from the block.
    fn is_read_from_memory(&self, result: Register, number: usize) -> bool {
        let mut later = self.program.steps()[number + 1..].iter().filter(|s| !matches!(s, Step::Constant(_)));
        let reads = |step: &Step| step.reads().any(|r| r == result);
        // Of two operands that differ the block can be only one, and then it is the other one that is in
        // memory.
        let chosen = |step: &Step| matches!(step, Step::Where(_, a, b) if *a == result || *b == result);
        later.next().is_some_and(chosen) || later.any(reads)
    }
}

/// Whether there is an instruction for it: a few machine instructions a vector.
fn is_cheap_map(kind: UnaryKind) -> bool {
    matches!(
        kind,
        UnaryKind::Neg
            | UnaryKind::Abs
            | UnaryKind::Sqrt
            | UnaryKind::Rsqrt
            | UnaryKind::Square
            | UnaryKind::Reciprocal
            | UnaryKind::Relu
            | UnaryKind::LeakyRelu
            | UnaryKind::Clip
    )
}

/// As [`is_cheap_map`].
fn is_cheap_function(kind: BinaryKind) -> bool {
    match kind {
        BinaryKind::Add
        | BinaryKind::Sub
        | BinaryKind::Mul
        | BinaryKind::Div
        | BinaryKind::Maximum
        | BinaryKind::Minimum
        | BinaryKind::Equal
        | BinaryKind::NotEqual
        | BinaryKind::Less
        | BinaryKind::LessEqual
        | BinaryKind::Greater
        | BinaryKind::GreaterEqual => true,
        BinaryKind::Rem | BinaryKind::Pow | BinaryKind::And | BinaryKind::Or | BinaryKind::Xor => false,
    }
}
