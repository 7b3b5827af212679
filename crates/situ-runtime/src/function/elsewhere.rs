//! The plan of a function on a machine that one does not have: the same graph, costed by a profile's figures.

use super::candidates::{dtype, input_types, is_view};
use super::compiled::Blueprint;
use super::costing::TRIPS;
use situ_core::{DType, DeviceSpec, Error, Result};
use situ_ir::{Content, Graph, Node, NodeId};
use situ_place::machine::{Figures, Profile};
use situ_place::{Answer, Budget, Problem};
use std::collections::BTreeMap;

/// Moves that may be tried for each node.
const MOVES_PER_NODE: u64 = 200;

impl Blueprint {
    /// Where its ops would run on another machine, and how long a call would take there, by the figures of a
    /// profile: peaks most often, so times are the least that can be hoped for. What the function is given is
    /// on the machine's first CPU.
    pub fn plan_for(&self, profile: &Profile) -> Result<Answer> {
        let wrong =
            |why: String| Error::argument("plan_for", why, "give every device of the profile its figures");
        let host = profile.machine.devices.iter().find(|d| d.kind() == "cpu");
        let host = host.ok_or_else(|| wrong(format!("{} has no CPU", profile.name)))?.name.clone();
        let (mut graph, _) = self.cost_graph().split();
        let mut stands_for: BTreeMap<i64, NodeId> = BTreeMap::new();
        for (node, &number) in self.prediction.costed.number.iter().enumerate() {
            if number < graph.nodes.len() {
                stands_for.entry(graph.nodes[number].id).or_insert(NodeId(node as u32));
            }
        }
        for node in &mut graph.nodes {
            let of = stands_for.get(&node.id).map(|id| (*id, self.graph.node(*id)));
            let Some((id, of)) = of.filter(|(_, of)| !of.content.is_source()) else {
                node.cost = BTreeMap::from([(host.clone(), 0.0)]);
                continue;
            };
            let asked = self.places.iter().find(|p| p.node == id).map(|p| p.requested.clone());
            let on_gpus = matches!(dtype(&self.graph, of), DType::F32 | DType::I32 | DType::Bool);
            node.cost = BTreeMap::new();
            for device in &profile.machine.devices {
                let able = device.kind() == "cpu" || on_gpus;
                let meant = asked.as_ref().is_none_or(|asked| is_meant(asked, &device.name));
                if !able || !meant {
                    continue;
                }
                let figures = profile
                    .figures
                    .get(&device.name)
                    .ok_or_else(|| wrong(format!("there are no figures of {}", device.name)))?;
                node.cost.insert(device.name.clone(), seconds(&self.graph, of, figures));
            }
            if node.cost.is_empty() {
                // Nothing there is what was asked for: the CPU, as at home.
                let figures = profile.figures.get(&host);
                let figures = figures.ok_or_else(|| wrong(format!("there are no figures of {host}")))?;
                node.cost.insert(host.clone(), seconds(&self.graph, of, figures));
            }
        }
        let problem = Problem::new(&graph, &profile.machine).map_err(|e| wrong(e.to_string()))?;
        let moves = (problem.node_count() as u64 * MOVES_PER_NODE).min(100_000);
        let placement = situ_place::place("auto", &problem, &Budget::moves(moves)).map_err(|error| {
            Error::argument(
                "plan_for",
                error.to_string(),
                "choose a machine with more memory, or a smaller batch",
            )
        })?;
        Ok(Answer::new(&problem, &placement))
    }
}

/// Seconds of a node by a device's figures; of a branch the longer side, of a loop as many rounds as it is
/// taken to go.
fn seconds(graph: &Graph, node: &Node, figures: &Figures) -> f64 {
    let whole = |g: &Graph| -> f64 { g.nodes().iter().map(|n| seconds(g, n, figures)).sum() };
    match &node.content {
        Content::Op(op) if is_view(op) => 0.0,
        Content::Op(op) => {
            let work = op.work(&input_types(graph, node), &node.types);
            figures.launch + work.flops / figures.flops + work.bytes / figures.bandwidth
        }
        Content::Cond(cond) => figures.launch + whole(&cond.then).max(whole(&cond.otherwise)),
        Content::While(repeated) => TRIPS * (whole(&repeated.condition) + whole(&repeated.body)),
        Content::Input(_) | Content::Capture(_) | Content::Variable(_) => 0.0,
    }
}

/// Whether a scope allows a device of that name.
fn is_meant(asked: &DeviceSpec, name: &str) -> bool {
    let Ok(device) = name.parse::<DeviceSpec>() else { return true };
    (asked.kind.is_none() || asked.kind == device.kind)
        && (asked.index.is_none() || asked.index == device.index)
}
