//! The answer as a file has it.

use crate::error::GraphError;
use crate::explain::deltas;
use crate::placement::Placement;
use crate::problem::Problem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rule that decided, and its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerReason {
    /// The rule's short name.
    pub rule: String,
    /// What it says of this node.
    pub text: String,
}

/// A node's place and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerNode {
    /// Its id in the cost graph.
    pub id: i64,
    /// The name of the device that it runs on.
    pub device: String,
    /// When it starts.
    pub start: f64,
    /// When it is done.
    pub finish: f64,
    /// Why it is there.
    pub reason: AnswerReason,
    /// What each other device would change of the makespan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<BTreeMap<String, f64>>,
}

/// A copy of an output from one device to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerTransfer {
    /// The node whose output it is.
    pub edge_from: i64,
    /// The device it leaves.
    pub from: String,
    /// The device it reaches.
    pub to: String,
    /// When it begins.
    pub start: f64,
    /// When it is there.
    pub finish: f64,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// When everything is done, in seconds.
    pub makespan: f64,
    /// No placement is done sooner.
    pub lower_bound: f64,
    /// The algorithm that found it.
    pub algorithm: String,
    /// How long it took.
    pub seconds: f64,
    /// How many moves were tried.
    pub moves: u64,
    /// The nodes, in the graph's order.
    pub nodes: Vec<AnswerNode>,
    /// The copies, in the order of their starts.
    pub transfers: Vec<AnswerTransfer>,
    /// The most bytes that each device holds at once.
    pub peak_memory: BTreeMap<String, f64>,
}

impl Answer {
    /// The file form of a placement.
    pub fn new(problem: &Problem, placement: &Placement) -> Answer {
        let name = |d: usize| problem.device(d).name.clone();
        let nodes = (0..problem.node_count()).map(|i| AnswerNode {
            id: problem.node_id(i),
            device: name(placement.devices[i]),
            start: placement.start[i],
            finish: placement.finish[i],
            reason: AnswerReason {
                rule: placement.reasons[i].rule().name().to_owned(),
                text: crate::reason::text(problem, i, &placement.reasons[i]),
            },
            delta: None,
        });
        let transfers = placement.transfers.iter().map(|t| AnswerTransfer {
            edge_from: problem.node_id(t.node),
            from: name(t.from),
            to: name(t.to),
            start: t.start,
            finish: t.finish,
        });
        Answer {
            makespan: placement.makespan,
            lower_bound: placement.lower_bound,
            algorithm: placement.algorithm.clone(),
            seconds: placement.seconds,
            moves: placement.moves,
            nodes: nodes.collect(),
            transfers: transfers.collect(),
            peak_memory: placement.peak_memory.iter().enumerate().map(|(d, &b)| (name(d), b)).collect(),
        }
    }

    /// Adds to every node what each other device would change; a device that the tensors can't get to is left
    /// out.
    pub fn explain(&mut self, problem: &Problem, placement: &Placement) {
        for (node, deltas) in self.nodes.iter_mut().zip(deltas(problem, placement)) {
            let named = deltas.into_iter().map(|(d, delta)| (problem.device(d).name.clone(), delta.seconds));
            node.delta = Some(named.collect());
        }
    }

    /// The JSON text.
    pub fn to_json(&self) -> Result<String, GraphError> {
        serde_json::to_string(self).map_err(|e| GraphError::json(&e))
    }
}
