//! From a graph to something that can be called: passes, placement, lowering, and the memory that it fits in.
//!
//! For further shapes of a function the passes need not run again, and placement begins from the one that
//! there is: where the graphs differ in sizes alone, and the same devices can run the same ops.

use super::announce::Announced;
use super::apart::settled;
use super::blocks::each_block;
use super::compiled::{Blueprint, Compiled};
use super::explain::places;
use super::fit::{Fitting, homes_of};
use super::given::Given;
use super::place::Placed;
use super::reach::in_reach;
use super::simplify::{Joined, Joining, Simplified, join, simplify};
use super::written_over;
use crate::runtime::Runtime;
use crate::storage::DeviceTensor;
use crate::transfer;
use situ_core::{Caller, DeviceId, Error, Request, Result};
use situ_ir::Graph;
use situ_ir::graph::Sizes;
use situ_ir::passes::{Options, Report};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

/// What is to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The graph as it was traced.
    pub graph: &'a Graph,
    /// The tensors it captured.
    pub captures: &'a [DeviceTensor],
    /// Where the arguments are.
    pub arguments: &'a [DeviceId],
    /// Where the variables live.
    pub variables: &'a [DeviceId],
    /// Which of them may be moved: those that no scope has pinned.
    pub movable: &'a [bool],
    /// The scopes around the call.
    pub call: &'a Request,
    /// Which passes run.
    pub passes: &'a Options,
    /// What it is called in records: its name, or the line that made it.
    pub function: &'a Arc<str>,
    /// Calls that drew random numbers, of whatever was compiled from the same trace: each call takes the next
    /// number, and draws from streams of its own.
    pub draws: &'a Arc<AtomicU64>,
    /// The same function compiled before: what was measured of it holds on, and its calls go on being
    /// counted.
    pub before: Option<&'a Compiled>,
    /// The same function compiled for other shapes of the same ranks, with the same captured tensors and
    /// variables: the first whose graph differs in sizes alone is where passes and placement go on from.
    pub similar: &'a [SimilarVariant<'a>],
}

/// A function as it was compiled for other shapes.
#[derive(Clone, Copy, Debug)]
pub struct SimilarVariant<'a> {
    /// The graph as it was traced.
    pub graph: &'a Graph,
    /// What became of it.
    pub compiled: &'a Compiled,
}

impl<'a> SimilarVariant<'a> {
    /// The graph after the passes for the sizes of another traced graph; `None` if they must run for it.
    fn resized(&self, graph: &Graph, epoch: u64) -> Option<OptimizedGraph<'a>> {
        let SimilarVariant { graph: before, compiled } = *self;
        if compiled.epoch != epoch {
            return None;
        }
        let sizes = Sizes::between(before, graph)?;
        // What was computed on constants of other sizes is not known for these.
        if compiled.folded.iter().any(|&size| sizes.of(size) != Some(size)) {
            return None;
        }
        Some(OptimizedGraph {
            graph: sizes.rename(&compiled.graph)?,
            captures: compiled.captures[..compiled.own].to_vec(),
            reports: compiled.reports.clone(),
            constants: compiled.constants,
            folded: compiled.folded.clone(),
            similar: Some(compiled),
        })
    }
}

/// A graph after the passes.
struct OptimizedGraph<'a> {
    graph: Graph,
    /// What the closure captured, and behind that what was computed of it.
    captures: Vec<DeviceTensor>,
    reports: Arc<[Report]>,
    /// Bytes of what was computed.
    constants: usize,
    /// Sizes that went into what was computed.
    folded: Vec<usize>,
    /// What it was compiled to for other shapes, where the passes did not run again.
    similar: Option<&'a Compiled>,
}

impl Runtime {
    /// Compiles a program.
    pub fn compile(&self, program: &Program<'_>) -> Result<Compiled> {
        let epoch = self.inner.epoch();
        let resized = program.similar.iter().find_map(|similar| similar.resized(program.graph, epoch));
        if let Some(passed) = resized
            && let Some(compiled) = self.planned(program, passed, epoch)?
        {
            return Ok(compiled);
        }
        let passed = self.passed(program)?;
        self.planned(program, passed, epoch)?.ok_or_else(|| {
            Error::argument("function", "it was not compiled", "this is a defect of compiling")
        })
    }

    /// Runs the passes.
    fn passed(&self, program: &Program<'_>) -> Result<OptimizedGraph<'static>> {
        let at = Caller::here();
        let captures = {
            let state = self.inner.state();
            let whole = |t| transfer::whole_or_hosted(&state.table, &self.inner.journal, t, at);
            program.captures.iter().map(whole).collect::<Result<Vec<_>>>()?
        };
        let given = captures.len();
        let simplified = simplify(&self.inner, program.graph, captures, program.passes)?;
        let Simplified { graph, captures, mut reports, folded } = simplified;
        let constants = captures[given..].iter().map(|t| t.tensor_type().bytes()).sum();
        let state = self.inner.state();
        let sources = Given::of(program, &graph, &captures, &state)?;
        let reach = in_reach(&state.table, &state.config, &graph, &sources.homes, program.call);
        let (table, call, options) = (&state.table, program.call, program.passes);
        let mut joined = join(&Joining { table, reach: &reach, call, options }, &graph, true)?;
        if joined.uneven {
            joined = settled(&self.inner, &state, program, &captures, &graph, joined, &reach)?;
        }
        let Joined { graph, reports: grouped, .. } = joined;
        reports.extend(grouped);
        reports.extend(written_over::report(&graph));
        Ok(OptimizedGraph { graph, captures, reports: reports.into(), constants, folded, similar: None })
    }

    /// Places a graph and plans it. `None` where its passes ran for other sizes, for which other devices
    /// could run its ops: what they joined may not be what they would join now.
    fn planned(
        &self,
        program: &Program<'_>,
        passed: OptimizedGraph<'_>,
        epoch: u64,
    ) -> Result<Option<Compiled>> {
        let OptimizedGraph { graph, captures, reports, constants, folded, similar } = passed;
        let own = captures.len();
        let measured = program.before.map(|before| before.measured()).unwrap_or_default();
        let state = self.inner.state();
        let given = Given::of(program, &graph, &captures, &state)?;
        let reach = in_reach(&state.table, &state.config, &graph, &given.homes, program.call);
        let context = given.context(program, &state, &reach);
        let candidates = context.candidates(&graph)?;
        if similar.is_some_and(|similar| similar.candidates != candidates) {
            return Ok(None);
        }
        let mut fitting = Fitting {
            inner: &self.inner,
            state: &state,
            context: &context,
            captures,
            replicas: Vec::new(),
            copies: 0,
            replicating: true,
            variables: &given.variables,
            measured: &measured,
            start: similar.map(|similar| &similar.prediction.placement),
        };
        let (plan, placed) = fitting.planned(&graph, &candidates)?;
        let (plan, placed, captures) = match fitting.replicated() {
            Ok(captures) => (plan, placed, captures),
            // What does not fit for good may fit for the time it is needed.
            Err(error) if error.is_out_of_memory() => {
                fitting.replicating = false;
                let (plan, placed) = fitting.planned(&graph, &candidates)?;
                (plan, placed, fitting.captures)
            }
            Err(error) => return Err(error),
        };
        let announced = Announced { inner: &self.inner, state: &state, context: &context };
        announced.all(&graph, &placed.assignment, false);
        each_block(&graph, &plan, &mut |block| announced.all(block.graph, &block.nested.assignment, true));
        let book = self.inner.journal.ledger.open(plan.copies());
        let places = places(&graph, &state.table, &context, &placed, &plan);
        let Placed { prediction, assignment, .. } = placed;
        let homes = homes_of(&graph, &given.variables, &assignment);
        let homes = homes.into_iter().map(|d| state.table.devices[d].id()).collect();
        let expected = AtomicU64::new(prediction.placement.makespan.to_bits());
        let draws = plan.is_random().then(|| program.draws.clone());
        let blueprint = Blueprint {
            plan,
            graph,
            places,
            assignment,
            prediction,
            candidates,
            folded,
            homes,
            function: program.function.clone(),
            requested: program.call.spec.clone(),
            reports,
            calls: AtomicU64::new(0),
            calls_before: program.before.map_or(0, |before| before.calls()),
            draws,
            measured: Mutex::new(measured),
            expected,
            outdated: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            book,
            epoch,
        };
        Ok(Some(Compiled { blueprint: Arc::new(blueprint), captures, own, constants }))
    }
}
