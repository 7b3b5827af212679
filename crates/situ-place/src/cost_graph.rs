//! The cost graph, and the file that holds it together with its machine (version 1).
//!
//! Plain data, read and written as JSON. [`Problem`](crate::Problem) is the checked form; a graph can be put
//! on any machine that knows the names it uses.

use crate::error::GraphError;
use crate::json::from_json;
use crate::machine::{Device, Link, Machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One op, or group of fused ops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its number, unique in the graph.
    pub id: i64,
    /// Its name, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Seconds, by device name or by kind; the name wins. No key: it can't run there.
    pub cost: BTreeMap<String, f64>,
    /// The size of its output.
    #[serde(default)]
    pub output_bytes: f64,
    /// Bytes held on its device for the whole step.
    #[serde(default)]
    pub memory: f64,
    /// The resident tensors that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<String>,
    /// Nodes with the same label share a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colocate: Option<String>,
    /// The device that is asked for, perhaps in part: `/GPU:0`, `gpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// One read of a node's output by another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The id of the node that writes.
    pub from: i64,
    /// The id of the node that reads.
    pub to: i64,
    /// How much of the output this reader needs; none: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Seconds by pair of devices or kinds, `"cpu>gpu"`, instead of the links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<BTreeMap<String, f64>>,
}

/// Nodes, edges, and the tensors that stay where they are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostGraph {
    /// Tensors that are held once on every device on which one of their users runs, in bytes.
    #[serde(default)]
    pub resident: BTreeMap<String, f64>,
    /// The ops, in any order.
    pub nodes: Vec<Node>,
    /// Who reads whose output.
    #[serde(default)]
    pub edges: Vec<Edge>,
}

/// The JSON file: a machine and a cost graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphFile {
    /// The format's version: 1.
    pub version: u32,
    /// The machine's devices.
    pub devices: Vec<Device>,
    /// The machine's links.
    #[serde(default)]
    pub links: Vec<Link>,
    /// See [`CostGraph::resident`].
    #[serde(default)]
    pub resident: BTreeMap<String, f64>,
    /// The ops, in any order.
    pub nodes: Vec<Node>,
    /// Who reads whose output.
    #[serde(default)]
    pub edges: Vec<Edge>,
}

impl Default for GraphFile {
    /// No node, no device.
    fn default() -> GraphFile {
        GraphFile::new(CostGraph::default(), Machine::default())
    }
}

impl GraphFile {
    /// A file of this graph on this machine.
    pub fn new(graph: CostGraph, machine: Machine) -> GraphFile {
        GraphFile {
            version: 1,
            devices: machine.devices,
            links: machine.links,
            resident: graph.resident,
            nodes: graph.nodes,
            edges: graph.edges,
        }
    }

    /// Reads the JSON text. What the numbers and names mean is checked by
    /// [`Problem::new`](crate::Problem::new).
    pub fn from_json(text: &str) -> Result<GraphFile, GraphError> {
        let file: GraphFile = from_json(text).map_err(|e| GraphError::json(&e))?;
        if file.version != 1 {
            return Err(GraphError::at(
                "version",
                format!("{} is not known; this reads version 1", file.version),
            ));
        }
        Ok(file)
    }

    /// The JSON text of this file.
    pub fn to_json(&self) -> Result<String, GraphError> {
        serde_json::to_string(self).map_err(|e| GraphError::json(&e))
    }

    /// The two halves of the file.
    pub fn split(self) -> (CostGraph, Machine) {
        (
            CostGraph { resident: self.resident, nodes: self.nodes, edges: self.edges },
            Machine { devices: self.devices, links: self.links },
        )
    }
}
