//! Why a node is where it is: the rule that decided, with numbers of nodes and devices, and as text with a
//! cost graph's names.

use crate::problem::Problem;
use crate::{DeviceIndex, NodeIndex};
use situ_core::Rule;
use situ_core::reason::ReasonOf;

/// The rule that decided a node's device.
pub type Reason = ReasonOf<DeviceIndex, NodeIndex>;

/// What a node's reason says, by the names of its cost graph, which may have devices that no runtime has.
pub fn text(problem: &Problem, node: NodeIndex, reason: &Reason) -> String {
    let asked = problem.request(node).unwrap_or_default();
    match reason.rule() {
        Rule::Requested => format!("asked for {asked}"),
        Rule::NoKernel => format!("asked for {asked}, which can't run it"),
        Rule::NoSuchDevice => format!("asked for {asked}, which is not there"),
        _ => {
            let device = |d: DeviceIndex| problem.device(d).name.as_str();
            reason.named(device, |n| problem.name_of(n)).to_string()
        }
    }
}

/// The reason of a node whose device was decided before any algorithm looked at costs.
pub(crate) fn fixed(problem: &Problem, node: usize) -> Option<Reason> {
    let unit = problem.unit_of(node);
    let own = problem.request(node).filter(|asked| !asked.trim_matches('/').is_empty());
    if let Some(asked) = own {
        return Some(match &unit.relaxed {
            Some(relaxed) if relaxed.asked == asked => match relaxed.wanted {
                Some(wanted) => Reason::Unable { wanted: wanted.into() },
                None => Reason::NoSuchDevice { kind: relaxed.kind, index: relaxed.index },
            },
            _ => Reason::Requested,
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
        Some(&with) => Reason::Colocated { with: with as usize },
        None => Reason::OnlyDevice,
    })
}
