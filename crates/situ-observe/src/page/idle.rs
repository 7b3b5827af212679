//! Times in which a device ran nothing, each with what it was waiting for.

use super::numbers::nanoseconds;
use crate::record::{Copy, OpRef, Record, Wait};
use serde::Serialize;

/// The most gaps of one device that are kept; the longest are.
const MOST: usize = 400;

/// A time in which a device stood still.
#[derive(Serialize, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) device: usize,
    pub(super) start: i64,
    pub(super) ns: i64,
    /// What sort of gap it is, for sums: `wait`, `copy`, `program`, `elsewhere`, `launch`.
    pub(super) sort: &'static str,
    /// What the device was waiting for.
    pub(super) text: String,
}

/// Every device's gaps, by device and start. A device that ran nothing at all has none: nothing was asked of
/// it.
pub(super) fn gaps(record: &Record) -> Vec<Gap> {
    // Below this nobody can see them: a gap is between two kernels in any case.
    let least = (record.seconds / 20_000.0).max(1e-6);
    let mut all = Vec::new();
    for device in 0..record.devices.len() {
        let mut spans: Vec<(f64, f64)> =
            record.launches.iter().filter(|l| l.device == device).map(|l| (l.start, l.end)).collect();
        if spans.is_empty() {
            continue;
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        spans.push((record.seconds, record.seconds));
        let mut found = Vec::new();
        let mut until = 0.0;
        for (start, end) in spans {
            if start - until >= least {
                found.push((until, start));
            }
            until = f64::max(until, end);
        }
        found.sort_by(|a, b| (b.1 - b.0).total_cmp(&(a.1 - a.0)));
        found.truncate(MOST);
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.extend(found.into_iter().map(|(start, end)| explain(record, device, start, end)));
    }
    all
}

/// The seconds that two spans share.
fn shared(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.1.min(b.1) - a.0.max(b.0)).max(0.0)
}

/// Says of one gap what it was for: what takes most of it, looked for from the surest sign to the least.
fn explain(record: &Record, device: usize, start: f64, end: f64) -> Gap {
    let gap = (start, end);
    let most = (end - start) / 2.0;
    let gap_of =
        |sort, text| Gap { device, start: nanoseconds(start), ns: nanoseconds(end - start), sort, text };

    let waits = record.waits.iter().filter(|w| w.device == device);
    let longest =
        waits.max_by(|a, b| shared(gap, (a.start, a.end)).total_cmp(&shared(gap, (b.start, b.end))));
    if let Some(wait) = longest.filter(|w| shared(gap, (w.start, w.end)) >= most) {
        return gap_of("wait", waited_for(record, wait));
    }
    let copies = record.copies.iter().filter(|c| c.from == device || c.to == device);
    let longest =
        copies.max_by(|a, b| shared(gap, (a.start, a.end)).total_cmp(&shared(gap, (b.start, b.end))));
    if let Some(copy) = longest.filter(|c| shared(gap, (c.start, c.end)) >= most) {
        return gap_of("copy", copied(record, copy));
    }
    let called: f64 = record.calls.iter().map(|c| shared(gap, (c.start, c.end))).sum();
    let others = record.launches.iter().filter(|l| l.device != device);
    let longest =
        others.max_by(|a, b| shared(gap, (a.start, a.end)).total_cmp(&shared(gap, (b.start, b.end))));
    if let Some(other) = longest.filter(|l| shared(gap, (l.start, l.end)) >= most / 2.0) {
        let name = record.name_of(other.op);
        let text =
            format!("{name} ran on {}; nothing was there to do here", record.devices[other.device].name);
        return gap_of("elsewhere", text);
    }
    if called < most {
        return gap_of("program", between(record, start, end));
    }
    let next = record
        .launches
        .iter()
        .filter(|l| l.device == device && l.start >= end)
        .min_by(|a, b| a.start.total_cmp(&b.start));
    let text = match next {
        Some(next) if next.queued >= start => {
            format!("{} was not launched yet: the host was at work on the call", record.name_of(next.op))
        }
        Some(next) => format!("{} was queued, and had not begun", record.name_of(next.op)),
        None => "the last of its kernels had run".to_string(),
    };
    gap_of("launch", text)
}

/// The nodes that a wait was for, and where they run.
fn waited_for(record: &Record, wait: &Wait) -> String {
    let plan = record.plan_of(wait.call);
    let mut names: Vec<String> = wait
        .waited_for
        .iter()
        .map(|&n| format!("{} on {}", plan.nodes[n].full_name(), record.devices[plan.nodes[n].device].name))
        .collect();
    names.dedup();
    let more = names.len().saturating_sub(2);
    names.truncate(2);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match names.is_empty() {
        true => format!("{} had to wait", plan.nodes[wait.node].full_name()),
        false => format!("{} waited for {}{more}", plan.nodes[wait.node].full_name(), names.join(", ")),
    }
}

fn copied(record: &Record, copy: &Copy) -> String {
    let bytes = situ_core::reason::bytes(usize::try_from(copy.bytes).unwrap_or(usize::MAX));
    let (from, to) = (&record.devices[copy.from].name, &record.devices[copy.to].name);
    format!("{bytes} went from {from} to {to} for {}", copy.name)
}

/// What the program did outside of calls.
fn between(record: &Record, start: f64, end: f64) -> String {
    let before = record.calls.iter().rfind(|c| c.end <= start + (end - start) / 2.0);
    let after = record.calls.iter().find(|c| c.start >= end - (end - start) / 2.0);
    let call = |c: &crate::record::Call| format!("call {} of {}", c.number, record.plans[c.plan].function);
    match (before, after) {
        (Some(a), Some(b)) => format!("between {} and {} the program did something else", call(a), call(b)),
        (Some(a), None) => format!("after {} the program did something else", call(a)),
        (None, Some(b)) => format!("before {} the program did something else", call(b)),
        (None, None) if record.launches.iter().any(|l| matches!(l.op, OpRef::Eager { .. })) => {
            "the program did something else between two ops".to_string()
        }
        (None, None) => "the program did something else".to_string(),
    }
}
