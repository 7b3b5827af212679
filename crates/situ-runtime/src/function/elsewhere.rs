//! The plan of a function on a machine that one does not have: the same graph, costed by a profile's figures.

use super::candidates::{dtype, input_types};
use super::compile::Compiled;
use situ_core::{DType, DeviceSpec, Error, Result};
use situ_ir::{Content, NodeId};
use situ_place::machine::Profile;
use situ_place::{Answer, Budget, Problem};
use std::collections::BTreeMap;

/// Moves that may be tried for each node.
const MOVES_PER_NODE: u64 = 200;

impl Compiled {
    /// Where its ops would run on another machine, and how long a call would take there, by the figures of a profile: peaks most
    /// often, so times are the least that can be hoped for. What the function is given is on the machine's first CPU.
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
                let work = match &of.content {
                    Content::Op(op) => op.work(&input_types(&self.graph, of), &of.types),
                    // A branch or a loop: as many launches as it has nodes.
                    _ => situ_ir::Work { class: situ_ir::WorkClass::Elementwise, flops: 0.0, bytes: 0.0 },
                };
                let seconds = figures.launch + work.flops / figures.flops + work.bytes / figures.bandwidth;
                node.cost.insert(device.name.clone(), seconds);
            }
            if node.cost.is_empty() {
                // Nothing there is what was asked for: the CPU, as at home.
                node.cost.insert(host.clone(), 0.0);
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

/// Whether a scope allows a device of that name; an index that the machine does not have is not insisted on.
fn is_meant(asked: &DeviceSpec, name: &str) -> bool {
    let Ok(device) = name.parse::<DeviceSpec>() else { return true };
    (asked.kind.is_none() || asked.kind == device.kind)
        && (asked.index.is_none() || asked.index == device.index)
}
