//! Why each node is where it is, read off a finished schedule, and what another device would have changed.

use crate::engine::Engine;
use crate::error::PlaceError;
use crate::fill::Fill;
use crate::placement::{Placement, Schedule};
use crate::problem::{NONE, Problem};
use crate::reason::{Reason, fixed};
use crate::simulate::{simulate, simulate_unlimited};
use crate::{DeviceIndex, NodeIndex};

/// What an answer may spend on simulating its reasons, in nodes timed: a few milliseconds.
const STEPS: usize = 50_000;

/// What making the simulator costs, in times that it times everything.
const ENGINE: usize = 8;

/// What the simulator keeps of a problem, at most: beyond that, making it would take longer than the rest of
/// an answer.
const MOST_CELLS: usize = 4_000_000;

fn cells(problem: &Problem) -> usize {
    problem.node_count() * problem.device_count() + problem.routes.channels
}

/// What moving a node, with everything colocated with it, would change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// The change of the makespan, in seconds.
    pub seconds: f64,
    /// The device that would exceed its memory the most, and by how many bytes; the times are then as if it
    /// did not matter.
    pub over: Option<(DeviceIndex, f64)>,
}

/// The change of the makespan with a node's whole colocation group on another device, and all other devices
/// and the order kept. An error where the group can't run there, or its tensors can't get there.
pub fn delta(
    problem: &Problem,
    placement: &Placement,
    node: NodeIndex,
    device: DeviceIndex,
) -> Result<Delta, PlaceError> {
    if !problem.allowed(node).any(|d| d == device) {
        let can = problem.allowed(node).map(|d| problem.device(d).name.clone()).collect();
        let asked =
            problem.devices().get(device).map_or_else(|| format!("device {device}"), |d| d.name.clone());
        return Err(PlaceError::Request { node: problem.name_of(node), asked, can });
    }
    let schedule = moved(problem, &placement.schedule(), node, device as u16);
    delta_of(problem, &schedule, placement.makespan)
}

/// For every node, the [`delta`] of every other device that it may run on and that its tensors can get to.
/// The incremental simulator makes this a fraction of the work of asking one by one.
pub fn deltas(problem: &Problem, placement: &Placement) -> Vec<Vec<(DeviceIndex, Delta)>> {
    let schedule = placement.schedule();
    let mut engine = Engine::new(problem, &schedule).ok();
    let mut of_unit = Vec::with_capacity(problem.units.len());
    for (unit, row) in problem.units.iter().enumerate() {
        let leader = row.members[0] as usize;
        let others = row.allowed.iter().copied().filter(|&d| d != schedule.devices[leader]);
        let deltas = others.filter_map(|device| {
            let quick = engine.as_mut().and_then(|engine| {
                engine.begin();
                engine.set_device(unit, device);
                let makespan = engine.evaluate(f64::INFINITY);
                engine.reject();
                makespan
            });
            let delta = match quick {
                Some(makespan) => Delta { seconds: makespan - placement.makespan, over: None },
                None => delta(problem, placement, leader, device.into()).ok()?,
            };
            Some((device as DeviceIndex, delta))
        });
        of_unit.push(deltas.collect::<Vec<_>>());
    }
    problem.nodes.iter().map(|n| of_unit[n.unit as usize].clone()).collect()
}

fn moved(problem: &Problem, schedule: &Schedule, node: usize, device: u16) -> Schedule {
    let mut schedule = schedule.clone();
    for &member in &problem.unit_of(node).members {
        schedule.devices[member as usize] = device;
    }
    schedule
}

fn delta_of(problem: &Problem, schedule: &Schedule, makespan: f64) -> Result<Delta, PlaceError> {
    match simulate(problem, schedule) {
        Ok(timeline) => Ok(Delta { seconds: timeline.makespan - makespan, over: None }),
        Err(PlaceError::Memory(_)) => {
            let timeline = simulate_unlimited(problem, schedule)?;
            Ok(Delta { seconds: timeline.makespan - makespan, over: timeline.excess(problem) })
        }
        Err(error) => Err(error),
    }
}

/// A reason for every node.
pub(crate) fn reasons(problem: &Problem, schedule: &Schedule) -> Vec<Reason> {
    let mut fill = Fill::new(problem);
    for (unit, row) in problem.units.iter().enumerate() {
        fill.put(problem, unit, schedule.devices[row.members[0] as usize].into());
    }
    let reached = vec![(NONE, 0, NONE); problem.device_count()];
    let steps = if cells(problem) > MOST_CELLS { 0 } else { STEPS };
    let mut explain = Explain { problem, schedule, engine: None, fill, steps, reached };
    let leaders: Vec<usize> = problem.units.iter().map(|u| leader(problem, &u.members)).collect();
    let reason = |node: usize| {
        let leader = leaders[problem.nodes[node].unit as usize];
        fixed(problem, node).unwrap_or_else(|| {
            if leader == node { explain.by_cost(node) } else { Reason::Colocated { with: leader } }
        })
    };
    (0..problem.node_count()).map(reason).collect()
}

/// The member that costs the most decides for its group.
fn leader(problem: &Problem, members: &[u32]) -> usize {
    if let [only] = members {
        return *only as usize;
    }
    let weight =
        |n: usize| problem.unit_of(n).allowed.iter().map(|&d| problem.seconds(n, d.into())).sum::<f64>();
    let members = members.iter().map(|&n| n as usize);
    members.reduce(|a, b| if weight(b) > weight(a) { b } else { a }).unwrap_or(0)
}

struct Explain<'a> {
    problem: &'a Problem,
    schedule: &'a Schedule,
    engine: Option<Engine<'a>>,
    fill: Fill,
    steps: usize,
    /// Per device, the group and its device, and the member, whose output was last known to be copied there.
    reached: Vec<(u32, u16, u32)>,
}

impl<'a> Explain<'a> {
    fn by_cost(&mut self, node: usize) -> Reason {
        let problem = self.problem;
        let unit = problem.nodes[node].unit as usize;
        let here = self.schedule.devices[node];
        let members = &problem.units[unit].members;
        let work = |d: u16| members.iter().map(|&m| problem.seconds(m as usize, d.into())).sum::<f64>();
        let here_work = work(here);
        // The fastest of the others, and the fastest that is slower than here.
        let mut least: Option<(u16, f64)> = None;
        let mut slower: Option<(u16, f64)> = None;
        for &device in problem.units[unit].allowed.iter().filter(|&&d| d != here) {
            let seconds = work(device);
            if least.is_none_or(|l| seconds < l.1) {
                least = Some((device, seconds));
            }
            if seconds > here_work && slower.is_none_or(|l| seconds < l.1) {
                slower = Some((device, seconds));
            }
        }
        let Some((fastest, least)) = least else { return Reason::OnlyDevice };
        if here_work <= least {
            // A twin that is just as fast says little; the next slower device says why it is not there.
            let (than, seconds) = slower.unwrap_or((fastest, least));
            return Reason::Faster { than: than.into(), saves: seconds - here_work };
        }
        self.fill.take(problem, unit, here.into());
        let fits = self.fill.fits(problem, unit, fastest.into());
        self.fill.put(problem, unit, here.into());
        if !fits {
            return Reason::MemoryLimit { full: fastest.into() };
        }
        let (stay, go) = (here_work + self.copies(unit, here), least + self.copies(unit, fastest));
        if stay < go {
            return Reason::CheaperThanMoving { to: fastest.into(), saves: go - stay };
        }
        if self.steps < ENGINE * problem.node_count() {
            return Reason::Balanced { busy: fastest.into(), saves: None };
        }
        self.steps -= problem.node_count();
        let Some(engine) = self.engine() else {
            return Reason::Balanced { busy: fastest.into(), saves: None };
        };
        engine.begin();
        engine.set_device(unit, fastest);
        let there = engine.evaluate(f64::INFINITY);
        let saves = there.map(|makespan| makespan - engine.makespan());
        engine.reject();
        match saves {
            Some(saves) => Reason::Balanced { busy: fastest.into(), saves: Some(saves) },
            // It can run there and its tensors can get there, so it is the live tensors that do not fit.
            None => Reason::MemoryLimit { full: fastest.into() },
        }
    }

    fn engine(&mut self) -> Option<&mut Engine<'a>> {
        if self.engine.is_none() {
            self.engine = Engine::new(self.problem, self.schedule).ok();
        }
        self.engine.as_mut()
    }

    /// Seconds of the copies into and out of a group on a device, with everything else where it is.
    fn copies(&mut self, unit: usize, device: u16) -> f64 {
        let (problem, devices) = (self.problem, &self.schedule.devices);
        let mut seconds = 0.0;
        for &member in &problem.units[unit].members {
            let member = member as usize;
            for &e in problem.in_edges.row(member) {
                let from = problem.edges[e as usize].from as usize;
                if problem.nodes[from].unit as usize != unit {
                    seconds += problem.edge_copy(e, devices[from], device);
                }
            }
            for &e in problem.out_edges.row(member) {
                let to = problem.edges[e as usize].to as usize;
                let there = (unit as u32, device, member as u32);
                if problem.nodes[to].unit as usize != unit
                    && std::mem::replace(&mut self.reached[devices[to] as usize], there) != there
                {
                    seconds += problem.edge_copy(e, device, devices[to]);
                }
            }
        }
        seconds
    }
}
