//! The portfolio: every constructive algorithm, then sweeps and local search from the best of them, for as
//! long as the budget lasts; of blocks of nodes first, where blocks do about as well as nodes. Never worse
//! than any of them, unless a budget in seconds is too short to try them all. From an earlier placement that
//! still fits, the improving begins at once: never worse than that one, in a fraction of the time.

use super::{Best, Blocks, CONSTRUCTIVE, Constructive, Heft, Single, Timed, blocks, within_memory};
use crate::bounds::{Bounds, Classes, Look, are_affordable, quick_bound};
use crate::error::PlaceError;
use crate::fill::impossible;
use crate::placement::{Bound, Draft, Placement, Schedule};
use crate::placer::{Budget, Deadline, Placer};
use crate::portfolio::{SearchMethods, improve};
use crate::problem::Problem;
use crate::remaining_budget::RemainingBudget;
use crate::simulate::{Timeline, simulate};
use crate::timer::Timer;

/// How long it takes to find the bound, and to finish the answer, in times of the first algorithm.
const BOUND: f64 = 4.0;
const FINISH: f64 = 1.0;

/// The share of the time that the first algorithm has before it is hurried.
const FIRST_SHARE: f64 = 0.4;
/// How long each of the others may take: so many times what it should, or a share of what is left where that
/// is more.
const PATIENCE: f64 = 4.0;
const SHARE_OF_EACH: f64 = 0.3;
/// Seconds that may be added while there is no answer at all.
const GRACE: f64 = 1.0;

/// What the first algorithm takes at most, in seconds for each pair of a node and a device.
const MOST_PER_PAIR: f64 = 5e-7;

/// Everything; see the module's page.
pub struct Auto;

/// Sweeps alone: perturbed priorities with forward and backward justification, from the best constructive
/// answer.
pub struct Sweep;

/// Local search alone, from the best constructive answer.
pub struct Walk;

impl Placer for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
        place(self.name(), SearchMethods::Both, problem, budget)
    }
}

impl Placer for Sweep {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
        place(self.name(), SearchMethods::Sweeps, problem, budget)
    }
}

impl Placer for Walk {
    fn name(&self) -> &'static str {
        "walk"
    }

    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
        place(self.name(), SearchMethods::Walk, problem, budget)
    }
}

/// What the bound may spend, each time: as a share of the time, and in nodes looked at for each move.
const BOUND_SHARE: f64 = 0.03;
const BOUND_PER_MOVE: u64 = 30;
const BOUND_MOST: u64 = 20_000_000;
/// How long it takes to look at a node, in seconds.
const A_LOOK: f64 = 1e-8;

/// How many nodes a bound may look at.
fn effort(budget: &Budget, end: Deadline) -> usize {
    let most = match end.left() {
        Some(left) => (left * BOUND_SHARE / A_LOOK) as u64,
        None => budget.moves.saturating_mul(BOUND_PER_MOVE),
    };
    most.min(BOUND_MOST) as usize
}

fn place(
    name: &str,
    methods: SearchMethods,
    problem: &Problem,
    budget: &Budget,
) -> Result<Placement, PlaceError> {
    let clock = Deadline::new(budget);
    problem.require_placeable()?;
    let start = begin(name, problem, budget, clock)?;
    let end = clock.with_spare(start.one).sooner(FINISH * start.one);
    // An earlier placement is improved at once, and so is one of which no better bound is found in time.
    let is_quick = start.is_given || budget.is_stopped();
    let classes = if is_quick { None } else { Some(Classes::new(problem)) };
    let Some(classes) = classes.filter(|classes| are_affordable(problem, classes, end.left())) else {
        let (before, least) = (start.timed.makespan, quick_bound(problem));
        let mut remaining = RemainingBudget::new(budget, end, start.one);
        let found = improve(problem, start.timed, least, methods, budget, &mut remaining);
        // What was not improved has its times already.
        let timeline = start.timeline.filter(|_| found.makespan == before);
        let draft = Draft::new(&found.schedule, name, clock);
        return Draft { moves: remaining.spent, bound: Bound::Is(least), timeline, ..draft }.finish(problem);
    };
    let mut best = start.timed;
    let effort = effort(budget, end);
    let is_late = end.sooner(BOUND * start.one).passed();
    let (look, effort) = if is_late { (Look::Ahead, 0) } else { (Look::Around, effort) };
    let bounds = Bounds::new(problem, &classes, look, effort);
    let mut least = bounds.least();
    let is_best = |makespan: f64, least: f64| makespan <= least * (1.0 + 1e-8);
    if !is_best(best.makespan, least)
        && bounds.is_narrow(best.makespan)
        && bounds.refutes(best.makespan, effort)
    {
        least = best.makespan;
    }
    let reserve = end.left().map_or(0.0, |left| left * BOUND_SHARE);
    let mut remaining = RemainingBudget::new(budget, end.sooner(reserve), start.one);
    if methods == SearchMethods::Both && !is_best(best.makespan, least) {
        best = in_blocks(problem, best, budget, &mut remaining);
    }
    let found = improve(problem, best, least, methods, budget, &mut remaining);
    if !is_best(found.makespan, least) {
        least = least.max(bounds.below(found.makespan, effort, &|| end.passed()));
    }
    let draft = Draft::new(&found.schedule, name, clock);
    Draft { moves: remaining.spent, bound: Bound::AtLeast(least), ..draft }.finish(problem)
}

/// The share of the budget that is spent on blocks of nodes, where that may pay.
const IN_BLOCKS: f64 = 0.35;
/// How much worse than the best a schedule of blocks may be that is worth improving, as a share.
const WORSE: f64 = 0.03;

/// Improves a schedule of blocks of nodes before that of the nodes, if there are blocks and they do about as
/// well.
fn in_blocks(problem: &Problem, best: Timed, budget: &Budget, remaining: &mut RemainingBudget) -> Timed {
    let mut part = remaining.share(IN_BLOCKS);
    if part.moves < problem.node_count() as u64 || part.is_short_of(4.0 * Blocks.effort() * remaining.one) {
        return best;
    }
    let timer = part.timer("blocks");
    let Some((coarse, start)) = blocks::promising(problem, best.makespan, WORSE, &timer) else {
        return best;
    };
    // Its times are not the answer's: nobody is told of them.
    let budget = Budget { watch: None, ..budget.clone() };
    let found = improve(&coarse.problem, start, 0.0, SearchMethods::Both, &budget, &mut part);
    remaining.spend(part.spent);
    let lifted = coarse.lift(problem, &found.schedule, &remaining.timer("blocks")).ok();
    lifted.filter(|lifted| lifted.makespan < best.makespan).unwrap_or(best)
}

/// What is tried beside an earlier placement whose costs may have changed by much.
static QUICK: [&dyn Constructive; 2] = [&Heft, &Single];

struct Start {
    timed: Timed,
    /// Whether there was an earlier placement to begin from.
    is_given: bool,
    /// How long the first algorithm took, in seconds: the measure of everything else.
    one: f64,
    /// The times of an earlier placement, if it is one.
    timeline: Option<Timeline>,
}

/// An earlier placement if there is one that still fits, else the best of the constructive algorithms. Where
/// time counts, what would not be done in what is left of it is left out.
fn begin(name: &str, problem: &Problem, budget: &Budget, clock: Deadline) -> Result<Start, PlaceError> {
    if let Some(start) = &budget.start {
        start.require_valid(problem)?;
        if let Ok(timeline) = simulate(problem, start) {
            let mut timed = Timed { makespan: timeline.makespan, schedule: Schedule::clone(start) };
            let mut timeline = Some(timeline);
            for algorithm in QUICK.into_iter().filter(|_| budget.is_far) {
                let found = within_memory(algorithm, problem, &Timer::new(algorithm.name(), budget, clock));
                // Sums that differ in their rounding alone are no reason to move everything.
                if let Ok(found) = found
                    && found.makespan < timed.makespan * (1.0 - 1e-9)
                {
                    (timed, timeline) = (found, None);
                }
            }
            return Ok(Start { timed, one: clock.elapsed(), is_given: true, timeline });
        }
    }
    let mut best = Best::default();
    let mut one: Option<f64> = None;
    for algorithm in CONSTRUCTIVE {
        let needed = one.unwrap_or(0.0) * (algorithm.effort() + FINISH);
        let is_late = clock.with_spare(one.unwrap_or(0.0)).sooner(needed).passed();
        if best.is_found() && (is_late || budget.is_stopped()) {
            continue;
        }
        let end = match one {
            // What must be done whatever the time is hurried while there is enough left for the rest.
            None => clock.share(FIRST_SHARE),
            // An answer a little late is better than none.
            Some(_) if !best.is_found() => clock.sooner(-GRACE),
            Some(one) => {
                let end = clock.with_spare(one).sooner(FINISH * one);
                let left = end.left().unwrap_or(0.0);
                end.within((PATIENCE * algorithm.effort() * one).max(left * SHARE_OF_EACH))
            }
        };
        best.offer(within_memory(algorithm, problem, &Timer::new(algorithm.name(), budget, end)));
        // A machine that was busy with something else for a moment makes a small graph no large one.
        let most = MOST_PER_PAIR * (problem.node_count() * (problem.device_count() + 8)) as f64;
        one.get_or_insert_with(|| clock.elapsed().min(most));
    }
    // Where no algorithm found room, say what is certain rather than what one of them stumbled over.
    let certain = |error| match (impossible(problem), error) {
        (Some(impossible), _) => impossible,
        (None, PlaceError::Time { seconds, .. }) => PlaceError::Time { algorithm: name.to_owned(), seconds },
        (None, error) => error,
    };
    let timed = best.get(name).map_err(certain)?;
    Ok(Start { timed, one: one.unwrap_or(0.0), is_given: false, timeline: None })
}
