//! The passes one after the other, each of which can be turned off by name.

use super::{Context, Evaluate, GROUP, GraphPass, NoEvaluation, Report, SIMPLIFY, Supports};
use crate::graph::Graph;
use situ_core::{Error, Result};
use std::collections::BTreeSet;

/// Limits, and which passes are off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    off: BTreeSet<&'static str>,
    /// The most rounds of [`SIMPLIFY`].
    pub rounds: usize,
    /// The most bytes of a result, or of inputs made for it, that folding computes ahead.
    pub fold_bytes: usize,
    /// The most steps of one fused op: what a kernel's registers and a shader's compiler take well.
    pub fused_steps: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { off: inexact(), rounds: 8, fold_bytes: 4 << 20, fused_steps: 48 }
    }
}

fn names() -> BTreeSet<&'static str> {
    SIMPLIFY.iter().chain(GROUP).map(|pass| pass.name).collect()
}

/// The passes that round differently.
fn inexact() -> BTreeSet<&'static str> {
    SIMPLIFY.iter().chain(GROUP).filter(|pass| !pass.exact).map(|pass| pass.name).collect()
}

impl Options {
    /// With no pass on.
    pub fn nothing() -> Options {
        Options { off: names(), ..Options::default() }
    }

    /// These, with a pass turned off; an error that lists the names where there is no such pass.
    pub fn without(mut self, name: &str) -> Result<Options> {
        self.off.insert(known(name)?);
        Ok(self)
    }

    /// These, with a pass turned on: one that was turned off, or one that is off because it rounds
    /// differently.
    pub fn with(mut self, name: &str) -> Result<Options> {
        self.off.remove(known(name)?);
        Ok(self)
    }

    /// Whether a pass is on.
    pub fn is_on(&self, name: &str) -> bool {
        !self.off.contains(name)
    }
}

fn known(name: &str) -> Result<&'static str> {
    names().into_iter().find(|known| *known == name).ok_or_else(|| {
        let list: Vec<&str> = names().into_iter().collect();
        Error::argument(
            "passes",
            format!("there is no pass {name}"),
            format!("name one of {}", list.join(", ")),
        )
    })
}

/// Simplifies a graph without regard to devices. The reports are one for each pass that is on: what it did in
/// all rounds, and what it nearly did in the last.
pub fn optimize(
    graph: &Graph,
    options: &Options,
    evaluator: &mut dyn Evaluate,
) -> Result<(Graph, Vec<Report>)> {
    let mut context = Context { options, evaluator, supports: &|_, _, _, _| false };
    run(graph, SIMPLIFY, options.rounds.max(1), &mut context)
}

/// Joins ops of a simplified graph into ops that `supports` says some device would run.
pub fn group(graph: &Graph, options: &Options, supports: &Supports<'_>) -> Result<(Graph, Vec<Report>)> {
    let mut context = Context { options, evaluator: &mut NoEvaluation, supports };
    run(graph, GROUP, 1, &mut context)
}

fn run(
    graph: &Graph,
    passes: &[GraphPass],
    rounds: usize,
    context: &mut Context<'_>,
) -> Result<(Graph, Vec<Report>)> {
    let on: Vec<&GraphPass> = passes.iter().filter(|pass| context.options.is_on(pass.name)).collect();
    let mut reports: Vec<Report> = on.iter().map(|pass| Report::new(pass.name)).collect();
    let mut graph = graph.clone();
    for _ in 0..rounds {
        let mut changed = false;
        for (pass, total) in on.iter().zip(&mut reports) {
            let (next, report) = (pass.run)(&graph, context)?;
            if cfg!(debug_assertions) {
                next.verify().map_err(|error| {
                    Error::argument("passes", format!("{} broke the graph: {error}", pass.name), "")
                })?;
            }
            changed |= !report.did.is_empty();
            total.did.extend(report.did);
            total.nearly = report.nearly;
            graph = next;
        }
        if !changed {
            break;
        }
    }
    Ok((graph, reports))
}
