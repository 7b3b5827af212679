//! The placer's answer to a changed cost graph.

use crate::record::{DeviceCost, PlanRecord, Record};
use situ_place::{Budget, GraphFile, Placement, Problem};

/// Moves that the search may try for each node.
const MOVES_PER_NODE: u64 = 50;
/// Moves that it may try at most.
const MOST_MOVES: u64 = 20_000;

/// A plan's costs, to be changed and placed again. Where an op was measured, that counts, and not what the
/// cost tables say.
pub(super) struct WhatIf {
    costs: GraphFile,
    before: f64,
}

/// What a change would bring.
pub(super) struct Answer {
    /// Seconds saved at each call.
    pub(super) gain: f64,
    /// Whether that is worth a word.
    pub(super) worthwhile: bool,
    pub(super) problem: Problem,
    pub(super) placement: Placement,
}

impl Answer {
    /// The device of a node of the plan, by name.
    pub(super) fn device_of(&self, plan: &PlanRecord, node: usize) -> Option<&str> {
        let id = plan.nodes[node].cost_id?;
        let at = plan.costs.nodes.iter().position(|n| n.id == id)?;
        Some(&self.problem.devices()[self.placement.device_of(at)].name)
    }
}

impl WhatIf {
    /// The plan as it is. The placer is asked once more without a change, so that luck in the search, and
    /// what situ will find by itself, are no gain.
    pub(super) fn new(record: &Record, plan: &PlanRecord) -> WhatIf {
        let mut costs = plan.costs.clone();
        let mut as_it_is = costs.clone();
        for node in &plan.nodes {
            let at = costs.nodes.iter().position(|entry| Some(entry.id) == node.cost_id);
            let Some(at) = at else { continue };
            for cost in &node.costs {
                if let Some(seconds) = costs.nodes[at].cost.get_mut(&record.devices[cost.device].name) {
                    *seconds = cost.seconds;
                }
            }
            let here = &record.devices[node.device].name;
            as_it_is.nodes[at].cost.clone_from(&costs.nodes[at].cost);
            as_it_is.nodes[at].cost.retain(|device, _| device == here);
        }
        let makespan = |file| placed(file).map_or(f64::INFINITY, |(_, placement)| placement.makespan);
        let before = makespan(&as_it_is).min(makespan(&costs));
        WhatIf { costs, before: if before.is_finite() { before } else { plan.predicted } }
    }

    /// What a change of the costs would bring; `None` where nothing can be placed then.
    pub(super) fn changed(&self, change: impl FnOnce(&mut GraphFile)) -> Option<Answer> {
        let mut file = self.costs.clone();
        change(&mut file);
        let (problem, placement) = placed(&file)?;
        let gain = self.before - placement.makespan;
        Some(Answer { gain, worthwhile: gain > super::WORTHWHILE * self.before, problem, placement })
    }
}

fn placed(file: &GraphFile) -> Option<(Problem, Placement)> {
    let (graph, machine) = file.clone().split();
    let problem = Problem::new(&graph, &machine).ok()?;
    let moves = (problem.node_count() as u64 * MOVES_PER_NODE).min(MOST_MOVES);
    let placement = situ_place::place("auto", &problem, &Budget::moves(moves)).ok()?;
    Some((problem, placement))
}

/// Lets a node of the plan run on these devices too.
pub(super) fn allow(
    record: &Record,
    plan: &PlanRecord,
    file: &mut GraphFile,
    node: usize,
    costs: &[DeviceCost],
) {
    let Some(id) = plan.nodes[node].cost_id else { return };
    let Some(entry) = file.nodes.iter_mut().find(|n| n.id == id) else { return };
    for cost in costs {
        let name = &record.devices[cost.device].name;
        // A device that is gone is not in the machine of the plan.
        if file.devices.iter().any(|device| device.name == *name) {
            entry.cost.entry(name.clone()).or_insert(cost.seconds);
        }
    }
}
