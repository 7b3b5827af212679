//! Which nodes share a device.

use super::ProblemBuilder;
use crate::problem::{NONE, Unit};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

impl ProblemBuilder {
    /// Groups by union of labels and pairs, numbered in the order of their first members.
    pub(super) fn units(&self) -> (Vec<u32>, Vec<Unit>) {
        let mut parent: Vec<u32> = (0..self.nodes.len() as u32).collect();
        fn root(parent: &mut [u32], mut i: u32) -> u32 {
            while parent[i as usize] != i {
                parent[i as usize] = parent[parent[i as usize] as usize];
                i = parent[i as usize];
            }
            i
        }
        let mut first_of: HashMap<&str, u32> = HashMap::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(label) = &node.label else { continue };
            let first = *first_of.entry(label).or_insert(i as u32);
            let (a, b) = (root(&mut parent, first), root(&mut parent, i as u32));
            parent[a.max(b) as usize] = a.min(b);
        }
        for &(a, b) in &self.together {
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            parent[a.max(b) as usize] = a.min(b);
        }
        let mut unit_of = vec![NONE; self.nodes.len()];
        let mut units: Vec<Unit> = Vec::new();
        for i in 0..self.nodes.len() as u32 {
            let root = root(&mut parent, i);
            // A root is the smallest member, so its unit exists before the others ask for it.
            if root == i {
                unit_of[i as usize] = units.len() as u32;
                units.push(Unit {
                    members: SmallVec::new(),
                    label: None,
                    allowed: Arc::default(),
                    relaxed: None,
                });
            }
            unit_of[i as usize] = unit_of[root as usize];
            let unit = &mut units[unit_of[i as usize] as usize];
            unit.members.push(i);
            if unit.label.is_none() {
                unit.label = self.nodes[i as usize].label.clone();
            }
        }
        (unit_of, units)
    }
}
