//! Steps of training side by side: each layer's ops going forwards, their gradients, and the updates of its
//! weights share a row.
//!
//! What runs for the gradient of an op has `gradient` before the names around it, what changes a weight has
//! `update` before the weight's. Where most of these have a counterpart among the ops going forwards, they
//! get columns of their own.

use super::layout::{Group, Item, Place, SPACING};
use crate::record::PlanRecord;
use std::collections::{BTreeSet, HashMap};

/// What the columns show.
pub(super) const NAMES: [&str; 3] = ["forward", "backward", "update"];

/// Whether a plan is shown in columns.
pub(super) struct Columns(bool);

/// The first name of a path, and the rest.
fn first(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or((path, ""))
}

impl Columns {
    pub(super) fn of(plan: &PlanRecord) -> Columns {
        let (mut ahead, mut back) = (BTreeSet::new(), BTreeSet::new());
        for node in plan.nodes.iter().filter(|node| !node.name.is_empty()) {
            match first(&node.name) {
                ("gradient", rest) => back.insert(first(rest).0),
                ("update", _) => false,
                (name, _) => ahead.insert(name),
            };
        }
        let known = back.iter().filter(|name| ahead.contains(*name)).count();
        Columns(known > 0 && 2 * known >= back.len())
    }

    /// The column of a path, and the names that are left of it.
    pub(super) fn split<'n>(&self, path: &'n str) -> (usize, &'n str) {
        match first(path) {
            ("gradient", rest) if self.0 => (1, rest),
            ("update", rest) if self.0 => (2, rest),
            _ => (0, path),
        }
    }

    /// The headings, if there are columns.
    pub(super) fn names(&self) -> Vec<&'static str> {
        if self.0 { NAMES.to_vec() } else { Vec::new() }
    }
}

/// Adds the boxes of further columns to the first, which is laid out: each in the row of the group of its
/// name, or else in the last.
pub(super) fn beside(mut ahead: Vec<Place>, others: &[(Item, f64, usize)], groups: &[Group]) -> Vec<Place> {
    let name = |item: Item| match item {
        Item::Group(group) => Some(groups[group].name.as_str()),
        Item::Node(_) => None,
    };
    let rows: HashMap<&str, usize> =
        ahead.iter().filter_map(|Place(item, row, ..)| Some((name(*item)?, *row))).collect();
    let last = ahead.iter().map(|Place(_, row, ..)| *row).max().unwrap_or(0);
    let mut ends: HashMap<(usize, usize), f64> = HashMap::new();
    for &(item, width, column) in others {
        let row = name(item).and_then(|name| rows.get(name)).copied().unwrap_or(last);
        let left = ends.entry((row, column)).or_default();
        ahead.push(Place(item, row, (*left + width / 2.0).round() as i64, width.round() as i64, column));
        *left += width + SPACING;
    }
    ahead.sort_by_key(|Place(item, row, x, _, column)| (*row, *column, *x, *item));
    ahead
}

#[cfg(test)]
mod tests {
    use super::super::layout::groups;
    use super::*;
    use crate::record::{Input, Node};

    fn node(name: &str, op: &str, inputs: &[usize]) -> Node {
        let inputs = inputs.iter().map(|&node| Input { node, bytes: 4 }).collect();
        Node { name: name.into(), op: op.into(), inputs, ..Node::default() }
    }

    #[test]
    fn a_layer_its_gradient_and_its_update_share_a_row_in_three_columns() {
        let nodes = vec![
            node("", "input", &[]),
            node("dense", "matmul", &[0]),
            node("dense_1", "matmul", &[1]),
            node("loss", "mean", &[2]),
            node("gradient/dense_1", "matmul", &[3]),
            node("gradient/dense", "matmul", &[4]),
            node("update/dense/kernel", "adam", &[5]),
            node("update/dense_1/kernel", "adam", &[4]),
        ];
        let groups = groups(&PlanRecord { nodes, ..PlanRecord::default() });
        assert_eq!(groups[0].columns, NAMES);
        let mut placed: Vec<(&str, usize, usize)> = Vec::new();
        for Place(item, row, _, _, column) in &groups[0].items {
            if let Item::Group(group) = item {
                placed.push((&groups[*group].name, *row, *column));
            }
        }
        let row_of = |name: &str| placed.iter().filter(|(n, ..)| *n == name).map(|p| p.1).collect::<Vec<_>>();
        let columns_of =
            |name: &str| placed.iter().filter(|(n, ..)| *n == name).map(|p| p.2).collect::<Vec<_>>();
        for layer in ["dense", "dense_1"] {
            assert_eq!(columns_of(layer), [0, 1, 2], "{placed:?}");
            assert!(row_of(layer).windows(2).all(|rows| rows[0] == rows[1]), "{placed:?}");
        }
        assert!(row_of("dense")[0] < row_of("dense_1")[0] && row_of("dense_1")[0] < row_of("loss")[0]);
    }

    #[test]
    fn gradients_of_ops_without_names_stay_a_group() {
        let nodes = vec![node("", "exp", &[]), node("gradient", "mul", &[0])];
        let groups = groups(&PlanRecord { nodes, ..PlanRecord::default() });
        assert!(groups[0].columns.is_empty());
        assert_eq!(groups[1].name, "gradient");
    }
}
