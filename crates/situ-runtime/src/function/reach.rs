//! Which devices are asked about the ops of a function that no scope places: not those that are closed, and
//! could not even begin before all of it is done where its inputs are. A GPU that nobody needs is never
//! opened.

use super::candidates::{CandidateContext, can_run, input_types, is_view};
use super::costing::seconds_on;
use crate::config::{Config, PlacementRule, Table};
use crate::logical::{LogicalDevice, copy_seconds};
use situ_core::{Reason, Request};
use situ_ir::{Content, Graph, Node, WorkClass};

/// By position in the table, whether a device is asked. `homes` are where the sources of the graph are.
pub(super) fn in_reach(
    table: &Table,
    config: &Config,
    graph: &Graph,
    homes: &[Option<usize>],
    call: &Request,
) -> Vec<bool> {
    let all = || vec![true; table.devices.len()];
    let is_closed = |d: &LogicalDevice| !d.is_open() && !d.is_host();
    // Where another rule than costs decides, it says who is asked; what is open already may as well be.
    if config.rule != PlacementRule::Auto || !table.devices.iter().any(|d| is_closed(d)) {
        return all();
    }
    let mut known = homes.iter().flatten();
    let home = known.next().copied().unwrap_or(0);
    if known.any(|other| *other != home) || !is_done_at(table, graph, home, call) {
        return all();
    }
    let here = &table.devices[home];
    let total: f64 = graph.nodes().iter().map(|node| seconds_on(here, graph, node)).sum();
    let bytes: usize = graph.nodes().iter().flat_map(|node| &node.types).map(|ty| ty.bytes()).sum();
    let info = here.memory_info();
    if info.limit.is_some_and(|limit| bytes > limit.saturating_sub(info.in_use)) {
        return all();
    }
    let begins_with_a_copy =
        graph.nodes().iter().all(|node| !node.inputs.is_empty() || node.content.is_source());
    let begins = |d: &LogicalDevice| {
        let launch = WorkClass::ALL.map(|class| d.costs().line(class).launch);
        let copy = if begins_with_a_copy { copy_seconds(here, d, 0) } else { 0.0 };
        launch.into_iter().fold(f64::INFINITY, f64::min) + copy
    };
    table.devices.iter().map(|d| !is_closed(d) || total > begins(d)).collect()
}

/// Whether every op can run on the device where the sources are, and none is asked for elsewhere.
fn is_done_at(table: &Table, graph: &Graph, home: usize, call: &Request) -> bool {
    let device = &table.devices[home];
    graph.nodes().iter().all(|node| {
        let spec = call.spec.inside(&node.request.spec);
        let blocks = match &node.content {
            Content::Cond(cond) => [Some(&cond.then), Some(&cond.otherwise)],
            Content::While(repeated) => [Some(&repeated.condition), Some(&repeated.body)],
            _ => [None; 2],
        };
        (spec.is_empty() || device.id().is_allowed_by(&spec))
            && can_run(graph, node, device, false).is_ok()
            && blocks.into_iter().flatten().all(|block| is_done_at(table, block, home, call))
    })
}

impl CandidateContext<'_> {
    /// Why a node stays at home, where a device was left out because it could not even begin in time: against
    /// the first of those.
    pub(super) fn in_time(&self, graph: &Graph, node: &Node, home: usize) -> Option<Reason> {
        let other = self.reach.iter().position(|asked| !asked)?;
        let (here, there) = (&self.table.devices[home], &self.table.devices[other]);
        let is_view = matches!(&node.content, Content::Op(op) if is_view(op));
        if is_view || node.content.is_source() {
            return None;
        }
        let moving: f64 =
            input_types(graph, node).iter().map(|ty| copy_seconds(here, there, ty.bytes())).sum();
        let [own, others] = [here, there].map(|d| seconds_on(d, graph, node));
        let saves = moving + others - own;
        Some(match others < own {
            true => Reason::CheaperThanMoving { to: there.id(), saves },
            false => Reason::Faster { than: there.id(), saves },
        })
    }
}
