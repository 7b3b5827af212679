//! Room for what comes and goes: an op whose result does not fit beside what is alive goes to the next
//! device.
//!
//! Nodes are taken one after the other; that is the tightest use of memory an order has, and the simulator
//! can always delay starts until it is met. A pass decides as it goes; another one checks it, because a move
//! changes what stays and what is copied. What is still too much after the last pass is for the simulator to
//! refuse.

use crate::problem::Problem;
use crate::simulate::static_bytes;
use smallvec::SmallVec;

/// Passes at most: each but the last one moved something.
const PASSES: usize = 32;

/// A choice of devices for each unit, in the order of preference, and which of them it is on.
pub(super) struct Choices {
    pub(super) devices: Vec<Vec<u16>>,
    pub(super) at: Vec<usize>,
}

impl Choices {
    pub(super) fn device(&self, unit: usize) -> u16 {
        self.devices[unit][self.at[unit]]
    }

    fn of_nodes(&self, problem: &Problem) -> Vec<u16> {
        problem.nodes.iter().map(|n| self.device(n.unit as usize)).collect()
    }
}

/// Moves units down their choices until memory suffices, as far as that can be.
pub(super) fn make(problem: &Problem, choices: &mut Choices) {
    if !problem.outputs_count() {
        return;
    }
    for _ in 0..PASSES {
        if !MemoryRepair::new(problem, choices).run() {
            return;
        }
    }
}

/// One output in one memory.
struct Held {
    device: u16,
    /// Readers there, and copies from there, that are still to come.
    waiting: u32,
}

struct MemoryRepair<'a> {
    problem: &'a Problem,
    choices: &'a mut Choices,
    live: Vec<f64>,
    /// By node: where its output is.
    held: Vec<SmallVec<[Held; 2]>>,
    /// Whether anything was moved.
    moved: bool,
}

impl<'a> MemoryRepair<'a> {
    fn new(problem: &'a Problem, choices: &'a mut Choices) -> MemoryRepair<'a> {
        let live = static_bytes(problem, &choices.of_nodes(problem));
        let held = (0..problem.node_count()).map(|_| SmallVec::new()).collect();
        MemoryRepair { problem, choices, live, held, moved: false }
    }

    fn run(mut self) -> bool {
        let problem = self.problem;
        for &node in &problem.order {
            let node = node as usize;
            let unit = problem.nodes[node].unit as usize;
            if !self.fits(node, self.choices.device(unit)) {
                self.give_way(node, unit);
            }
            self.take(node, self.choices.device(unit));
        }
        self.moved
    }

    /// Bytes that running a node on a device brings there: copies of its inputs, and its output.
    fn brings(&self, node: usize, device: u16) -> f64 {
        let mut seen: SmallVec<[u32; 8]> = SmallVec::new();
        let mut bytes = self.problem.nodes[node].output_bytes;
        for edge in self.problem.ins(node) {
            let there = self.held[edge.from as usize].iter().any(|h| h.device == device);
            if !there && !seen.contains(&edge.from) {
                seen.push(edge.from);
                bytes += self.problem.nodes[edge.from as usize].output_bytes;
            }
        }
        bytes
    }

    fn fits(&self, node: usize, device: u16) -> bool {
        let d = device as usize;
        self.live[d] + self.brings(node, device) <= self.problem.limit(d)
    }

    /// A node that does not fit goes to the next device with room; where it has none, the largest output that
    /// could be elsewhere makes way for it in the next pass.
    fn give_way(&mut self, node: usize, unit: usize) {
        let full = self.choices.device(unit);
        let later = self.choices.at[unit] + 1..self.choices.devices[unit].len();
        let next = later.into_iter().find(|&at| self.fits(node, self.choices.devices[unit][at]));
        let moved = match next {
            Some(at) => Some((unit, at)),
            None => self.largest_on(full).map(|unit| (unit, self.choices.at[unit] + 1)),
        };
        if let Some((unit, at)) = moved {
            self.choices.at[unit] = at;
            self.moved = true;
        }
    }

    /// The unit of the largest output on a device that has another choice.
    fn largest_on(&self, device: u16) -> Option<usize> {
        let problem = self.problem;
        let alive = (0..problem.node_count()).filter(|&n| self.held[n].iter().any(|h| h.device == device));
        let unit = |n: usize| problem.nodes[n].unit as usize;
        let movable = alive.filter(|&n| {
            let (at, choices) = (self.choices.at[unit(n)], &self.choices.devices[unit(n)]);
            choices[at] == device && at + 1 < choices.len() && problem.nodes[n].output_bytes > 0.0
        });
        let bytes = |n: usize| problem.nodes[n].output_bytes;
        movable.max_by(|&a, &b| bytes(a).total_cmp(&bytes(b)).then(b.cmp(&a))).map(unit)
    }

    /// Runs a node: inputs arrive, its output is there, and what nothing waits for any more goes.
    fn take(&mut self, node: usize, device: u16) {
        let problem = self.problem;
        let mut inputs: SmallVec<[u32; 8]> = problem.ins(node).map(|e| e.from).collect();
        inputs.sort_unstable();
        inputs.dedup();
        for &from in &inputs {
            let from = from as usize;
            if self.held[from].iter().all(|h| h.device != device) {
                self.hold(
                    from,
                    device,
                    problem.outs(from).filter(|e| self.on(e.to) == device).count() as u32,
                );
                // A copy is a use of the original.
                self.used(from, self.on(from as u32));
            }
        }
        let mut others: SmallVec<[u16; 8]> =
            problem.outs(node).map(|e| self.on(e.to)).filter(|&d| d != device).collect();
        others.sort_unstable();
        others.dedup();
        let here = problem.outs(node).filter(|e| self.on(e.to) == device).count();
        self.hold(node, device, (here + others.len()) as u32);
        for edge in problem.ins(node) {
            self.used(edge.from as usize, device);
        }
    }

    fn on(&self, node: u32) -> u16 {
        self.choices.device(self.problem.nodes[node as usize].unit as usize)
    }

    fn hold(&mut self, node: usize, device: u16, waiting: u32) {
        // What nothing reads is a result, and stays.
        self.live[device as usize] += self.problem.nodes[node].output_bytes;
        self.held[node].push(Held { device, waiting });
    }

    /// One use of an output in a memory is over.
    fn used(&mut self, node: usize, device: u16) {
        let Some(at) = self.held[node].iter().position(|h| h.device == device) else { return };
        let held = &mut self.held[node][at];
        held.waiting = held.waiting.saturating_sub(1);
        if held.waiting == 0 {
            self.held[node].swap_remove(at);
            self.live[device as usize] -= self.problem.nodes[node].output_bytes;
        }
    }
}
