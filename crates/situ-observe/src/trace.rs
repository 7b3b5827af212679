//! Records as traces that Perfetto and chrome://tracing open.
//!
//! Each device is a process with tracks for its kernels, for what waits, and for copies to it; the program is
//! one with a track for each thread that calls functions. A copy has arrows: from the kernel that made the
//! bytes, to the first that reads them. Memory is a counter.

use crate::record::{Copy, CopyCause, Launch, OpRef, Record};
use serde_json::{Value, json};
use situ_core::{Result, replace_file};
use std::collections::HashMap;
use std::path::Path;

/// The process of the program itself; device n is process n + 1.
const PROGRAM: usize = 0;
/// Tracks of one sort are numbered from a multiple of this.
const SORT: usize = 1000;

/// What a track shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sort {
    Kernels,
    Waits,
    Copies,
    Calls,
}

impl Sort {
    fn name(self) -> &'static str {
        match self {
            Sort::Kernels => "kernels",
            Sort::Waits => "waits",
            Sort::Copies => "copies",
            Sort::Calls => "calls",
        }
    }
}

/// Tracks of one process and sort: a slice goes to the first on which it overlaps nothing.
#[derive(Default)]
struct Tracks {
    free_from: HashMap<(usize, Sort), Vec<f64>>,
}

impl Tracks {
    /// Slices must come by start.
    fn track(&mut self, process: usize, sort: Sort, start: f64, end: f64) -> usize {
        let free_from = self.free_from.entry((process, sort)).or_default();
        let track = free_from.iter().position(|free| *free <= start).unwrap_or_else(|| {
            free_from.push(0.0);
            free_from.len() - 1
        });
        free_from[track] = end;
        (sort as usize + 1) * SORT + track
    }
}

impl Record {
    /// As a trace, in the JSON form that Perfetto reads.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// let (_, record) = situ_observe::profile(|| situ_tensor::tensor([1.0f32])?.exp())?;
    /// let trace = record.to_trace();
    /// assert!(trace["traceEvents"].as_array().is_some_and(|events| !events.is_empty()));
    /// # Ok(()) }
    /// ```
    pub fn to_trace(&self) -> Value {
        let mut events: Vec<Value> = Vec::new();
        let mut tracks = Tracks::default();
        self.calls_to(&mut events, &mut tracks);
        let ran = self.launches_to(&mut events, &mut tracks);
        self.waits_to(&mut events, &mut tracks);
        self.copies_to(&mut events, &mut tracks, &ran);
        for sample in &self.memory {
            events.push(json!({
                "ph": "C", "name": "memory", "pid": sample.device + 1, "ts": micro(sample.time),
                "args": { "in use": sample.in_use, "reserved": sample.reserved },
            }));
        }
        for retrace in &self.retraces {
            events.push(json!({
                "ph": "i", "s": "p", "name": format!("{} is compiled again", retrace.function), "pid": PROGRAM, "tid": 0,
                "ts": micro(retrace.time), "args": { "because": retrace.cause },
            }));
        }
        for again in &self.replacements {
            events.push(json!({
                "ph": "i", "s": "p", "name": format!("{} is placed anew", again.function), "pid": PROGRAM, "tid": 0,
                "ts": micro(again.time), "args": { "because": again.cause },
            }));
        }
        events.extend(self.names(&tracks));
        let title = if self.title.is_empty() { "situ" } else { &self.title };
        json!({ "traceEvents": events, "displayTimeUnit": "ms", "otherData": { "title": title, "situ": self.situ } })
    }

    /// Writes the trace to a file.
    pub fn save_trace(&self, path: impl AsRef<Path>) -> Result<()> {
        let trace = self.to_trace();
        replace_file(path, |file| serde_json::to_writer(file, &trace).map_err(Into::into))
    }

    fn names(&self, tracks: &Tracks) -> Vec<Value> {
        let process = |pid: usize, name: &str| json!({ "ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": { "name": name } });
        let mut names = vec![process(PROGRAM, "program")];
        for (n, device) in self.devices.iter().enumerate() {
            names.push(process(n + 1, &format!("{} {}", device.name, device.description)));
        }
        for ((pid, sort), list) in &tracks.free_from {
            for n in 0..list.len() {
                let name =
                    if n == 0 { sort.name().to_string() } else { format!("{} {}", sort.name(), n + 1) };
                let tid = (*sort as usize + 1) * SORT + n;
                names.push(json!({
                    "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": { "name": name },
                }));
            }
        }
        names
    }

    fn calls_to(&self, events: &mut Vec<Value>, tracks: &mut Tracks) {
        let mut calls: Vec<usize> = (0..self.calls.len()).collect();
        calls.sort_by(|a, b| self.calls[*a].start.total_cmp(&self.calls[*b].start));
        for call in calls.into_iter().map(|n| &self.calls[n]) {
            let tid = tracks.track(PROGRAM, Sort::Calls, call.start, call.end);
            let plan = &self.plans[call.plan];
            events.push(json!({
                "ph": "X", "cat": "call", "name": plan.function, "pid": PROGRAM, "tid": tid,
                "ts": micro(call.start), "dur": micro(call.end - call.start),
                "args": { "call": call.number, "predicted": plan.predicted, "arguments": plan.signature },
            }));
        }
    }

    /// Gives the track of each launch.
    fn launches_to(&self, events: &mut Vec<Value>, tracks: &mut Tracks) -> HashMap<OpRef, (usize, &Launch)> {
        let mut ran = HashMap::new();
        for launch in &self.launches {
            let tid = tracks.track(launch.device + 1, Sort::Kernels, launch.start, launch.end);
            let mut args = json!({
                "line": self.source_of(launch.op),
                "in queue": micro(launch.in_queue()),
                "host": micro(launch.launched - launch.queued),
            });
            if let Some(pass) = launch.pass.map(|pass| &self.passes[pass]) {
                args["pass"] = json!({ "took": micro(pass.end - pass.start), "kernels": pass.launches });
                args["time"] = json!("its part of the pass, by what was expected of it");
            }
            if let Some(node) = self.node_of(launch.op) {
                args["predicted"] = json!(micro(node.seconds));
                args["why here"] = json!(node.reason.text);
                ran.insert(launch.op, (tid, launch));
            }
            events.push(json!({
                "ph": "X", "cat": "kernel", "name": self.name_of(launch.op), "pid": launch.device + 1, "tid": tid,
                "ts": micro(launch.start), "dur": micro(launch.end - launch.start), "args": args,
            }));
        }
        ran
    }

    fn waits_to(&self, events: &mut Vec<Value>, tracks: &mut Tracks) {
        for wait in &self.waits {
            let tid = tracks.track(wait.device + 1, Sort::Waits, wait.start, wait.end);
            let nodes = &self.plan_of(wait.call).nodes;
            let waited_for: Vec<String> = wait.waited_for.iter().map(|n| nodes[*n].full_name()).collect();
            events.push(json!({
                "ph": "X", "cat": "wait", "name": format!("waits for {}", waited_for.join(", ")),
                "pid": wait.device + 1, "tid": tid, "ts": micro(wait.start), "dur": micro(wait.end - wait.start),
                "args": { "then": nodes[wait.node].full_name() },
            }));
        }
    }

    fn copies_to(
        &self,
        events: &mut Vec<Value>,
        tracks: &mut Tracks,
        ran: &HashMap<OpRef, (usize, &Launch)>,
    ) {
        for (n, copy) in self.copies.iter().enumerate() {
            let pid = copy.to + 1;
            let tid = tracks.track(pid, Sort::Copies, copy.start, copy.end);
            let [from, to] = [copy.from, copy.to].map(|d| &self.devices[d].name);
            let cause = match copy.cause {
                CopyCause::Implicit => "an op needs it there",
                CopyCause::Explicit => "the program asked for it",
                CopyCause::Upload => "host data",
                CopyCause::Read => "the program reads it",
            };
            events.push(json!({
                "ph": "X", "cat": "copy", "name": format!("{from} -> {to}"), "pid": pid, "tid": tid,
                "ts": micro(copy.start), "dur": micro(copy.end - copy.start),
                "args": { "bytes": copy.bytes, "for": copy.name, "line": copy.source, "because": cause },
            }));
            self.arrows_to(events, n, copy, (pid, tid), ran);
        }
    }

    /// From the kernel that made the bytes to the copy, and from the copy to the kernel that reads them.
    fn arrows_to(
        &self,
        events: &mut Vec<Value>,
        number: usize,
        copy: &Copy,
        (pid, tid): (usize, usize),
        ran: &HashMap<OpRef, (usize, &Launch)>,
    ) {
        let (Some(call), Some(planned)) = (copy.call, copy.planned) else { return };
        let edge = &self.plan_of(call).copies[planned];
        let kernel = |node: usize| ran.get(&OpRef::Node { call, node });
        let mut arrow = |id: String, from: (usize, usize, f64), to: (usize, usize, f64)| {
            let name = "copy";
            events.push(json!({
                "ph": "s", "cat": "copy", "name": name, "id": id, "pid": from.0, "tid": from.1, "ts": micro(from.2),
            }));
            events.push(json!({
                "ph": "f", "bp": "e", "cat": "copy", "name": name, "id": id, "pid": to.0, "tid": to.1, "ts": micro(to.2),
            }));
        };
        if let Some((track, launch)) = edge.producer.and_then(kernel) {
            let begin = (launch.device + 1, *track, launch.start);
            arrow(format!("{number}a"), begin, (pid, tid, copy.start.max(launch.start)));
        }
        if let Some((track, launch)) = kernel(edge.consumer) {
            let end = (launch.device + 1, *track, launch.start.max(copy.start));
            arrow(format!("{number}b"), (pid, tid, copy.start), end);
        }
    }
}

/// Microseconds, as traces have them.
fn micro(seconds: f64) -> f64 {
    // Nanoseconds are as fine as clocks are: more digits are noise in a file.
    (seconds * 1e9).round() / 1e3
}
