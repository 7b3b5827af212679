//! The tape: gradients of what was computed while it ran.
//!
//! A tape records the ops of its thread that touch a watched tensor, or a variable. Inside a function that is
//! being traced it records the trace's values, and the gradients become part of the same graph. Tapes nest:
//! gradients computed while an outer tape runs are recorded by it, which is how higher derivatives are made.
//!
//! Promises: an op without a watched input is not recorded; a gradient op has the scope and the source line
//! of the op it is the gradient of (none, if that had none), whatever scope is around the call of
//! [`Tape::gradient`]; sums of gradients by a variable are made where the variable lives. Leaves to others:
//! the rules (`situ-ir`), where ops without a scope run (`situ-runtime`).

mod log;
mod walk;

pub(crate) use log::{Node, is_recording, log_of, read_of, record, record_all};

use crate::apply::apply;
use crate::tensor::Tensor;
use crate::trace;
use crate::variable::Variable;
use situ_core::{Error, Result};
use situ_ir::gradient::{Terms, sweep};
use situ_ir::ops::StopGradient;
use std::cell::Cell;
use std::marker::PhantomData;
use walk::Walk;

/// What a gradient is taken by.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A tensor that the tape watches, or that was made from one.
    Tensor(&'a Tensor),
    /// A variable: by all of its reads while the tape ran.
    Variable(&'a Variable),
}

impl<'a> From<&'a Tensor> for Source<'a> {
    fn from(tensor: &'a Tensor) -> Source<'a> {
        Source::Tensor(tensor)
    }
}
impl<'a> From<&'a Variable> for Source<'a> {
    fn from(variable: &'a Variable) -> Source<'a> {
        Source::Variable(variable)
    }
}
impl<'a> From<&&'a Tensor> for Source<'a> {
    fn from(tensor: &&'a Tensor) -> Source<'a> {
        Source::Tensor(tensor)
    }
}
impl<'a> From<&&'a Variable> for Source<'a> {
    fn from(variable: &&'a Variable) -> Source<'a> {
        Source::Variable(variable)
    }
}

/// Records ops for their gradients, on its thread, until it is used or dropped.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Source, Tape, Variable, tensor};
/// let w = Variable::new(&tensor([3.0f32, 1.0])?)?;
/// let tape = Tape::new();
/// let x = tape.watch(&tensor([2.0f32, 5.0])?)?;
/// let y = w.value().mul(&x)?.square()?.sum(&[])?;
/// let by = tape.gradients(&y, [Source::from(&w), Source::from(&x)])?;
/// assert_eq!(by[0].as_ref().unwrap().to_vec::<f32>()?, [24.0, 50.0]);
/// assert_eq!(by[1].as_ref().unwrap().to_vec::<f32>()?, [36.0, 10.0]);
/// # Ok(()) }
/// ```
#[must_use = "a tape records until it is dropped: bind it to a name"]
#[derive(Debug)]
pub struct Tape {
    log: u32,
    /// The first record that is its own.
    start: usize,
    persistent: bool,
    ended: Cell<bool>,
    /// A tape records the thread that made it.
    _not_send: PhantomData<*const ()>,
}

impl Default for Tape {
    fn default() -> Tape {
        Tape::new()
    }
}

impl Tape {
    /// A tape for one call of [`Tape::gradient`], which ends it and lets go of what it held.
    pub fn new() -> Tape {
        Tape::begin(false)
    }

    /// A tape for any number of gradients; it holds what was computed until it is dropped.
    pub fn persistent() -> Tape {
        Tape::begin(true)
    }

    fn begin(persistent: bool) -> Tape {
        let (log, start) = log::begin();
        Tape { log, start, persistent, ended: Cell::new(false), _not_send: PhantomData }
    }

    /// The same tensor, watched: what is computed from the result is recorded. Variables need no watching:
    /// reading one while a tape runs is enough.
    #[track_caller]
    pub fn watch(&self, tensor: &Tensor) -> Result<Tensor> {
        if !tensor.dtype().is_float() {
            return Err(Error::operands(
                "watch",
                &[tensor.tensor_type()],
                format!("there is no gradient by {}", tensor.dtype()),
                "watch f32 or f64 tensors",
            ));
        }
        self.check_running("watch")?;
        Ok(log::watch(self.log, tensor))
    }

    /// The gradient of `target` (of the sum of its elements, if it has several) by one source; `None` if it
    /// does not depend on it. By a table that is only looked up in along its first axis it is rows
    /// ([`Tensor::rows`]), which are made dense when somebody wants them so.
    pub fn gradient<'s>(&self, target: &Tensor, source: impl Into<Source<'s>>) -> Result<Option<Tensor>> {
        let source: Source<'s> = source.into();
        Ok(self.gradients(target, [source])?.pop().flatten())
    }

    /// [`Tape::gradient`] by several sources in one go.
    pub fn gradients<'s, S: Into<Source<'s>>>(
        &self,
        target: &Tensor,
        sources: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Option<Tensor>>> {
        self.swept(&[(target, None)], sources)
    }

    /// Gradients from given gradients by several targets: each target comes with the gradient by it.
    pub fn gradients_from<'s, S: Into<Source<'s>>>(
        &self,
        targets: &[(&Tensor, &Tensor)],
        sources: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Option<Tensor>>> {
        for (target, upstream) in targets {
            if target.tensor_type() != upstream.tensor_type() {
                return Err(Error::operands(
                    "gradient",
                    &[target.tensor_type(), upstream.tensor_type()],
                    "a gradient by a target has the target's shape and dtype",
                    "expand or cast it",
                ));
            }
        }
        let targets: Vec<(&Tensor, Option<&Tensor>)> = targets.iter().map(|(t, u)| (*t, Some(*u))).collect();
        self.swept(&targets, sources)
    }

    fn swept<'s, S: Into<Source<'s>>>(
        &self,
        targets: &[(&Tensor, Option<&Tensor>)],
        sources: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Option<Tensor>>> {
        self.check_running("gradient")?;
        for (target, _) in targets {
            if !target.dtype().is_float() {
                let op = target.node().value(self.log).map_or("gradient", log::name_of);
                return Err(Error::operands(
                    op,
                    &[target.tensor_type()],
                    format!("there is no gradient of {}", target.dtype()),
                    "differentiate a float, such as a loss",
                ));
            }
        }
        let mut ids = Vec::new();
        for source in sources {
            ids.push(self.id_of(source.into())?);
        }
        let known: Vec<_> = ids.iter().flatten().copied().collect();
        let end = log::length();
        // The tape's own gradients are not recorded by it, but by the tapes around it.
        let running = log::Paused::new(self.log);
        let alone = running.alone() && !self.persistent;
        let mut walk = Walk::new(if alone { Some(log::take(self.log)) } else { None });
        let mut open = Vec::new();
        for (target, upstream) in targets {
            let Some(id) = target.node().value(self.log) else { continue };
            let upstream = match upstream {
                Some(given) => (*given).clone(),
                None => {
                    walk.at(id.step as usize, target);
                    walk.filled(target, *target.shape(), 1.0)?
                }
            };
            open.push((id, upstream));
        }
        let mut found = sweep(&mut walk, self.start, end, open, &known, true)?.into_iter();
        let mut list = Vec::with_capacity(ids.len());
        for id in &ids {
            let found = if id.is_some() { found.next().flatten() } else { None };
            list.push(found.map(|found| walk.result(found)).transpose()?);
        }
        drop(walk);
        drop(running);
        if !self.persistent {
            self.end();
        }
        Ok(list)
    }

    /// Where a source stands in the log; `None` for a variable that was not read.
    fn id_of(&self, source: Source<'_>) -> Result<Option<situ_ir::gradient::ValueId>> {
        match source {
            Source::Variable(variable) => Ok(log::variable_id(variable)),
            Source::Tensor(tensor) => match tensor.node().value(self.log) {
                Some(id) if id.step as usize >= self.start => Ok(Some(id)),
                _ => Err(Error::operands(
                    "gradient",
                    &[tensor.tensor_type()],
                    "the tape does not watch this tensor",
                    "compute with what watch returned, and ask for the gradient by that",
                )),
            },
        }
    }

    fn check_running(&self, call: &'static str) -> Result<()> {
        if !self.ended.get() {
            return Ok(());
        }
        Err(Error::argument(
            call,
            "the tape has given its gradients and let go of what it held",
            "ask for all gradients in one call, or make the tape with Tape::persistent()",
        ))
    }

    fn end(&self) {
        if !self.ended.replace(true) {
            log::end();
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.end();
    }
}

impl Tensor {
    /// The same tensor, as a constant to gradients.
    #[track_caller]
    pub fn stop_gradient(&self) -> Result<Tensor> {
        // The graph of a branch is differentiated as a graph, which must know.
        if trace::is_branch() { apply(StopGradient, &[self]) } else { Ok(self.unwatched()) }
    }
}
