//! Why a node is where it is: the rule that decided, as data and as text.
//!
//! The rules have the names of [`situ_core::Reason`]; this form carries the names of a cost graph, which may have
//! devices that no runtime has.

use crate::error::NodeName;
use crate::problem::Problem;
use situ_core::reason::seconds;
use std::fmt;
use std::sync::Arc;

/// The rule that decided a node's device.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// It was asked for.
    Requested {
        /// What was asked.
        asked: String,
    },
    /// The device that was asked for can't run it.
    NoKernel {
        /// What was asked.
        asked: String,
    },
    /// The device that was asked for does not exist.
    NoSuchDevice {
        /// What was asked.
        asked: String,
    },
    /// It must be where another node is.
    Colocated {
        /// The node that decided for the group.
        with: NodeName,
    },
    /// It runs faster here.
    Faster {
        /// The next best device.
        than: Arc<str>,
        /// By how much, in seconds.
        saves: f64,
    },
    /// Another device runs it faster, but its inputs and outputs would have to be moved.
    CheaperThanMoving {
        /// The device that runs it faster.
        to: Arc<str>,
        /// What staying saves, in seconds.
        saves: f64,
    },
    /// Another device would be better, and has no memory left for it.
    MemoryLimit {
        /// The device that is full.
        full: Arc<str>,
    },
    /// Another device runs it faster, but is busy with other nodes: the whole step is not shorter that way.
    Balanced {
        /// The device that is busy.
        busy: Arc<str>,
        /// How much longer the step would be with the node there, in seconds; none: not simulated.
        saves: Option<f64>,
    },
    /// The rule `PreferGpu`: a GPU that can run it comes first.
    PreferGpu,
    /// No other device can run it.
    OnlyDevice,
}

impl Reason {
    /// The rule's short name, as in files and tables.
    pub fn rule(&self) -> &'static str {
        match self {
            Reason::Requested { .. } => "requested",
            Reason::NoKernel { .. } => "no kernel",
            Reason::NoSuchDevice { .. } => "no such device",
            Reason::Colocated { .. } => "colocated",
            Reason::Faster { .. } => "faster",
            Reason::CheaperThanMoving { .. } => "cheaper than moving",
            Reason::MemoryLimit { .. } => "memory limit",
            Reason::Balanced { .. } => "balanced",
            Reason::PreferGpu => "prefer GPU",
            Reason::OnlyDevice => "only device",
        }
    }

    /// Whether it is a fallback: the program asked for something else.
    pub fn is_fallback(&self) -> bool {
        matches!(self, Reason::NoKernel { .. } | Reason::NoSuchDevice { .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Requested { asked } => write!(f, "asked for {asked}"),
            Reason::NoKernel { asked } => write!(f, "asked for {asked}, which can't run it"),
            Reason::NoSuchDevice { asked } => write!(f, "asked for {asked}, which is not there"),
            Reason::Colocated { with } => write!(f, "stays with {with}"),
            Reason::Faster { than, saves } if *saves == 0.0 => write!(f, "no slower than on {than}"),
            Reason::Faster { than, saves } => write!(f, "saves {} over {than}", seconds(*saves)),
            Reason::CheaperThanMoving { to, saves } => {
                write!(f, "saves {} over moving what it reads and writes to {to}", seconds(*saves))
            }
            Reason::MemoryLimit { full } => write!(f, "{full} has no memory left for it"),
            Reason::Balanced { busy, saves: Some(saves) } if *saves > 0.0 => {
                write!(f, "{busy} is busy: the step would be {} longer with it there", seconds(*saves))
            }
            Reason::Balanced { busy, saves: Some(_) } => {
                write!(f, "{busy} is busy: the step is no shorter with it there")
            }
            Reason::Balanced { busy, saves: None } => write!(f, "{busy} is busy"),
            Reason::PreferGpu => f.write_str("a GPU that can run it comes first"),
            Reason::OnlyDevice => f.write_str("no other device can run it"),
        }
    }
}

/// The reason of a node whose device was decided before any algorithm looked at costs.
pub(crate) fn fixed(problem: &Problem, node: usize) -> Option<Reason> {
    let unit = problem.unit_of(node);
    let own = problem.request(node).filter(|asked| !asked.trim_matches('/').is_empty());
    if let Some(asked) = own.map(str::to_owned) {
        return Some(match &unit.relaxed {
            Some(relaxed) if relaxed.asked == asked && relaxed.exists => Reason::NoKernel { asked },
            Some(relaxed) if relaxed.asked == asked => Reason::NoSuchDevice { asked },
            _ => Reason::Requested { asked },
        });
    }
    if unit.allowed.len() > 1 {
        return None;
    }
    // One device only: was it the node itself, or something that it must stay with?
    let able = (0..problem.device_count()).filter(|&d| problem.cost(node, d).is_some()).count();
    if able == 1 {
        return Some(Reason::OnlyDevice);
    }
    let decides = |&&m: &&u32| {
        let m = m as usize;
        m != node
            && (problem.request(m).is_some()
                || (0..problem.device_count()).filter(|&d| problem.cost(m, d).is_some()).count() < able)
    };
    let with = unit.members.iter().find(decides).or(unit.members.iter().find(|&&m| m as usize != node));
    Some(match with {
        Some(&with) => Reason::Colocated { with: problem.name_of(with as usize) },
        None => Reason::OnlyDevice,
    })
}
