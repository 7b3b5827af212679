//! Passes: graphs to graphs that give the same results with less work.
//!
//! Promises: a pass changes no bit of a result, but for [`cross_entropy`], which rounds differently and is
//! therefore on only where it is asked for; it says what it did and what it nearly did; it can be turned on
//! and off by name; it goes into the blocks of conditions and loops. An op whose result leaves the function
//! under a scope of its own stays, because the scope says where the result is. Leaves to others: which device
//! runs what. Grouping asks a predicate whether a device would run the joined op.
//!
//! Adding a pass: a file here with a `run`, and one line in [`SIMPLIFY`] or [`GROUP`].

pub mod algebra;
pub mod cross_entropy;
pub mod cse;
pub mod dead_code;
mod evaluate;
pub mod fold;
pub mod fuse;
mod group;
pub mod matmul_bias;
mod pipeline;
pub mod pool_masks;
mod report;
mod rewrite;
mod scalars;
mod split;
pub mod transposes;

pub use evaluate::{Constant, Evaluate, NoEvaluation};
pub use pipeline::{Options, group, optimize};
pub use report::{Note, Report};
pub use split::{Apart, SPLIT, split};

use crate::graph::Graph;
use crate::ops::Op;
use situ_core::{Request, Result, TensorType};

/// Whether the devices at hand would run an op on inputs of these types (first list) to outputs of these
/// (second), where the scopes around it ask for this.
///
/// Asked only of ops that a pass would make out of others. Where it says yes and some device has the parts
/// alone, who places the graph may [`split`] what that device is to run.
pub type Supports<'a> = dyn Fn(&Op, &[TensorType], &[TensorType], &Request) -> bool + 'a;

/// What passes may use besides the graph.
#[allow(missing_debug_implementations, reason = "it holds callbacks")]
pub struct Context<'a> {
    /// Limits, and which passes are off.
    pub options: &'a Options,
    /// Runs ops on constants.
    pub evaluator: &'a mut dyn Evaluate,
    /// Whether an op that a pass would make could run.
    pub supports: &'a Supports<'a>,
}

/// One pass: its name, and what it does to a graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphPass {
    /// By which it is turned off, and reported.
    pub name: &'static str,
    /// The new graph and the report.
    pub run: fn(&Graph, &mut Context<'_>) -> Result<(Graph, Report)>,
    /// Whether results keep their bits. A pass that rounds differently is off until somebody asks for it: a
    /// function gives what its ops give one by one.
    pub exact: bool,
}

impl GraphPass {
    const fn exact(
        name: &'static str,
        run: fn(&Graph, &mut Context<'_>) -> Result<(Graph, Report)>,
    ) -> GraphPass {
        GraphPass { name, run, exact: true }
    }

    const fn inexact(
        name: &'static str,
        run: fn(&Graph, &mut Context<'_>) -> Result<(Graph, Report)>,
    ) -> GraphPass {
        GraphPass { name, run, exact: false }
    }
}

/// The passes that know no device, in their order; they run in rounds until none finds anything.
pub const SIMPLIFY: &[GraphPass] = &[
    GraphPass::exact("fold", fold::run),
    GraphPass::exact("algebra", algebra::run),
    GraphPass::exact("cse", cse::run),
    GraphPass::exact("transposes", transposes::run),
    GraphPass::exact("pool_masks", pool_masks::run),
    GraphPass::inexact("cross_entropy", cross_entropy::run),
    GraphPass::exact("dead_code", dead_code::run),
];

/// The passes that join ops into ops that some device may or may not have, in their order; they run once.
pub const GROUP: &[GraphPass] = &[
    GraphPass::exact("matmul_bias", matmul_bias::run),
    // What is joined leaves its parts behind; to fusion they would look like readers.
    GraphPass::exact("dead_code", dead_code::run),
    GraphPass::exact("fuse", fuse::run),
    GraphPass::exact("dead_code", dead_code::run),
];
