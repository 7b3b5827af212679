//! Common subexpressions: what is computed twice from the same values, under the same scope, is computed
//! once.
//!
//! Random numbers are never merged: two draws are two draws. Sums and products are the same whichever way
//! round their inputs stand; so are maxima of integers (of floats, the sign of a zero depends on it).

use super::rewrite::{Rule, Site, Values, is_random, rewrite};
use super::{Context, Report};
use crate::graph::{Content, Graph, NodeId, Value};
use situ_core::Result;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Merges equal nodes.
pub fn run(graph: &Graph, _: &mut Context<'_>) -> Result<(Graph, Report)> {
    let mut report = Report::new("cse");
    let graph = rewrite(graph, &mut Merge::default(), &mut report, "")?;
    Ok((graph, report))
}

/// The nodes of the new graph, by a hash of what they compute.
#[derive(Default)]
struct Merge {
    seen: HashMap<u64, Vec<NodeId>>,
}

impl Rule for Merge {
    fn at(&mut self, site: &mut Site<'_>, inputs: &[Value]) -> Result<Option<Values>> {
        let node = site.graph.node(site.id);
        let inputs = ordered(&node.content, inputs, site);
        let mut hasher = DefaultHasher::new();
        (&node.content, &inputs).hash(&mut hasher);
        let bucket = self.seen.entry(hasher.finish()).or_default();
        let nodes = site.builder.nodes();
        let same = |other: &&NodeId| {
            let other = &nodes[other.index()];
            other.content == node.content && ordered(&other.content, &other.inputs, site) == inputs
        };
        let alike: Vec<NodeId> = bucket.iter().filter(same).copied().collect();
        let found = alike.iter().find(|other| nodes[other.index()].request == node.request).copied();
        // A node that stays is the next of the new graph.
        let next = NodeId(nodes.len() as u32);
        if found.is_none() || is_random(node) {
            bucket.push(next);
        }
        match (found, alike.first()) {
            (Some(_), _) if is_random(node) => {
                site.nearly("kept: it draws random numbers, and two draws are two draws");
                Ok(None)
            }
            (Some(other), _) => {
                site.did(format!("is what %{} of the new graph already computes", other.0));
                Ok(Some((0..node.types.len()).map(|n| Value::nth(other, n)).collect()))
            }
            (None, Some(other)) if !node.content.is_source() && !is_random(node) => {
                let other = other.0;
                site.nearly(format!(
                    "kept: it computes what %{other} of the new graph does under another scope"
                ));
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    fn blocks(&mut self, site: &mut Site<'_>, _: &[Value]) -> Result<Content> {
        // The nodes of a block are numbered on their own.
        site.each_block(|graph, report, within| rewrite(graph, &mut Merge::default(), report, within))
    }
}

/// The inputs, in one order where their order does not matter.
fn ordered(content: &Content, inputs: &[Value], site: &Site<'_>) -> SmallVec<[Value; 3]> {
    let mut inputs: SmallVec<[Value; 3]> = inputs.iter().copied().collect();
    if let (Content::Op(op), [first, _]) = (content, inputs.as_slice())
        && op.commutes(site.builder.type_of(*first).dtype)
    {
        inputs.sort();
    }
    inputs
}
