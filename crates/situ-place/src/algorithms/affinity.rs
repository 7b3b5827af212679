//! Affinity: whenever a slot is free, it takes the ready node that it is best at compared with the other
//! devices; of those that it is equally good at, the most urgent. A slot with nothing to do takes over a node
//! that runs elsewhere if it would be done with it sooner.
//!
//! In a second form the area bound shares out the nodes over the kinds of devices first, and a slot takes the
//! most urgent node of its share; what is not its share only where it has nothing else to do.
//!
//! Copies count, as if they had their links to themselves; the times of the answer are the simulator's.

use super::{Best, Constructive, Timed};
use crate::bounds::{Classes, area};
use crate::error::PlaceError;
use crate::fill::Fill;
use crate::orders::by_start;
use crate::partial::{NOWHERE, fixed_devices};
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::ranks::{RankCost, tails, upward};
use crate::timer::Timer;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Steps of affinity in which it doubles: nodes of one step are taken by urgency.
const STEPS: f64 = 4.0;
/// How many ready nodes are looked at for one that fits the memory.
const TRIES: usize = 16;
/// From this many nodes on, one ranking must do.
const LARGE: usize = 3000;

/// No class at all.
const NONE_OF_THEM: usize = usize::MAX;

/// See the module's page.
pub struct Affinity;

impl Constructive for Affinity {
    fn name(&self) -> &'static str {
        "affinity"
    }

    fn effort(&self) -> f64 {
        3.0
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let classes = Classes::new(problem);
        let mut best = Best::default();
        let mut offer = |keys: &[i64], rank: &[f64]| {
            let found = Pool::new(problem, &classes, keys, rank, share).run(timer);
            best.offer(found.and_then(|schedule| Timed::new(problem, schedule, timer)));
        };
        // What is found before the time is over counts, whatever comes after it.
        let late = offer_all(problem, &classes, timer, &mut offer).err();
        best.get(Constructive::name(self)).map_err(|error| late.unwrap_or(error))
    }
}

fn offer_all(
    problem: &Problem,
    classes: &Classes,
    timer: &Timer,
    offer: &mut dyn FnMut(&[i64], &[f64]),
) -> Result<(), PlaceError> {
    let rank = upward(problem, RankCost::Best);
    let affinities = affinities(problem, classes, timer)?;
    offer(&affinities, &rank);
    let shares = Shares::new(problem, classes, timer)?;
    offer(&shares.keys, &shares.rank);
    if problem.node_count() <= LARGE && !timer.is_over() {
        offer(&affinities, &upward(problem, RankCost::Mean));
        offer(&shares.keys, &rank);
    }
    Ok(())
}

/// Node × class → how much better the class is at the node than the best other one, in steps.
fn affinities(problem: &Problem, classes: &Classes, timer: &Timer) -> Result<Vec<i64>, PlaceError> {
    let count = classes.len();
    let mut keys = vec![0; problem.node_count() * count];
    for node in 0..problem.node_count() {
        timer.spend(8 * count)?;
        let seconds = |k: usize| problem.seconds(node, classes.first[k].into());
        // The best class, and the best of the others: every class is held against one of the two.
        let (mut best, mut second) = ((f64::INFINITY, NONE_OF_THEM), f64::INFINITY);
        for k in 0..count {
            if seconds(k) < best.0 {
                (best, second) = ((seconds(k), k), best.0);
            } else {
                second = second.min(seconds(k));
            }
        }
        for k in 0..count {
            let others = if k == best.1 { second } else { best.0 };
            let ratio = others / seconds(k);
            let steps = if ratio.is_nan() { 0.0 } else { (ratio.log2() * STEPS).round() };
            keys[node * count + k] = steps.clamp(-1e6, 1e6) as i64;
        }
    }
    Ok(keys)
}

/// The nodes shared out by the area bound: node × class → 1 for its own class, else 0; and how urgent they
/// are there.
struct Shares {
    keys: Vec<i64>,
    rank: Vec<f64>,
}

impl Shares {
    fn new(problem: &Problem, classes: &Classes, timer: &Timer) -> Result<Shares, PlaceError> {
        let (count, devices) = (classes.len(), problem.device_count());
        let costs = area::reduced_costs(problem, classes, timer)?;
        let mut keys = vec![0; problem.node_count() * count];
        let mut home = vec![0u16; problem.node_count()];
        for node in 0..problem.node_count() {
            let row = &costs[node * devices..(node + 1) * devices];
            let least = (0..devices).min_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
            home[node] = least as u16;
            keys[node * count + classes.of[least] as usize] = 1;
        }
        let mut rank = tails(problem, &home);
        for (node, rank) in rank.iter_mut().enumerate() {
            *rank += problem.seconds(node, home[node].into());
        }
        Ok(Shares { keys, rank })
    }
}

/// A number that sorts as the time does, of times that are not negative.
fn instant(time: f64) -> u64 {
    (time + 0.0).to_bits()
}

/// Ready nodes, slots, and what runs on them.
struct Pool<'p> {
    problem: &'p Problem,
    classes: &'p Classes,
    /// Node × class.
    keys: &'p [i64],
    rank: &'p [f64],
    fill: Fill,
    unit_device: Vec<u16>,
    devices: Vec<u16>,
    start: Vec<f64>,
    finish: Vec<f64>,
    /// Inputs that are not done.
    waiting: Vec<u32>,
    /// Per class, the nodes that it may take, the best last.
    ready: Vec<BTreeSet<(i64, u64, Reverse<u32>)>>,
    /// The device of each slot, and the node that runs there.
    slots: Vec<(u16, Option<u32>)>,
    /// Nodes by their ends, with their slots.
    events: BinaryHeap<Reverse<(u64, u32, u32)>>,
    left: usize,
}

impl<'p> Pool<'p> {
    fn new(
        problem: &'p Problem,
        classes: &'p Classes,
        keys: &'p [i64],
        rank: &'p [f64],
        share: f64,
    ) -> Pool<'p> {
        let count = problem.node_count();
        let slots = |d: u16| (problem.devices[d as usize].slots as usize).min(count.max(1));
        let slots = (0..problem.device_count() as u16).flat_map(|d| std::iter::repeat_n((d, None), slots(d)));
        Pool {
            problem,
            classes,
            keys,
            rank,
            fill: Fill::with_fixed(problem, share),
            unit_device: fixed_devices(problem),
            devices: vec![NOWHERE; count],
            start: vec![0.0; count],
            finish: vec![f64::INFINITY; count],
            waiting: (0..count).map(|n| problem.inputs.row(n).len() as u32).collect(),
            ready: vec![BTreeSet::new(); classes.len()],
            slots: slots.collect(),
            events: BinaryHeap::new(),
            left: count,
        }
    }

    fn run(mut self, timer: &Timer) -> Result<Schedule, PlaceError> {
        for node in 0..self.waiting.len() {
            if self.waiting[node] == 0 {
                timer.spend(self.problem.device_count())?;
                self.make_ready(node);
            }
        }
        let mut now = 0.0;
        loop {
            self.serve(now, timer)?;
            let Some(Reverse((_, node, slot))) = self.events.pop() else { break };
            let (node, slot) = (node as usize, slot as usize);
            // A node that was taken over ends elsewhere.
            if self.slots[slot].1 != Some(node as u32) {
                continue;
            }
            now = self.finish[node];
            self.slots[slot].1 = None;
            self.left -= 1;
            for &reader in self.problem.readers.row(node) {
                self.waiting[reader as usize] -= 1;
                if self.waiting[reader as usize] == 0 {
                    timer.spend(self.problem.device_count())?;
                    self.make_ready(reader as usize);
                }
            }
        }
        if self.left > 0 {
            let stuck = self.ready.iter().flatten().next().map_or(0, |item| item.2.0 as usize);
            return Err(self.fill.shortage(self.problem, self.problem.nodes[stuck].unit as usize));
        }
        let order = by_start(self.problem, &self.start, &self.finish);
        Ok(Schedule { devices: self.devices, order })
    }

    fn item(&self, node: usize, class: usize) -> (i64, u64, Reverse<u32>) {
        (self.keys[node * self.classes.len() + class], instant(self.rank[node]), Reverse(node as u32))
    }

    fn make_ready(&mut self, node: usize) {
        for class in 0..self.classes.len() {
            // Where one of a class may run, so may all.
            if self.problem.unit_of(node).allowed.binary_search(&self.classes.first[class]).is_ok() {
                let item = self.item(node, class);
                self.ready[class].insert(item);
            }
        }
    }

    /// Gives every idle slot something to do, as far as there is something.
    fn serve(&mut self, now: f64, timer: &Timer) -> Result<(), PlaceError> {
        timer.spend(self.slots.len())?;
        for slot in 0..self.slots.len() {
            if self.slots[slot].1.is_some() {
                continue;
            }
            // Every other slot is looked at, and of every class the ready nodes.
            timer.spend(4 * self.slots.len() + 16 * self.classes.len())?;
            let device = self.slots[slot].0;
            if let Some(node) = self.best_for(device) {
                for class in 0..self.classes.len() {
                    let item = self.item(node, class);
                    self.ready[class].remove(&item);
                }
                self.begin(node, slot, now);
            } else if let Some((node, from)) = self.to_take_over(device, now) {
                let unit = self.problem.nodes[node].unit as usize;
                self.fill.take(self.problem, unit, self.devices[node].into());
                self.unit_device[unit] = NOWHERE;
                self.slots[from].1 = None;
                self.begin(node, slot, now);
            }
        }
        Ok(())
    }

    fn best_for(&self, device: u16) -> Option<usize> {
        let ready = self.ready[self.classes.of[device as usize] as usize].iter().rev().take(TRIES);
        ready.map(|item| item.2.0 as usize).find(|&node| self.may_go(node, device))
    }

    fn may_go(&self, node: usize, device: u16) -> bool {
        let unit = self.problem.nodes[node].unit as usize;
        match self.unit_device[unit] {
            NOWHERE => {
                self.problem.units[unit].allowed.contains(&device)
                    && self.fill.fits(self.problem, unit, device.into())
                    && self.arrival(node, device).is_finite()
            }
            there => there == device,
        }
    }

    /// When everything that a node reads could be on a device.
    fn arrival(&self, node: usize, device: u16) -> f64 {
        let mut there = 0.0f64;
        for &e in self.problem.in_edges.row(node) {
            let from = self.problem.edges[e as usize].from as usize;
            there = there.max(self.finish[from] + self.problem.edge_copy(e, self.devices[from], device));
        }
        there
    }

    fn begin(&mut self, node: usize, slot: usize, now: f64) {
        let device = self.slots[slot].0;
        let unit = self.problem.nodes[node].unit as usize;
        if self.unit_device[unit] == NOWHERE {
            self.unit_device[unit] = device;
            self.fill.put(self.problem, unit, device.into());
        }
        self.devices[node] = device;
        self.start[node] = now.max(self.arrival(node, device));
        self.finish[node] = self.start[node] + self.problem.seconds(node, device.into());
        self.slots[slot].1 = Some(node as u32);
        self.events.push(Reverse((instant(self.finish[node]), node as u32, slot as u32)));
    }

    /// Of the nodes that run elsewhere and would be done sooner here, the one that is done last, and its
    /// slot.
    fn to_take_over(&self, device: u16, now: f64) -> Option<(usize, usize)> {
        let mut best: Option<(f64, usize, usize)> = None;
        for (slot, &(there, node)) in self.slots.iter().enumerate() {
            let Some(node) = node.map(|n| n as usize) else { continue };
            let unit = self.problem.nodes[node].unit as usize;
            let is_fixed = self.problem.units[unit].members.len() > 1
                || !self.problem.units[unit].allowed.contains(&device)
                || self.classes.of[there as usize] == self.classes.of[device as usize];
            if is_fixed || best.is_some_and(|b| self.finish[node] <= b.0) {
                continue;
            }
            let done = now.max(self.arrival(node, device)) + self.problem.seconds(node, device.into());
            if done < self.finish[node] && self.fill.fits(self.problem, unit, device.into()) {
                best = Some((self.finish[node], node, slot));
            }
        }
        best.map(|(_, node, slot)| (node, slot))
    }
}
