//! Placement by rule, without costs: what was asked for, else the first GPU that can run it, else the first
//! CPU.
//!
//! TensorFlow's rule, with two differences: a group whose weights or results do not fit goes to the next
//! device instead of failing at run time, and a request gives way only where the problem says so. A node
//! without inputs goes with its readers if they are all on one device that it may run on, as TensorFlow has
//! it.

mod room;

use crate::error::PlaceError;
use crate::fill::Fill;
use crate::placement::{Draft, Placement, Schedule};
use crate::placer::{Budget, Deadline, Placer};
use crate::problem::Problem;
use crate::reason::Reason;
use room::Choices;

/// See the module's page.
pub struct Rules;

impl Placer for Rules {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn place(&self, problem: &Problem, budget: &Budget) -> Result<Placement, PlaceError> {
        let clock = Deadline::new(budget);
        problem.require_placeable()?;
        let (schedule, reasons) = schedule(problem)?;
        Draft { reasons: Some(reasons), ..Draft::new(&schedule, self.name(), clock) }.finish(problem)
    }
}

fn rank(kind: &str) -> u8 {
    match kind {
        "gpu" => 0,
        "cpu" => 2,
        _ => 1,
    }
}

fn schedule(problem: &Problem) -> Result<(Schedule, Vec<Reason>), PlaceError> {
    let mut fill = Fill::new(problem);
    let units = problem.units.len();
    let mut device_of: Vec<Option<u16>> = vec![None; units];
    let mut chosen = Choices { devices: vec![Vec::new(); units], at: vec![0; units] };
    let order = problem.order.iter().map(|&n| problem.nodes[n as usize].unit as usize);
    let (sources, rest): (Vec<_>, Vec<_>) = order.partition(|&u| is_source(problem, u));
    for unit in rest.into_iter().chain(sources) {
        if device_of[unit].is_some() {
            continue;
        }
        let mut choices = problem.units[unit].allowed.to_vec();
        choices.sort_by_key(|&d| (rank(&problem.kinds[d as usize]), d));
        if let Some(with) = readers_device(problem, unit, &device_of).filter(|d| choices.contains(d)) {
            choices.retain(|&d| d != with);
            choices.insert(0, with);
        }
        let Some(at) = choices.iter().position(|&d| fill.fits(problem, unit, d.into())) else {
            return Err(fill.shortage(problem, unit));
        };
        fill.put(problem, unit, choices[at].into());
        device_of[unit] = Some(choices[at]);
        chosen.at[unit] = at;
        chosen.devices[unit] = choices;
    }
    room::make(problem, &mut chosen);
    let devices: Vec<u16> = problem.nodes.iter().map(|n| chosen.device(n.unit as usize)).collect();
    let reasons = (0..problem.node_count()).map(|n| reason(problem, n, &chosen)).collect();
    Ok((Schedule { devices, order: problem.order.clone() }, reasons))
}

/// A unit that reads nothing.
fn is_source(problem: &Problem, unit: usize) -> bool {
    problem.units[unit].members.iter().all(|&n| problem.in_edges.row(n as usize).is_empty())
}

/// The one device on which everything is that reads a source.
fn readers_device(problem: &Problem, unit: usize, device_of: &[Option<u16>]) -> Option<u16> {
    if !is_source(problem, unit) {
        return None;
    }
    let members = problem.units[unit].members.iter();
    let readers =
        members.flat_map(|&n| problem.outs(n as usize).map(|e| problem.nodes[e.to as usize].unit as usize));
    let mut devices = readers.filter(|&u| u != unit).map(|u| device_of[u]);
    let first = devices.next()??;
    devices.all(|d| d == Some(first)).then_some(first)
}

fn reason(problem: &Problem, node: usize, chosen: &Choices) -> Reason {
    let unit = problem.unit_of(node);
    if let Some(fixed) = crate::reason::fixed(problem, node) {
        return fixed;
    }
    let number = problem.nodes[node].unit as usize;
    if chosen.at[number] > 0 {
        let full = chosen.devices[number][0];
        return Reason::MemoryLimit { full: full.into() };
    }
    let leader = unit.members[0] as usize;
    if leader != node { Reason::Colocated { with: leader } } else { Reason::PreferGpu }
}
