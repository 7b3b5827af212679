//! Where a device has the parts of an op that passes joined and another has the whole, both keep what they
//! have: the graph is placed once as if either would do, and what that puts on a device without the whole is
//! split for it. The plan is then made of what is left.

use super::compile::Program;
use super::fit::Fitting;
use super::given::Given;
use super::measure::Measured;
use super::simplify::{Joined, Joining, join, runs_in_parts};
use crate::runtime::{Inner, State};
use crate::storage::DeviceTensor;
use situ_core::Result;
use situ_ir::passes::split;
use situ_ir::{Content, Graph, Node, NodeId};

/// The joined graph with whole ops where they run whole. `before` is the graph as it was before joining.
pub(super) fn settled(
    inner: &Inner,
    state: &State,
    program: &Program<'_>,
    captures: &[DeviceTensor],
    before: &Graph,
    joined: Joined,
    reach: &[bool],
) -> Result<Joined> {
    let joining = Joining { table: &state.table, reach, call: program.call, options: program.passes };
    let graph = &joined.graph;
    let given = Given::of(program, graph, captures, state)?;
    let mut context = given.context(program, state, reach);
    context.in_parts = true;
    let candidates = context.candidates(graph)?;
    let fitting = Fitting {
        inner,
        state,
        context: &context,
        captures: captures.to_vec(),
        replicas: Vec::new(),
        copies: 0,
        replicating: true,
        variables: &given.variables,
        measured: &Measured::default(),
        start: None,
    };
    // Where nothing fits, what every device can do leaves the most to try.
    let Some(placed) = fitting.placed(graph, &candidates, &fitting.free())? else {
        return join(&joining, before, false);
    };
    let device_of = |id: NodeId| placed.assignment[id.index()].0;
    let lacks = |graph: &Graph, node: &Node, device: usize| {
        let Content::Op(op) = &node.content else { return None };
        let types = super::candidates::input_types(graph, node);
        let device = &state.table.devices[device];
        runs_in_parts(device, op, &types, &node.types)
            .then(|| format!("in parts: {} has these, and no kernel for the whole", device.id()))
    };
    let apart = |graph: &Graph, id: NodeId, around: Option<NodeId>| {
        let node = graph.node(id);
        let Some(around) = around else { return lacks(graph, node, device_of(id)) };
        let spec = context.request(node).spec;
        if spec.is_empty() {
            return lacks(graph, node, device_of(around));
        }
        // Which of those it will be is decided when its block is placed.
        let named = state.table.devices.iter().enumerate().filter(|(_, d)| d.id().is_allowed_by(&spec));
        named.map(|(device, _)| device).find_map(|device| lacks(graph, node, device))
    };
    let (graph, report) = split(graph, &apart)?;
    let mut reports = joined.reports;
    if report.did.is_empty() {
        return Ok(Joined { graph, reports, uneven: false });
    }
    reports.push(report);
    // What was split may still be joined in ways that every device has.
    let again = join(&joining, &graph, false)?;
    reports.extend(again.reports.into_iter().filter(|report| !report.did.is_empty()));
    Ok(Joined { graph: again.graph, reports, uneven: false })
}
