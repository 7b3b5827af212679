//! From names to numbers: a cost graph and a machine, as files have them, into a builder.

use super::build::Side;
use super::{Problem, ProblemBuilder, Requests};
use crate::cost_graph::{CostGraph, Node};
use crate::error::GraphError;
use crate::machine::Machine;
use std::collections::{BTreeMap, HashMap};

struct Names {
    devices: HashMap<String, usize>,
    kinds: HashMap<String, Vec<usize>>,
}

impl Names {
    fn new(machine: &Machine) -> Names {
        let mut names = Names { devices: HashMap::new(), kinds: HashMap::new() };
        for (i, device) in machine.devices.iter().enumerate() {
            names.devices.entry(device.name.clone()).or_insert(i);
            names.kinds.entry(device.kind()).or_default().push(i);
        }
        names
    }

    /// A device, or a kind. The two kinds that every program knows may be priced where no such device is: the
    /// same graph is put on many machines.
    fn side(&self, word: &str) -> Option<Side> {
        if let Some(&device) = self.devices.get(word) {
            return Some(Side::Device(device as u16));
        }
        (self.kinds.contains_key(word) || word == "cpu" || word == "gpu").then(|| Side::Kind(word.to_owned()))
    }

    fn unknown(&self, place: String, word: &str) -> GraphError {
        let mut known: Vec<&str> = self.devices.keys().chain(self.kinds.keys()).map(String::as_str).collect();
        known.sort_unstable();
        GraphError::at(place, format!("{word:?} is no device or kind; there are {}", known.join(", ")))
    }
}

pub(super) fn problem(
    graph: &CostGraph,
    machine: &Machine,
    requests: Requests,
) -> Result<Problem, GraphError> {
    let mut builder = ProblemBuilder::new();
    builder.requests(requests);
    let names = Names::new(machine);
    for device in &machine.devices {
        builder.device(device.clone());
    }
    builder.check_devices()?;
    for (i, link) in machine.links.iter().enumerate() {
        let end = |field: &str, name: &str| {
            let why =
                || GraphError::at(format!("links[{i}].{field}"), format!("there is no device {name:?}"));
            names.devices.get(name).copied().ok_or_else(why)
        };
        let (from, to) = (end("from", &link.from)?, end("to", &link.to)?);
        builder.link(from, to, link.latency, link.bandwidth, link.shared.as_deref());
    }
    let mut residents = HashMap::new();
    for (name, &bytes) in &graph.resident {
        residents.insert(name.as_str(), builder.resident(name.clone(), bytes));
    }
    let mut ids = HashMap::with_capacity(graph.nodes.len());
    for (i, node) in graph.nodes.iter().enumerate() {
        add_node(&mut builder, &names, &residents, i, node)?;
        ids.entry(node.id).or_insert(i);
    }
    builder.check_nodes()?;
    // Thousands of edges share the same few sets of keys.
    let mut patterns: HashMap<Vec<&str>, u32> = HashMap::new();
    for (i, edge) in graph.edges.iter().enumerate() {
        let end = |field: &str, id: i64| {
            let why = || GraphError::at(format!("edges[{i}].{field}"), format!("there is no node {id}"));
            ids.get(&id).copied().ok_or_else(why)
        };
        let (from, to) = (end("from", edge.from)?, end("to", edge.to)?);
        match (&edge.cost, edge.bytes) {
            (Some(table), _) => {
                check_prices(i, table)?;
                let keys: Vec<&str> = table.keys().map(String::as_str).collect();
                let pattern = match patterns.get(&keys) {
                    Some(&pattern) => pattern,
                    None => {
                        let sides =
                            keys.iter().map(|key| price_key(&names, i, key)).collect::<Result<_, _>>()?;
                        let pattern = builder.pattern(sides);
                        patterns.insert(keys, pattern);
                        pattern
                    }
                };
                builder.edge_with_pattern(from, to, pattern, table.values().copied().collect());
            }
            (None, Some(bytes)) => builder.edge_bytes(from, to, bytes),
            (None, None) => builder.edge(from, to),
        }
    }
    builder.build()
}

fn add_node(
    builder: &mut ProblemBuilder,
    names: &Names,
    residents: &HashMap<&str, usize>,
    i: usize,
    node: &Node,
) -> Result<(), GraphError> {
    let index = builder.node(node.name.clone(), node.output_bytes);
    builder.id(index, node.id);
    builder.memory(index, node.memory);
    // Kinds first, so that a device's own cost is the last word.
    for by_name in [false, true] {
        for (key, &seconds) in &node.cost {
            let place = || format!("nodes[{i}].cost[{key:?}]");
            let side = names.side(key).ok_or_else(|| names.unknown(place(), key))?;
            if !seconds.is_finite() || seconds < 0.0 {
                return Err(GraphError::at(place(), format!("{seconds} is negative or not finite")));
            }
            match side {
                Side::Device(device) if by_name => builder.cost(index, device.into(), seconds),
                _ if !by_name => {
                    for &device in names.kinds.get(key).into_iter().flatten() {
                        builder.cost(index, device, seconds);
                    }
                }
                Side::Device(_) | Side::Kind(_) => {}
            }
        }
    }
    for name in &node.uses {
        let why = || GraphError::at(format!("nodes[{i}].uses"), format!("there is no resident {name:?}"));
        builder.uses(index, *residents.get(name.as_str()).ok_or_else(why)?);
    }
    if let Some(label) = &node.colocate {
        builder.colocate(index, label.clone());
    }
    if let Some(device) = &node.device {
        builder.request(index, device.clone());
    }
    Ok(())
}

fn price_key(names: &Names, edge: usize, key: &str) -> Result<(Side, Side), GraphError> {
    let place = || format!("edges[{edge}].cost[{key:?}]");
    let split = || GraphError::at(place(), "a price's key is two devices or kinds: \"cpu>gpu\"");
    let (from, to) = key.split_once('>').ok_or_else(split)?;
    let side = |word: &str| names.side(word).ok_or_else(|| names.unknown(place(), word));
    Ok((side(from)?, side(to)?))
}

fn check_prices(edge: usize, table: &BTreeMap<String, f64>) -> Result<(), GraphError> {
    match table.iter().find(|(_, v)| !v.is_finite() || **v < 0.0) {
        None => Ok(()),
        Some((key, value)) => Err(GraphError::at(
            format!("edges[{edge}].cost[{key:?}]"),
            format!("{value} is negative or not finite"),
        )),
    }
}
