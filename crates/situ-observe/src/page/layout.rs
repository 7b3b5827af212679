//! The graph's layout: names become groups within groups, each laid out by itself.
//!
//! A group that is opened or closed changes the size of its box and nothing else, so every group is laid out
//! once, here, with all inside it closed. The page keeps rows and order, and pushes apart what an opened
//! group needs room for.

use super::columns::{Columns, beside};
use crate::record::{Node, PlanRecord};
use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The height of a box; rows are this and [`SPACING`] apart.
const HEIGHT: f64 = 44.0;
pub(super) const SPACING: f64 = 22.0;
/// The width of a letter, about.
const LETTER: f64 = 6.7;
/// Up to this many boxes in one part have a layout that is worth waiting for: its time grows with more than
/// the square.
const LAYERED: usize = 60;

/// A node or a group inside a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Item {
    Node(usize),
    Group(usize),
}

/// A box: what it is, its row, the middle of its wanted place in the row, its width, and its column: the
/// columns of a group stay beside each other, however wide one of them becomes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Place(pub(super) Item, pub(super) usize, pub(super) i64, pub(super) i64, pub(super) usize);

/// One name and what is in it. The first is the whole graph and has no name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Group {
    /// The last part of its name.
    pub(super) name: String,
    /// The group around it.
    pub(super) parent: Option<usize>,
    pub(super) items: Vec<Place>,
    /// What its columns show, where it has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) columns: Vec<&'static str>,
}

impl Group {
    fn new(name: &str, parent: Option<usize>) -> Group {
        Group { name: name.to_string(), parent, items: Vec::new(), columns: Vec::new() }
    }
}

/// The groups of a plan, laid out.
pub(super) fn groups(plan: &PlanRecord) -> Vec<Group> {
    let columns = Columns::of(plan);
    let mut groups = vec![Group::new("", None)];
    let mut of_name: HashMap<(usize, usize, &str), usize> = HashMap::new();
    let mut members: Vec<Vec<Item>> = vec![Vec::new()];
    // Of what is in the whole graph itself.
    let mut column: HashMap<Item, usize> = HashMap::new();
    // From the whole graph inwards, for each node.
    let mut chains: Vec<Vec<Item>> = Vec::with_capacity(plan.nodes.len());
    for (n, node) in plan.nodes.iter().enumerate() {
        let (mut at, mut chain) = (0, Vec::new());
        let (side, path) = columns.split(&node.name);
        for part in path.split('/').filter(|part| !part.is_empty()) {
            // Groups of one name in different columns are different groups.
            let key = (at, if at == 0 { side } else { 0 }, part);
            at = *of_name.entry(key).or_insert_with(|| {
                groups.push(Group::new(part, Some(at)));
                members.push(Vec::new());
                members[at].push(Item::Group(groups.len() - 1));
                groups.len() - 1
            });
            chain.push(Item::Group(at));
        }
        members[at].push(Item::Node(n));
        chain.push(Item::Node(n));
        column.insert(chain[0], side);
        chains.push(chain);
    }
    let mut edges: Vec<BTreeSet<(Item, Item)>> = vec![BTreeSet::new(); groups.len()];
    for (n, node) in plan.nodes.iter().enumerate() {
        for input in &node.inputs {
            // An edge belongs to the innermost group that has both its ends.
            let (a, b) = (&chains[input.node], &chains[n]);
            let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
            let group = match common.checked_sub(1).map(|c| a[c]) {
                Some(Item::Group(group)) => group,
                _ => 0,
            };
            if let (Some(from), Some(to)) = (a.get(common), b.get(common)) {
                edges[group].insert((*from, *to));
            }
        }
    }
    for group in 0..groups.len() {
        let side = |item: &Item| if group == 0 { column.get(item).copied().unwrap_or(0) } else { 0 };
        let boxes = members[group].iter().map(|item| (*item, width(*item, &plan.nodes, &groups), side(item)));
        let (ahead, others): (Vec<_>, Vec<_>) = boxes.partition(|(_, _, side)| *side == 0);
        let ahead: Vec<(Item, f64)> = ahead.into_iter().map(|(item, width, _)| (item, width)).collect();
        let items = place(&ahead, &edges[group]);
        groups[group].items = if others.is_empty() { items } else { beside(items, &others, &groups) };
    }
    groups[0].columns = columns.names();
    groups
}

/// The width of a closed box, by its longer line.
fn width(item: Item, nodes: &[Node], groups: &[Group]) -> f64 {
    let letters = match item {
        Item::Node(n) => nodes[n].label().chars().count().max(type_of(&nodes[n]).chars().count() * 5 / 6),
        // Below the name there is how many ops it has, and their time.
        Item::Group(g) => (groups[g].name.chars().count() + 3).max(17),
    };
    (letters as f64).clamp(5.0, 26.0) * LETTER + 20.0
}

/// `f32[32, 365]`.
pub(super) fn type_of(node: &Node) -> String {
    let sizes: Vec<String> = node.shape.iter().map(usize::to_string).collect();
    format!("{}[{}]", node.dtype, sizes.join(", "))
}

/// Gives each box of a group a row and a place in it.
fn place(boxes: &[(Item, f64)], edges: &BTreeSet<(Item, Item)>) -> Vec<Place> {
    let number: HashMap<Item, usize> = boxes.iter().enumerate().map(|(n, (item, _))| (*item, n)).collect();
    // Those to other columns are not for this one to arrange.
    let edges = edges.iter().filter_map(|(a, b)| Some((*number.get(a)?, *number.get(b)?)));
    let edges: Vec<(usize, usize)> = edges.collect();
    let part = |part: Vec<usize>| {
        let small = part.len() <= LAYERED;
        // It is other people's code on any graph at all: should it fail on one, that graph is shown in plain
        // rows.
        let layered =
            small.then(|| std::panic::catch_unwind(|| layered(&part, boxes, &edges)).ok()).flatten();
        layered.unwrap_or_else(|| plain(&part, boxes, &edges))
    };
    let placed = shelves(parts(boxes.len(), &edges).into_iter().map(part).collect(), boxes);
    let mut levels: Vec<i64> = placed.iter().map(|(_, _, y)| *y).collect();
    levels.sort_unstable();
    levels.dedup();
    let mut items: Vec<Place> = placed
        .into_iter()
        .map(|(n, x, y)| {
            let row = levels.binary_search(&y).unwrap_or(0);
            Place(boxes[n].0, row, x.round() as i64, boxes[n].1.round() as i64, 0)
        })
        .collect();
    items.sort_by_key(|Place(item, row, x, ..)| (*row, *x, *item));
    items
}

/// The boxes, in parts between which there is no edge.
fn parts(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut of: Vec<usize> = (0..count).collect();
    fn root(of: &mut [usize], mut n: usize) -> usize {
        while of[n] != n {
            of[n] = of[of[n]];
            n = of[n];
        }
        n
    }
    for &(a, b) in edges {
        let (a, b) = (root(&mut of, a), root(&mut of, b));
        of[a.max(b)] = a.min(b);
    }
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for n in 0..count {
        parts.entry(root(&mut of, n)).or_default().push(n);
    }
    parts.into_values().collect()
}

/// Boxes with the middles of their places.
type Part = Vec<(usize, (f64, f64))>;

/// Lays out one part, in layers from what is read to what reads.
fn layered(part: &[usize], boxes: &[(Item, f64)], edges: &[(usize, usize)]) -> Part {
    let mut graph = Graph::with_options(GraphOptions { directed: true, multigraph: false, compound: false });
    for &n in part {
        let label = NodeLabel { width: boxes[n].1, height: HEIGHT, ..NodeLabel::default() };
        graph.set_node(n.to_string(), Some(label));
    }
    let inside: BTreeSet<usize> = part.iter().copied().collect();
    for (a, b) in edges.iter().filter(|(a, _)| inside.contains(a)) {
        graph.set_edge(a.to_string(), b.to_string(), Some(EdgeLabel::default()), None);
    }
    let options = LayoutOptions {
        nodesep: SPACING,
        edgesep: SPACING / 2.0,
        ranksep: SPACING,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut graph, Some(options));
    let place = |n: usize| graph.node(&n.to_string()).and_then(|node| Some((node.x?, node.y?)));
    part.iter().map(|&n| (n, place(n).unwrap_or_default())).collect()
}

/// Vertices with their places, and how wide and high they are together.
type Extent = (Vec<(usize, f64, f64)>, f64, f64);

/// Parts that have no edge between them go side by side, on as many shelves as keep the whole about as wide
/// as high.
fn shelves(parts: Vec<Part>, boxes: &[(Item, f64)]) -> Vec<(usize, f64, i64)> {
    let mut extents: Vec<Extent> = parts
        .into_iter()
        .map(|vertices| {
            let side = |pick: fn(f64, f64) -> f64, worst: f64, sign: f64| {
                vertices.iter().map(|(n, (x, _))| x + sign * boxes[*n].1 / 2.0).fold(worst, pick)
            };
            let (left, right) = (side(f64::min, f64::INFINITY, -1.0), side(f64::max, f64::NEG_INFINITY, 1.0));
            let ys = vertices.iter().map(|(_, (_, y))| *y);
            let (top, low) = (ys.clone().fold(f64::INFINITY, f64::min), ys.fold(f64::NEG_INFINITY, f64::max));
            let moved = vertices.iter().map(|(n, (x, y))| (*n, x - left, y - top)).collect();
            (moved, right - left, low - top + HEIGHT + SPACING)
        })
        .collect();
    // The highest first, so that a shelf's room is used; equal ones stay in order.
    extents.sort_by(|a, b| b.2.total_cmp(&a.2));
    let area: f64 = extents.iter().map(|(_, width, height)| (width + SPACING) * height).sum();
    let widest = extents.iter().map(|(_, width, _)| *width).fold(0.0, f64::max);
    let limit = widest.max((area * 1.8).sqrt());
    let (mut x, mut y, mut high) = (0.0, 0.0, 0.0);
    let mut placed = Vec::with_capacity(boxes.len());
    for (vertices, width, height) in extents {
        if x > 0.0 && x + width > limit {
            (x, y, high) = (0.0, y + high, 0.0);
        }
        placed.extend(vertices.into_iter().map(|(n, vx, vy)| (n, x + vx, (y + vy).round() as i64)));
        x += width + SPACING;
        high = f64::max(high, height);
    }
    placed
}

/// Rows by the longest way from an input, each in the order of what its boxes read and are read by.
fn plain(part: &[usize], boxes: &[(Item, f64)], edges: &[(usize, usize)]) -> Part {
    let mut row: HashMap<usize, usize> = part.iter().map(|n| (*n, 0)).collect();
    let edges: Vec<(usize, usize)> = edges.iter().copied().filter(|(a, _)| row.contains_key(a)).collect();
    // Groups may read each other in a ring: rows are counted up to as many as there are boxes, and no
    // further.
    for _ in 0..part.len() {
        let mut changed = false;
        for (a, b) in &edges {
            let below = row[a] + 1;
            if row[b] < below && below < part.len() {
                row.insert(*b, below);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut rows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for n in part {
        rows.entry(row[n]).or_default().push(*n);
    }
    let mut near: HashMap<usize, Vec<usize>> = HashMap::new();
    for (a, b) in edges {
        near.entry(a).or_default().push(b);
        near.entry(b).or_default().push(a);
    }
    let mut middle: HashMap<usize, f64> = HashMap::new();
    // Each sweep puts a box at the mean of its neighbours; after a few, little changes any more.
    for _ in 0..6 {
        for row in rows.values_mut() {
            let wanted = |n: &usize| {
                let known: Vec<f64> =
                    near.get(n).into_iter().flatten().filter_map(|m| middle.get(m)).copied().collect();
                if known.is_empty() { 0.0 } else { known.iter().sum::<f64>() / known.len() as f64 }
            };
            row.sort_by(|a, b| wanted(a).total_cmp(&wanted(b)));
            let wide: f64 = row.iter().map(|n| boxes[*n].1 + SPACING).sum();
            let mut left = -wide / 2.0;
            for n in row {
                middle.insert(*n, left + boxes[*n].1 / 2.0);
                left += boxes[*n].1 + SPACING;
            }
        }
    }
    let place = |n: &usize| (*n, (middle[n], row[n] as f64 * (HEIGHT + SPACING)));
    part.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Input;

    fn node(name: &str, op: &str, inputs: &[usize]) -> Node {
        let inputs = inputs.iter().map(|&node| Input { node, bytes: 4 }).collect();
        Node { name: name.into(), op: op.into(), inputs, ..Node::default() }
    }

    fn plan(nodes: Vec<Node>) -> PlanRecord {
        PlanRecord { nodes, ..PlanRecord::default() }
    }

    #[test]
    fn names_become_groups_and_what_reads_is_below_what_is_read() {
        let nodes = vec![
            node("", "x", &[]),
            node("encoder/dense", "matmul", &[0]),
            node("encoder/dense", "bias_add", &[1]),
            node("encoder", "relu", &[2]),
            node("", "sum", &[3]),
        ];
        let groups = groups(&plan(nodes));
        let names: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["", "encoder", "dense"]);
        let order =
            |g: usize| groups[g].items.iter().map(|Place(item, row, ..)| (*item, *row)).collect::<Vec<_>>();
        assert_eq!(order(0), [(Item::Node(0), 0), (Item::Group(1), 1), (Item::Node(4), 2)]);
        assert_eq!(order(1), [(Item::Group(2), 0), (Item::Node(3), 1)]);
        assert_eq!(order(2), [(Item::Node(1), 0), (Item::Node(2), 1)]);
    }

    #[test]
    fn five_hundred_nodes_without_names_are_laid_out_within_seconds() {
        let inputs = |n: usize| {
            [1, 2 + n % 9].into_iter().filter(|back| *back <= n).map(|back| n - back).collect::<Vec<_>>()
        };
        let nodes: Vec<Node> = (0..500).map(|n| node("", "matmul", &inputs(n))).collect();
        let start = std::time::Instant::now();
        let groups = groups(&plan(nodes));
        println!("500 nodes in one group: {:?}", start.elapsed());
        assert_eq!(groups[0].items.len(), 500);
        assert!(start.elapsed().as_secs() < 10);
    }

    #[test]
    fn boxes_of_a_row_do_not_overlap_and_every_node_has_a_place_in_any_graph() {
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for round in 0..60 {
            let count = 1 + random(60);
            // Names at random make groups that read each other in rings.
            let names = ["", "a", "b", "a/c", "b/c", "b/d/e"];
            let nodes: Vec<Node> = (0..count)
                .map(|n| {
                    let inputs: Vec<usize> =
                        (0..random(3)).filter(|_| n > 0).map(|_| random(n.max(1))).collect();
                    node(names[random(names.len())], "op", &inputs)
                })
                .collect();
            let groups = groups(&plan(nodes));
            let mut seen = BTreeSet::new();
            for group in &groups {
                for pair in group.items.windows(2) {
                    let (Place(a, row_a, x_a, w_a, _), Place(b, row_b, x_b, w_b, _)) = (&pair[0], &pair[1]);
                    let apart = row_a != row_b || x_b - x_a >= (w_a + w_b) / 2 - 1;
                    assert!(apart, "round {round}: {a:?} at {x_a} and {b:?} at {x_b}");
                }
                seen.extend(group.items.iter().filter_map(|place| match place.0 {
                    Item::Node(n) => Some(n),
                    Item::Group(_) => None,
                }));
            }
            assert_eq!(seen.len(), count, "round {round}");
        }
    }
}
