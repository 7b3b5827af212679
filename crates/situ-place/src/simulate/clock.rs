//! When devices are free: slots, and devices that never run at the same time.

use crate::problem::{NONE, Problem};

#[derive(Clone)]
pub(crate) struct Clock {
    /// Per device, when each slot is free, soonest first.
    slots: Vec<Vec<f64>>,
    /// Per device, when the last node on it is done.
    last: Vec<f64>,
}

impl Clock {
    pub(crate) fn new(problem: &Problem) -> Clock {
        let most = problem.node_count().max(1);
        let slots = problem.devices.iter().map(|d| vec![0.0; (d.slots as usize).min(most)]).collect();
        Clock { slots, last: vec![0.0; problem.device_count()] }
    }

    /// Takes a slot; returns the start. A node that costs nothing takes none.
    pub(crate) fn claim(&mut self, problem: &Problem, device: usize, ready: f64, seconds: f64) -> f64 {
        if seconds <= 0.0 {
            return ready;
        }
        let ready = self.after_others(problem, device, ready);
        let slots = &mut self.slots[device];
        // Of the slots that are free in time, the one that was busy last: the others stay useful for longer
        // gaps.
        let slot = slots.partition_point(|&free| free <= ready).saturating_sub(1);
        let start = ready.max(slots[slot]);
        let finish = start + seconds;
        let mut at = slot;
        while at + 1 < slots.len() && slots[at + 1] < finish {
            slots[at] = slots[at + 1];
            at += 1;
        }
        slots[at] = finish;
        self.last[device] = self.last[device].max(finish);
        start
    }

    fn after_others(&self, problem: &Problem, device: usize, ready: f64) -> f64 {
        let group = problem.compute_of[device];
        if group == NONE {
            return ready;
        }
        let others = problem.compute_groups[group as usize].iter().filter(|&&d| d as usize != device);
        others.map(|&d| self.last[d as usize]).fold(ready, f64::max)
    }
}
