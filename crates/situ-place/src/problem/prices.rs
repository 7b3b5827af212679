//! Prices of copies that edges carry themselves, per pair of devices.
//!
//! Thousands of edges share the same few sets of keys, so a pattern maps a pair of devices to the place of
//! its key, and an edge keeps only the values.

use super::NONE;
use crate::machine::Device;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Default)]
pub(crate) struct CopyPrices {
    devices: usize,
    /// Per pattern: device × device → place in the row, or [`NONE`].
    patterns: Vec<Vec<u32>>,
    /// Per pattern, how many values a row of it has at least.
    widths: Vec<u32>,
    /// Per row: its pattern, and where its values begin.
    rows: Vec<(u32, u32)>,
    values: Vec<f64>,
}

impl CopyPrices {
    pub(crate) fn new(devices: usize) -> CopyPrices {
        CopyPrices { devices, ..CopyPrices::default() }
    }

    pub(crate) fn add_pattern(&mut self, pattern: Vec<u32>) -> u32 {
        debug_assert_eq!(pattern.len(), self.devices * self.devices);
        self.widths.push(pattern.iter().filter(|&&p| p != NONE).max().map_or(0, |&m| m + 1));
        self.patterns.push(pattern);
        self.patterns.len() as u32 - 1
    }

    /// The pattern for these values in which pairs of devices with the same price have the same place, so
    /// that devices that can't be told apart are known to be twins however the prices were written down.
    pub(crate) fn merge_equal(
        &mut self,
        pattern: u32,
        values: &[f64],
        merged: &mut HashMap<(u32, Vec<u32>), u32>,
    ) -> u32 {
        let mut first: HashMap<u64, u32> = HashMap::with_capacity(values.len());
        // Zeros are equal whatever their sign.
        let places: Vec<u32> = values
            .iter()
            .map(|v| (v + 0.0).to_bits())
            .zip(0..)
            .map(|(v, i)| *first.entry(v).or_insert(i))
            .collect();
        if places.iter().zip(0..).all(|(&place, i)| place == i) {
            return pattern;
        }
        if let Some(&known) = merged.get(&(pattern, places.clone())) {
            return known;
        }
        let merge = |&place: &u32| if place == NONE { NONE } else { places[place as usize] };
        let new = self.patterns[pattern as usize].iter().map(merge).collect();
        let new = self.add_pattern(new);
        merged.insert((pattern, places), new);
        new
    }

    pub(crate) fn add_row(&mut self, pattern: u32, values: &[f64]) -> u32 {
        self.rows.push((pattern, self.values.len() as u32));
        self.values.extend_from_slice(values);
        self.rows.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn seconds(&self, row: u32, from: u16, to: u16) -> f64 {
        let (pattern, start) = self.rows[row as usize];
        let place = self.patterns[pattern as usize][from as usize * self.devices + to as usize];
        if place == NONE { f64::INFINITY } else { self.values[(start + place) as usize] }
    }

    /// The pattern of a row.
    pub(crate) fn pattern_of(&self, row: u32) -> u32 {
        self.rows[row as usize].0
    }

    /// The place in its rows where a pattern has the price of a pair of devices, if it has one.
    pub(crate) fn place(&self, pattern: u32, from: u16, to: u16) -> Option<u32> {
        let place = self.patterns[pattern as usize][from as usize * self.devices + to as usize];
        (place != NONE).then_some(place)
    }

    /// The price at a place of a row.
    pub(crate) fn value(&self, row: u32, place: u32) -> f64 {
        self.values[(self.rows[row as usize].1 + place) as usize]
    }

    /// Whether two rows price every pair alike.
    pub(crate) fn same(&self, a: u32, b: u32) -> bool {
        let ((pa, sa), (pb, sb)) = (self.rows[a as usize], self.rows[b as usize]);
        let width = self.widths[pa as usize];
        pa == pb && (0..width).all(|i| self.values[(sa + i) as usize] == self.values[(sb + i) as usize])
    }

    /// Whether every pattern that some row has treats two devices alike.
    pub(crate) fn are_twins(&self, a: usize, b: usize) -> bool {
        let others = || (0..self.devices).filter(|&d| d != a && d != b);
        let mut is_used = vec![false; self.patterns.len()];
        self.rows.iter().for_each(|row| is_used[row.0 as usize] = true);
        self.patterns.iter().zip(is_used).filter(|(_, is_used)| *is_used).all(|(p, _)| {
            let at = |from: usize, to: usize| p[from * self.devices + to];
            at(a, b) == at(b, a) && others().all(|d| at(a, d) == at(b, d) && at(d, a) == at(d, b))
        })
    }

    pub(crate) fn for_file(&self, row: u32, devices: &[Device]) -> BTreeMap<String, f64> {
        let mut table = BTreeMap::new();
        for (a, from) in devices.iter().enumerate() {
            for (b, to) in devices.iter().enumerate() {
                let seconds = self.seconds(row, a as u16, b as u16);
                if a != b && seconds.is_finite() {
                    table.insert(format!("{}>{}", from.name, to.name), seconds);
                }
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, ProblemBuilder};

    #[test]
    fn devices_with_equal_prices_are_twins_even_if_every_pair_has_its_own() {
        let mut b = ProblemBuilder::new();
        let devices: Vec<usize> = (0..3).map(|i| b.device(Device::new(format!("GPU:{i}")))).collect();
        let (from, to) = (b.node("a", 0.0), b.node("b", 0.0));
        devices.iter().for_each(|&d| [from, to].into_iter().for_each(|n| b.cost(n, d, 1.0)));
        let pairs = [(0, 1, 2.0), (1, 0, 2.0), (0, 2, 3.0), (2, 0, 3.0), (1, 2, 3.0), (2, 1, 3.0)];
        b.edge_priced(from, to, &pairs);
        assert_eq!(b.build().unwrap().twins(), [0, 0, 2]);
    }
}
