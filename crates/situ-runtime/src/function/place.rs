//! From candidates to a placement: the placer decides, and gives a reason.

use super::candidates::Candidates;
use super::costing::Costed;
use crate::config::PlacementRule;
use crate::logical::LogicalDevice;
use situ_core::{Error, Reason, Result};
use situ_ir::{Graph, NodeId};
use situ_place::{Budget, NodeIndex, PlaceError, Placement};
use std::sync::Arc;

/// Moves that a search may try for each node of a graph: milliseconds for a small one.
const MOVES_PER_NODE: u64 = 50;
/// Moves that it may try at most.
const MOST_MOVES: u64 = 20_000;

/// Moves that a search may try which begins from the placement for another shape.
const MOVES_AGAIN: u64 = 100;

/// The device of every node and why, the order in which to run them, and what the placer expects of it.
#[derive(Debug)]
pub(crate) struct Placed {
    /// By node: the device's position in the table, and the reason.
    pub(crate) assignment: Vec<(usize, Reason)>,
    pub(crate) order: Vec<NodeId>,
    pub(crate) prediction: Prediction,
}

/// The problem that was solved and its answer: what explanations are made of.
#[derive(Debug)]
pub(crate) struct Prediction {
    pub(crate) costed: Costed,
    pub(crate) placement: Placement,
    /// Whether any node had more than one candidate.
    pub(crate) has_choice: bool,
    /// Whether the search began from another placement, which leaves it a weaker bound.
    pub(crate) is_quick: bool,
}

/// Moves that a search for a placement of so many nodes may try.
pub(super) fn moves(nodes: usize) -> u64 {
    (nodes as u64 * MOVES_PER_NODE).min(MOST_MOVES)
}

/// Places a graph by a rule, beginning from a placement of the same nodes for other sizes, if there is one.
/// `Ok(None)` where no placement keeps the memory limits.
pub(crate) fn place(
    graph: &Graph,
    devices: &[Arc<LogicalDevice>],
    candidates: &[Option<Candidates>],
    costed: Costed,
    rule: PlacementRule,
    start: Option<&Placement>,
) -> Result<Option<Placed>> {
    let algorithm = match rule {
        // Under `Manual` the only choice is that of scopes which name several devices.
        PlacementRule::Auto | PlacementRule::Manual => "auto",
        PlacementRule::PreferGpu => "rules",
    };
    let has_choice = candidates.iter().flatten().any(|c| c.devices.len() > 1);
    let budget = match start {
        None => Budget::moves(moves(graph.nodes().len())),
        Some(start) if has_choice => Budget::moves(MOVES_AGAIN).starting_near(start),
        Some(start) => Budget::moves(0).starting_from(start),
    };
    let placement = match situ_place::place(algorithm, &costed.problem, &budget) {
        Ok(placement) => placement,
        Err(PlaceError::Memory(_)) => return Ok(None),
        Err(error) => {
            return Err(Error::argument("function", error.to_string(), "this is a defect of the placer"));
        }
    };
    let mut assignment: Vec<(usize, Reason)> = Vec::with_capacity(candidates.len());
    for (id, node) in graph.iter() {
        let number = costed.number[id.index()];
        if number == NodeIndex::MAX {
            // A captured tensor, or a view of one: where it is, nothing was decided.
            let from = node.inputs.first().map(|input| assignment[input.node.index()]);
            let own =
                candidates[id.index()].as_ref().map(|c| (c.devices[0], c.reason.unwrap_or(Reason::View)));
            let home: (usize, Reason) = own.or(from).unwrap_or((0, Reason::OnlyDevice));
            assignment.push(if own.is_some() { home } else { (home.0, Reason::View) });
            continue;
        }
        let reason = match &candidates[id.index()] {
            None => Reason::View,
            Some(Candidates { reason: Some(reason), .. }) => *reason,
            // Requests are met before the placer is asked; it knows devices by their positions in the table.
            Some(_) => placement.reasons[number].named(|d| devices[d].id(), |_| "its group"),
        };
        assignment.push((placement.devices[number], reason));
    }
    let order = order(graph, &costed, &placement);
    Ok(Some(Placed {
        assignment,
        order,
        prediction: Prediction { costed, placement, has_choice, is_quick: start.is_some() },
    }))
}

/// The graph's nodes in the placer's order, each view behind what it looks at.
fn order(graph: &Graph, costed: &Costed, placement: &Placement) -> Vec<NodeId> {
    let mut place = vec![0; placement.order.len()];
    for (at, &node) in placement.order.iter().enumerate() {
        place[node] = at;
    }
    let mut order: Vec<NodeId> = graph.iter().map(|(id, _)| id).collect();
    // Stable: a view has the place of what it looks at and comes after it in the graph.
    order.sort_by_key(|id| place.get(costed.number[id.index()]).map_or(0, |at| at + 1));
    order
}
