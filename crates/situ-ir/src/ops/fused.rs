//! Several elementwise ops as one: no intermediate result goes through memory.

use super::{Attributes, Binary, Cast, Fill, Given, Op, Outputs, Part, Read, Rule, Unary, Where};
use crate::gradient::{Application, Builder, Differentiability, Gradients};
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, Scalar, Shape, TensorType};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// A value within a fused program: an input, or the result of a step. Inputs come first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Register(pub u16);

impl Register {
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// One step of a fused program, on registers made before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A number that every element has.
    Constant(Scalar),
    /// A function of one register.
    Unary(Unary, Register),
    /// A function of two registers.
    Binary(Binary, Register, Register),
    /// The second register where the first holds, else the third.
    Where(Register, Register, Register),
    /// A conversion to another dtype.
    Cast(Cast, Register),
}

impl Step {
    /// The registers it reads, in order.
    pub fn reads(&self) -> impl Iterator<Item = Register> {
        let list = match *self {
            Step::Constant(_) => [None; 3],
            Step::Unary(_, a) | Step::Cast(_, a) => [Some(a), None, None],
            Step::Binary(_, a, b) => [Some(a), Some(b), None],
            Step::Where(c, a, b) => [Some(c), Some(a), Some(b)],
        };
        list.into_iter().flatten()
    }

    /// The same step on other registers.
    pub fn at(&self, mut register: impl FnMut(Register) -> Register) -> Step {
        match *self {
            Step::Constant(value) => Step::Constant(value),
            Step::Unary(op, a) => Step::Unary(op, register(a)),
            Step::Binary(op, a, b) => Step::Binary(op, register(a), register(b)),
            Step::Where(c, a, b) => Step::Where(register(c), register(a), register(b)),
            Step::Cast(op, a) => Step::Cast(op, register(a)),
        }
    }

    /// The op that does this step alone; `None` for a constant.
    pub fn op(&self) -> Option<Op> {
        match *self {
            Step::Constant(_) => None,
            Step::Unary(op, _) => Some(op.into()),
            Step::Binary(op, ..) => Some(op.into()),
            Step::Where(..) => Some(Where.into()),
            Step::Cast(op, _) => Some(op.into()),
        }
    }
}

/// What a fused op computes for each element of the result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    inputs: Vec<DType>,
    steps: Vec<Step>,
    dtypes: Vec<DType>,
    outputs: Vec<Register>,
    compiled: Compiled,
}

/// What a program was compiled to, for as long as the program lives, by each of two types of devices. It
/// follows from the program, and so is no part of what programs are compared by; a copy is compiled anew.
#[derive(Default)]
struct Compiled([OnceLock<Box<dyn Any + Send + Sync>>; 2]);

impl Clone for Compiled {
    fn clone(&self) -> Compiled {
        Compiled::default()
    }
}
impl PartialEq for Compiled {
    fn eq(&self, _: &Compiled) -> bool {
        true
    }
}
impl Eq for Compiled {}
impl Hash for Compiled {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0[0].get().is_some() { "compiled" } else { "not compiled" })
    }
}

impl Program {
    /// The most inputs and outputs together: what one GPU kernel can bind.
    pub const MAX_BINDINGS: usize = 7;

    /// A program; an error where a step reads what is not made before it, or has a dtype it can't take.
    pub fn new(inputs: Vec<DType>, steps: Vec<Step>, outputs: Vec<Register>) -> Result<Program> {
        let broken = |why: String| Error::argument("fused", why, "this is a defect of what made the program");
        let mut dtypes = inputs.clone();
        for step in &steps {
            if let Some(late) = step.reads().find(|r| r.index() >= dtypes.len()) {
                return Err(broken(format!("step {step:?} reads register {} before it is made", late.0)));
            }
            let dtype = match (*step, step.op()) {
                (Step::Constant(value), _) => value.dtype(),
                (_, Some(op)) => {
                    let scalar = |r: Register| TensorType::new(dtypes[r.index()], Shape::SCALAR);
                    let types: Vec<TensorType> = step.reads().map(scalar).collect();
                    op.infer(&types)?[0].dtype
                }
                (_, None) => return Err(broken(format!("step {step:?} is no op"))),
            };
            dtypes.push(dtype);
        }
        if outputs.is_empty() || outputs.iter().any(|r| r.index() >= dtypes.len() || r.index() < inputs.len())
        {
            return Err(broken(format!("the outputs {outputs:?} are not results of steps")));
        }
        if inputs.len() + outputs.len() > Program::MAX_BINDINGS || dtypes.len() > usize::from(u16::MAX) {
            return Err(broken(format!(
                "{} inputs and {} outputs are too many",
                inputs.len(),
                outputs.len()
            )));
        }
        Ok(Program { inputs, steps, dtypes, outputs, compiled: Compiled::default() })
    }

    /// What the program was compiled to, by `compile` if this is the first time that anybody asks for that
    /// type. There is room for two, the CPU's and the text for GPUs: `None` for a
    /// third.
    pub fn compiled<T: Any + Send + Sync>(&self, compile: impl FnOnce(&Program) -> T) -> Option<&T> {
        let mut compile = Some(compile);
        self.compiled.0.iter().find_map(|slot| {
            let made = match (slot.get(), compile.take()) {
                (Some(made), kept) => {
                    compile = kept;
                    made
                }
                (None, Some(compile)) => slot.get_or_init(|| Box::new(compile(self))),
                (None, None) => return None,
            };
            made.downcast_ref()
        })
    }

    /// The dtypes of the inputs, which are the first registers.
    pub fn inputs(&self) -> &[DType] {
        &self.inputs
    }

    /// The steps; step i writes register `inputs + i`.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The registers that are written to memory.
    pub fn outputs(&self) -> &[Register] {
        &self.outputs
    }

    /// The dtype of a register.
    pub fn dtype(&self, register: Register) -> DType {
        self.dtypes[register.index()]
    }
}

/// A fused elementwise op. Inputs broadcast to one shape, which all outputs have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fused {
    /// What it computes.
    pub program: Arc<Program>,
}

impl Rule for Fused {
    const NAMES: &'static [&'static str] = &["fused"];

    fn attributes(&self) -> Attributes {
        Attributes::none().with("program", self.program.clone())
    }

    fn read(_: &str, given: &mut Given) -> Result<Fused> {
        Ok(Fused { program: given.program("program")? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        Ok(self.outputs(inputs)?[0])
    }

    fn outputs(&self, inputs: &[TensorType]) -> Result<Outputs> {
        let program = &self.program;
        super::arity("fused", inputs, program.inputs.len())?;
        if inputs.iter().zip(&program.inputs).any(|(t, d)| t.dtype != *d) {
            return Err(Error::operands(
                "fused",
                inputs,
                format!("the program takes {:?}", program.inputs),
                "",
            ));
        }
        let shape = if inputs.is_empty() { Shape::SCALAR } else { super::broadcast("fused", inputs)? };
        Ok(program.outputs.iter().map(|r| TensorType { dtype: program.dtype(*r), shape }).collect())
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let elements = outputs.first().map_or(0, |t| t.shape.elements()) as f64;
        let unit = [TensorType::new(DType::F32, Shape::SCALAR)];
        let mut class = WorkClass::Elementwise;
        let mut flops = 0.0;
        for op in self.program.steps.iter().filter_map(Step::op) {
            let work = op.work(&unit, &unit);
            flops += work.flops;
            if work.class == WorkClass::Transcendental {
                class = WorkClass::Transcendental;
            }
        }
        Work { flops: flops * elements, ..Work::streaming(class, 0.0, inputs, outputs) }
    }

    fn may_find_bad_data(&self, _: &[TensorType]) -> bool {
        let fails = |step: &Step| {
            let scalar = |r: Register| TensorType::new(self.program.dtype(r), Shape::SCALAR);
            let reads: SmallVec<[TensorType; 3]> = step.reads().map(scalar).collect();
            step.op().is_some_and(|op| op.may_find_bad_data(&reads))
        };
        self.program.steps.iter().any(fails)
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn program(&self) -> Option<&Program> {
        Some(&self.program)
    }

    fn parts(&self, _: &[TensorType], outputs: &[TensorType]) -> Vec<Part> {
        let program = &self.program;
        let Some(shape) = outputs.first().map(|t| t.shape) else { return Vec::new() };
        let ty = |dtype| TensorType::new(dtype, shape);
        let given = program.inputs.len();
        let read = |r: Register| match r.index() {
            n if n < given => Read::Input(n),
            n => Read::Part(n - given),
        };
        let part = |(n, step): (usize, &Step)| {
            let made = Register((given + n) as u16);
            let one = |value| Op::from(Fill { shape: Shape::SCALAR, value });
            let op = match *step {
                Step::Constant(value) => Some(one(value)),
                _ => step.op(),
            };
            let gives = program.outputs.iter().enumerate().filter(|(_, r)| **r == made);
            op.map(|op| Part {
                op,
                reads: step.reads().map(read).collect(),
                gives: gives.map(|(n, _)| n).collect(),
                inputs: step.reads().map(|r| ty(program.dtype(r))).collect(),
                outputs: vec![ty(program.dtype(made))],
            })
        };
        // Every step is an op or a constant, so that a part has the number of its step.
        program.steps.iter().enumerate().filter_map(part).collect()
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Smooth
    }

    fn gradient<B: Builder>(
        &self,
        builder: &mut B,
        at: &Application<'_, B::Value>,
    ) -> Result<Gradients<B::Value>> {
        self.program.gradient(builder, at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BinaryKind, UnaryKind};
    use super::*;

    #[test]
    fn a_program_checks_its_steps_and_infers_broadcast_outputs() {
        let add = Step::Binary(Binary { kind: BinaryKind::Add }, Register(0), Register(1));
        let relu = Step::Unary(Unary::new(UnaryKind::Relu), Register(2));
        let program = Program::new(vec![DType::F32; 2], vec![add, relu], vec![Register(3)]).unwrap();
        let fused = Fused { program: Arc::new(program) };
        let ty = |dims: &[usize]| TensorType::new(DType::F32, Shape::new(dims).unwrap());
        let out = Op::from(fused).infer(&[ty(&[4, 1]), ty(&[3])]).unwrap();
        assert_eq!(out.as_slice(), [ty(&[4, 3])]);
        assert!(
            Program::new(vec![DType::F32], vec![add], vec![Register(2)]).is_err(),
            "register 1 is not made yet"
        );
        let and = Step::Binary(Binary { kind: BinaryKind::And }, Register(0), Register(0));
        assert!(
            Program::new(vec![DType::F32], vec![and], vec![Register(1)]).is_err(),
            "floats have no logic"
        );
        assert!(Program::new(vec![DType::F32], vec![], vec![Register(0)]).is_err(), "an input is no result");
    }
}
