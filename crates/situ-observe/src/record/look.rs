//! Questions that every reader of a record asks.

use super::{Copy, Launch, Node, OpRef, PlanRecord, Record, full_name};
use std::collections::{HashMap, HashSet};

/// What one op took, over all its launches.
#[derive(Clone, PartialEq, Debug)]
pub struct OpTotal {
    /// The names around it and its own.
    pub name: String,
    /// Where it ran.
    pub device: usize,
    /// The line of the program.
    pub source: String,
    /// How often it ran.
    pub count: u64,
    /// Seconds of all of its launches together.
    pub seconds: f64,
}

impl Record {
    /// The plan of a call.
    pub fn plan_of(&self, call: usize) -> &PlanRecord {
        &self.plans[self.calls[call].plan]
    }

    /// The node that something was for, if it was one.
    pub fn node_of(&self, op: OpRef) -> Option<&Node> {
        match op {
            OpRef::Node { call, node } => self.plan_of(call).nodes.get(node),
            OpRef::Eager { .. } => None,
        }
    }

    /// The full name of an op: `encoder/dense/matmul`.
    pub fn name_of(&self, op: OpRef) -> String {
        match op {
            OpRef::Node { call, node } => self.plan_of(call).nodes[node].full_name(),
            OpRef::Eager { eager } => full_name(&self.eager[eager].name, &self.eager[eager].op),
        }
    }

    /// The line of the program that an op is from.
    pub fn source_of(&self, op: OpRef) -> &str {
        match op {
            OpRef::Node { call, node } => &self.plan_of(call).nodes[node].source,
            OpRef::Eager { eager } => &self.eager[eager].source,
        }
    }

    /// The full names of all ops that ran, in their order, each once; of joined ones, those of the program.
    pub fn op_names(&self) -> Vec<String> {
        let mut plans: Vec<usize> = self.calls.iter().map(|call| call.plan).collect();
        plans.dedup();
        let nodes = plans.iter().flat_map(|plan| self.plans[*plan].nodes.iter().filter(|node| node.runs()));
        let eager = self.eager.iter().map(|op| full_name(&op.name, &op.op));
        let mut seen = HashSet::new();
        nodes.flat_map(Node::full_names).chain(eager).filter(|name| seen.insert(name.clone())).collect()
    }

    /// How long each op took together, the longest first.
    pub fn op_totals(&self) -> Vec<OpTotal> {
        let key = |launch: &Launch| match launch.op {
            OpRef::Node { call, node } => (self.calls[call].plan, node, launch.device),
            OpRef::Eager { eager } => (usize::MAX, eager, launch.device),
        };
        let mut sums: HashMap<_, (OpRef, u64, f64)> = HashMap::new();
        for launch in &self.launches {
            let sum = sums.entry(key(launch)).or_insert((launch.op, 0, 0.0));
            sum.1 += 1;
            sum.2 += launch.end - launch.start;
        }
        let total = |((_, _, device), (op, count, seconds)): (_, (OpRef, u64, f64))| OpTotal {
            name: self.name_of(op),
            device,
            source: self.source_of(op).to_string(),
            count,
            seconds,
        };
        let mut totals: Vec<OpTotal> = sums.into_iter().map(total).collect();
        totals.sort_by(|a, b| {
            b.seconds.total_cmp(&a.seconds).then_with(|| (&a.name, &a.source).cmp(&(&b.name, &b.source)))
        });
        totals
    }

    /// The median of what each node of a plan was measured to take, by its position; not of those that were
    /// never timed by themselves.
    pub fn measured_nodes(&self, plan: usize) -> HashMap<usize, f64> {
        let mut times: HashMap<usize, Vec<f64>> = HashMap::new();
        for launch in self.launches.iter().filter(|l| l.is_measured(&self.devices[l.device])) {
            if let OpRef::Node { call, node } = launch.op
                && self.calls[call].plan == plan
            {
                times.entry(node).or_default().push(launch.end - launch.start);
            }
        }
        let median = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        times.into_iter().map(|(node, times)| (node, median(times))).collect()
    }

    /// Seconds from the beginning of each call to its return or the end of its last kernel, whichever is
    /// later.
    pub fn call_lengths(&self) -> Vec<f64> {
        let mut ends: Vec<f64> = self.calls.iter().map(|call| call.end).collect();
        for launch in &self.launches {
            if let OpRef::Node { call, .. } = launch.op {
                ends[call] = ends[call].max(launch.end);
            }
        }
        self.calls.iter().zip(ends).map(|(call, end)| end - call.start).collect()
    }

    /// Seconds in which each device ran kernels, overlaps counted once.
    pub fn busy(&self) -> Vec<f64> {
        let mut spans: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.devices.len()];
        for launch in &self.launches {
            spans[launch.device].push((launch.start, launch.end));
        }
        spans.into_iter().map(union).collect()
    }

    /// Of each copy, the seconds in which it only waited for the work whose result it carries: a queue gives
    /// bytes away when they are made.
    pub fn copy_waits(&self) -> Vec<f64> {
        let mut made: HashMap<(usize, usize), f64> = HashMap::new();
        let mut queued: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.devices.len()];
        for launch in &self.launches {
            queued[launch.device].push((launch.queued, launch.end));
            if let OpRef::Node { call, node } = launch.op {
                let end = made.entry((call, node)).or_insert(launch.end);
                *end = end.max(launch.end);
            }
        }
        for of_device in &mut queued {
            of_device.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut latest = f64::NEG_INFINITY;
            for (_, end) in of_device {
                latest = latest.max(*end);
                *end = latest;
            }
        }
        let wait = |copy: &Copy| {
            if !self.devices[copy.from].is_queued() {
                return 0.0;
            }
            let planned = copy.call.and_then(|call| {
                let producer = self.plan_of(call).copies.get(copy.planned?)?.producer?;
                made.get(&(call, producer)).copied()
            });
            let before = &queued[copy.from];
            let behind = || {
                let count = before.partition_point(|(queued, _)| *queued <= copy.start);
                count.checked_sub(1).map(|last| before[last].1)
            };
            let ready = planned.or_else(behind).unwrap_or(copy.start);
            (ready - copy.start).clamp(0.0, (copy.end - copy.start).max(0.0))
        };
        self.copies.iter().map(wait).collect()
    }

    /// Bytes copied between memories, and how often.
    pub fn bytes_moved(&self) -> (u64, usize) {
        (self.copies.iter().map(|c| c.bytes).sum(), self.copies.len())
    }
}

/// The length of the union of spans.
fn union(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut total, mut until) = (0.0, f64::NEG_INFINITY);
    for (start, end) in spans {
        if end > until {
            total += end - start.max(until);
            until = end;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_count_once() {
        assert_eq!(union(vec![(2.0, 3.0), (0.0, 1.0), (0.5, 1.5), (0.6, 0.7)]), 2.5);
    }
}
