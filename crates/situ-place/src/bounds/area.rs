//! All work over all capacity: no schedule can keep every slot busier than always.
//!
//! Each device has a price per second, and the prices of all slots together are one. Whatever the prices, the
//! sum over groups of their cheapest place is a bound; the best prices are found by ascent. Devices that
//! share their compute are one resource. The same holds for any set of nodes that must lie between a latest
//! beginning and an earliest end.

use super::Classes;
use super::paths::Paths;
use crate::error::PlaceError;
use crate::problem::{NONE, Problem};
use crate::timer::Timer;

/// How many beginnings and ends are tried, and steps of the ascent, at most.
const WINDOWS: usize = 12;
const STEPS: usize = 60;
/// What both may spend, in groups × classes looked at: a few milliseconds.
const MOST: usize = 3_000_000;

/// Seconds that it takes to fill a cell of a table, about.
const A_CELL: f64 = 3e-9;

/// Work of each unit on each class, per slot, and the resource it uses there.
pub(super) struct Work {
    classes: usize,
    seconds: Vec<f64>,
    pub(super) resource: Vec<usize>,
    /// How many devices each resource stands for.
    pub(super) count: Vec<f64>,
}

pub(super) fn bound(problem: &Problem, classes: &Classes, paths: &Paths) -> f64 {
    let work = Work::new(problem, classes);
    let all: Vec<u32> = (0..problem.units.len() as u32).collect();
    let mut prices = work.even_prices();
    let steps = (MOST / (work.seconds.len() + 1)).min(WINDOWS * STEPS);
    // The steps are few enough; a bound of nothing would be true too.
    let ascend = |units: &[u32], prices: &mut Vec<f64>, steps: usize| {
        work.ascend(units, prices, steps, &Timer::never()).unwrap_or(0.0)
    };
    let mut best = ascend(&all, &mut prices, STEPS.min(steps / 3));
    let windows = WINDOWS.min(steps / 60);
    let nodes = 0..problem.node_count();
    // A group lies in a window if all its members do.
    let least = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let mut values = vec![f64::INFINITY; problem.units.len()];
        for node in nodes.clone() {
            let unit = problem.nodes[node].unit as usize;
            values[unit] = values[unit].min(of(node));
        }
        values
    };
    let (heads, tails) = (least(&|n| paths.head(n)), least(&|n| paths.tail(n)));
    for by in [&heads, &tails] {
        let mut sorted: Vec<f64> = by.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let windows = windows.min(sorted.len().saturating_sub(1));
        for i in 1..=windows {
            let edge = sorted[i * (sorted.len() - 1) / windows];
            let inside: Vec<u32> = all.iter().copied().filter(|&u| by[u as usize] >= edge).collect();
            let mut prices = prices.clone();
            best = best.max(edge + ascend(&inside, &mut prices, STEPS / 3));
        }
    }
    best
}

/// Node × device → by how much the area bound grows when the node is there and not where it is cheapest at
/// the best prices (the multipliers of the area bound's Lagrangian); infinite where it can't run.
pub(crate) fn reduced_costs(
    problem: &Problem,
    classes: &Classes,
    timer: &Timer,
) -> Result<Vec<f64>, PlaceError> {
    timer.require(A_CELL * (problem.node_count() * problem.device_count()) as f64)?;
    let work = Work::new(problem, classes);
    let all: Vec<u32> = (0..problem.units.len() as u32).collect();
    let mut prices = work.even_prices();
    work.ascend(&all, &mut prices, 2 * STEPS, timer)?;
    let count = problem.device_count();
    let mut costs = vec![f64::INFINITY; problem.node_count() * count];
    for node in 0..problem.node_count() {
        let row = &mut costs[node * count..(node + 1) * count];
        for &d in problem.unit_of(node).allowed.iter() {
            let d = d as usize;
            let price = prices[work.resource[classes.of[d] as usize]];
            row[d] = problem.seconds(node, d) / f64::from(problem.devices[d].slots) * price;
        }
        let least = row.iter().copied().fold(f64::INFINITY, f64::min);
        row.iter_mut().for_each(|cost| *cost -= least);
    }
    Ok(costs)
}

impl Work {
    pub(super) fn new(problem: &Problem, classes: &Classes) -> Work {
        let count = classes.len();
        let mut resource_of_group = vec![usize::MAX; problem.compute_groups.len()];
        let mut counts: Vec<f64> = Vec::new();
        let resource = (0..count).map(|k| {
            let group = problem.compute_of[classes.first[k] as usize];
            if group != NONE && resource_of_group[group as usize] != usize::MAX {
                return resource_of_group[group as usize];
            }
            counts.push(if group == NONE { classes.members[k].len() as f64 } else { 1.0 });
            if group != NONE {
                resource_of_group[group as usize] = counts.len() - 1;
            }
            counts.len() - 1
        });
        let resource = resource.collect();
        let mut seconds = vec![f64::INFINITY; problem.units.len() * count];
        for (u, unit) in problem.units.iter().enumerate() {
            for (k, device) in classes.of_unit(unit) {
                let slots = f64::from(problem.devices[device as usize].slots);
                let members = unit.members.iter().map(|&n| problem.seconds(n as usize, device.into()));
                seconds[u * count + k] = members.sum::<f64>() / slots;
            }
        }
        Work { classes: count, seconds, resource, count: counts }
    }

    fn even_prices(&self) -> Vec<f64> {
        let total: f64 = self.count.iter().sum();
        vec![1.0 / total; self.count.len()]
    }

    /// The bound at these prices, and the seconds that each resource gets.
    fn value(&self, units: &[u32], prices: &[f64], loads: &mut [f64]) -> f64 {
        loads.fill(0.0);
        let mut sum = 0.0;
        for &u in units {
            let row = &self.seconds[u as usize * self.classes..(u as usize + 1) * self.classes];
            let mut best = (f64::INFINITY, 0);
            for (k, &seconds) in row.iter().enumerate() {
                let price = seconds * prices[self.resource[k]];
                if price < best.0 {
                    best = (price, k);
                }
            }
            if best.0.is_finite() {
                sum += best.0;
                loads[self.resource[best.1]] += row[best.1];
            }
        }
        sum
    }

    /// Raises the price of what is overloaded; returns the best bound seen, and leaves its prices.
    fn ascend(
        &self,
        units: &[u32],
        prices: &mut Vec<f64>,
        steps: usize,
        timer: &Timer,
    ) -> Result<f64, PlaceError> {
        let mut loads = vec![0.0; prices.len()];
        let mut best = (self.value(units, prices, &mut loads), prices.clone());
        let mut step = 1.0;
        let mut now = prices.clone();
        for _ in 0..steps {
            timer.spend(units.len() * self.classes)?;
            let per: Vec<f64> = loads.iter().zip(&self.count).map(|(load, count)| load / count).collect();
            let mean = per.iter().sum::<f64>() / per.len() as f64;
            if mean <= 0.0 {
                break;
            }
            for (price, load) in now.iter_mut().zip(&per) {
                *price = (*price * (step * (load / mean - 1.0)).clamp(-3.0, 3.0).exp()).max(1e-12);
            }
            let total: f64 = now.iter().zip(&self.count).map(|(p, c)| p * c).sum();
            now.iter_mut().for_each(|p| *p /= total);
            let value = self.value(units, &now, &mut loads);
            if value > best.0 {
                best = (value, now.clone());
            } else {
                step *= 0.7;
                now.clone_from(&best.1);
                self.value(units, &now, &mut loads);
            }
        }
        *prices = best.1;
        Ok(best.0)
    }
}
