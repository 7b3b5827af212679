//! Predictions that are far from what was measured.
//!
//! Like is held against like: what a call takes from the beginning of its first op or copy to the end of its
//! last, against the time that was planned for it; and what the ops of a device take by themselves, against
//! what was expected of those ops. The time that a call waits for its turn in a queue, and the host's own,
//! are in neither.

use super::called;
use crate::record::{Clock, Finding, FindingKind, OpRef, PlanRecord, Record};
use situ_core::reason::seconds;
use std::collections::HashMap;

/// Calls that must have been seen.
const ENOUGH: usize = 5;
/// How many times longer, or shorter, than predicted is worth a word.
const FAR: f64 = 2.0;
/// The share of the difference from which a device has its part in it.
const A_PART: f64 = 0.05;

/// What one call was seen to take.
#[derive(Clone)]
struct Seen {
    start: f64,
    end: f64,
    /// By device: seconds of its ops, and those that were expected of them.
    ops: HashMap<usize, (f64, f64)>,
}

pub(super) fn find(record: &Record, found: &mut Vec<Finding>) {
    let seen = seen(record);
    for (number, plan, calls) in called(record) {
        let of_plan = record.calls.iter().zip(&seen).filter(|(call, _)| call.plan == number);
        let of_plan: Vec<&Seen> = of_plan.filter_map(|(_, seen)| seen.as_ref()).collect();
        if of_plan.len() < ENOUGH {
            continue;
        }
        let took = median(of_plan.iter().map(|seen| seen.end - seen.start));
        if !is_far(took, plan.predicted) {
            continue;
        }
        let text = format!(
            "A call of {} takes {} from its first op to its last, {} was expected. {}",
            plan.function,
            seconds(took),
            seconds(plan.predicted),
            because(record, plan, &of_plan, (took - plan.predicted).abs())
        );
        found.push(Finding { plan: Some(number), calls, ..Finding::new(FindingKind::Drift, text) });
    }
}

/// Where the difference comes from: devices whose ops take another time than expected, and enough of it to
/// matter, or none of them.
fn because(record: &Record, plan: &PlanRecord, calls: &[&Seen], difference: f64) -> String {
    let mut used: Vec<usize> = plan.nodes.iter().filter(|n| n.runs()).map(|n| n.device).collect();
    used.sort_unstable();
    used.dedup();
    let mut parts = Vec::new();
    for device in used {
        let of_device = || calls.iter().filter_map(|seen| seen.ops.get(&device));
        let (took, expected) = (median(of_device().map(|ops| ops.0)), median(of_device().map(|ops| ops.1)));
        if !is_far(took, expected) || (took - expected).abs() < A_PART * difference {
            continue;
        }
        let device = &record.devices[device];
        let remedy = if device.calibrated {
            "it is calibrated, so something else may be using it"
        } else {
            "its costs are from the built-in table, run `situ calibrate`"
        };
        parts.push(format!(
            "The ops on {} take {} by themselves, {} was expected of them: {remedy}.",
            device.name,
            seconds(took),
            seconds(expected)
        ));
    }
    if parts.is_empty() {
        return "Its ops take about what was expected of them; the rest is copies, and waiting for them."
            .to_string();
    }
    parts.join(" ")
}

/// What each call took; `None` where a queue was not asked for its times, so that nobody knows.
fn seen(record: &Record) -> Vec<Option<Seen>> {
    let nothing = Seen { start: f64::INFINITY, end: f64::NEG_INFINITY, ops: HashMap::new() };
    let mut seen = vec![Some(nothing); record.calls.len()];
    for launch in &record.launches {
        let OpRef::Node { call, node } = launch.op else { continue };
        if launch.clock == Clock::Host && record.devices[launch.device].is_queued() {
            seen[call] = None;
        }
        let Some(seen) = &mut seen[call] else { continue };
        (seen.start, seen.end) = (seen.start.min(launch.start), seen.end.max(launch.end));
        let ops = seen.ops.entry(launch.device).or_default();
        ops.0 += launch.end - launch.start;
        ops.1 += record.plan_of(call).nodes.get(node).map_or(0.0, |node| node.seconds);
    }
    // A copy from a queue waits for what makes its bytes, which may be the call before.
    for (copy, waited) in record.copies.iter().zip(record.copy_waits()) {
        if let Some(seen) = copy.call.and_then(|call| seen[call].as_mut()) {
            (seen.start, seen.end) = (seen.start.min(copy.start + waited), seen.end.max(copy.end));
        }
    }
    seen.into_iter().map(|seen| seen.filter(|seen| seen.start <= seen.end)).collect()
}

fn is_far(took: f64, expected: f64) -> bool {
    let ratio = took / expected;
    ratio.is_finite() && !(1.0 / FAR..=FAR).contains(&ratio)
}

/// Zero of nothing.
fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Call, Device, Launch, Node};

    /// Calls that all begin at once, of one op each on a queue, which runs them one after the other.
    fn queued(calls: usize, predicted: f64, took: f64, clock: Clock) -> Record {
        let device = Device { name: "GPU:0".into(), kind: "gpu".into(), ..Device::default() };
        let node = Node { op: "matmul".into(), seconds: predicted, ..Node::default() };
        let plan =
            PlanRecord { function: "step".into(), nodes: vec![node], predicted, ..PlanRecord::default() };
        let call = |n: usize| Call { plan: 0, number: n as u64, thread: 0, start: 0.0, end: 1e-5 };
        let launch = |n: usize| Launch {
            op: OpRef::Node { call: n, node: 0 },
            device: 0,
            lane: 0,
            queued: 0.0,
            launched: 1e-5,
            start: n as f64 * took,
            end: (n + 1) as f64 * took,
            clock,
            pass: None,
        };
        Record {
            devices: vec![device],
            plans: vec![plan],
            calls: (0..calls).map(call).collect(),
            launches: (0..calls).map(launch).collect(),
            ..Record::default()
        }
    }

    fn found(record: &Record) -> Vec<Finding> {
        let mut found = Vec::new();
        find(record, &mut found);
        found
    }

    #[test]
    fn the_time_that_calls_wait_for_each_other_is_no_drift() {
        let record = queued(8, 1e-3, 1.1e-3, Clock::Device);
        assert!(record.call_lengths()[7] > 8e-3, "the last call is done long after it began");
        assert_eq!(found(&record), []);
    }

    #[test]
    fn ops_that_take_longer_by_themselves_are_told_with_their_device() {
        let found = found(&queued(8, 1e-3, 4e-3, Clock::Pass));
        assert_eq!(found.len(), 1);
        let text = &found[0].text;
        assert!(
            text.starts_with("A call of step takes 4.00 ms from its first op to its last, 1.00 ms was"),
            "{text}"
        );
        assert!(text.contains("The ops on GPU:0 take 4.00 ms by themselves, 1.00 ms was expected"), "{text}");
    }

    #[test]
    fn a_queue_that_was_not_asked_for_its_times_tells_no_drift() {
        assert_eq!(found(&queued(8, 1e-3, 4e-3, Clock::Host)), []);
    }
}
