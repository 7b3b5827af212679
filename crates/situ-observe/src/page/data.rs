//! A record as JSON for the page: what the scripts draw, in few bytes.
//!
//! Times are whole nanoseconds, but for those of plans, which are as the record has them. What there may be
//! ten thousands of are rows of numbers, with text that repeats given by its place in `texts`.

use super::copies::{self, Line};
use super::graph;
use super::idle::{self, Gap};
use super::numbers::nanoseconds;
use crate::record::{
    Clock, CopyCause, Detail, EagerOp, Fallback, Finding, OpRef, Record, Replacement, Retrace,
};
use serde::Serialize;
use std::collections::HashMap;

/// Call (none: eager), node or eager op, device, row, start, length, from launch to start, whose clock (host,
/// pass, device), pass.
type Launch = (Option<usize>, usize, usize, usize, i64, i64, i64, u8, Option<usize>);
/// From, to, bytes, cause, name, source, call, row, start, length, how much of it was a wait for the work
/// before it, which of its plan's copies.
type Copy = (usize, usize, u64, CopyCause, usize, usize, Option<usize>, usize, i64, i64, i64, Option<usize>);

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    situ: &'a str,
    began: i64,
    ns: i64,
    detail: Detail,
    dropped: u64,
    devices: Vec<DeviceData<'a>>,
    plans: Vec<serde_json::Value>,
    eager: &'a [EagerOp],
    /// Plan, number, thread, start, length.
    calls: Vec<(usize, u64, usize, i64, i64)>,
    launches: Vec<Launch>,
    /// Device, start, length, launches, ns expected.
    passes: Vec<(usize, i64, i64, usize, i64)>,
    copies: Vec<Copy>,
    texts: Vec<&'a str>,
    gaps: Vec<Gap>,
    ledger: Vec<Line<'a>>,
    /// Device, time, in use, reserved.
    memory: Vec<(usize, i64, u64, u64)>,
    retraces: &'a [Retrace],
    replacements: &'a [Replacement],
    fallbacks: &'a [Fallback],
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct DeviceData<'a> {
    name: &'a str,
    kind: &'a str,
    class: &'a str,
    description: &'a str,
    limit: Option<u64>,
    peak: u64,
    calibrated: bool,
    busy: i64,
    /// Rows of the timeline: of kernels, of copies to it.
    rows: (usize, usize),
}

/// Rows on which nothing overlaps: a span goes to the first that is free.
#[derive(Default)]
struct Rows(HashMap<usize, Vec<f64>>);

impl Rows {
    /// Spans must come by start.
    fn row(&mut self, device: usize, start: f64, end: f64) -> usize {
        let free = self.0.entry(device).or_default();
        // Clocks of devices are set by the host's to a fraction of a µs: kernels that follow each other may
        // seem to overlap by that much.
        let row = free.iter().position(|until| *until <= start + 0.5e-6).unwrap_or_else(|| {
            free.push(0.0);
            free.len() - 1
        });
        free[row] = end;
        row
    }

    fn count(&self, device: usize) -> usize {
        self.0.get(&device).map_or(0, Vec::len)
    }
}

/// Texts, each once.
#[derive(Default)]
struct Texts<'a>(Vec<&'a str>, HashMap<&'a str, usize>);

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> usize {
        *self.1.entry(text).or_insert_with(|| {
            self.0.push(text);
            self.0.len() - 1
        })
    }
}

/// The data of a record's page.
pub(super) fn of(record: &Record) -> String {
    let (mut kernels, mut arrivals, mut texts) = (Rows::default(), Rows::default(), Texts::default());
    let launches = in_order(&record.launches, |l| l.start).into_iter().map(|l| {
        let (call, op) = match l.op {
            OpRef::Node { call, node } => (Some(call), node),
            OpRef::Eager { eager } => (None, eager),
        };
        let row = kernels.row(l.device, l.start, l.end);
        let (start, length) = (nanoseconds(l.start), nanoseconds(l.end - l.start));
        let clock = match l.clock {
            Clock::Host => 0,
            Clock::Pass => 1,
            Clock::Device => 2,
        };
        (call, op, l.device, row, start, length, nanoseconds(l.in_queue()), clock, l.pass)
    });
    let launches = launches.collect();
    let waits = record.copy_waits();
    let copies = record.copies.iter().zip(&waits).map(|(c, waited)| {
        let row = arrivals.row(c.to, c.start, c.end);
        let (name, source) = (texts.number(&c.name), texts.number(&c.source));
        let (start, length) = (nanoseconds(c.start), nanoseconds(c.end - c.start));
        let waited = nanoseconds(*waited);
        (c.from, c.to, c.bytes, c.cause, name, source, c.call, row, start, length, waited, c.planned)
    });
    let copies = copies.collect();
    let busy = record.busy();
    let devices = record.devices.iter().enumerate().map(|(n, device)| DeviceData {
        name: &device.name,
        kind: &device.kind,
        class: &device.class,
        description: &device.description,
        limit: device.memory_limit,
        peak: device.memory_peak,
        calibrated: device.calibrated,
        busy: nanoseconds(busy[n]),
        rows: (kernels.count(n), arrivals.count(n)),
    });
    let call = |c: &crate::record::Call| {
        (c.plan, c.number, c.thread, nanoseconds(c.start), nanoseconds(c.end - c.start))
    };
    let pass = |p: &crate::record::PassRecord| {
        let (start, length) = (nanoseconds(p.start), nanoseconds(p.end - p.start));
        (p.device, start, length, p.launches, nanoseconds(p.predicted))
    };
    let data = Data {
        title: &record.title,
        situ: &record.situ,
        began: if record.began.is_finite() { record.began as i64 } else { 0 },
        ns: nanoseconds(record.seconds),
        detail: record.detail,
        dropped: record.dropped,
        devices: devices.collect(),
        plans: graph::plans(record),
        eager: &record.eager,
        calls: record.calls.iter().map(call).collect(),
        launches,
        passes: record.passes.iter().map(pass).collect(),
        copies,
        texts: texts.0,
        gaps: idle::gaps(record),
        ledger: copies::ledger(record, &waits),
        memory: record.memory.iter().map(|m| (m.device, nanoseconds(m.time), m.in_use, m.reserved)).collect(),
        retraces: &record.retraces,
        replacements: &record.replacements,
        fallbacks: &record.fallbacks,
        findings: &record.findings,
    };
    // Plain data with text for keys: there is nothing that JSON could not say.
    serde_json::to_string(&data).unwrap_or_else(|error| unreachable!("the page's data: {error}"))
}

/// By a time: launches are by start as the host saw it, which the devices' clocks may change.
fn in_order<T>(events: &[T], time: impl Fn(&T) -> f64) -> Vec<&T> {
    let mut events: Vec<&T> = events.iter().collect();
    events.sort_by(|a, b| time(a).total_cmp(&time(b)));
    events
}
