//! What copies cost: the routes that links make, and the prices that edges carry themselves.

use super::checks::{LARGEST, number};
use super::{ProblemBuilder, Side};
use crate::error::GraphError;
use crate::problem::routes::LinkRow;
use crate::problem::{CopyPrices, NONE, Routes};
use std::collections::HashMap;

impl ProblemBuilder {
    /// The ways between devices.
    pub(super) fn routes(&self, kinds: &[String]) -> Result<Routes, GraphError> {
        let mut channels: HashMap<&str, u32> = HashMap::new();
        let mut next = 0;
        let mut rows = Vec::with_capacity(self.links.len());
        let mut seen = HashMap::new();
        for (i, link) in self.links.iter().enumerate() {
            let at = |field: &str| format!("links[{i}].{field}");
            if link.from >= self.devices.len() || link.to >= self.devices.len() {
                return Err(GraphError::at(format!("links[{i}]"), "names a device that there is not"));
            }
            if link.from == link.to {
                return Err(GraphError::at(format!("links[{i}]"), "leads from a device to itself"));
            }
            if let Some(before) = seen.insert((link.from, link.to), i) {
                return Err(GraphError::at(
                    format!("links[{i}]"),
                    format!("joins the same devices as links[{before}]"),
                ));
            }
            number(link.latency, || at("latency"))?;
            number(link.bandwidth, || at("bandwidth"))?;
            if link.bandwidth < LARGEST.recip() {
                return Err(GraphError::at(at("bandwidth"), "must be above zero, and at least 1e-100"));
            }
            let mut fresh = || {
                next += 1;
                next - 1
            };
            let channel = match &link.shared {
                Some(label) => *channels.entry(label).or_insert_with(&mut fresh),
                None => fresh(),
            };
            rows.push(LinkRow {
                from: link.from as u16,
                to: link.to as u16,
                latency: link.latency,
                bandwidth: link.bandwidth,
                channel,
            });
        }
        let cpus: Vec<u16> = (0..kinds.len() as u16).filter(|&d| kinds[d as usize] == "cpu").collect();
        let outputs = self.nodes.iter().map(|n| n.output_bytes).filter(|b| b.is_finite());
        let typical = outputs.sum::<f64>() / self.nodes.len().max(1) as f64;
        let carried = self.edges.iter().filter(|e| e.price == NONE);
        let carried = carried.map(|e| match (e.bytes, self.nodes.get(e.from)) {
            (Some(bytes), _) => bytes,
            (None, Some(node)) => node.output_bytes,
            (None, None) => 0.0,
        });
        let smallest = carried.fold(f64::INFINITY, f64::min).max(0.0);
        Ok(Routes::new(self.devices.len(), rows, next as usize, &cpus, typical, smallest))
    }

    /// The prices of edges that have their own.
    pub(super) fn copy_prices(&self, kinds: &[String]) -> Result<CopyPrices, GraphError> {
        let count = self.devices.len();
        let mut prices = CopyPrices::new(count);
        for keys in &self.patterns {
            // The more exact key wins: name over kind, the source's before the destination's.
            let weight = |side: &Side| u32::from(matches!(side, Side::Device(_)));
            let mut best = vec![0u32; count * count];
            let mut places = vec![NONE; count * count];
            for (place, (a, b)) in keys.iter().enumerate() {
                let fits = |side: &Side, d: usize| match side {
                    Side::Device(device) => usize::from(*device) == d,
                    Side::Kind(kind) => kinds[d] == *kind,
                };
                let rank = 1 + 2 * weight(a) + weight(b);
                for from in (0..count).filter(|&d| fits(a, d)) {
                    for to in (0..count).filter(|&d| fits(b, d)) {
                        let at = from * count + to;
                        if rank > best[at] {
                            best[at] = rank;
                            places[at] = place as u32;
                        }
                    }
                }
            }
            prices.add_pattern(places);
        }
        let mut merged = HashMap::new();
        for (pattern, values) in &self.price_rows {
            let pattern = prices.merge_equal(*pattern, values, &mut merged);
            prices.add_row(pattern, values);
        }
        Ok(prices)
    }
}
