//! Everything on one device: the best of them. What can't run there goes to the first CPU that can run it,
//! else to the first device that can.

use super::{Best, Constructive, Timed};
use crate::error::PlaceError;
use crate::orders::by_key;
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::ranks::tails;
use crate::timer::Timer;

/// See the module's page.
pub struct Single;

impl Constructive for Single {
    fn name(&self) -> &'static str {
        "single"
    }

    fn effort(&self) -> f64 {
        1.0
    }

    fn schedule(&self, problem: &Problem, _share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let mut best = Best::default();
        let twins = problem.twins();
        // What holds for one of several twins holds for all of them.
        for favourite in (0..problem.device_count() as u16).filter(|&d| twins[d as usize] == d) {
            best.offer(Timed::new(problem, on(problem, favourite), timer));
            if timer.is_over() {
                break;
            }
        }
        best.get(Constructive::name(self))
    }
}

/// Everything that can on one device.
pub(crate) fn on(problem: &Problem, favourite: u16) -> Schedule {
    let of_unit: Vec<u16> = problem
        .units
        .iter()
        .map(|unit| {
            if unit.allowed.contains(&favourite) {
                return favourite;
            }
            let cpu = unit.allowed.iter().copied().find(|&d| problem.kinds[d as usize] == "cpu");
            cpu.or(unit.allowed.first().copied()).unwrap_or(0)
        })
        .collect();
    let devices: Vec<u16> = problem.nodes.iter().map(|n| of_unit[n.unit as usize]).collect();
    let tails = tails(problem, &devices);
    let order = by_key(problem, |n| tails[n] + problem.seconds(n, devices[n].into()));
    Schedule { devices, order }
}
