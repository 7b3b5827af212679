//! One finding for what is the matter in several plans.
//!
//! A function that is compiled for several signatures, trained more than once, or shares a layer with another
//! has the same op in several plans. What there is to say of it is said once, of the plan with the most to
//! gain; the others are named.

use crate::record::{Elsewhere, Finding, FindingKind, Record};
use situ_core::reason::seconds;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What a finding is about: two that agree in this say the same.
type Subject = (FindingKind, Vec<String>);

pub(super) fn merge(record: &Record, found: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    let mut known: HashMap<Subject, usize> = HashMap::new();
    for finding in found {
        let Some(subject) = subject(record, &finding) else {
            merged.push(finding);
            continue;
        };
        match known.entry(subject) {
            Entry::Vacant(new) => {
                new.insert(merged.len());
                merged.push(finding);
            }
            Entry::Occupied(at) => {
                let first = &mut merged[*at.get()];
                // The first of equals stays.
                let mut finding = finding;
                if finding.gain_seconds > first.gain_seconds {
                    std::mem::swap(first, &mut finding);
                    first.elsewhere = std::mem::take(&mut finding.elsewhere);
                }
                let Finding { plan, gain_seconds, calls, .. } = finding;
                first.elsewhere.extend(plan.map(|plan| Elsewhere { plan, gain_seconds, calls }));
            }
        }
    }
    for finding in &mut merged {
        let also = also(record, finding);
        finding.text.push_str(&also);
    }
    merged
}

/// `None`: it is about no plan.
fn subject(record: &Record, finding: &Finding) -> Option<Subject> {
    let plan = &record.plans[finding.plan?];
    let op = |n: usize| {
        let node = &plan.nodes[n];
        let device = &record.devices[node.device].name;
        [node.full_name(), node.source.clone(), device.clone(), node.reason.rule.to_string()]
    };
    let parts = match finding.kind {
        // The ops that share a reason are listed together; the first of them stands for all.
        FindingKind::Fallback | FindingKind::Scope | FindingKind::Memory => {
            let first = *finding.nodes.first()?;
            let node = &plan.nodes[first];
            let wanted = node.reason.wanted.clone().unwrap_or_else(|| node.requested.clone());
            op(first).into_iter().chain([wanted]).collect()
        }
        FindingKind::RepeatedCopy => finding.nodes.iter().flat_map(|n| op(*n)).collect(),
        FindingKind::Idle => {
            let device = plan.nodes[*finding.nodes.first()?].device;
            vec![plan.function.clone(), record.devices[device].name.clone()]
        }
        FindingKind::Rows => finding.nodes.iter().flat_map(|n| op(*n)).collect(),
        FindingKind::Drift => vec![plan.function.clone()],
        FindingKind::Retraces | FindingKind::Eager => return None,
    };
    Some((finding.kind, parts))
}

/// Where else it holds: ` Also in evaluate, and in another plan of train step (1.20 ms a call).`
fn also(record: &Record, finding: &Finding) -> String {
    let own = finding.plan.map_or("", |plan| record.plans[plan].function.as_str());
    // By function: how many plans, and the most that one of them would gain.
    let mut functions: Vec<(&str, usize, f64)> = Vec::new();
    for other in &finding.elsewhere {
        let name = record.plans[other.plan].function.as_str();
        match functions.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, plans, gain)) => (*plans, *gain) = (*plans + 1, gain.max(other.gain_seconds)),
            None => functions.push((name, 1, other.gain_seconds)),
        }
    }
    let places: Vec<String> = functions
        .into_iter()
        .map(|(name, plans, gain)| {
            let what = match (name == own, plans) {
                (true, 1) => format!("another plan of {name}"),
                (true, plans) => format!("{plans} other plans of {name}"),
                (false, 1) => name.to_string(),
                (false, plans) => format!("{plans} plans of {name}"),
            };
            let saves = if gain > 0.0 { format!(" ({} a call)", seconds(gain)) } else { String::new() };
            format!("{what}{saves}")
        })
        .collect();
    if places.is_empty() { String::new() } else { format!(" Also in {}.", places.join(", and in ")) }
}
