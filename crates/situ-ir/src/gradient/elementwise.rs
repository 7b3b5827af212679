//! Functions of elements, written once in [`Terms`](super::Terms): a graph takes them op by op (its passes
//! fuse them with what is around), and a builder that runs ops at once takes them as one fused op.

use super::{Builder, Values};
use crate::Op;
use crate::ops::{Fused, Program, Register, Step};
use situ_core::{DType, Error, Result, Shape, TensorType};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// A function of elements, on any builder.
pub trait Elementwise {
    /// Where what it compiles to is kept: a static for each function without parameters. Such a function
    /// takes floats of one dtype, besides bools, and its last input (what flows back) has that dtype. `None`:
    /// it is compiled each time.
    fn kept(&self) -> Option<&'static Kept> {
        None
    }

    /// The function on inputs that broadcast.
    fn build<B: Builder>(&self, builder: &mut B, inputs: &[B::Value]) -> Result<B::Value>;
}

/// Where what one function compiles to is kept, for each dtype of its last input. The function's type holds
/// it, in a static of its own: it is found without a lookup, and no two functions can be taken for each
/// other.
#[derive(Debug)]
pub struct Kept([OnceLock<Arc<Compiled>>; DType::ALL.len()]);

impl Kept {
    /// One that has compiled nothing yet.
    pub const fn new() -> Kept {
        Kept([const { OnceLock::new() }; DType::ALL.len()])
    }
}

impl Default for Kept {
    fn default() -> Kept {
        Kept::new()
    }
}

/// A function of elements as one op.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The op; `None` where the result is one of the inputs.
    pub op: Option<Op>,
    /// Which of the function's inputs it takes, in its order.
    pub reads: SmallVec<[u8; 4]>,
}

impl Compiled {
    /// The function on floats of a dtype, or on inputs of `types`.
    pub fn new<E: Elementwise>(function: &E, types: &[DType]) -> Result<Arc<Compiled>> {
        let place = function.kept().zip(types.last()).and_then(|(kept, dtype)| kept.0.get(*dtype as usize));
        if let Some(known) = place.and_then(OnceLock::get) {
            return Ok(known.clone());
        }
        let made = Arc::new(compile(function, types)?);
        Ok(match place {
            Some(place) => place.get_or_init(|| made).clone(),
            None => made,
        })
    }
}

fn compile<E: Elementwise>(function: &E, types: &[DType]) -> Result<Compiled> {
    let mut writer = Writer { inputs: types.len(), dtypes: types.to_vec(), steps: Vec::new() };
    let inputs: Vec<Register> = (0..types.len()).map(|n| Register(n as u16)).collect();
    let result = function.build(&mut writer, &inputs)?;
    if result.index() < types.len() {
        return Ok(Compiled { op: None, reads: SmallVec::from_slice(&[result.0 as u8]) });
    }
    if let [step] = writer.steps.as_slice()
        && let Some(op) = step.op()
    {
        return Ok(Compiled { op: Some(op), reads: step.reads().map(|r| r.0 as u8).collect() });
    }
    // Inputs that no step reads are left out.
    let read = |n: usize| writer.steps.iter().any(|s| s.reads().any(|r| r.index() == n));
    let reads: SmallVec<[u8; 4]> = (0..types.len()).filter(|n| read(*n)).map(|n| n as u8).collect();
    let renumbered = |r: Register| {
        let position = reads.iter().position(|n| usize::from(*n) == r.index());
        Register(position.unwrap_or_else(|| r.index() + reads.len() - types.len()) as u16)
    };
    let steps = writer.steps.iter().map(|step| step.at(renumbered));
    let inputs = reads.iter().map(|n| types[usize::from(*n)]).collect();
    let program = Program::new(inputs, steps.collect(), vec![renumbered(result)])?;
    Ok(Compiled { op: Some(Fused { program: Arc::new(program) }.into()), reads })
}

/// Writes the steps of a program. Its values are registers, its shapes all scalars.
struct Writer {
    inputs: usize,
    dtypes: Vec<DType>,
    steps: Vec<Step>,
}

impl Builder for Writer {
    type Value = Register;

    fn emit(&mut self, op: Op, inputs: &[&Register]) -> Result<Register> {
        let types: SmallVec<[TensorType; 3]> = inputs.iter().map(|r| self.type_of(r)).collect();
        let out = op.infer(&types)?;
        let reads: SmallVec<[Register; 3]> = inputs.iter().map(|r| **r).collect();
        let step = op.step(&reads).ok_or_else(|| {
            Error::argument(op.name(), "is no function of elements", "this is a defect of a gradient rule")
        })?;
        self.steps.push(step);
        self.dtypes.push(out[0].dtype);
        Ok(Register((self.inputs + self.steps.len() - 1) as u16))
    }

    fn emit_all(&mut self, op: Op, inputs: &[&Register]) -> Result<Values<Register>> {
        Ok(Values::from_buf([self.emit(op, inputs)?]))
    }

    fn type_of(&self, value: &Register) -> TensorType {
        TensorType::new(self.dtypes[value.index()], Shape::SCALAR)
    }
}
