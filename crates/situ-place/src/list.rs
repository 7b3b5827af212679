//! List scheduling: ready nodes by urgency, each where it is done soonest plus what the place costs everybody
//! else.

use crate::error::PlaceError;
use crate::orders::towards;
use crate::partial::{Direction, Partial};
use crate::problem::Problem;
use crate::timer::Timer;

/// What is added to a node's finish on a device when places are compared.
pub(crate) struct Penalties<'a> {
    /// Node × device.
    pub table: &'a [f64],
    pub weight: f64,
}

/// Takes ready nodes by rank, the largest first, and puts each where its finish plus penalty is least. A node
/// that is `kept` somewhere goes there if there is room.
pub(crate) fn schedule<'p>(
    problem: &'p Problem,
    direction: Direction,
    rank: impl Fn(usize) -> f64,
    penalties: Option<&Penalties<'_>>,
    kept: impl Fn(usize) -> Option<u16>,
    share: f64,
    timer: &Timer,
) -> Result<Partial<'p>, PlaceError> {
    let count = problem.device_count();
    let mut partial = Partial::new(problem, share, direction);
    for node in towards(problem, direction, rank) {
        let node = node as usize;
        timer.spend(partial.work(node))?;
        let choices = partial.choices(node);
        let mut best: Option<(f64, u16)> = kept(node).filter(|d| choices.contains(d)).map(|d| (0.0, d));
        if best.is_none() {
            for device in choices {
                let penalty = penalties.map_or(0.0, |p| p.weight * p.table[node * count + device as usize]);
                let limit = best.map_or(f64::INFINITY, |b| b.0) - penalty;
                let Some(probe) = partial.probe(node, device, limit) else { continue };
                if best.is_none_or(|b| probe.finish + penalty < b.0) {
                    best = Some((probe.finish + penalty, device));
                }
            }
        }
        let Some((_, device)) = best else { return Err(partial.stuck(node)) };
        partial.put(node, device);
    }
    Ok(partial)
}

/// How many devices are looked at for a node once the time is over.
const FEW: usize = 16;

/// As [`schedule()`], forward and without penalties, with an answer whatever the time: once it is over, a
/// node is held against a few devices only, those where its first inputs are and others in turn.
pub(crate) fn in_a_hurry<'p>(
    problem: &'p Problem,
    rank: impl Fn(usize) -> f64,
    share: f64,
    timer: &Timer,
) -> Result<Partial<'p>, PlaceError> {
    let mut partial = Partial::new(problem, share, Direction::Forward);
    let (mut is_late, mut turn) = (false, 0);
    for node in towards(problem, Direction::Forward, rank) {
        let node = node as usize;
        is_late = is_late || timer.spend(partial.work(node)).is_err();
        let mut best: Option<(f64, u16)> = None;
        if is_late {
            soonest(&partial, node, &partial.few_choices(node, FEW, turn), &mut best);
            turn += FEW / 2;
        }
        // The few may be full, or out of reach.
        if best.is_none() {
            soonest(&partial, node, &partial.choices(node), &mut best);
        }
        let Some((_, device)) = best else { return Err(partial.stuck(node)) };
        partial.put(node, device);
    }
    Ok(partial)
}

/// The first of the devices on which a node is done soonest.
fn soonest(partial: &Partial<'_>, node: usize, choices: &[u16], best: &mut Option<(f64, u16)>) {
    for &device in choices {
        let limit = best.map_or(f64::INFINITY, |b| b.0);
        if let Some(probe) = partial.probe(node, device, limit)
            && best.is_none_or(|b| probe.finish < b.0)
        {
            *best = Some((probe.finish, device));
        }
    }
}
