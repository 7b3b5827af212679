//! Every read from another device has a copy; every copy has a reader, a way, and enough time on it.

use super::{Case, Violation, spans, wrong};
use crate::answer::{Answer, AnswerTransfer};
use crate::cost_graph::Edge;
use crate::machine::Link;
use std::collections::{BTreeMap, HashMap};

/// A node's output in a device's memory.
pub(super) type Key<'a> = (i64, &'a str);

pub(super) struct Copies<'a> {
    case: &'a Case<'a>,
    pub all: BTreeMap<Key<'a>, &'a AnswerTransfer>,
    /// The edges that each copy serves.
    served: HashMap<Key<'a>, Vec<&'a Edge>>,
    /// The copies that leave each place.
    onward: HashMap<Key<'a>, Vec<Key<'a>>>,
    /// When the readers of each place are done.
    pub readers: HashMap<Key<'a>, Vec<f64>>,
}

impl<'a> Copies<'a> {
    pub(super) fn new(case: &'a Case<'a>, answer: &'a Answer) -> Result<Copies<'a>, Violation> {
        let mut copies = Copies {
            case,
            all: BTreeMap::new(),
            served: HashMap::new(),
            onward: HashMap::new(),
            readers: HashMap::new(),
        };
        for t in &answer.transfers {
            let key = (t.edge_from, t.to.as_str());
            let known = case.nodes.contains_key(&t.edge_from) && case.devices.contains_key(key.1);
            if !known || !case.devices.contains_key(t.from.as_str()) || copies.all.insert(key, t).is_some() {
                return wrong(format!(
                    "the copy of node {} to {} is there twice, or of or to nothing",
                    key.0, key.1
                ));
            }
            copies.onward.entry((t.edge_from, t.from.as_str())).or_default().push(key);
        }
        for edge in &case.file.edges {
            let (writer, reader) = (case.placed[&edge.from], case.placed[&edge.to]);
            let key = (edge.from, reader.device.as_str());
            copies.readers.entry(key).or_default().push(reader.finish);
            let there = if reader.device == writer.device {
                writer.finish
            } else {
                let Some(copy) = copies.all.get(&key) else {
                    return wrong(format!(
                        "node {} reads node {}, and nothing copies it",
                        edge.to, edge.from
                    ));
                };
                copies.served.entry(key).or_default().push(edge);
                copy.finish
            };
            if reader.start < there - case.tolerance {
                return wrong(format!("node {} starts before its input {} is there", edge.to, edge.from));
            }
        }
        Ok(copies)
    }

    /// The ends of what reads, or copies onward, the output of a node in a memory.
    pub(super) fn ends(&self, key: Key<'a>) -> impl Iterator<Item = f64> + '_ {
        let readers = self.readers.get(&key).into_iter().flatten().copied();
        readers.chain(self.onward.get(&key).into_iter().flatten().map(|k| self.all[k].finish))
    }

    fn is_priced(&self, key: Key<'a>) -> bool {
        self.served.get(&key).into_iter().flatten().any(|e| e.cost.is_some())
    }

    /// What a copy moves: the most that any reader there, or beyond there, asks for.
    fn moved(&self, key: Key<'a>, depth: usize) -> f64 {
        let full = self.case.nodes[&key.0].output_bytes;
        let here = self.served.get(&key).into_iter().flatten().map(|e| e.bytes.unwrap_or(full));
        let most = here.fold(0.0, f64::max);
        if depth > 2 {
            return most;
        }
        let beyond = self.onward.get(&key).into_iter().flatten().map(|&k| self.moved(k, depth + 1));
        beyond.fold(most, f64::max)
    }

    /// What a copy takes in memory.
    pub(super) fn held(&self, key: Key<'a>) -> f64 {
        if self.is_priced(key) { self.case.nodes[&key.0].output_bytes } else { self.moved(key, 0) }
    }

    fn link(&self, from: &str, to: &str) -> Option<&'a Link> {
        self.case.file.links.iter().find(|l| l.from == from && l.to == to)
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        let mut busy: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for (&key, t) in &self.all {
            let (id, to) = key;
            let home = self.case.placed[&id].device.as_str();
            let ready = self.case.placed[&id].finish;
            if to == home {
                return wrong(format!("node {id} is copied to {to}, where it was made"));
            }
            if !self.served.contains_key(&key) && !self.onward.contains_key(&key) {
                return wrong(format!("the copy of {id} to {to} serves nobody"));
            }
            let (needs, ready) = if self.is_priced(key) {
                if t.from != home {
                    return wrong(format!(
                        "the priced copy of {id} to {to} comes from {}, not from {home}",
                        t.from
                    ));
                }
                let mut needs = 0.0f64;
                for edge in &self.served[&key] {
                    let Some(price) = self.case.price(edge, home, to) else {
                        return wrong(format!("the copy of {id}: no price {home} > {to}"));
                    };
                    needs = needs.max(price);
                }
                (needs, ready)
            } else {
                let ready = if t.from == home { ready } else { self.through(id, home, t)? };
                let Some(link) = self.link(&t.from, to) else {
                    return wrong(format!("the copy of {id}: no link {} > {to}", t.from));
                };
                let lane = link
                    .shared
                    .as_ref()
                    .map_or_else(|| format!("{}>{to}", t.from), |s| format!("shared {s}"));
                busy.entry(lane).or_default().push((t.start, t.finish));
                (link.latency + self.moved(key, 0) / link.bandwidth, ready)
            };
            if t.start < ready - self.case.tolerance {
                return wrong(format!("the copy of {id} to {to} starts before it is there"));
            }
            if t.finish - t.start < needs - self.case.tolerance {
                return wrong(format!(
                    "the copy of {id} to {to} takes {}, needs {needs}",
                    t.finish - t.start
                ));
            }
        }
        for (lane, list) in busy {
            spans::at_most(list, 1, self.case.tolerance)
                .map_err(|t| Violation(format!("link {lane}: {t}")))?;
        }
        Ok(())
    }

    /// When a copy that goes through another device can leave it.
    fn through(&self, id: i64, home: &str, t: &AnswerTransfer) -> Result<f64, Violation> {
        let first = self.all.get(&(id, t.from.as_str())).filter(|first| first.from == home);
        let cpu = self.case.kinds[t.from.as_str()] == "cpu";
        match first {
            Some(first) if cpu && self.link(home, &t.to).is_none() => Ok(first.finish),
            _ => wrong(format!("the copy of {id} to {} may not come through {}", t.to, t.from)),
        }
    }
}
