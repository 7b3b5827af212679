//! The placer's answer to a changed cost graph.

use crate::record::{DeviceCost, Plan, Record};
use situ_place::{Budget, GraphFile, Placement, Problem};

/// Moves that the search may try for each node.
const MOVES_PER_NODE: u64 = 50;
/// Moves that it may try at most.
const MOST_MOVES: u64 = 20_000;

/// A plan's costs, to be changed and placed again.
pub(super) struct WhatIf<'a> {
    plan: &'a Plan,
    before: f64,
}

/// What a change would bring.
pub(super) struct Answer {
    /// Seconds saved at each call.
    pub(super) gain: f64,
    pub(super) problem: Problem,
    pub(super) placement: Placement,
}

impl Answer {
    /// The device of a node of the plan, by name.
    pub(super) fn device_of(&self, plan: &Plan, node: usize) -> Option<&str> {
        let id = plan.nodes[node].cost_id?;
        let at = plan.costs.nodes.iter().position(|n| n.id == id)?;
        Some(&self.problem.devices()[self.placement.device_of(at)].name)
    }
}

impl<'a> WhatIf<'a> {
    /// The plan as it is. The placer is asked once more without a change, so that luck in the search is no gain.
    pub(super) fn new(plan: &'a Plan) -> WhatIf<'a> {
        let again = placed(&plan.costs).map_or(f64::INFINITY, |(_, placement)| placement.makespan);
        WhatIf { plan, before: plan.predicted.min(again) }
    }

    /// What a change of the costs would bring; `None` where nothing can be placed then.
    pub(super) fn changed(&self, change: impl FnOnce(&mut GraphFile)) -> Option<Answer> {
        let mut file = self.plan.costs.clone();
        change(&mut file);
        let (problem, placement) = placed(&file)?;
        Some(Answer { gain: self.before - placement.makespan, problem, placement })
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
pub(super) fn allow(record: &Record, plan: &Plan, file: &mut GraphFile, node: usize, costs: &[DeviceCost]) {
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
