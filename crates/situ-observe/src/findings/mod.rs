//! What to do: advice in plain words, with what each would save.
//!
//! A finder is a function from a record to findings, in a file of its own, and a line in `FINDERS`. What a
//! change would save is not guessed: the placer is asked with the cost graph changed (`what_if`), or it was
//! measured. A finding says which.

mod drift;
mod eager;
mod fallback;
mod idle;
mod memory;
mod merge;
mod repeated_copy;
mod retraces;
mod round_trips;
mod rows;
mod scope;
mod what_if;

use crate::record::{Finding, Node, PlanRecord, Record};

type Finder = fn(&Record, &mut Vec<Finding>);

const FINDERS: &[Finder] = &[
    fallback::find,
    scope::find,
    memory::find,
    repeated_copy::find,
    round_trips::find,
    idle::find,
    retraces::find,
    rows::find,
    eager::find,
    drift::find,
];

/// A gain below this share of a call is not worth a line.
const WORTHWHILE: f64 = 0.01;

/// All findings of a record, the largest gain first. What holds for several plans is said once.
pub fn find(record: &Record) -> Vec<Finding> {
    let mut found = Vec::new();
    for finder in FINDERS {
        finder(record, &mut found);
    }
    let mut found = merge::merge(record, found);
    found.sort_by(|a, b| b.total().total_cmp(&a.total()));
    found
}

/// The plans that were called, and how often.
fn called(record: &Record) -> impl Iterator<Item = (usize, &PlanRecord, u64)> {
    record.plans.iter().enumerate().filter_map(|(n, plan)| {
        let calls = record.calls.iter().filter(|call| call.plan == n).count() as u64;
        (calls > 0).then_some((n, plan, calls))
    })
}

/// A few names of nodes, and where the first is from: `dense/matmul, relu and 3 more (model.rs:12)`.
fn names<'n>(nodes: impl Iterator<Item = &'n Node>) -> String {
    let nodes: Vec<&Node> = nodes.collect();
    let mut names: Vec<String> = nodes.iter().flat_map(|node| node.full_names()).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let source = nodes.first().map_or("", |node| node.source.as_str());
    format!("{shown}{more} ({source})")
}
