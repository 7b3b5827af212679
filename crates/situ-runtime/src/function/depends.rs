//! What the results of a plan depend on: checks of its launches, and whatever checks its inputs and branches
//! bring along.

use super::plan::{Depends, Memory};
use situ_ir::graph::Content;
use situ_ir::{Graph, NodeId};
use std::collections::HashMap;

/// The dependencies of every node, as sets of bits: a step of training has as many sources as it has
/// variables, and all of them reach most of its nodes.
pub(super) struct Dependencies {
    checks: usize,
    sources: Vec<Memory>,
    of: Vec<Vec<u64>>,
}

impl Dependencies {
    /// Follows a graph whose nodes have these checks (numbers below `checks`), and whose branches leave their
    /// results there.
    pub(super) fn new(
        graph: &Graph,
        checks: usize,
        check_of: &HashMap<u32, Vec<usize>>,
        late_of: &HashMap<u32, Vec<Memory>>,
    ) -> Dependencies {
        let mut sources: Vec<Memory> = Vec::new();
        let mut own: Vec<Vec<usize>> = Vec::with_capacity(graph.nodes().len());
        for (id, node) in graph.iter() {
            let first = sources.len();
            match node.content {
                Content::Input(n) => sources.push(Memory::Argument(n as usize)),
                Content::Capture(n) => sources.push(Memory::Capture(n as usize)),
                Content::Variable(n) => sources.push(Memory::Variable(n as usize)),
                Content::Op(_) | Content::Cond(_) | Content::While(_) => {
                    sources.extend(late_of.get(&id.0).into_iter().flatten());
                }
            }
            let mut bits: Vec<usize> = (first..sources.len()).map(|source| checks + source).collect();
            bits.extend(check_of.get(&id.0).into_iter().flatten());
            own.push(bits);
        }
        let words = (checks + sources.len()).div_ceil(64);
        let mut of: Vec<Vec<u64>> = Vec::with_capacity(own.len());
        for ((_, node), bits) in graph.iter().zip(own) {
            let mut set = vec![0; words];
            bits.into_iter().for_each(|bit| set[bit / 64] |= 1 << (bit % 64));
            node.inputs.iter().for_each(|input| join(&mut set, &of[input.node.index()]));
            of.push(set);
        }
        Dependencies { checks, sources, of }
    }

    /// What any of these nodes depends on.
    pub(super) fn of(&self, nodes: impl IntoIterator<Item = NodeId>) -> Depends {
        let mut set = vec![0; (self.checks + self.sources.len()).div_ceil(64)];
        nodes.into_iter().for_each(|node| join(&mut set, &self.of[node.index()]));
        let has = |bit: usize| set[bit / 64] >> (bit % 64) & 1 == 1;
        let sources = self.sources.iter().enumerate().filter(|(source, _)| has(self.checks + source));
        Depends {
            checks: (0..self.checks).filter(|&check| has(check)).collect(),
            sources: sources.map(|(_, memory)| *memory).collect(),
        }
    }
}

fn join(set: &mut [u64], other: &[u64]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
}
