//! An independent checker of answers: the rules of the cost-graph file, applied to what an answer says,
//! trusting nothing in it.
//!
//! It reads the file forms of graph and answer, and shares no code with the simulator or the algorithms: they
//! are what it checks. Requests are taken as hard. The bound is only checked against the answer's own
//! makespan.

mod copies;
mod memory;
mod spans;

use crate::answer::{Answer, AnswerNode};
use crate::cost_graph::{Edge, GraphFile, Node};
use crate::machine::Device;
use copies::Copies;
use std::collections::{BTreeMap, HashMap};
use thiserror::Error;

/// The first rule that an answer breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Violation(pub String);

fn wrong<T>(text: String) -> Result<T, Violation> {
    Err(Violation(text))
}

struct Case<'a> {
    file: &'a GraphFile,
    devices: HashMap<&'a str, &'a Device>,
    kinds: HashMap<&'a str, String>,
    nodes: HashMap<i64, &'a Node>,
    placed: HashMap<i64, &'a AnswerNode>,
    end: f64,
    tolerance: f64,
}

/// Checks an answer against its cost graph.
pub fn check(file: &GraphFile, answer: &Answer) -> Result<(), Violation> {
    let end = answer.nodes.iter().map(|n| n.finish).fold(0.0, f64::max);
    let case = Case {
        file,
        devices: file.devices.iter().map(|d| (d.name.as_str(), d)).collect(),
        kinds: file.devices.iter().map(|d| (d.name.as_str(), d.kind())).collect(),
        nodes: file.nodes.iter().map(|n| (n.id, n)).collect(),
        placed: answer.nodes.iter().map(|n| (n.id, n)).collect(),
        end,
        tolerance: f64::max(1e-12, 1e-8 * end),
    };
    case.numbers(answer)?;
    case.places(answer)?;
    case.slots(answer)?;
    let copies = Copies::new(&case, answer)?;
    copies.check()?;
    memory::check(&case, &copies, answer)?;
    if (answer.makespan - end).abs() > f64::max(case.tolerance, 1e-6 * end) {
        return wrong(format!("states makespan {}, has {end}", answer.makespan));
    }
    if answer.lower_bound > end * (1.0 + 1e-6) {
        return wrong(format!("the lower bound {} is above the makespan {end}", answer.lower_bound));
    }
    Ok(())
}

impl Case<'_> {
    fn numbers(&self, answer: &Answer) -> Result<(), Violation> {
        let nodes = answer.nodes.iter().flat_map(|n| [n.start, n.finish]);
        let copies = answer.transfers.iter().flat_map(|t| [t.start, t.finish]);
        let peaks = answer.peak_memory.values().copied();
        let all =
            nodes.chain(copies).chain(peaks).chain([answer.makespan, answer.lower_bound, answer.seconds]);
        match all.into_iter().find(|v| !v.is_finite()) {
            Some(value) => wrong(format!("a number is {value}")),
            None => Ok(()),
        }
    }

    /// Every node once, where it can run, for as long as it costs, as asked and with its group.
    fn places(&self, answer: &Answer) -> Result<(), Violation> {
        let every = answer.nodes.len() == self.nodes.len() && self.placed.len() == self.nodes.len();
        if !every || !self.placed.keys().all(|id| self.nodes.contains_key(id)) {
            return wrong("the answer does not hold every node exactly once".to_owned());
        }
        let mut groups: HashMap<&str, &str> = HashMap::new();
        for node in &self.file.nodes {
            let (id, placed) = (node.id, self.placed[&node.id]);
            let Some(&device) = self.devices.get(placed.device.as_str()) else {
                return wrong(format!("node {id}: there is no device {}", placed.device));
            };
            let name = device.name.as_str();
            let Some(&cost) = node.cost.get(name).or_else(|| node.cost.get(&self.kinds[name])) else {
                return wrong(format!("node {id}: can't run on {name}"));
            };
            let took = placed.finish - placed.start;
            if (took - cost).abs() > self.tolerance || placed.start < -self.tolerance {
                return wrong(format!("node {id}: runs {took} from {}, costs {cost}", placed.start));
            }
            if let Some(asked) = node.device.as_deref().filter(|asked| !fits(asked, name)) {
                return wrong(format!("node {id}: asked for {asked}, is on {name}"));
            }
            if let Some(group) = &node.colocate {
                let first = groups.entry(group).or_insert(name);
                if *first != name {
                    return wrong(format!("group {group}: on {first} and {name}"));
                }
            }
        }
        Ok(())
    }

    fn slots(&self, answer: &Answer) -> Result<(), Violation> {
        let mut on_device: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        let mut on_compute: BTreeMap<&str, Vec<(f64, f64, &str)>> = BTreeMap::new();
        for placed in &answer.nodes {
            let device = self.devices[placed.device.as_str()];
            on_device.entry(&device.name).or_default().push((placed.start, placed.finish));
            if let Some(label) = &device.compute {
                on_compute.entry(label).or_default().push((placed.start, placed.finish, &device.name));
            }
        }
        for (name, list) in on_device {
            let slots = self.devices[name].slots as usize;
            spans::at_most(list, slots, self.tolerance)
                .map_err(|t| Violation(format!("device {name}: {t}")))?;
        }
        for (label, list) in on_compute {
            spans::one_owner(list, self.tolerance).map_err(|t| Violation(format!("compute {label}: {t}")))?;
        }
        Ok(())
    }

    /// The price of an edge between two devices; names win over kinds.
    fn price(&self, edge: &Edge, from: &str, to: &str) -> Option<f64> {
        let table = edge.cost.as_ref()?;
        let (from_kind, to_kind) = (self.kinds[from].as_str(), self.kinds[to].as_str());
        let keys = [(from, to), (from, to_kind), (from_kind, to), (from_kind, to_kind)];
        keys.iter().find_map(|(a, b)| table.get(&format!("{a}>{b}")).copied())
    }
}

/// Whether a request such as `/GPU:0`, `gpu` or `/device:CPU:*` fits a device's name.
fn fits(asked: &str, name: &str) -> bool {
    let (asked, name) = (asked.to_lowercase(), name.to_lowercase());
    let (kind, index) =
        name.rsplit_once('/').map_or(name.as_str(), |(_, last)| last).split_once(':').unwrap_or((&name, ""));
    let parts = asked.split('/').filter(|p| !p.is_empty());
    parts.into_iter().all(|part| {
        let part = part.strip_prefix("device:").unwrap_or(part);
        let (want, number) = part.split_once(':').unwrap_or((part, "*"));
        (want == "*" || want == kind) && (number == "*" || number == index)
    })
}
