//! Building a problem from a program, by numbers instead of names; every check of a cost graph is here.

use super::allowed::{self, Facts};
use super::edges::{check_out_edges, sent, topological};
use super::routes::LinkRow;
use super::{CopyPrices, Csr, EdgeRow, NONE, NodeRow, Problem, Requests, ResidentRow, Routes, Unit, least};
use crate::error::GraphError;
use crate::machine::{Device, Link};
use crate::{DeviceIndex, NodeIndex};
use situ_core::DeviceSpec;
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
        let prices = self.price_book(&kinds)?;
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

    pub(super) fn check_devices(&self) -> Result<(), GraphError> {
        if self.devices.is_empty() {
            return Err(GraphError::at("devices", "there is none; nothing can run without a device"));
        }
        if self.devices.len() >= usize::from(u16::MAX) {
            return Err(GraphError::at("devices", format!("{} are too many", self.devices.len())));
        }
        let mut seen = HashMap::new();
        for (i, device) in self.devices.iter().enumerate() {
            if device.name.is_empty() {
                return Err(GraphError::at(format!("devices[{i}].name"), "is empty"));
            }
            if device.name.chars().any(situ_core::visible::is_hidden) {
                let why = format!("{:?} has a control character in it", device.name);
                return Err(GraphError::at(format!("devices[{i}].name"), why));
            }
            if let Some(before) = seen.insert(device.name.as_str(), i) {
                let why = format!("{:?} is the name of devices[{before}] already", device.name);
                return Err(GraphError::at(format!("devices[{i}].name"), why));
            }
            if device.slots == 0 {
                return Err(GraphError::at(format!("devices[{i}].slots"), "must be at least 1"));
            }
            if let Some(memory) = device.memory {
                number(memory, || format!("devices[{i}].memory"))?;
            }
        }
        Ok(())
    }

    fn routes(&self, kinds: &[String]) -> Result<Routes, GraphError> {
        let mut channels: HashMap<&str, u32> = HashMap::new();
        let mut next = 0;
        let mut rows = Vec::with_capacity(self.links.len());
        let mut seen = HashMap::new();
        for (i, link) in self.links.iter().enumerate() {
            let at = |field: &str| format!("links[{i}].{field}");
            if link.from >= self.devices.len() || link.to >= self.devices.len() {
                return Err(GraphError::at(format!("links[{i}]"), "names a device that there is not"));
            }
            if link.from == link.to {
                return Err(GraphError::at(format!("links[{i}]"), "leads from a device to itself"));
            }
            if let Some(before) = seen.insert((link.from, link.to), i) {
                return Err(GraphError::at(
                    format!("links[{i}]"),
                    format!("joins the same devices as links[{before}]"),
                ));
            }
            number(link.latency, || at("latency"))?;
            number(link.bandwidth, || at("bandwidth"))?;
            if link.bandwidth < LARGEST.recip() {
                return Err(GraphError::at(at("bandwidth"), "must be above zero, and at least 1e-100"));
            }
            let mut fresh = || {
                next += 1;
                next - 1
            };
            let channel = match &link.shared {
                Some(label) => *channels.entry(label).or_insert_with(&mut fresh),
                None => fresh(),
            };
            rows.push(LinkRow {
                from: link.from as u16,
                to: link.to as u16,
                latency: link.latency,
                bandwidth: link.bandwidth,
                channel,
            });
        }
        let cpus: Vec<u16> = (0..kinds.len() as u16).filter(|&d| kinds[d as usize] == "cpu").collect();
        let outputs = self.nodes.iter().map(|n| n.output_bytes).filter(|b| b.is_finite());
        let typical = outputs.sum::<f64>() / self.nodes.len().max(1) as f64;
        let carried = self.edges.iter().filter(|e| e.price == NONE);
        let carried = carried.map(|e| match (e.bytes, self.nodes.get(e.from)) {
            (Some(bytes), _) => bytes,
            (None, Some(node)) => node.output_bytes,
            (None, None) => 0.0,
        });
        let smallest = carried.fold(f64::INFINITY, f64::min).max(0.0);
        Ok(Routes::new(self.devices.len(), rows, next as usize, &cpus, typical, smallest))
    }

    pub(super) fn check_nodes(&self) -> Result<(), GraphError> {
        let mut seen = HashMap::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            if let Some(before) = seen.insert(node.id, i) {
                let why = format!("{} is the id of nodes[{before}] already", node.id);
                return Err(GraphError::at(format!("nodes[{i}].id"), why));
            }
            number(node.output_bytes, || format!("nodes[{i}].output_bytes"))?;
            number(node.memory, || format!("nodes[{i}].memory"))?;
            if let Some(&r) = node.uses.iter().find(|&&r| r as usize >= self.residents.len()) {
                return Err(GraphError::at(
                    format!("nodes[{i}].uses"),
                    format!("there is no resident number {r}"),
                ));
            }
        }
        for (name, bytes) in self.residents.iter().map(|r| (&r.name, r.bytes)) {
            number(bytes, || format!("resident[{name:?}]"))?;
        }
        Ok(())
    }

    fn checked_edges(&self) -> Result<Vec<EdgeRow>, GraphError> {
        let rows = self.edges.iter().enumerate().map(|(i, edge)| {
            if edge.from >= self.nodes.len() || edge.to >= self.nodes.len() {
                return Err(GraphError::at(format!("edges[{i}]"), "names a node that there is not"));
            }
            if edge.from == edge.to {
                let why = format!("node {} reads itself", self.nodes[edge.from].id);
                return Err(GraphError::at(format!("edges[{i}]"), why));
            }
            let bytes = edge.bytes.unwrap_or(self.nodes[edge.from].output_bytes);
            number(bytes, || format!("edges[{i}].bytes"))?;
            if edge.price != NONE {
                let (pattern, values) = &self.price_rows[edge.price as usize];
                for (key, &value) in self.patterns[*pattern as usize].iter().zip(values) {
                    number(value, || format!("edges[{i}].cost[{key:?}]"))?;
                }
            }
            Ok(EdgeRow { from: edge.from as u32, to: edge.to as u32, bytes, price: edge.price })
        });
        rows.collect()
    }

    fn price_book(&self, kinds: &[String]) -> Result<CopyPrices, GraphError> {
        let count = self.devices.len();
        let mut book = CopyPrices::new(count);
        for keys in &self.patterns {
            // The more exact key wins: name over kind, the source's before the destination's.
            let weight = |side: &Side| u32::from(matches!(side, Side::Device(_)));
            let mut best = vec![0u32; count * count];
            let mut places = vec![NONE; count * count];
            for (place, (a, b)) in keys.iter().enumerate() {
                let fits = |side: &Side, d: usize| match side {
                    Side::Device(device) => usize::from(*device) == d,
                    Side::Kind(kind) => kinds[d] == *kind,
                };
                let rank = 1 + 2 * weight(a) + weight(b);
                for from in (0..count).filter(|&d| fits(a, d)) {
                    for to in (0..count).filter(|&d| fits(b, d)) {
                        let at = from * count + to;
                        if rank > best[at] {
                            best[at] = rank;
                            places[at] = place as u32;
                        }
                    }
                }
            }
            book.add_pattern(places);
        }
        let mut merged = HashMap::new();
        for (pattern, values) in &self.price_rows {
            let pattern = book.merge_equal(*pattern, values, &mut merged);
            book.add_row(pattern, values);
        }
        Ok(book)
    }

    fn requests_parsed(&self, devices: &[Option<DeviceSpec>]) -> Result<Vec<Option<DeviceSpec>>, GraphError> {
        let parse = |(i, node): (usize, &RawNode)| match &node.request {
            None => Ok(None),
            Some(text) => match allowed::parse(text, devices) {
                Ok(spec) => Ok((!spec.is_empty()).then_some(spec)),
                Err(error) => Err(GraphError::at(format!("nodes[{i}].device"), error.to_string())),
            },
        };
        self.nodes.iter().enumerate().map(parse).collect()
    }

    /// Groups by union of labels and pairs, numbered in the order of their first members.
    fn units(&self) -> (Vec<u32>, Vec<Unit>) {
        let mut parent: Vec<u32> = (0..self.nodes.len() as u32).collect();
        fn root(parent: &mut [u32], mut i: u32) -> u32 {
            while parent[i as usize] != i {
                parent[i as usize] = parent[parent[i as usize] as usize];
                i = parent[i as usize];
            }
            i
        }
        let mut first_of: HashMap<&str, u32> = HashMap::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(label) = &node.label else { continue };
            let first = *first_of.entry(label).or_insert(i as u32);
            let (a, b) = (root(&mut parent, first), root(&mut parent, i as u32));
            parent[a.max(b) as usize] = a.min(b);
        }
        for &(a, b) in &self.together {
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            parent[a.max(b) as usize] = a.min(b);
        }
        let mut unit_of = vec![NONE; self.nodes.len()];
        let mut units: Vec<Unit> = Vec::new();
        for i in 0..self.nodes.len() as u32 {
            let root = root(&mut parent, i);
            // A root is the smallest member, so its unit exists before the others ask for it.
            if root == i {
                unit_of[i as usize] = units.len() as u32;
                units.push(Unit {
                    members: SmallVec::new(),
                    label: None,
                    allowed: Arc::default(),
                    relaxed: None,
                });
            }
            unit_of[i as usize] = unit_of[root as usize];
            let unit = &mut units[unit_of[i as usize] as usize];
            unit.members.push(i);
            if unit.label.is_none() {
                unit.label = self.nodes[i as usize].label.clone();
            }
        }
        (unit_of, units)
    }
}

/// No figure of a graph is larger, and no bandwidth smaller than its inverse: sums, products and quotients of
/// figures stay finite.
const LARGEST: f64 = 1e100;

fn number(value: f64, place: impl FnOnce() -> String) -> Result<(), GraphError> {
    if (0.0..=LARGEST).contains(&value) {
        return Ok(());
    }
    let why = match value {
        _ if !value.is_finite() => "is not a finite number",
        _ if value < 0.0 => "is negative",
        _ => "is beyond 1e100, the largest figure that a graph may have",
    };
    // 1e308 is a digit and 308 zeros otherwise.
    let value = if value.abs() < 1e16 { value.to_string() } else { format!("{value:e}") };
    Err(GraphError::at(place(), format!("{value} {why}")))
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
