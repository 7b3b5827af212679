//! How late each node may be done for the step to be no longer: its readers and whatever runs after it in its
//! slot stay in time.

use crate::problem::{NONE, Problem};

pub(super) struct Late {
    finish: Vec<f64>,
    /// Where each device's slots begin in `slots`.
    offsets: Vec<u32>,
    /// The latest end that what comes after allows, per slot.
    slots: Vec<f64>,
    known: bool,
    /// Devices that share their compute are beyond this: nothing is known then.
    possible: bool,
}

impl Late {
    pub(super) fn new(problem: &Problem) -> Late {
        let most = problem.node_count().max(1);
        let mut offsets = vec![0u32];
        for device in &problem.devices {
            offsets.push(offsets[offsets.len() - 1] + (device.slots as usize).min(most) as u32);
        }
        Late {
            finish: vec![f64::INFINITY; problem.node_count()],
            slots: vec![0.0; offsets[offsets.len() - 1] as usize],
            offsets,
            known: false,
            possible: problem.compute_of.iter().all(|&group| group == NONE),
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    pub(super) fn forget(&mut self) {
        self.known = false;
    }

    #[inline]
    pub(super) fn of(&self, node: usize) -> f64 {
        self.finish[node]
    }

    /// Pushes a schedule against its end, slot by slot as they were shared out. Copies have their links to
    /// themselves: a node may then seem to have more time than it has, never less.
    pub(super) fn find(
        &mut self,
        problem: &Problem,
        devices: &[u16],
        order: &[u32],
        finish: &[f64],
        makespan: f64,
    ) {
        if !self.possible {
            return;
        }
        self.known = true;
        self.slots.fill(makespan);
        for &node in order.iter().rev() {
            let node = node as usize;
            let home = devices[node];
            let mut latest = makespan;
            for &e in problem.out_edges.row(node) {
                let to = problem.edges[e as usize].to as usize;
                let there = devices[to];
                let mut start = self.finish[to] - problem.seconds(to, there.into());
                if there != home {
                    start -= problem.edge_copy(e, home, there);
                }
                latest = latest.min(start);
            }
            let seconds = problem.seconds(node, home.into());
            if seconds > 0.0 {
                let range = self.offsets[home as usize] as usize..self.offsets[home as usize + 1] as usize;
                let slot = tightest(&mut self.slots[range], finish[node]);
                latest = latest.min(*slot);
                *slot = latest - seconds;
            }
            // Times are sums in another order.
            self.finish[node] = latest.max(finish[node]) * (1.0 + 1e-12);
        }
    }
}

/// The slot that leaves the least time to spare for a node done then; if none does, the one that comes
/// closest.
fn tightest(slots: &mut [f64], finish: f64) -> &mut f64 {
    let mut best = 0;
    for i in 1..slots.len() {
        let (a, b) = (slots[best], slots[i]);
        let better = if b >= finish { a < finish || b < a } else { a < finish && b > a };
        if better {
            best = i;
        }
    }
    &mut slots[best]
}
