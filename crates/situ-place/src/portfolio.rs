//! Improving a schedule for as long as the budget lasts: sweeps and a walk take turns, in one or more lanes.
//!
//! A lane begins each epoch from the best schedule of all lanes, gives one part of its moves to the sweeps
//! and the rest to the walk, and shifts its moves to whichever of the two gained more for them. Lanes meet
//! only between epochs, so the answer depends on how many lanes there are and never on how many threads run
//! them.
//!
//! Promised: never worse than the start; repeatable for a budget in moves. Left to others: where to begin.

use crate::algorithms::Timed;
use crate::bounds::Classes;
use crate::placer::{Budget, Progress};
use crate::problem::Problem;
use crate::random::Random;
use crate::remaining_budget::RemainingBudget;
use crate::search::Search;
use crate::sweep::{self, Sweeps};
use std::sync::OnceLock;

/// Moves of the first epoch, at least: else one per node; of the last, at most, or so many per node; and how
/// they grow.
const FIRST: u64 = 4_000;
const PER_NODE: u64 = 6;
const LONGEST: u64 = 400_000;
const GROWTH: (u64, u64) = (3, 2);
/// From this many moves on there are several lanes, so that threads have something to share.
const MANY: u64 = 200_000;
const LANES: usize = 4;
/// A lane never gives more, or less, than this share of its moves to the sweeps.
const SHARES: std::ops::RangeInclusive<f64> = 0.08..=0.92;

/// What a lane may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchMethods {
    Both,
    Sweeps,
    Walk,
}

/// Spends the budget on a schedule that is not yet at the bound.
pub(crate) fn improve(
    problem: &Problem,
    start: Timed,
    bound: f64,
    methods: SearchMethods,
    budget: &Budget,
    remaining: &mut RemainingBudget,
) -> Timed {
    // Sums are rounded in another order than times.
    let bound = bound * (1.0 + 1e-8);
    let mut best = start;
    let classes = OnceLock::new();
    let mut epoch = FIRST.max(problem.node_count() as u64);
    let mut lanes: Vec<Lane<'_>> =
        (0..lanes(budget)).map(|i| Lane::new(problem, methods, budget.seed, i as u64)).collect();
    while remaining.left() > 0 && !remaining.is_over() && best.makespan > bound {
        let quota = epoch.min(remaining.left().div_ceil(lanes.len() as u64));
        let part = remaining.part(quota);
        let run = |lane: &mut Lane<'_>| lane.epoch(&classes, &best, bound, part.clone());
        let found = in_threads(&mut lanes, budget.threads, &run);
        let begun = remaining.spent;
        for (timed, spent) in found {
            remaining.spend(spent);
            if let Some(timed) = timed.filter(|t| t.makespan < best.makespan) {
                best = timed;
            }
        }
        // What is left of the time is too short for anything.
        if remaining.spent == begun {
            break;
        }
        if let Some(watch) = &budget.watch {
            watch.0(&Progress {
                makespan: best.makespan,
                lower_bound: bound.min(best.makespan),
                moves: remaining.spent,
                seconds: remaining.elapsed(),
            });
        }
        epoch = (epoch * GROWTH.0 / GROWTH.1).min(LONGEST.max(PER_NODE * problem.node_count() as u64));
    }
    best
}

/// How many lanes: as many as threads where only time counts, else a number that does not depend on them.
fn lanes(budget: &Budget) -> usize {
    match budget.seconds {
        Some(_) => budget.threads.max(1),
        None if budget.moves >= MANY => LANES,
        None => 1,
    }
}

type Found = (Option<Timed>, u64);

/// Runs every lane once; the results are in the order of the lanes.
fn in_threads<'p>(
    lanes: &mut [Lane<'p>],
    threads: usize,
    run: &(impl Fn(&mut Lane<'p>) -> Found + Sync),
) -> Vec<Found> {
    if threads <= 1 || lanes.len() == 1 {
        return lanes.iter_mut().map(run).collect();
    }
    let each = lanes.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = lanes
            .chunks_mut(each)
            .map(|lanes| scope.spawn(move || lanes.iter_mut().map(run).collect::<Vec<Found>>()))
            .collect();
        // A worker that panicked has a bug of ours; the caller must hear of it as it would from its own
        // thread.
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<Found>>| match worker.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().flat_map(join).collect()
    })
}

/// One searcher with its own random numbers.
struct Lane<'p> {
    problem: &'p Problem,
    methods: SearchMethods,
    seed: u64,
    stream: u64,
    sweeps: Option<Sweeps<'p>>,
    walk: Option<Search<'p>>,
    /// The sweeps' share of the moves.
    share: f64,
}

impl<'p> Lane<'p> {
    fn new(problem: &'p Problem, methods: SearchMethods, seed: u64, lane: u64) -> Lane<'p> {
        let share = match methods {
            SearchMethods::Both => 0.5,
            SearchMethods::Sweeps => 1.0,
            SearchMethods::Walk => 0.0,
        };
        Lane { problem, methods, seed, stream: 2 * lane + 1, sweeps: None, walk: None, share }
    }

    /// The best that it found and the moves it took; none if it found no better one.
    fn epoch(
        &mut self,
        classes: &OnceLock<Classes>,
        from: &Timed,
        bound: f64,
        mut remaining: RemainingBudget,
    ) -> Found {
        let mut best: Option<Timed> = None;
        let quota = remaining.moves;
        let for_sweeps = (quota as f64 * self.share) as u64;
        // What is left of a budget may not pay for one sweep.
        if for_sweeps >= sweep::price(self.problem) || self.methods == SearchMethods::Sweeps {
            let random = Random::new(self.seed, self.stream);
            if self.sweeps.is_none() {
                let classes = classes.get_or_init(|| Classes::new(self.problem));
                self.sweeps = Sweeps::new(self.problem, classes, from, random, &remaining.timer("sweep"));
            }
            if let Some(sweeps) = &mut self.sweeps {
                sweeps.round(from, &mut remaining, for_sweeps, bound);
                best = Some(sweeps.best()).filter(|b| b.makespan < from.makespan).cloned();
            }
        }
        let swept = (best.as_ref().map_or(0.0, |b| from.makespan - b.makespan), remaining.spent);
        let is_over = remaining.left() == 0 || remaining.is_empty() || remaining.is_short_of(remaining.one);
        if self.share < 1.0 && !is_over {
            self.walk(best.as_ref().unwrap_or(from), &mut remaining, bound);
            let walked = self.walk.as_ref().map(Search::best);
            let before = from.makespan - swept.0;
            if let Some((makespan, schedule)) = walked.filter(|w| w.0 < before) {
                best = Some(Timed { makespan, schedule: schedule.clone() });
            }
        }
        let walked = best.as_ref().map_or(0.0, |b| from.makespan - b.makespan) - swept.0;
        self.shift(swept, (walked, remaining.spent - swept.1));
        (best, remaining.spent)
    }

    fn walk(&mut self, from: &Timed, remaining: &mut RemainingBudget, bound: f64) {
        let random = Random::new(self.seed, self.stream + 1);
        match &mut self.walk {
            Some(walk) => walk.start_from(from),
            None => self.walk = Some(Search::new(self.problem, from, random, &remaining.timer("walk"))),
        }
        if let Some(walk) = &mut self.walk {
            let left = remaining.left();
            walk.round(remaining, left, bound);
        }
    }

    /// Gives more to what gained more for its moves.
    fn shift(&mut self, swept: (f64, u64), walked: (f64, u64)) {
        if self.methods != SearchMethods::Both {
            return;
        }
        let rate = |(gain, moves): (f64, u64)| gain / moves.max(1) as f64;
        let total = rate(swept) + rate(walked);
        let aim = if total > 0.0 { rate(swept) / total } else { 0.5 };
        self.share = (0.6 * self.share + 0.4 * aim).clamp(*SHARES.start(), *SHARES.end());
    }
}
