//! The bytes of each memory over time, against its limit and against the peak that the answer states.

use super::copies::Copies;
use super::{Case, Violation, wrong};
use crate::answer::Answer;
use std::collections::{HashMap, HashSet};

/// A span of bytes: start, finish, bytes.
type Life = (f64, f64, f64);

pub(super) fn check(case: &Case<'_>, copies: &Copies<'_>, answer: &Answer) -> Result<(), Violation> {
    let mut lives: HashMap<&str, Vec<Life>> = HashMap::new();
    let mut residents: HashMap<&str, HashSet<&str>> = HashMap::new();
    for node in &case.file.nodes {
        let placed = case.placed[&node.id];
        let here = lives.entry(&placed.device).or_default();
        here.push((0.0, case.end, node.memory));
        let last = copies.ends((node.id, &placed.device)).reduce(f64::max).unwrap_or(case.end);
        here.push((placed.start, last, node.output_bytes));
        residents.entry(&placed.device).or_default().extend(node.uses.iter().map(String::as_str));
    }
    for (&key, t) in &copies.all {
        let last = copies.ends(key).reduce(f64::max).unwrap_or(case.end);
        lives.entry(key.1).or_default().push((t.start, last, copies.held(key)));
    }
    for device in &case.file.devices {
        let name = device.name.as_str();
        let mut list = lives.remove(name).unwrap_or_default();
        for resident in residents.remove(name).unwrap_or_default() {
            list.push((0.0, case.end, case.file.resident.get(resident).copied().unwrap_or(0.0)));
        }
        let top = peak(&list);
        if let Some(limit) = device.memory.filter(|limit| top > limit * (1.0 + 1e-9)) {
            return wrong(format!("{name}: {top} bytes at its peak, limit {limit}"));
        }
        let said = answer.peak_memory.get(name).copied();
        if let Some(said) = said.filter(|said| (said - top).abs() > f64::max(1.0, 1e-6 * top)) {
            return wrong(format!("{name}: states a peak of {said} bytes, has {top}"));
        }
    }
    Ok(())
}

/// At one instant: what began earlier is freed, then the new is taken, then what began just now is freed.
fn peak(lives: &[Life]) -> f64 {
    let mut events: Vec<(f64, u8, f64)> = Vec::new();
    for &(start, finish, bytes) in lives {
        events.push((start, 1, bytes));
        events.push((finish, if finish <= start { 2 } else { 0 }, -bytes));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut used = 0.0;
    events
        .iter()
        .map(|(_, _, change)| {
            used += change;
            used
        })
        .fold(0.0, f64::max)
}
