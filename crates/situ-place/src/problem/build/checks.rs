//! Every check of devices, nodes and edges, with the place in the file that is wrong.

use super::{ProblemBuilder, RawNode};
use crate::error::GraphError;
use crate::problem::{EdgeRow, NONE, allowed};
use situ_core::DeviceSpec;
use std::collections::HashMap;

impl ProblemBuilder {
    /// Each has a name of its own, and figures that make sense.
    pub(in crate::problem) fn check_devices(&self) -> Result<(), GraphError> {
        if self.devices.is_empty() {
            return Err(GraphError::at("devices", "there is none; nothing can run without a device"));
        }
        if self.devices.len() >= usize::from(u16::MAX) {
            return Err(GraphError::at("devices", format!("{} are too many", self.devices.len())));
        }
        let mut seen = HashMap::new();
        for (i, device) in self.devices.iter().enumerate() {
            if device.name.is_empty() {
                return Err(GraphError::at(format!("devices[{i}].name"), "is empty"));
            }
            if device.name.chars().any(situ_core::visible::is_hidden) {
                let why = format!("{:?} has a control character in it", device.name);
                return Err(GraphError::at(format!("devices[{i}].name"), why));
            }
            if let Some(before) = seen.insert(device.name.as_str(), i) {
                let why = format!("{:?} is the name of devices[{before}] already", device.name);
                return Err(GraphError::at(format!("devices[{i}].name"), why));
            }
            if device.slots == 0 {
                return Err(GraphError::at(format!("devices[{i}].slots"), "must be at least 1"));
            }
            if let Some(memory) = device.memory {
                number(memory, || format!("devices[{i}].memory"))?;
            }
        }
        Ok(())
    }

    /// Nodes and residents have figures that make sense, and nodes ids of their own.
    pub(in crate::problem) fn check_nodes(&self) -> Result<(), GraphError> {
        let mut seen = HashMap::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            if let Some(before) = seen.insert(node.id, i) {
                let why = format!("{} is the id of nodes[{before}] already", node.id);
                return Err(GraphError::at(format!("nodes[{i}].id"), why));
            }
            number(node.output_bytes, || format!("nodes[{i}].output_bytes"))?;
            number(node.memory, || format!("nodes[{i}].memory"))?;
            if let Some(&r) = node.uses.iter().find(|&&r| r as usize >= self.residents.len()) {
                return Err(GraphError::at(
                    format!("nodes[{i}].uses"),
                    format!("there is no resident number {r}"),
                ));
            }
        }
        for (name, bytes) in self.residents.iter().map(|r| (&r.name, r.bytes)) {
            number(bytes, || format!("resident[{name:?}]"))?;
        }
        Ok(())
    }

    /// The edges, between nodes that there are.
    pub(super) fn checked_edges(&self) -> Result<Vec<EdgeRow>, GraphError> {
        let rows = self.edges.iter().enumerate().map(|(i, edge)| {
            if edge.from >= self.nodes.len() || edge.to >= self.nodes.len() {
                return Err(GraphError::at(format!("edges[{i}]"), "names a node that there is not"));
            }
            if edge.from == edge.to {
                let why = format!("node {} reads itself", self.nodes[edge.from].id);
                return Err(GraphError::at(format!("edges[{i}]"), why));
            }
            let bytes = edge.bytes.unwrap_or(self.nodes[edge.from].output_bytes);
            number(bytes, || format!("edges[{i}].bytes"))?;
            if edge.price != NONE {
                let (pattern, values) = &self.price_rows[edge.price as usize];
                for (key, &value) in self.patterns[*pattern as usize].iter().zip(values) {
                    number(value, || format!("edges[{i}].cost[{key:?}]"))?;
                }
            }
            Ok(EdgeRow { from: edge.from as u32, to: edge.to as u32, bytes, price: edge.price })
        });
        rows.collect()
    }

    /// What nodes ask for, read.
    pub(super) fn requests_parsed(
        &self,
        devices: &[Option<DeviceSpec>],
    ) -> Result<Vec<Option<DeviceSpec>>, GraphError> {
        let parse = |(i, node): (usize, &RawNode)| match &node.request {
            None => Ok(None),
            Some(text) => match allowed::parse(text, devices) {
                Ok(spec) => Ok((!spec.is_empty()).then_some(spec)),
                Err(error) => Err(GraphError::at(format!("nodes[{i}].device"), error.to_string())),
            },
        };
        self.nodes.iter().enumerate().map(parse).collect()
    }
}

/// No figure of a graph is larger, and no bandwidth smaller than its inverse: sums, products and quotients of
/// figures stay finite.
pub(super) const LARGEST: f64 = 1e100;

/// A figure: finite, not negative, and not too large.
pub(super) fn number(value: f64, place: impl FnOnce() -> String) -> Result<(), GraphError> {
    if (0.0..=LARGEST).contains(&value) {
        return Ok(());
    }
    let why = match value {
        _ if !value.is_finite() => "is not a finite number",
        _ if value < 0.0 => "is negative",
        _ => "is beyond 1e100, the largest figure that a graph may have",
    };
    // 1e308 is a digit and 308 zeros otherwise.
    let value = if value.abs() < 1e16 { value.to_string() } else { format!("{value:e}") };
    Err(GraphError::at(place(), format!("{value} {why}")))
}
