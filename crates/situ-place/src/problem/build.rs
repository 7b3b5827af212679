//! Building a problem from a program, by numbers instead of names. Every check of a cost graph is in
//! `checks`.

mod checks;
mod copies;
mod units;

use super::allowed::{self, Facts};
use super::edges::{check_out_edges, sent, topological};
use super::{Csr, NONE, NodeRow, Problem, Requests, ResidentRow, least};
use crate::error::GraphError;
use crate::machine::{Device, Link};
use crate::{DeviceIndex, NodeIndex};
use checks::number;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// One side of a price's key: a device, or every device of a kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Side {
    Device(u16),
    Kind(String),
}

struct RawLink {
    from: DeviceIndex,
    to: DeviceIndex,
    latency: f64,
    bandwidth: f64,
    shared: Option<String>,
}

struct RawNode {
    id: i64,
    name: String,
    output_bytes: f64,
    memory: f64,
    uses: SmallVec<[u32; 2]>,
    label: Option<String>,
    request: Option<String>,
}

struct RawEdge {
    from: NodeIndex,
    to: NodeIndex,
    bytes: Option<f64>,
    price: u32,
}

/// Collects devices, links, nodes and edges, and checks them all in [`build`](ProblemBuilder::build).
///
/// The numbers it returns are those of the finished problem. Add the devices first: prices and costs name
/// them.
#[derive(Default)]
pub struct ProblemBuilder {
    requests: Requests,
    devices: Vec<Device>,
    links: Vec<RawLink>,
    residents: Vec<ResidentRow>,
    nodes: Vec<RawNode>,
    costs: Vec<(u32, u32, f64)>,
    edges: Vec<RawEdge>,
    together: Vec<(u32, u32)>,
    patterns: Vec<Vec<(Side, Side)>>,
    pattern_of: HashMap<Vec<(Side, Side)>, u32>,
    price_rows: Vec<(u32, SmallVec<[f64; 4]>)>,
}

impl ProblemBuilder {
    /// An empty problem with hard requests.
    pub fn new() -> ProblemBuilder {
        ProblemBuilder::default()
    }

    /// How strictly requests are taken.
    pub fn requests(&mut self, requests: Requests) {
        self.requests = requests;
    }

    /// Adds a device.
    pub fn device(&mut self, device: Device) -> DeviceIndex {
        self.devices.push(device);
        self.devices.len() - 1
    }

    /// Adds a one-way link; links with the same `shared` label carry one copy at a time between them.
    pub fn link(
        &mut self,
        from: DeviceIndex,
        to: DeviceIndex,
        latency: f64,
        bandwidth: f64,
        shared: Option<&str>,
    ) {
        self.links.push(RawLink { from, to, latency, bandwidth, shared: shared.map(str::to_owned) });
    }

    /// Adds a resident tensor: held once on every device on which one of its users runs.
    pub fn resident(&mut self, name: impl Into<String>, bytes: f64) -> usize {
        self.residents.push(ResidentRow { name: name.into(), bytes });
        self.residents.len() - 1
    }

    /// Adds a node with the size of its output. Its id in files is its number.
    pub fn node(&mut self, name: impl Into<String>, output_bytes: f64) -> NodeIndex {
        let id = self.nodes.len() as i64;
        self.nodes.push(RawNode {
            id,
            name: name.into(),
            output_bytes,
            memory: 0.0,
            uses: SmallVec::new(),
            label: None,
            request: None,
        });
        self.nodes.len() - 1
    }

    /// Gives a node another id than its number.
    pub fn id(&mut self, node: NodeIndex, id: i64) {
        self.nodes[node].id = id;
    }

    /// The seconds of a node on a device. The last word counts. A node can't run where it has no cost.
    pub fn cost(&mut self, node: NodeIndex, device: DeviceIndex, seconds: f64) {
        self.costs.push((node as u32, device as u32, seconds));
    }

    /// Bytes that a node holds on its device for the whole step.
    pub fn memory(&mut self, node: NodeIndex, bytes: f64) {
        self.nodes[node].memory = bytes;
    }

    /// The node reads this resident tensor.
    pub fn uses(&mut self, node: NodeIndex, resident: usize) {
        let uses = &mut self.nodes[node].uses;
        if !uses.contains(&(resident as u32)) {
            uses.push(resident as u32);
        }
    }

    /// Nodes with the same label share a device.
    pub fn colocate(&mut self, node: NodeIndex, label: impl Into<String>) {
        self.nodes[node].label = Some(label.into());
    }

    /// These two nodes share a device, and with them their groups.
    pub fn together(&mut self, a: NodeIndex, b: NodeIndex) {
        self.together.push((a as u32, b as u32));
    }

    /// The node asks for a device, perhaps in part: `/GPU:0`, `gpu`.
    pub fn request(&mut self, node: NodeIndex, device: impl Into<String>) {
        self.nodes[node].request = Some(device.into());
    }

    /// `to` reads the whole output of `from`.
    pub fn edge(&mut self, from: NodeIndex, to: NodeIndex) {
        self.edges.push(RawEdge { from, to, bytes: None, price: NONE });
    }

    /// `to` reads `bytes` of the output of `from`.
    pub fn edge_bytes(&mut self, from: NodeIndex, to: NodeIndex, bytes: f64) {
        self.edges.push(RawEdge { from, to, bytes: Some(bytes), price: NONE });
    }

    /// `to` reads the output of `from` at these prices (from, to, seconds) instead of over the links. Of one
    /// node's out-edges all are priced, or none.
    pub fn edge_priced(
        &mut self,
        from: NodeIndex,
        to: NodeIndex,
        prices: &[(DeviceIndex, DeviceIndex, f64)],
    ) {
        let keys = prices.iter().map(|&(a, b, _)| (Side::Device(a as u16), Side::Device(b as u16))).collect();
        let pattern = self.pattern(keys);
        self.edge_with_pattern(from, to, pattern, prices.iter().map(|p| p.2).collect());
    }

    pub(super) fn pattern(&mut self, keys: Vec<(Side, Side)>) -> u32 {
        let next = self.patterns.len() as u32;
        *self.pattern_of.entry(keys).or_insert_with_key(|keys| {
            self.patterns.push(keys.clone());
            next
        })
    }

    pub(super) fn edge_with_pattern(
        &mut self,
        from: usize,
        to: usize,
        pattern: u32,
        values: SmallVec<[f64; 4]>,
    ) {
        self.edges.push(RawEdge { from, to, bytes: None, price: self.price_rows.len() as u32 });
        self.price_rows.push((pattern, values));
    }

    /// Checks everything, and makes it dense.
    pub fn build(self) -> Result<Problem, GraphError> {
        let kinds: Vec<String> = self.devices.iter().map(Device::kind).collect();
        self.check_devices()?;
        let routes = self.routes(&kinds)?;
        self.check_nodes()?;
        let nodes_len = self.nodes.len();
        let mut costs = vec![f64::INFINITY; nodes_len * self.devices.len()];
        for &(node, device, seconds) in &self.costs {
            let (name, at) = (&self.devices, node as usize * self.devices.len() + device as usize);
            if device as usize >= name.len() || node as usize >= nodes_len {
                return Err(GraphError::at(
                    format!("nodes[{node}].cost"),
                    format!("there is no device number {device}"),
                ));
            }
            number(seconds, || format!("nodes[{node}].cost[{:?}]", name[device as usize].name))?;
            costs[at] = seconds;
        }
        let edges = self.checked_edges()?;
        let pairs = edges.iter().enumerate();
        let out_edges = Csr::new(nodes_len, pairs.clone().map(|(i, e)| (e.from, i as u32)));
        let in_edges = Csr::new(nodes_len, pairs.map(|(i, e)| (e.to, i as u32)));
        let readers = Csr::new(nodes_len, edges.iter().map(|e| (e.from, e.to)));
        let inputs = Csr::new(nodes_len, edges.iter().map(|e| (e.to, e.from)));
        check_out_edges(&edges, &out_edges, nodes_len)?;
        let id = |node: u32| self.nodes[node as usize].id;
        let order = topological(&edges, &out_edges, &in_edges, id)?;
        let prices = self.copy_prices(&kinds)?;
        let sent = (0..nodes_len).map(|n| sent(&edges, out_edges.row(n), &prices)).collect();

        let device_specs: Vec<_> = self.devices.iter().map(allowed::device_spec).collect();
        let specs = self.requests_parsed(&device_specs)?;
        let (unit_of, mut units) = self.units();
        let uses = self.nodes.iter().enumerate();
        let uses: Vec<_> = uses.flat_map(|(i, n)| n.uses.iter().map(move |&r| (i as u32, r))).collect();
        let uses = Csr::new(nodes_len, uses.iter().copied());
        let nodes: Vec<NodeRow> = self
            .nodes
            .into_iter()
            .zip(&unit_of)
            .map(|(n, &unit)| NodeRow {
                id: n.id,
                name: n.name,
                output_bytes: n.output_bytes,
                memory: n.memory,
                request: n.request,
                unit,
            })
            .collect();
        let facts = Facts {
            devices: &self.devices,
            kinds: &kinds,
            nodes: &nodes,
            costs: &costs,
            specs: &specs,
            requests: self.requests,
        };
        let mut unplaceable = None;
        let mut lists: HashSet<Arc<[u16]>> = HashSet::new();
        for unit in &mut units {
            if let Err(error) = facts.resolve(unit, &device_specs) {
                unplaceable.get_or_insert(error);
            }
            match lists.get(&unit.allowed) {
                Some(list) => unit.allowed = Arc::clone(list),
                None => _ = lists.insert(Arc::clone(&unit.allowed)),
            }
        }
        let allowed = |n: usize| &units[nodes[n].unit as usize].allowed;
        let least = (0..nodes_len).map(|n| least(&costs, self.devices.len(), n, allowed(n))).collect();
        let (compute_of, compute_groups) = compute_groups(&self.devices);
        let links = self.links.iter().map(|l| Link {
            from: self.devices[l.from].name.clone(),
            to: self.devices[l.to].name.clone(),
            latency: l.latency,
            bandwidth: l.bandwidth,
            shared: l.shared.clone(),
        });
        Ok(Problem {
            links: links.collect(),
            devices: self.devices,
            kinds,
            routes,
            compute_of,
            compute_groups,
            residents: self.residents,
            nodes,
            least,
            costs,
            uses,
            edges,
            out_edges,
            in_edges,
            inputs,
            readers,
            prices,
            units,
            order,
            sent,
            unplaceable,
            twins: OnceLock::new(),
        })
    }
}

fn compute_groups(devices: &[Device]) -> (Vec<u32>, Vec<Vec<u16>>) {
    let mut groups: Vec<Vec<u16>> = Vec::new();
    let mut label_of: HashMap<&str, u32> = HashMap::new();
    let of = devices.iter().enumerate().map(|(i, device)| {
        let Some(label) = &device.compute else { return NONE };
        let group = *label_of.entry(label).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() as u32 - 1
        });
        groups[group as usize].push(i as u16);
        group
    });
    let of = of.collect();
    (of, groups)
}
