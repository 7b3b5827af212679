//! The state of all slots at one place of the order, and at the marks.

use crate::problem::{NONE, Problem};

pub(super) struct Slots {
    /// Where each device's slots begin in a state; they are sorted, soonest first.
    offsets: Vec<u32>,
    /// Where the ends of the devices' last nodes begin in a state; only kept where devices share their
    /// compute.
    last: usize,
    /// Per device, the other devices that never run at the same time.
    others: Vec<Vec<u16>>,
    width: usize,
    now: Vec<f64>,
    /// States at the marks of the kept schedule, and of the trial.
    marks: Vec<f64>,
    trial: Vec<f64>,
}

impl Slots {
    pub(super) fn new(problem: &Problem, stride: usize) -> Slots {
        let count = problem.node_count();
        let mut offsets = vec![0u32];
        for device in &problem.devices {
            let slots = (device.slots as usize).min(count.max(1));
            offsets.push(offsets[offsets.len() - 1] + slots as u32);
        }
        let last = offsets[offsets.len() - 1] as usize;
        let shared = problem.compute_of.iter().any(|&g| g != NONE);
        let width = last + if shared { problem.device_count() } else { 0 };
        let others = (0..problem.device_count()).map(|d| match problem.compute_of[d] {
            NONE => Vec::new(),
            group => {
                let members = problem.compute_groups[group as usize].iter().copied();
                members.filter(|&o| o as usize != d).collect()
            }
        });
        let marks = (count / stride + 1) * width;
        Slots {
            offsets,
            last,
            others: others.collect(),
            width,
            now: vec![0.0; width],
            marks: vec![0.0; marks],
            trial: vec![0.0; marks],
        }
    }

    /// Back to the kept state at a mark.
    pub(super) fn restore(&mut self, mark: usize) {
        self.now.copy_from_slice(&self.marks[mark * self.width..(mark + 1) * self.width]);
    }

    /// Remembers the trial's state at a mark.
    pub(super) fn save(&mut self, mark: usize) {
        self.trial[mark * self.width..(mark + 1) * self.width].copy_from_slice(&self.now);
    }

    /// Whether the trial's state is the kept one.
    pub(super) fn same(&self, mark: usize) -> bool {
        self.now == self.marks[mark * self.width..(mark + 1) * self.width]
    }

    /// The trial's states at these marks are the kept ones from now on.
    pub(super) fn keep(&mut self, marks: std::ops::Range<usize>) {
        let range = marks.start * self.width..marks.end * self.width;
        self.marks[range.clone()].copy_from_slice(&self.trial[range]);
    }

    /// Takes a slot for a node that costs something; returns its start.
    #[inline]
    pub(super) fn claim(&mut self, device: usize, ready: f64, seconds: f64) -> f64 {
        let mut ready = ready;
        for &other in &self.others[device] {
            ready = ready.max(self.now[self.last + other as usize]);
        }
        let slots = &mut self.now[self.offsets[device] as usize..self.offsets[device + 1] as usize];
        let start;
        if let [slot] = slots {
            start = ready.max(*slot);
            *slot = start + seconds;
        } else {
            let slot = slots.partition_point(|&free| free <= ready).saturating_sub(1);
            start = ready.max(slots[slot]);
            let finish = start + seconds;
            let mut at = slot;
            while at + 1 < slots.len() && slots[at + 1] < finish {
                slots[at] = slots[at + 1];
                at += 1;
            }
            slots[at] = finish;
        }
        if !self.others[device].is_empty() {
            let last = &mut self.now[self.last + device];
            *last = last.max(start + seconds);
        }
        start
    }
}
