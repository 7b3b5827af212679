//! Greedy fill: groups in depth-first order, on the fastest device until its memory is full, then on the
//! next.

use super::{Constructive, Timed};
use crate::error::PlaceError;
use crate::fill::Fill;
use crate::orders::{UnitGraph, by_key};
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::ranks::tails;
use crate::timer::Timer;

/// See the module's page.
pub struct Greedy;

impl Constructive for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn effort(&self) -> f64 {
        1.0
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let sequence = UnitGraph::new(problem).depth_first(None);
        let speed = fastest_first(problem);
        let mut fill = Fill::with_fixed(problem, share);
        let mut of_unit = vec![0u16; problem.units.len()];
        for &unit in &sequence {
            let row = &problem.units[unit as usize];
            if let [device] = row.allowed[..] {
                of_unit[unit as usize] = device;
                continue;
            }
            let fits = |d: &&u16| {
                row.allowed.binary_search(d).is_ok() && fill.fits(problem, unit as usize, usize::from(**d))
            };
            let Some(at) = speed.iter().position(|d| fits(&d)) else {
                return Err(fill.shortage(problem, unit as usize));
            };
            let device = speed[at];
            timer.spend(4 * (at + 1))?;
            fill.put(problem, unit as usize, device.into());
            of_unit[unit as usize] = device;
        }
        let devices: Vec<u16> = problem.nodes.iter().map(|n| of_unit[n.unit as usize]).collect();
        let tails = tails(problem, &devices);
        let order = by_key(problem, |n| tails[n] + problem.seconds(n, devices[n].into()));
        Timed::new(problem, Schedule { devices, order }, timer)
    }
}

/// Devices by the seconds of the nodes that every device can run.
fn fastest_first(problem: &Problem) -> Vec<u16> {
    let count = problem.device_count();
    let mut seconds = vec![0.0; count];
    for node in 0..problem.node_count() {
        let row = &problem.costs[node * count..(node + 1) * count];
        if row.iter().all(|c| c.is_finite()) {
            row.iter().zip(&mut seconds).for_each(|(cost, sum)| *sum += cost);
        }
    }
    let mut devices: Vec<u16> = (0..count as u16).collect();
    devices.sort_by(|&a, &b| seconds[a as usize].total_cmp(&seconds[b as usize]).then(a.cmp(&b)));
    devices
}
