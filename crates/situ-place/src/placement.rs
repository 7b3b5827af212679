//! The answer: a device, a time and a reason for every node.

use crate::bounds::{Bounds, Classes, Look, are_affordable, bound_by, quick_bound};
use crate::critical::Times;
use crate::error::PlaceError;
use crate::explain;
use crate::placer::Deadline;
use crate::problem::Problem;
use crate::reason::Reason;
use crate::simulate::{Timeline, simulate};
use crate::{DeviceIndex, NodeIndex};

/// What a placer decides: a device for each node, and the order in which nodes claim slots and links. Times
/// follow from it by [`simulate`](crate::simulate()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) devices: Vec<u16>,
    pub(crate) order: Vec<u32>,
}

impl Schedule {
    /// Checks that every node has a device that it may run on, and that the order holds each node once, after
    /// its inputs.
    pub fn new(
        problem: &Problem,
        devices: &[DeviceIndex],
        order: &[NodeIndex],
    ) -> Result<Schedule, PlaceError> {
        let narrow = |d: &DeviceIndex| u16::try_from(*d).unwrap_or(u16::MAX);
        let number = |n: &NodeIndex| u32::try_from(*n).unwrap_or(u32::MAX);
        let schedule = Schedule {
            devices: devices.iter().map(narrow).collect(),
            order: order.iter().map(number).collect(),
        };
        schedule.require_valid(problem)?;
        Ok(schedule)
    }

    /// Checks that it is a schedule of this problem.
    pub(crate) fn require_valid(&self, problem: &Problem) -> Result<(), PlaceError> {
        let wrong = |why: String| PlaceError::Algorithm { algorithm: "schedule".to_owned(), why };
        let count = problem.node_count();
        let (devices, order) = (&self.devices, &self.order);
        if devices.len() != count || order.len() != count {
            return Err(wrong(format!("{count} nodes, {} devices, {} places", devices.len(), order.len())));
        }
        for (node, &device) in devices.iter().enumerate() {
            let unit = problem.unit_of(node);
            if !unit.allowed.contains(&device) {
                let name = problem.devices().get(device as usize).map_or("no device", |d| &d.name);
                return Err(wrong(format!("{} may not run on {name}", problem.name_of(node))));
            }
            let leader = unit.members[0] as usize;
            if devices[leader] != device {
                let (a, b) = (problem.name_of(node), problem.name_of(leader));
                return Err(wrong(format!("{a} and {b} must share a device")));
            }
        }
        let mut place = vec![usize::MAX; count];
        for (i, &node) in order.iter().enumerate() {
            if node as usize >= count || place[node as usize] != usize::MAX {
                let why = format!("the order has node number {node} twice, or there is no such node");
                return Err(wrong(why));
            }
            place[node as usize] = i;
        }
        for edge in &problem.edges {
            if place[edge.from as usize] > place[edge.to as usize] {
                let (a, b) = (problem.name_of(edge.to as usize), problem.name_of(edge.from as usize));
                return Err(wrong(format!("{a} comes before its input {b}")));
            }
        }
        Ok(())
    }

    /// The device of a node.
    pub fn device_of(&self, node: NodeIndex) -> DeviceIndex {
        self.devices[node].into()
    }
}

/// One copy of a node's output from one memory to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The node whose output it is.
    pub node: NodeIndex,
    /// The device it leaves.
    pub from: DeviceIndex,
    /// The device it reaches.
    pub to: DeviceIndex,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it is there.
    pub finish: f64,
    /// What it takes in the destination's memory.
    pub bytes: f64,
}

/// Where and when every node runs, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The device of each node.
    pub devices: Vec<DeviceIndex>,
    /// The order in which nodes claim slots and links: a topological order.
    pub order: Vec<NodeIndex>,
    /// When each node starts, in seconds.
    pub start: Vec<f64>,
    /// When each node is done.
    pub finish: Vec<f64>,
    /// Every copy, in the order of their starts.
    pub transfers: Vec<Transfer>,
    /// The most bytes that each device holds at once.
    pub peak_memory: Vec<f64>,
    /// When everything is done.
    pub makespan: f64,
    /// No placement of this problem is done sooner than this.
    pub lower_bound: f64,
    /// The algorithm that found it.
    pub algorithm: String,
    /// How many moves were tried.
    pub moves: u64,
    /// How long it took.
    pub seconds: f64,
    /// Why each node is where it is.
    pub reasons: Vec<Reason>,
}

impl Placement {
    /// The device of a node.
    pub fn device_of(&self, node: NodeIndex) -> DeviceIndex {
        self.devices[node]
    }

    /// How far the makespan may be from the best one, as a share of the bound; zero means it is the best.
    pub fn gap(&self) -> f64 {
        if self.makespan <= self.lower_bound { 0.0 } else { self.makespan / self.lower_bound - 1.0 }
    }

    /// The decisions without the times.
    pub fn schedule(&self) -> Schedule {
        Schedule {
            devices: self.devices.iter().map(|&d| d as u16).collect(),
            order: self.order.iter().map(|&n| n as u32).collect(),
        }
    }
}

/// What is known of the bound of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// Nothing: find it.
    Unknown,
    /// It is at least this; the critical path may raise it.
    AtLeast(f64),
    /// This must do.
    Is(f64),
}

/// A schedule on its way to an answer, with what is known of it already.
pub(crate) struct Draft<'a> {
    pub schedule: &'a Schedule,
    pub algorithm: &'a str,
    pub moves: u64,
    pub clock: Deadline,
    pub bound: Bound,
    pub timeline: Option<Timeline>,
    pub reasons: Option<Vec<Reason>>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(schedule: &'a Schedule, algorithm: &'a str, clock: Deadline) -> Draft<'a> {
        Draft { schedule, algorithm, moves: 0, clock, bound: Bound::Unknown, timeline: None, reasons: None }
    }

    /// Gathers what belongs to an answer, and finds what is not known.
    pub(crate) fn finish(self, problem: &Problem) -> Result<Placement, PlaceError> {
        let schedule = self.schedule;
        let timeline = match self.timeline {
            Some(timeline) => timeline,
            None => simulate(problem, schedule)?,
        };
        let bound = match self.bound {
            Bound::Is(bound) => bound,
            Bound::AtLeast(bound) => {
                bound.max(bound_by(problem, &Classes::new(problem), &critical(problem, schedule, &timeline)))
            }
            Bound::Unknown => {
                let classes = Classes::new(problem);
                if are_affordable(problem, &classes, self.clock.left()) {
                    let path = critical(problem, schedule, &timeline);
                    let least = Bounds::new(problem, &classes, Look::Around, 0).least();
                    least.max(bound_by(problem, &classes, &path))
                } else {
                    quick_bound(problem)
                }
            }
        };
        Ok(Placement {
            devices: schedule.devices.iter().map(|&d| d.into()).collect(),
            order: schedule.order.iter().map(|&n| n as usize).collect(),
            lower_bound: bound.min(timeline.makespan),
            start: timeline.start,
            finish: timeline.finish,
            transfers: timeline.transfers,
            peak_memory: timeline.peak_memory,
            makespan: timeline.makespan,
            algorithm: self.algorithm.to_owned(),
            moves: self.moves,
            reasons: self.reasons.unwrap_or_else(|| explain::reasons(problem, schedule)),
            seconds: self.clock.elapsed(),
        })
    }
}

/// A critical path of a schedule that has been timed.
fn critical(problem: &Problem, schedule: &Schedule, timeline: &Timeline) -> Vec<u32> {
    let mut place = vec![0; schedule.order.len()];
    for (i, &node) in schedule.order.iter().enumerate() {
        place[node as usize] = i as u32;
    }
    let times = Times {
        problem,
        devices: &schedule.devices,
        order: &schedule.order,
        place: &place,
        start: &timeline.start,
        finish: &timeline.finish,
    };
    let mut path = Vec::new();
    times.critical_path(&mut path);
    path
}
