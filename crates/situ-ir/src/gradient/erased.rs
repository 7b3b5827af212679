//! A builder of whatever type behind one type, for gradient rules of ops that are not known here.

use super::{Application, Builder, Gradients, Values};
use crate::Op;
use situ_core::{Error, Result, TensorType};
use smallvec::SmallVec;
use std::fmt;

/// A value of the builder behind an [`AnyBuilder`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(usize);

/// A builder that stands for another. Rules use it as any builder.
pub struct AnyBuilder<'a>(&'a mut dyn Emit);

impl fmt::Debug for AnyBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyBuilder")
    }
}

trait Emit {
    fn emit(&mut self, op: Op, inputs: &[&Handle]) -> Result<Values<Handle>>;
    fn type_of(&self, value: Handle) -> TensorType;
}

impl Builder for AnyBuilder<'_> {
    type Value = Handle;

    fn emit(&mut self, op: Op, inputs: &[&Handle]) -> Result<Handle> {
        let name = op.name();
        let made = self.0.emit(op, inputs)?.first().copied();
        made.ok_or_else(|| Error::argument(name, "it gave no output", "this is a defect of the op's rule"))
    }

    fn emit_all(&mut self, op: Op, inputs: &[&Handle]) -> Result<Values<Handle>> {
        self.0.emit(op, inputs)
    }

    fn type_of(&self, value: &Handle) -> TensorType {
        self.0.type_of(*value)
    }
}

/// A builder and the values that handles stand for.
struct Held<'a, B: Builder> {
    builder: &'a mut B,
    values: Vec<B::Value>,
}

impl<B: Builder> Held<'_, B> {
    fn hold(&mut self, value: B::Value) -> Handle {
        self.values.push(value);
        Handle(self.values.len() - 1)
    }
}

impl<B: Builder> Emit for Held<'_, B> {
    fn emit(&mut self, op: Op, inputs: &[&Handle]) -> Result<Values<Handle>> {
        let inputs: SmallVec<[&B::Value; 3]> = inputs.iter().map(|handle| &self.values[handle.0]).collect();
        let made = self.builder.emit_all(op, &inputs)?;
        drop(inputs);
        Ok(made.into_iter().map(|value| self.hold(value)).collect())
    }

    fn type_of(&self, value: Handle) -> TensorType {
        self.builder.type_of(&self.values[value.0])
    }
}

/// Asks a rule for gradients on handles, and gives the values they stand for.
pub(crate) fn gradient<B: Builder>(
    builder: &mut B,
    at: &Application<'_, B::Value>,
    rule: impl FnOnce(&mut AnyBuilder<'_>, &Application<'_, Handle>) -> Result<Gradients<Handle>>,
) -> Result<Gradients<B::Value>> {
    let mut held = Held { builder, values: Vec::new() };
    let inputs: Vec<Handle> = at.inputs.iter().map(|value| held.hold(value.clone())).collect();
    let outputs: Vec<Handle> = at.outputs.iter().map(|value| held.hold(value.clone())).collect();
    let upstream: Vec<Option<Handle>> =
        at.upstream.iter().map(|value| value.clone().map(|value| held.hold(value))).collect();
    let here = Application { inputs: &inputs, outputs: &outputs, upstream: &upstream, wanted: at.wanted };
    let made = rule(&mut AnyBuilder(&mut held), &here)?;
    Ok(made.into_iter().map(|handle| handle.map(|handle| held.values[handle.0].clone())).collect())
}
