//! The plans of a record: each described once, however often it was called.

use super::devices::Devices;
use crate::record::PlanRecord;
use situ_runtime::function::{Blueprint, StepDescription, StepKind};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Plans {
    known: Vec<Arc<Blueprint>>,
    list: Vec<PlanRecord>,
    steps: Vec<Arc<[StepDescription]>>,
    /// By plan and step, which of the plan's copies it is.
    copies: Vec<Vec<Option<usize>>>,
}

impl Plans {
    /// The position of a plan; one that was not seen before is described.
    pub(super) fn position(&mut self, blueprint: &Arc<Blueprint>, devices: &mut Devices) -> usize {
        if let Some(at) = self.known.iter().position(|known| Arc::ptr_eq(known, blueprint)) {
            return at;
        }
        let described = blueprint.describe(&mut |device| devices.position(device));
        self.known.push(blueprint.clone());
        self.list.push(described.plan);
        self.copies.push(described.copies);
        self.steps.push(described.steps.into());
        self.known.len() - 1
    }

    pub(super) fn steps(&self, plan: usize) -> Arc<[StepDescription]> {
        self.steps[plan].clone()
    }

    /// The step that asks ahead for the bytes of a copy, by the number of the asking.
    pub(super) fn asking(&self, plan: usize, number: usize) -> Option<usize> {
        self.steps[plan].iter().position(|step| step.kind == StepKind::BeginDownload(number))
    }

    pub(super) fn copy(&self, plan: usize, step: usize) -> Option<usize> {
        self.copies[plan][step]
    }

    /// Seconds that a node is expected to take on a device, by what was measured where that is known.
    pub(super) fn expected(&self, plan: usize, node: usize, device: usize) -> f64 {
        let node = &self.list[plan].nodes[node];
        node.costs.iter().find(|cost| cost.device == device).map_or(node.seconds, |cost| cost.seconds)
    }

    pub(super) fn name(&self, plan: usize, node: usize) -> String {
        self.list[plan].nodes[node].full_name()
    }

    /// The nodes of a plan that fell back, and the device that was asked for.
    pub(super) fn fallbacks(&self, plan: usize) -> Vec<(usize, String)> {
        let nodes = self.list[plan].nodes.iter().enumerate().filter(|(_, node)| node.fell_back());
        nodes.filter_map(|(n, node)| Some((n, node.reason.wanted.clone()?))).collect()
    }

    /// What there is to say of one that did: op, names, device, reason, line.
    pub(super) fn fallback(&self, plan: usize, node: usize) -> (String, String, usize, String, String) {
        let node = &self.list[plan].nodes[node];
        (node.op.clone(), node.name.clone(), node.device, node.reason.text.clone(), node.source.clone())
    }

    pub(super) fn into_list(self) -> Vec<PlanRecord> {
        self.list
    }
}
