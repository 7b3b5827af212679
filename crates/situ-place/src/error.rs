//! What can be wrong with a cost graph, and why a good one can't be placed.

use situ_core::reason::bytes;
use std::fmt;
use thiserror::Error;

/// A cost graph or machine that makes no sense, and the place in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {why}")]
#[non_exhaustive]
pub struct GraphError {
    /// Where: `nodes[3].cost["gpu"]`, or a line and column of the text.
    pub place: String,
    /// What is wrong there.
    pub why: String,
}

impl GraphError {
    pub(crate) fn at(place: impl Into<String>, why: impl Into<String>) -> GraphError {
        GraphError { place: place.into(), why: why.into() }
    }

    pub(crate) fn json(error: &serde_json::Error) -> GraphError {
        let text = error.to_string();
        // serde_json ends its message with the same place; it is said once.
        let why = text.split(" at line ").next().unwrap_or(&text);
        GraphError::at(format!("line {} column {}", error.line(), error.column()), why)
    }
}

/// A node, as errors and reasons name it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeName {
    /// Its id in the file.
    pub id: i64,
    /// Its name; may be empty.
    pub name: String,
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            write!(f, "node {}", self.id)
        } else {
            write!(f, "node {} ({})", self.id, self.name)
        }
    }
}

/// Why there is no placement.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// A node that no device can run.
    #[error("{node} has a cost on none of the devices {}; give it one", devices.join(", "))]
    NoKernel {
        /// The node that nothing can run.
        node: NodeName,
        /// The devices that there are.
        devices: Vec<String>,
    },
    /// A request that no device which can run the node satisfies.
    #[error(
        "{node} asks for {asked}, but can run only on {}; change the request, or allow a fallback",
        if can.is_empty() { "no device".to_owned() } else { can.join(", ") }
    )]
    Request {
        /// The node whose request can't be met.
        node: NodeName,
        /// What it asks for.
        asked: String,
        /// The devices that can run it.
        can: Vec<String>,
    },
    /// Nodes that must share a device and can't.
    #[error("group {group}: {first} and {second} must share a device, and no device suits both ({why})")]
    Colocation {
        /// The group's label.
        group: String,
        /// A member of the group.
        first: NodeName,
        /// The member that rules the rest out.
        second: NodeName,
        /// What each of the two could run on.
        why: String,
    },
    /// Bytes that must go where there is no way.
    #[error("{node}: its output is needed on {to}, and nothing leads there from {from}")]
    NoRoute {
        /// The node that writes.
        node: NodeName,
        /// Where it is.
        from: String,
        /// Where it is read.
        to: String,
    },
    /// Memory that is not there.
    #[error("{0}")]
    Memory(Box<MemoryShortage>),
    /// An algorithm that was not done when the time was over, or that was stopped.
    #[error("{}", late(algorithm, *seconds))]
    Time {
        /// The algorithm that was asked.
        algorithm: String,
        /// The seconds that it was given; none where it was stopped.
        seconds: Option<f64>,
    },
    /// An algorithm that does not apply, or that there is not.
    #[error("{algorithm}: {why}")]
    Algorithm {
        /// The algorithm that was asked.
        algorithm: String,
        /// Why it gives no answer.
        why: String,
    },
}

fn late(algorithm: &str, seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else { return format!("{algorithm} was stopped before it had an answer") };
    let instead = if algorithm == "auto" { "" } else { ", or use auto, which has an answer sooner" };
    format!(
        "{algorithm} has no answer after {seconds} s: this graph takes it longer; give it more seconds{instead}"
    )
}

/// The tightest memory constraint, and by how much it is missed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemoryShortage {
    /// The device that is short; for a shortage over several devices together, all of them.
    pub devices: Vec<String>,
    /// The limit, in bytes.
    pub limit: f64,
    /// What would be needed at least.
    pub needed: f64,
    /// What the bytes are for.
    pub what: String,
}

impl MemoryShortage {
    /// The bytes missing.
    pub fn missing(&self) -> f64 {
        self.needed - self.limit
    }
}

impl fmt::Display for MemoryShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} would fit with {} more memory on {}: {} are needed, the limit is {}",
            self.what,
            bytes(self.missing().max(1.0).ceil() as usize),
            self.devices.join(" + "),
            bytes(self.needed.ceil() as usize),
            bytes(self.limit as usize),
        )
    }
}
