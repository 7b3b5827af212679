//! A cost graph on a machine, checked and dense: what the algorithms, the simulator and the checker read.
//!
//! Promised: once a `Problem` exists, names are resolved, the graph has no cycle, every number is finite and
//! not negative, and each colocation group knows the devices it may run on. Nothing downstream checks that
//! again. Left to others: whether the memory suffices.

mod allowed;
mod build;
mod edges;
mod prices;
mod read;
mod routes;
mod twins;

use crate::cost_graph::{CostGraph, Edge, GraphFile, Node};
use crate::error::{NodeName, PlaceError};
use crate::machine::{Device, Link, Machine};
use crate::{DeviceIndex, NodeIndex};
pub use allowed::Relaxed;
pub use build::ProblemBuilder;
pub(crate) use prices::CopyPrices;
pub(crate) use routes::{Route, Routes};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How strictly the nodes' device requests are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requests {
    /// A request that can't be met is an error.
    #[default]
    Hard,
    /// A request that can't be met gives way: the same type first, then a CPU, then any device.
    Soft,
}

/// What marks "none" in the dense tables.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone)]
pub(crate) struct NodeRow {
    pub id: i64,
    pub name: String,
    pub output_bytes: f64,
    pub memory: f64,
    pub request: Option<String>,
    pub unit: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct EdgeRow {
    pub from: u32,
    pub to: u32,
    pub bytes: f64,
    /// The row in the price book, or [`NONE`].
    pub price: u32,
}

#[derive(Clone)]
pub(crate) struct ResidentRow {
    pub name: String,
    pub bytes: f64,
}

/// Nodes that share a device: a colocation group, or a single node.
#[derive(Clone)]
pub(crate) struct Unit {
    pub members: SmallVec<[u32; 2]>,
    pub label: Option<String>,
    /// The devices that all members can and may run on, in order; groups with the same devices share the
    /// list.
    pub allowed: Arc<[u16]>,
    /// Set where a request had to give way.
    pub relaxed: Option<Relaxed>,
}

/// What a node's readers ask for.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    /// Bytes of the first reader's copy.
    pub bytes: f64,
    /// The row of the first reader in the price book, or [`NONE`].
    pub price: u32,
    /// Whether every reader asks for the same.
    pub uniform: bool,
}

/// A list of lists in two flat arrays.
#[derive(Clone, Default)]
pub(crate) struct Csr {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    pub(crate) fn new(rows: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Csr {
        let mut starts = vec![0u32; rows + 1];
        for (row, _) in pairs.clone() {
            starts[row as usize + 1] += 1;
        }
        for i in 0..rows {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items = vec![0; *starts.last().unwrap_or(&0) as usize];
        for (row, item) in pairs {
            items[next[row as usize] as usize] = item;
            next[row as usize] += 1;
        }
        Csr { starts, items }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[u32] {
        &self.items[self.range(row)]
    }

    #[inline]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }
}

/// The least of a node's costs on these devices; infinite where there is none.
pub(crate) fn least(costs: &[f64], devices: usize, node: usize, allowed: &[u16]) -> f64 {
    allowed.iter().map(|&d| costs[node * devices + d as usize]).fold(f64::INFINITY, f64::min)
}

/// A cost graph on a machine; see the module's page.
#[derive(Clone)]
pub struct Problem {
    pub(crate) devices: Vec<Device>,
    pub(crate) kinds: Vec<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) routes: Routes,
    /// The compute group of each device, or [`NONE`].
    pub(crate) compute_of: Vec<u32>,
    pub(crate) compute_groups: Vec<Vec<u16>>,
    pub(crate) residents: Vec<ResidentRow>,
    pub(crate) nodes: Vec<NodeRow>,
    /// Seconds of node × device; infinite where it can't run.
    pub(crate) costs: Vec<f64>,
    /// The least seconds of each node on any device that it may be placed on.
    pub(crate) least: Vec<f64>,
    /// Node → residents.
    pub(crate) uses: Csr,
    pub(crate) edges: Vec<EdgeRow>,
    /// Node → edges that leave it.
    pub(crate) out_edges: Csr,
    /// Node → edges that enter it.
    pub(crate) in_edges: Csr,
    /// Node → its inputs, one for each edge that enters it: what timing reads, without a look at the edges.
    pub(crate) inputs: Csr,
    /// Node → its readers, one for each edge that leaves it.
    pub(crate) readers: Csr,
    pub(crate) prices: CopyPrices,
    pub(crate) units: Vec<Unit>,
    pub(crate) order: Vec<u32>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) unplaceable: Option<PlaceError>,
    /// Found when first asked for: see [`twins`](Problem::twins).
    pub(crate) twins: OnceLock<Vec<u16>>,
}

impl Problem {
    /// Checks a graph against a machine. Requests are hard.
    pub fn new(graph: &CostGraph, machine: &Machine) -> Result<Problem, crate::GraphError> {
        Problem::with_requests(graph, machine, Requests::Hard)
    }

    /// Checks a graph against a machine, with requests as strict as said.
    pub fn with_requests(
        graph: &CostGraph,
        machine: &Machine,
        requests: Requests,
    ) -> Result<Problem, crate::GraphError> {
        read::problem(graph, machine, requests)
    }

    /// Reads the JSON of a cost-graph file.
    pub fn from_json(text: &str) -> Result<Problem, crate::GraphError> {
        let (graph, machine) = GraphFile::from_json(text)?.split();
        Problem::new(&graph, &machine)
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many devices there are.
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// A device, by its number.
    pub fn device(&self, device: DeviceIndex) -> &Device {
        &self.devices[device]
    }

    /// The devices, in order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The number of the device with that name.
    pub fn device_named(&self, name: &str) -> Option<DeviceIndex> {
        self.devices.iter().position(|d| d.name == name)
    }

    /// The id of a node in its file.
    pub fn node_id(&self, node: NodeIndex) -> i64 {
        self.nodes[node].id
    }

    /// The name of a node; may be empty.
    pub fn node_name(&self, node: NodeIndex) -> &str {
        &self.nodes[node].name
    }

    /// Seconds of a node on a device, if it can run there.
    pub fn cost(&self, node: NodeIndex, device: DeviceIndex) -> Option<f64> {
        let cost = self.costs[node * self.devices.len() + device];
        cost.is_finite().then_some(cost)
    }

    /// Replaces the seconds of a node on a device where it can already run; says whether it could.
    ///
    /// This is how measured times enter a problem that was placed before: see
    /// [`Budget::starting_from`](crate::Budget::starting_from).
    pub fn set_cost(&mut self, node: NodeIndex, device: DeviceIndex, seconds: f64) -> bool {
        let slot = &mut self.costs[node * self.devices.len() + device];
        let ok = slot.is_finite() && seconds.is_finite() && seconds >= 0.0;
        if ok {
            *slot = seconds;
            self.twins = OnceLock::new();
            self.least[node] = least(&self.costs, self.devices.len(), node, &self.unit_of(node).allowed);
        }
        ok
    }

    /// The devices that a node may be placed on: those that can run it and everything colocated with it, and
    /// that the requests allow.
    pub fn allowed(&self, node: NodeIndex) -> impl ExactSizeIterator<Item = DeviceIndex> + '_ {
        self.unit_of(node).allowed.iter().map(|&d| d as usize)
    }

    /// The nodes that must share a device with this one, itself among them.
    pub fn colocated(&self, node: NodeIndex) -> impl ExactSizeIterator<Item = NodeIndex> + '_ {
        self.unit_of(node).members.iter().map(|&n| n as usize)
    }

    /// What a node asked for.
    pub fn request(&self, node: NodeIndex) -> Option<&str> {
        self.nodes[node].request.as_deref()
    }

    /// Seconds of copying a node's output for one of its readers, with the link to itself; none where there
    /// is no way.
    pub fn copy_seconds(&self, edge: usize, from: DeviceIndex, to: DeviceIndex) -> Option<f64> {
        let seconds = self.edge_copy(edge as u32, from as u16, to as u16);
        seconds.is_finite().then_some(seconds)
    }

    /// The nodes in an order in which every node comes after its inputs.
    pub fn topological_order(&self) -> impl ExactSizeIterator<Item = NodeIndex> + '_ {
        self.order.iter().map(|&n| n as usize)
    }

    /// The error of a problem that no placement can satisfy whatever the memory.
    pub fn require_placeable(&self) -> Result<(), PlaceError> {
        self.unplaceable.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn unit_of(&self, node: NodeIndex) -> &Unit {
        &self.units[self.nodes[node].unit as usize]
    }

    pub(crate) fn name_of(&self, node: NodeIndex) -> NodeName {
        NodeName { id: self.nodes[node].id, name: self.nodes[node].name.clone() }
    }

    #[inline]
    pub(crate) fn seconds(&self, node: usize, device: usize) -> f64 {
        self.costs[node * self.devices.len() + device]
    }

    #[inline]
    pub(crate) fn ins(&self, node: usize) -> impl Iterator<Item = &EdgeRow> + '_ {
        self.in_edges.row(node).iter().map(|&e| &self.edges[e as usize])
    }

    #[inline]
    pub(crate) fn outs(&self, node: usize) -> impl Iterator<Item = &EdgeRow> + '_ {
        self.out_edges.row(node).iter().map(|&e| &self.edges[e as usize])
    }

    /// Whether a node's readers have prices of their own instead of the links.
    #[inline]
    pub(crate) fn is_priced(&self, node: usize) -> bool {
        self.sent[node].price != NONE
    }

    /// Seconds of serving one edge from one device to another without contention; infinite where it can't be.
    #[inline]
    pub(crate) fn edge_copy(&self, edge: u32, from: u16, to: u16) -> f64 {
        if from == to {
            return 0.0;
        }
        let row = &self.edges[edge as usize];
        if row.price != NONE {
            self.prices.seconds(row.price, from, to)
        } else {
            self.routes.seconds(row.bytes, from, to)
        }
    }

    /// Seconds of serving one edge that no schedule can beat; infinite where it can't be.
    pub(crate) fn least_copy(&self, edge: u32, from: u16, to: u16) -> f64 {
        if from == to {
            return 0.0;
        }
        let row = &self.edges[edge as usize];
        if row.price != NONE {
            self.prices.seconds(row.price, from, to)
        } else {
            self.routes.least_seconds(row.bytes, from, to)
        }
    }

    /// A device's memory limit, with the slack that comparisons of sums allow.
    #[inline]
    pub(crate) fn limit(&self, device: usize) -> f64 {
        self.devices[device].memory.map_or(f64::INFINITY, |m| m * (1.0 + 5e-10))
    }

    /// Whether tensors that come and go count against some limit.
    pub(crate) fn outputs_count(&self) -> bool {
        self.devices.iter().any(|d| d.memory.is_some())
            && (0..self.nodes.len()).any(|node| self.most_held(node) > 0.0)
    }

    /// The cost graph and the machine again, as files have them; costs are keyed by device names.
    pub fn to_file(&self) -> GraphFile {
        let nodes = (0..self.nodes.len()).map(|i| self.node_for_file(i)).collect();
        let edges = self.edges.iter().map(|e| self.edge_for_file(e)).collect();
        let resident = self.residents.iter().map(|r| (r.name.clone(), r.bytes)).collect();
        let graph = CostGraph { resident, nodes, edges };
        GraphFile::new(graph, Machine { devices: self.devices.clone(), links: self.links.clone() })
    }

    fn node_for_file(&self, i: usize) -> Node {
        let row = &self.nodes[i];
        let unit = &self.units[row.unit as usize];
        let cost: BTreeMap<_, _> = (0..self.devices.len())
            .filter_map(|d| Some((self.devices[d].name.clone(), self.cost(i, d)?)))
            .collect();
        Node {
            id: row.id,
            name: row.name.clone(),
            cost,
            output_bytes: row.output_bytes,
            memory: row.memory,
            uses: self.uses.row(i).iter().map(|&r| self.residents[r as usize].name.clone()).collect(),
            colocate: (unit.label.is_some() || unit.members.len() > 1)
                .then(|| unit.label.clone().unwrap_or_else(|| format!("group {}", row.unit))),
            device: row.request.clone(),
        }
    }

    fn edge_for_file(&self, e: &EdgeRow) -> Edge {
        let (from, to) = (self.nodes[e.from as usize].id, self.nodes[e.to as usize].id);
        if e.price != NONE {
            let cost = self.prices.for_file(e.price, &self.devices);
            return Edge { from, to, bytes: None, cost: Some(cost) };
        }
        let full = self.nodes[e.from as usize].output_bytes;
        Edge { from, to, bytes: (e.bytes != full).then_some(e.bytes), cost: None }
    }
}
