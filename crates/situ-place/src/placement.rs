//! The answer: a device, a time and a reason for every node.

use crate::bounds::lower_bound;
use crate::critical::Times;
use crate::error::PlaceError;
use crate::explain;
use crate::placer::Deadline;
use crate::problem::Problem;
use crate::reason::Reason;
use crate::simulate::simulate;
use crate::{DeviceIndex, NodeIndex};

/// What a placer decides: a device for each node, and the order in which nodes claim slots and links. Times follow
/// from it by [`simulate`](crate::simulate()).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) devices: Vec<u16>,
    pub(crate) order: Vec<u32>,
}

impl Schedule {
    /// Checks that every node has a device that it may run on, and that the order holds each node once, after its
    /// inputs.
    pub fn new(
        problem: &Problem,
        devices: &[DeviceIndex],
        order: &[NodeIndex],
    ) -> Result<Schedule, PlaceError> {
        let wrong = |why: String| PlaceError::Algorithm { algorithm: "schedule".to_owned(), why };
        let count = problem.node_count();
        if devices.len() != count || order.len() != count {
            return Err(wrong(format!("{count} nodes, {} devices, {} places", devices.len(), order.len())));
        }
        for (node, &device) in devices.iter().enumerate() {
            if !problem.allowed(node).any(|d| d == device) {
                let name = problem.devices().get(device).map_or("no device", |d| &d.name);
                return Err(wrong(format!("{} may not run on {name}", problem.name_of(node))));
            }
            let leader = problem.unit_of(node).members[0] as usize;
            if devices[leader] != device {
                let (a, b) = (problem.name_of(node), problem.name_of(leader));
                return Err(wrong(format!("{a} and {b} must share a device")));
            }
        }
        let mut place = vec![usize::MAX; count];
        for (i, &node) in order.iter().enumerate() {
            if node >= count || place[node] != usize::MAX {
                return Err(wrong(format!(
                    "the order has node number {node} twice, or there is no such node"
                )));
            }
            place[node] = i;
        }
        for edge in &problem.edges {
            if place[edge.from as usize] > place[edge.to as usize] {
                let (a, b) = (problem.name_of(edge.to as usize), problem.name_of(edge.from as usize));
                return Err(wrong(format!("{a} comes before its input {b}")));
            }
        }
        Ok(Schedule {
            devices: devices.iter().map(|&d| d as u16).collect(),
            order: order.iter().map(|&n| n as u32).collect(),
        })
    }

    /// The device of a node.
    pub fn device_of(&self, node: NodeIndex) -> DeviceIndex {
        self.devices[node].into()
    }

    /// Whether it is valid for this problem too.
    pub(crate) fn checked_for(&self, problem: &Problem) -> Result<Schedule, PlaceError> {
        let devices: Vec<DeviceIndex> = self.devices.iter().map(|&d| d.into()).collect();
        let order: Vec<NodeIndex> = self.order.iter().map(|&n| n as usize).collect();
        Schedule::new(problem, &devices, &order)
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

impl Placement {
    /// Times a schedule and gathers what belongs to an answer. Reasons are found from the costs where none are given.
    pub(crate) fn finish(
        problem: &Problem,
        schedule: &Schedule,
        algorithm: &str,
        moves: u64,
        clock: Deadline,
        reasons: Option<Vec<Reason>>,
    ) -> Result<Placement, PlaceError> {
        let timeline = simulate(problem, schedule)?;
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
        let lower_bound = lower_bound(problem, &path).min(timeline.makespan);
        let reasons = reasons.unwrap_or_else(|| explain::reasons(problem, schedule));
        Ok(Placement {
            devices: schedule.devices.iter().map(|&d| d.into()).collect(),
            order: schedule.order.iter().map(|&n| n as usize).collect(),
            start: timeline.start,
            finish: timeline.finish,
            transfers: timeline.transfers,
            peak_memory: timeline.peak_memory,
            makespan: timeline.makespan,
            lower_bound,
            algorithm: algorithm.to_owned(),
            moves,
            seconds: clock.elapsed(),
            reasons,
        })
    }
}
