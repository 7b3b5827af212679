//! Task graphs of known structure, for measuring placements: tiled factorisations and transformers.
//!
//! Seconds and bytes are of the size that such kernels have on a CPU core and a GPU of the years 2015 to
//! 2020; what matters is their proportion: a product runs 30 times faster on the GPU, a panel hardly faster.

pub(crate) mod layered;
pub(crate) mod tiled;
pub(crate) mod transformer;

use situ_place::{CostGraph, Device, Edge, GraphFile, Link, Machine, Node};
use std::collections::BTreeMap;

/// A graph under construction; a node's number is its id.
#[derive(Default)]
pub(crate) struct Draft {
    graph: CostGraph,
}

impl Draft {
    pub(crate) fn node(&mut self, name: String, cost: &[(&str, f64)], output_bytes: f64) -> usize {
        let cost: BTreeMap<_, _> = cost.iter().map(|&(kind, s)| (kind.to_owned(), s)).collect();
        self.graph.nodes.push(Node {
            id: self.graph.nodes.len() as i64,
            name,
            cost,
            output_bytes,
            memory: 0.0,
            uses: Vec::new(),
            colocate: None,
            device: None,
        });
        self.graph.nodes.len() - 1
    }

    /// One edge, however often it is drawn.
    pub(crate) fn edge(&mut self, from: usize, to: usize) {
        self.add_edge(from, to, None);
    }

    /// One edge that costs so many seconds between a CPU and a GPU, and twice as many between GPUs.
    pub(crate) fn priced_edge(&mut self, from: usize, to: usize, seconds: f64) {
        let pairs =
            [("cpu>gpu", seconds), ("gpu>cpu", seconds), ("gpu>gpu", 2.0 * seconds), ("cpu>cpu", 0.0)];
        self.add_edge(from, to, Some(pairs.map(|(pair, s)| (pair.to_owned(), s)).into()));
    }

    fn add_edge(&mut self, from: usize, to: usize, cost: Option<BTreeMap<String, f64>>) {
        let (from, to) = (from as i64, to as i64);
        if !self.graph.edges.iter().rev().take(16).any(|e| (e.from, e.to) == (from, to)) {
            self.graph.edges.push(Edge { from, to, bytes: None, cost });
        }
    }

    pub(crate) fn holds(&mut self, node: usize, bytes: f64) {
        self.graph.nodes[node].memory = bytes;
    }

    pub(crate) fn on(self, machine: Machine) -> GraphFile {
        GraphFile::new(self.graph, machine)
    }
}

/// One CPU with so many cores and some GPUs, each on its own link both ways; GPUs talk through the CPU.
pub(crate) fn hybrid(cores: u32, gpus: usize) -> Machine {
    let mut machine = Machine { devices: vec![Device::new("CPU:0").slots(cores)], links: Vec::new() };
    for i in 0..gpus {
        let name = format!("GPU:{i}");
        for (from, to) in [("CPU:0", name.as_str()), (name.as_str(), "CPU:0")] {
            machine.links.push(Link {
                from: from.to_owned(),
                to: to.to_owned(),
                latency: 1e-5,
                bandwidth: 12e9,
                shared: None,
            });
        }
        machine.devices.push(Device::new(name));
    }
    machine
}

/// GPUs alone, each linked to each.
pub(crate) fn gpus(count: usize, memory: Option<f64>, bandwidth: f64) -> Machine {
    let mut machine = Machine::default();
    for i in 0..count {
        let device = Device { memory, ..Device::new(format!("GPU:{i}")) };
        machine.devices.push(device);
        for j in (0..count).filter(|&j| j != i) {
            machine.links.push(Link {
                from: format!("GPU:{i}"),
                to: format!("GPU:{j}"),
                latency: 5e-6,
                bandwidth,
                shared: None,
            });
        }
    }
    machine
}
