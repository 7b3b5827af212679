//! What a function's steps were measured to take: it replaces what the cost model says, and may call for
//! another placement.

use super::costing::Costed;
use super::place::{Prediction, moves};
use super::plan::{Action, ExecutionPlan};
use super::record::Timed;
use situ_core::DeviceId;
use situ_ir::NodeId;
use situ_place::{Budget, Problem, simulate};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// Calls that are all measured, from the first on.
pub(super) const FIRST: u64 = 5;
/// After them, one in so many is.
const THEN_ONE_IN: u64 = 64;
/// A new placement must save at least this share of the time.
const WORTHWHILE: f64 = 0.03;
/// A change of the expected time by less than this share is none.
const NOTICEABLE: f64 = 0.05;

/// Whether a call is measured. Where nothing could be placed elsewhere, only the first ones are, to correct
/// what is expected.
pub(super) fn is_sampled(call: u64, has_choice: bool) -> bool {
    call < FIRST || (has_choice && call.is_multiple_of(THEN_ONE_IN))
}

/// What nodes were measured to take, by node and device. It outlives the plan: the next one begins with it.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    nodes: HashMap<(NodeId, DeviceId), Estimate>,
    /// How often a better placement was found.
    pub(super) moved: u32,
    /// What calls took beyond their steps: memory, hand-offs, waking up.
    beside: Estimate,
    /// What was expected when a better placement was last looked for.
    looked_at: Option<f64>,
}

/// The last few samples, of which the median counts: a first call that fills caches and compiles shaders is
/// outvoted, and what changes is followed within three.
#[derive(Clone, Debug, Default)]
struct Estimate {
    last: SmallVec<[f64; FIRST as usize]>,
    next: usize,
}

impl Estimate {
    fn add(&mut self, seconds: f64) {
        if self.last.len() < FIRST as usize {
            self.last.push(seconds);
        } else {
            self.last[self.next] = seconds;
            self.next = (self.next + 1) % FIRST as usize;
        }
    }

    fn median(&self) -> Option<f64> {
        let mut sorted = self.last.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}

impl Measured {
    /// What a node was measured to take on a device.
    pub(super) fn seconds(&self, node: NodeId, device: DeviceId) -> Option<f64> {
        self.nodes.get(&(node, device))?.median()
    }

    /// Seconds that each device works in a call of the plan: of launches that were measured what they took,
    /// of others what was expected.
    pub(super) fn busy(&self, plan: &ExecutionPlan) -> Vec<(DeviceId, f64)> {
        let mut sums: Vec<(DeviceId, f64)> = Vec::new();
        let mut known: HashSet<(NodeId, usize)> = HashSet::new();
        for step in plan.lanes.iter().flat_map(|lane| &lane.steps) {
            let Action::Launch { .. } = step.action else { continue };
            let id = plan.devices[step.device].id();
            let seconds = match self.seconds(step.node, id) {
                // It is of all launches of the node together.
                Some(measured) if known.insert((step.node, step.device)) => measured,
                Some(_) => 0.0,
                None => step.seconds,
            };
            match sums.iter_mut().find(|(device, _)| *device == id) {
                Some((_, sum)) => *sum += seconds,
                None => sums.push((id, seconds)),
            }
        }
        sums.sort_by_key(|(device, _)| *device);
        sums
    }

    /// Whether anything was measured.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The next plan is looked at afresh.
    pub(super) fn forget_look(&mut self) {
        self.looked_at = None;
    }

    /// Takes in the times of a call. Gives the sums of what was measured and what the model said, by device.
    pub(super) fn take(&mut self, plan: &ExecutionPlan, timed: &Timed) -> Vec<(usize, f64, f64)> {
        let mut sums: Vec<(usize, f64, f64)> = Vec::new();
        let mut nodes: HashMap<(NodeId, usize), f64> = HashMap::new();
        for step in plan.lanes.iter().flat_map(|lane| &lane.steps) {
            let Action::Launch { .. } = step.action else { continue };
            let Some(seconds) = timed.seconds(step.number) else { continue };
            *nodes.entry((step.node, step.device)).or_default() += seconds;
            match sums.iter_mut().find(|(device, ..)| *device == step.device) {
                Some((_, measured, modelled)) => {
                    *measured += seconds;
                    *modelled += step.seconds;
                }
                None => sums.push((step.device, seconds, step.seconds)),
            }
        }
        for ((node, device), seconds) in nodes {
            self.nodes.entry((node, plan.devices[device].id())).or_default().add(seconds);
        }
        sums
    }

    /// The problem with measured times in place of modelled ones.
    fn corrected(&self, costed: &Costed, plan: &ExecutionPlan) -> Problem {
        let mut problem = costed.problem.clone();
        for (node, &number) in
            costed.number.iter().enumerate().filter(|(_, n)| **n < costed.problem.node_count())
        {
            for (device, logical) in plan.devices.iter().enumerate() {
                if let Some(seconds) = self.seconds(NodeId(node as u32), logical.id()) {
                    problem.set_cost(number, device, seconds);
                }
            }
        }
        problem
    }

    /// What the plan is expected to take by what was measured of its steps and of this call (`wall` seconds
    /// as a whole), and whether another placement would save enough.
    pub(super) fn judge(
        &mut self,
        prediction: &Prediction,
        plan: &ExecutionPlan,
        wall: f64,
        look: bool,
    ) -> (f64, bool) {
        let problem = self.corrected(&prediction.costed, plan);
        let Ok(now) = simulate(&problem, &prediction.placement.schedule()) else {
            return (prediction.placement.makespan, false);
        };
        self.beside.add((wall - now.makespan).max(0.0));
        let expected = now.makespan + self.beside.median().unwrap_or(0.0);
        // Looking takes milliseconds: again only where times have changed since.
        let changed = |before: f64| (now.makespan - before).abs() > NOTICEABLE * before;
        if !look || !self.looked_at.is_none_or(changed) {
            return (expected, false);
        }
        self.looked_at = Some(now.makespan);
        let budget = Budget::moves(moves(problem.node_count())).starting_from(&prediction.placement);
        let better = situ_place::place("auto", &problem, &budget)
            .is_ok_and(|found| found.makespan < (1.0 - WORTHWHILE) * now.makespan);
        (expected, better)
    }
}
