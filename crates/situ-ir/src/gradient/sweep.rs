//! The reverse walk: from the gradient of a result to the gradients by what it was made of.
//!
//! It walks a [`History`], which is also the builder that gradient ops go to. A first pass, forwards, marks
//! the steps through which a source reaches anything; the second, backwards, asks the rules of those steps
//! alone.

use super::rows::{Part, Rows};
use super::{Application, Builder, Gradients, Terms, undefined};
use crate::Op;
use crate::graph::Cond;
use situ_core::{Error, Result};
use smallvec::SmallVec;
use std::sync::Arc;

/// A value in a history: a step, and which of its outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueId {
    /// The step that made it.
    pub step: u32,
    /// Which output of the step.
    pub output: u32,
}

/// How a step made its outputs.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every step is an op, so boxing it would only add a step"
)]
#[derive(Clone, Debug)]
pub enum Made {
    /// It was given.
    Given,
    /// By an op.
    Op(Op),
    /// By one side of a condition; the first input is the condition.
    Cond(Arc<Cond>),
    /// By a loop.
    While,
}

impl Made {
    /// A name for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Made::Given => "input",
            Made::Op(op) => op.name(),
            Made::Cond(_) => "cond",
            Made::While => "while_loop",
        }
    }
}

/// One step of a history.
#[derive(Clone, Debug)]
pub struct Recorded<V> {
    /// How its outputs were made.
    pub made: Made,
    /// What it read.
    pub inputs: SmallVec<[V; 3]>,
    /// Where in the history each input was made; `None` for constants.
    pub from: SmallVec<[Option<ValueId>; 3]>,
    /// What it made.
    pub outputs: SmallVec<[V; 1]>,
}

/// Steps in an order in which each comes after what it reads, and the builder for their gradients.
pub trait History: Builder {
    /// Calls `each` with every input of a step that the history knows.
    fn parents(&self, step: usize, each: &mut dyn FnMut(ValueId));

    /// The name of a step's op.
    fn name(&self, step: usize) -> &'static str;

    /// A step, for its gradient. It is asked for at most once in a sweep, and never for an earlier one
    /// afterwards.
    fn step(&mut self, step: usize) -> Recorded<Self::Value>;

    /// From now on, ops belong to the gradient of this step: they have its scope and its source line.
    fn enter(&mut self, step: usize);

    /// From now on, constants are made beside this value, where no scope says otherwise.
    fn beside(&mut self, value: &Self::Value) {
        let _ = value;
    }

    /// The gradient of a condition: by each input that is wanted, from those by its outputs.
    fn cond_gradient(
        &mut self,
        cond: &Cond,
        at: &Application<'_, Self::Value>,
    ) -> Result<Gradients<Self::Value>>;
}

/// The gradients by `sources` of what `targets` are the gradients of, over the steps from `start` to before
/// `end`. A source may lie before `start`. `None`: the targets do not depend on it. Dependence through ops
/// without a gradient alone is an error if `strict`, else it is `None` too.
///
/// The gradient of a lookup is rows of the table, and stays so as long as only such are added to it, and
/// through a lookup that made the table; any other op that made it, or a gradient that is dense, makes it
/// dense.
pub fn sweep<H: History>(
    history: &mut H,
    start: usize,
    end: usize,
    targets: Vec<(ValueId, H::Value)>,
    sources: &[ValueId],
    strict: bool,
) -> Result<Vec<Option<Part<H::Value>>>> {
    let needed = marked(history, start, end, sources);
    let mut open: Vec<Open<H::Value>> = Vec::new();
    open.resize_with(end, SmallVec::new);
    for (id, gradient) in targets {
        if needed[id.step as usize] {
            accumulate(history, &mut open, id, Part::Dense(gradient))?;
        }
    }
    let mut found: Vec<Option<Part<H::Value>>> = sources.iter().map(|_| None).collect();
    let mut cuts: Vec<(u32, &'static str)> = Vec::new();
    for step in (start..end).rev() {
        if !needed[step] || open[step].iter().all(Option::is_none) {
            continue;
        }
        take_found(&mut found, sources, step, &open[step]);
        let upstream = std::mem::take(&mut open[step]);
        let Recorded { made, inputs, from, outputs } = history.step(step);
        let wanted: SmallVec<[bool; 4]> = from
            .iter()
            .zip(&inputs)
            .map(|(id, input)| {
                id.is_some_and(|id| needed[id.step as usize]) && history.dtype(input).is_float()
            })
            .collect();
        // An integer or bool on the way from a source: what made it has no gradient.
        for id in from.iter().zip(&wanted).filter(|(_, wanted)| !**wanted).filter_map(|(id, _)| *id) {
            if needed[id.step as usize] {
                cuts.push((id.step, history.name(id.step as usize)));
            }
        }
        if !wanted.contains(&true) {
            continue;
        }
        if matches!(made, Made::Given) {
            continue;
        }
        if let (Made::Op(Op::Gather(op)), Some(id)) = (&made, from[0])
            && op.axis == 0
        {
            let Some(by_output) = upstream.into_iter().next().flatten() else { continue };
            history.enter(step);
            let (table, indices) = (history.type_of(&inputs[0]), &inputs[1]);
            let rows = match by_output {
                Part::Dense(values) => Rows::new(table, indices.clone(), values, step),
                Part::Rows(rows) => rows.of_table(table, indices, step, history)?,
            };
            accumulate(history, &mut open, id, Part::Rows(rows))?;
            continue;
        }
        let upstream = dense(history, padded(upstream, outputs.len()))?;
        let at = Application { inputs: &inputs, outputs: &outputs, upstream: &upstream, wanted: &wanted };
        history.enter(step);
        let gradients = match &made {
            Made::Given => continue,
            Made::Op(op) => op.gradient(history, &at)?,
            Made::Cond(cond) => history.cond_gradient(cond, &at)?,
            Made::While => return Err(through_a_loop()),
        };
        for ((id, gradient), wanted) in from.iter().zip(gradients).zip(&wanted) {
            match (id, gradient) {
                (Some(id), Some(gradient)) if *wanted => {
                    accumulate(history, &mut open, *id, Part::Dense(gradient))?;
                }
                (Some(id), None) if *wanted => cuts.push((id.step, made.name())),
                _ => {}
            }
        }
    }
    for (step, open) in open.iter().enumerate().take(start) {
        take_found(&mut found, sources, step, open);
    }
    for (source, found) in sources.iter().zip(&found) {
        if strict && found.is_none() {
            check_cuts(history, *source, end, &cuts)?;
        }
    }
    Ok(found)
}

type Open<V> = SmallVec<[Option<Part<V>>; 1]>;

fn padded<V>(mut upstream: Open<V>, outputs: usize) -> Open<V> {
    while upstream.len() < outputs {
        upstream.push(None);
    }
    upstream
}

/// What a rule goes on from: gradients that are rows are made dense for it.
fn dense<H: History>(history: &mut H, upstream: Open<H::Value>) -> Result<SmallVec<[Option<H::Value>; 1]>> {
    upstream.into_iter().map(|part| part.map(|part| part.dense(history)).transpose()).collect()
}

/// For each step, whether a source has any influence on it.
fn marked<H: History>(history: &H, start: usize, end: usize, sources: &[ValueId]) -> Vec<bool> {
    let mut needed = vec![false; end];
    for source in sources {
        needed[source.step as usize] = true;
    }
    for step in start..end {
        if !needed[step] {
            let mut any = false;
            history.parents(step, &mut |id| any |= needed[id.step as usize]);
            needed[step] = any;
        }
    }
    needed
}

fn take_found<V: Clone>(found: &mut [Option<Part<V>>], sources: &[ValueId], step: usize, open: &Open<V>) {
    if open.is_empty() {
        return;
    }
    for (found, source) in found.iter_mut().zip(sources) {
        if source.step as usize == step {
            *found = open.get(source.output as usize).cloned().flatten();
        }
    }
}

/// Adds to the gradient by a value; the sum belongs to the step that made the value.
fn accumulate<H: History>(
    history: &mut H,
    open: &mut [Open<H::Value>],
    id: ValueId,
    gradient: Part<H::Value>,
) -> Result<()> {
    let (step, output) = (id.step as usize, id.output as usize);
    while open[step].len() <= output {
        open[step].push(None);
    }
    let sum = match open[step][output].take() {
        None => gradient,
        Some(before) => {
            history.enter(step);
            match (before, gradient) {
                (Part::Dense(before), Part::Dense(gradient)) => Part::Dense(history.add(&before, &gradient)?),
                (Part::Rows(rows), Part::Dense(sum)) | (Part::Dense(sum), Part::Rows(rows)) => {
                    Part::Dense(rows.added_to(sum, history)?)
                }
                (Part::Rows(before), Part::Rows(more)) => Part::Rows(before.and(more)),
            }
        }
    };
    open[step][output] = Some(sum);
    Ok(())
}

/// An error if a source without a gradient has influence through an op that has none.
fn check_cuts<H: History>(
    history: &H,
    source: ValueId,
    end: usize,
    cuts: &[(u32, &'static str)],
) -> Result<()> {
    if cuts.is_empty() {
        return Ok(());
    }
    let reached = marked(history, (source.step as usize + 1).min(end), end, &[source]);
    match cuts.iter().find(|(step, op)| reached[*step as usize] && *op != STOP) {
        Some((_, op)) => Err(undefined(op)),
        None => Ok(()),
    }
}

/// The op that cuts on purpose.
const STOP: &str = "stop_gradient";

#[cold]
fn through_a_loop() -> Error {
    Error::argument(
        "while_loop",
        "there is no gradient through a loop of a traced function",
        "run the loop outside of a function, write out its trips, or call stop_gradient on its result",
    )
}
