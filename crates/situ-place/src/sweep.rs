//! Forward and backward sweeps: a schedule is pushed against the end of the step and back against its
//! beginning, each time by list scheduling in the order of its own times, a little perturbed, with some nodes
//! free to change their device on the way.
//!
//! Pushing back and forth closes gaps that no single move closes, and one sweep changes hundreds of places at
//! once: this is what makes large graphs with many ready nodes short. A free node goes where it is done
//! soonest, plus what it costs the others there at the prices of the area bound.
//!
//! Promised: the best schedule it has seen, never worse than the one it began with; the same for the same
//! random numbers. Left to others: where to begin, and changes of single nodes ([`search`](crate::search)).

use crate::algorithms::Timed;
use crate::bounds::{Classes, area};
use crate::list::{self, Penalties};
use crate::partial::Direction;
use crate::problem::Problem;
use crate::random::Random;
use crate::remaining_budget::RemainingBudget;
use crate::simulate::starts;
use crate::timer::Timer;

/// How much longer a step may get and be kept, as a share of it: at the beginning of a round and at its end.
const WARM: f64 = 1e-3;
const COLD: f64 = 5e-5;
/// How far the order is perturbed at most, as a share of the step.
const NOISE: f64 = 0.03;
/// Nodes swept at the price of one move.
const NODES_PER_MOVE: u64 = 8;

pub(crate) struct Sweeps<'p> {
    problem: &'p Problem,
    random: Random,
    /// Node × device → what it costs the others, and how many slots share that.
    prices: Vec<f64>,
    slots: f64,
    best: Timed,
    now: Timed,
    start: Vec<f64>,
    free: Vec<bool>,
    keys: Vec<f64>,
}

impl<'p> Sweeps<'p> {
    /// None where there is no time for it.
    pub(crate) fn new(
        problem: &'p Problem,
        classes: &Classes,
        start: &Timed,
        random: Random,
        timer: &Timer,
    ) -> Option<Sweeps<'p>> {
        let nodes = problem.node_count();
        Some(Sweeps {
            problem,
            random,
            prices: area::reduced_costs(problem, classes, timer).ok()?,
            slots: slots(problem),
            best: start.clone(),
            now: start.clone(),
            start: vec![0.0; nodes],
            free: vec![false; nodes],
            keys: vec![0.0; nodes],
        })
    }

    pub(crate) fn best(&self) -> &Timed {
        &self.best
    }

    /// One round from a schedule, from warm to cold in so many moves.
    pub(crate) fn round(&mut self, from: &Timed, remaining: &mut RemainingBudget, moves: u64, bound: f64) {
        if from.makespan < self.best.makespan {
            self.best = from.clone();
        }
        self.now = from.clone();
        self.find_starts();
        let price = price(self.problem);
        let timer = remaining.timer("sweep");
        let begun = remaining.spent;
        let mut slowest = 2.0 * remaining.one;
        let mut clock = remaining.elapsed();
        let is_over = |remaining: &mut RemainingBudget, slowest: f64| {
            remaining.is_empty() || remaining.is_short_of(slowest)
        };
        while remaining.spent - begun < moves && !is_over(remaining, slowest) && self.best.makespan > bound {
            let progress = (remaining.spent - begun) as f64 / moves as f64;
            remaining.spend(price);
            let heat = WARM * (COLD / WARM).powf(progress);
            if let Some(timed) = self.sweep(&timer) {
                self.weigh(timed, heat);
            }
            let now = remaining.elapsed();
            slowest = slowest.max(now - std::mem::replace(&mut clock, now));
        }
    }

    fn weigh(&mut self, timed: Timed, heat: f64) {
        let limit = self.now.makespan * (1.0 - heat * (1.0 - self.random.unit()).ln());
        if timed.makespan > limit {
            return;
        }
        if timed.makespan < self.best.makespan {
            self.best = timed.clone();
        }
        self.now = timed;
        self.find_starts();
    }

    fn find_starts(&mut self) {
        if let Ok(start) = starts(self.problem, &self.now.schedule) {
            self.start = start;
        }
    }

    /// Which nodes may change their device: none, a few anywhere, those of a stretch of time, or all.
    fn choose_free(&mut self) {
        match self.random.below(4) {
            0 => self.free.fill(false),
            1 => {
                let share = 0.3 * self.random.unit().powi(2);
                for free in &mut self.free {
                    *free = self.random.unit() < share;
                }
            }
            2 => {
                let width = 0.02 + 0.3 * self.random.unit().powi(2);
                let from = (self.random.unit() * (1.0 + width) - width) * self.now.makespan;
                let stretch = from..from + width * self.now.makespan;
                let share = 0.2 + 0.8 * self.random.unit();
                for (free, start) in self.free.iter_mut().zip(&self.start) {
                    *free = stretch.contains(start) && self.random.unit() < share;
                }
            }
            _ => self.free.fill(true),
        }
    }

    /// The nodes' ends, some of them moved: the order of the backward sweep.
    fn choose_keys(&mut self) {
        let noisy = self.random.below(2) == 0;
        let reach = if noisy { NOISE * self.random.unit().powi(2) * self.now.makespan } else { 0.0 };
        let share = self.random.unit();
        for (node, key) in self.keys.iter_mut().enumerate() {
            let device = self.now.schedule.devices[node];
            *key = self.start[node] + self.problem.seconds(node, device.into());
            if noisy && self.random.unit() < share {
                *key += reach * (self.random.unit() - 0.5);
            }
        }
    }

    /// Back and forth once; none where the result does not fit the memory, or the time is over.
    fn sweep(&mut self, timer: &Timer) -> Option<Timed> {
        let problem = self.problem;
        self.choose_free();
        self.choose_keys();
        let weight = self.slots * 3.0 * self.random.unit().powi(2);
        let free_both_ways = self.random.below(2) == 0;
        let penalties = Penalties { table: &self.prices, weight };
        let (free, keys, devices) = (&self.free, &self.keys, &self.now.schedule.devices);
        let stay = |n: usize| (!free[n]).then_some(devices[n]);
        let back =
            list::schedule(problem, Direction::Backward, |n| keys[n], Some(&penalties), stay, 1.0, timer)
                .ok()?;
        // Counted back from the end, a node's finish is how long before the end it starts.
        let (before_end, devices) = (back.finish, back.devices);
        let stay = |n: usize| (!(free_both_ways && free[n])).then_some(devices[n]);
        let key = |n: usize| before_end[n];
        let forth =
            list::schedule(problem, Direction::Forward, key, Some(&penalties), stay, 1.0, timer).ok()?;
        Timed::new(problem, forth.schedule(), timer).ok()
    }
}

/// What one sweep costs, in moves.
pub(crate) fn price(problem: &Problem) -> u64 {
    (problem.node_count() as u64 / NODES_PER_MOVE).max(1)
}

/// How many nodes can run at once.
pub(crate) fn slots(problem: &Problem) -> f64 {
    problem.devices.iter().map(|d| f64::from(d.slots)).sum()
}
