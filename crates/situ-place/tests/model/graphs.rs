//! Random cost graphs with every feature of the file: slots, compute groups, shared and missing links, priced
//! edges, residents, groups, requests and limits.

use situ_place::{CostGraph, Device, Edge, GraphFile, Link, Machine, Node};
use std::collections::BTreeMap;

/// Splitmix64: small, seeded, good enough to draw graphs with.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1))
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit.max(1) as u64) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

fn machine(dice: &mut Dice, tight: f64) -> Machine {
    let cpus = 1 + dice.below(2);
    let gpus = dice.below(4);
    let mut devices = Vec::new();
    for i in 0..cpus {
        let slots = 1 + dice.below(4) as u32;
        devices.push(Device::new(format!("CPU:{i}")).slots(slots));
    }
    for i in 0..gpus {
        let slots = if dice.chance(0.2) { 2 } else { 1 };
        let mut device = Device::new(format!("GPU:{i}")).slots(slots);
        if dice.chance(tight) {
            device = device.memory((200 + dice.below(2500)) as f64);
        }
        devices.push(device);
    }
    if dice.chance(0.25) {
        let label = |d: Device, share: bool| if share { d.compute("chip") } else { d };
        devices = devices.into_iter().map(|d| label(d, dice.chance(0.5))).collect();
    }
    let mut links = Vec::new();
    let via_cpu = dice.chance(0.4);
    for a in &devices {
        for b in &devices {
            let gpus = a.name.starts_with("GPU") && b.name.starts_with("GPU");
            if a.name == b.name || (via_cpu && gpus) {
                continue;
            }
            links.push(Link {
                from: a.name.clone(),
                to: b.name.clone(),
                latency: dice.below(3) as f64 * 0.1,
                bandwidth: 200.0 + dice.below(2000) as f64,
                shared: dice.chance(0.3).then(|| "bus".to_owned()),
            });
        }
    }
    Machine { devices, links }
}

/// A graph of up to `most` nodes. `tight` is the share of GPUs with a memory limit.
pub(crate) fn random(seed: u64, most: usize, tight: f64) -> GraphFile {
    let mut dice = Dice::new(seed);
    let machine = machine(&mut dice, tight);
    let count = 1 + dice.below(most);
    let resident: BTreeMap<String, f64> =
        (0..dice.below(4)).map(|i| (format!("w{i}"), dice.below(400) as f64)).collect();
    let has_gpu = machine.devices.iter().any(|d| d.name.starts_with("GPU"));
    let priced_graph = dice.chance(0.3);
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    for i in 0..count {
        let mut cost = BTreeMap::new();
        let work = if dice.chance(0.2) { 0.0 } else { dice.below(100) as f64 * 0.1 };
        let gpu_only = has_gpu && dice.chance(0.05);
        if !gpu_only {
            cost.insert("cpu".to_owned(), work);
        }
        if gpu_only || dice.chance(0.8) {
            cost.insert("gpu".to_owned(), work * (0.1 + dice.unit()));
        }
        if dice.chance(0.1) {
            cost.insert("CPU:0".to_owned(), work * 0.5);
        }
        let device = match dice.below(20) {
            0 if cost.contains_key("cpu") => Some("/CPU:0".to_owned()),
            1 if has_gpu && cost.contains_key("gpu") => Some("gpu".to_owned()),
            _ => None,
        };
        let plain = device.is_none() && cost.contains_key("cpu") && cost.contains_key("gpu");
        nodes.push(Node {
            id: (i * 3) as i64,
            name: if dice.chance(0.5) { format!("n{i}") } else { String::new() },
            cost,
            output_bytes: dice.below(300) as f64,
            memory: if dice.chance(0.3) { dice.below(200) as f64 } else { 0.0 },
            uses: resident.keys().filter(|_| dice.chance(0.15)).cloned().collect(),
            colocate: (plain && dice.chance(0.15)).then(|| format!("g{}", dice.below(4))),
            device,
        });
    }
    let priced: Vec<bool> = (0..count).map(|_| priced_graph && dice.chance(0.6)).collect();
    for to in 1..count {
        let inputs = dice.below(4).min(to);
        let mut seen = Vec::new();
        for _ in 0..inputs {
            let near = to.min(1 + dice.below(12));
            let from = to - 1 - dice.below(near);
            if seen.contains(&from) {
                continue;
            }
            seen.push(from);
            let price = dice.unit();
            let cost = priced[from].then(|| {
                let pairs = [("cpu>gpu", 1.0), ("gpu>cpu", 1.0), ("gpu>gpu", 2.0), ("cpu>cpu", 0.2)];
                pairs.iter().map(|&(k, f)| (k.to_owned(), price * f)).collect()
            });
            let bytes = (cost.is_none() && dice.chance(0.2)).then(|| dice.below(300) as f64);
            edges.push(Edge { from: nodes[from].id, to: nodes[to].id, bytes, cost });
        }
    }
    GraphFile::new(CostGraph { resident, nodes, edges }, machine)
}
