//! Local search on the incremental simulator.
//!
//! A walk that accepts a change if it makes the step no longer than a threshold, which is drawn anew for each
//! change and shrinks over the round: the simulator can then stop as soon as a change is seen to be too slow.
//! Changes are aimed at the critical path: only what touches it can make the step shorter.
//!
//! Promised: the best schedule it has seen, never worse than the one it began with; the same for the same
//! seed and number of moves. Left to others: where to begin.

mod moves;

use crate::algorithms::Timed;
use crate::algorithms::blocks::{Grouping, groupings};
use crate::engine::Engine;
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::random::Random;
use crate::remaining_budget::RemainingBudget;
use crate::timer::Timer;

/// How much the first threshold of a round may lengthen the step, as a share of it, and the last.
const WARM: f64 = 0.01;
const COLD: f64 = 0.0001;
/// Graphs with more nodes than this are walked at less heat: a move is then a smaller share of the step.
/// Rounds take turns, because no one heat suits all graphs.
const HOT_NODES: [f64; 3] = [100.0, 1000.0, 30.0];
/// In graphs with more nodes than this, ever more moves must make the step shorter: to keep one costs as much
/// as hundreds of refusals.
const SIDEWAYS_NODES: f64 = 1000.0;

pub(crate) struct Search<'p> {
    problem: &'p Problem,
    pub engine: Engine<'p>,
    random: Random,
    best: Schedule,
    best_makespan: f64,
    rounds: usize,
    /// Nodes on a critical path of the engine's schedule, first to last.
    critical: Vec<u32>,
    critical_is_stale: bool,
    /// Scratch: groups to move.
    chunk: Vec<u32>,
    in_chunk: Vec<bool>,
    /// What belongs together, in smaller and in larger blocks.
    blocks: Vec<Grouping>,
}

impl<'p> Search<'p> {
    pub(crate) fn new(problem: &'p Problem, start: &Timed, random: Random, timer: &Timer) -> Search<'p> {
        Search {
            problem,
            best_makespan: start.makespan,
            engine: Engine::timed(problem, start),
            random,
            best: start.schedule.clone(),
            rounds: 0,
            critical: Vec::new(),
            critical_is_stale: true,
            chunk: Vec::new(),
            in_chunk: vec![false; problem.units.len()],
            // Without them there are fewer sorts of moves.
            blocks: groupings(problem, timer).unwrap_or_default(),
        }
    }

    pub(crate) fn best(&self) -> (f64, &Schedule) {
        (self.best_makespan, &self.best)
    }

    /// One round: from warm to cold in so many moves, or until the budget is empty or the bound is reached.
    pub(crate) fn round(&mut self, remaining: &mut RemainingBudget, moves: u64, bound: f64) {
        let begun = remaining.spent;
        let cooling = (COLD / WARM).ln();
        let nodes = self.problem.node_count().max(1) as f64;
        let scale = (HOT_NODES[self.rounds % HOT_NODES.len()] / nodes).min(1.0);
        self.rounds += 1;
        let sideways = (SIDEWAYS_NODES / nodes).min(1.0);
        let mut heat = 0.0;
        while remaining.spent - begun < moves && !remaining.is_empty() && self.best_makespan > bound {
            if (remaining.spent - begun).is_multiple_of(64) {
                let progress = (remaining.spent - begun) as f64 / moves as f64;
                heat = scale * WARM * (cooling * progress).exp() * self.best_makespan;
            }
            remaining.spend(1);
            let cutoff = if self.random.unit() < sideways {
                self.engine.makespan() - heat * (1.0 - self.random.unit()).ln()
            } else {
                self.engine.makespan() * (1.0 - 1e-9)
            };
            self.engine.begin();
            if !self.propose() {
                self.engine.reject();
                continue;
            }
            let Some(makespan) = self.engine.evaluate(cutoff) else {
                self.engine.reject();
                continue;
            };
            self.engine.accept();
            self.critical_is_stale = true;
            if makespan < self.best_makespan {
                self.best_makespan = makespan;
                self.best = self.engine.schedule();
            }
        }
    }

    /// Finds the critical path again if the schedule has changed.
    fn find_critical(&mut self) {
        if std::mem::replace(&mut self.critical_is_stale, false) {
            self.engine.times().critical_path(&mut self.critical);
        }
    }

    /// Goes on from another schedule; what was best before is forgotten.
    pub(crate) fn start_from(&mut self, timed: &Timed) {
        self.critical_is_stale = true;
        self.engine.load(timed);
        self.best.clone_from(&timed.schedule);
        self.best_makespan = timed.makespan;
    }
}
