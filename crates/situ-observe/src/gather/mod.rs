//! From what the runtime recorded to a record: ids become positions, clocks become one, plans are described
//! once.

mod clocks;
mod devices;
mod passes;
mod plans;

use crate::record::{
    Call, Clock, Copy, CopyCause, Detail, EagerOp, Fallback, Launch, MemorySample, OpRef, Reason, Record,
    Replacement, Retrace, VERSION, Wait,
};
use clocks::Clocks;
use devices::Devices;
use passes::Passes;
use plans::Plans;
use situ_core::{DeviceId, Rule};
use situ_device::Timing;
use situ_runtime::function::StepKind;
use situ_runtime::function::plan_record::requested;
use situ_runtime::recording::{
    CopyEntry, DeviceTimes, EagerEntry, Entry, FunctionCall, MemoryEntry, Recorded,
};
use situ_runtime::{Cause, Runtime};
use std::collections::HashMap;
use std::time::UNIX_EPOCH;

pub(crate) fn gather(runtime: &Runtime, recorded: Recorded, title: String) -> Record {
    let (mut devices, mut plans) = (Devices::new(runtime), Plans::default());
    let clocks = Clocks::new(&recorded, &mut plans, &mut devices);
    let mut gathering = Gathering {
        start: recorded.start,
        clocks,
        devices,
        plans,
        passes: Passes::default(),
        threads: HashMap::new(),
        eager: HashMap::new(),
        fallbacks: HashMap::new(),
        record: Record {
            version: VERSION,
            situ: env!("CARGO_PKG_VERSION").to_string(),
            title,
            began: recorded.began.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()),
            seconds: recorded.end.saturating_sub(recorded.start) as f64 * 1e-9,
            detail: match recorded.options.device_times {
                DeviceTimes::Unasked => Detail::Host,
                DeviceTimes::Passes => Detail::Pass,
                DeviceTimes::Launches => Detail::Device,
            },
            dropped: recorded.dropped,
            ..Record::default()
        },
    };
    for entry in recorded.entries {
        gathering.take(entry);
    }
    gathering.finish()
}

/// What makes two eager ops the same entry.
type EagerKey = (&'static str, String, String, usize, Rule, String);

struct Gathering {
    start: u64,
    clocks: Clocks,
    devices: Devices,
    plans: Plans,
    passes: Passes,
    threads: HashMap<u64, usize>,
    eager: HashMap<EagerKey, usize>,
    fallbacks: HashMap<(String, String, usize, String), usize>,
    record: Record,
}

impl Gathering {
    fn seconds(&self, nanoseconds: u64) -> f64 {
        nanoseconds.saturating_sub(self.start) as f64 * 1e-9
    }

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Call(call) => self.call(&call),
            Entry::Eager(eager) => self.eager(&eager),
            Entry::Copy(copy) => self.copy(&copy),
            Entry::Fallback(fallback) => {
                let device = self.devices.position(fallback.device);
                let (wanted, source) = (fallback.wanted.to_string(), fallback.location.to_string());
                let reason = fallback.reason.to_string();
                self.fell_back(fallback.op, String::new(), wanted, device, reason, source, 1);
            }
            Entry::Memory(memory) => self.memory(&memory),
            Entry::Traced(traced) => {
                let signature: Vec<String> = traced.signature.iter().map(|ty| ty.to_string()).collect();
                self.record.retraces.push(Retrace {
                    time: self.seconds(traced.start),
                    function: traced.function.to_string(),
                    traces: traced.traces,
                    signature: signature.join(", "),
                    cause: traced.cause,
                    seconds: traced.end.saturating_sub(traced.start) as f64 * 1e-9,
                });
            }
            Entry::Placed(placed) => self.record.replacements.push(Replacement {
                time: self.seconds(placed.time),
                function: placed.function.to_string(),
                before: placed.before,
                after: placed.after,
                cause: placed.cause.to_string(),
            }),
        }
    }

    fn thread(&mut self, thread: u64) -> usize {
        let next = self.threads.len();
        *self.threads.entry(thread).or_insert(next)
    }

    fn call(&mut self, call: &FunctionCall) {
        let plan = self.plans.position(&call.blueprint, &mut self.devices);
        let number = self.record.calls.len();
        let thread = self.thread(call.thread);
        let (start, end) = (self.seconds(call.start), self.seconds(call.end));
        self.record.calls.push(Call { plan, number: call.number, thread, start, end });
        for (step, what) in self.plans.steps(plan).iter().enumerate() {
            let times = call.times(step);
            if times.begins == 0 {
                continue;
            }
            let node = what.node.index();
            let device = self.devices.position(what.device);
            let (queued, launched) = (self.seconds(times.begins), self.seconds(times.ends));
            if times.waits > 0 {
                let waited_for = what.waits.iter().map(|node| node.index()).collect();
                let (lane, start) = (what.lane, self.seconds(times.waits));
                self.record.waits.push(Wait {
                    call: number,
                    node,
                    waited_for,
                    device,
                    lane,
                    start,
                    end: queued,
                });
            }
            match what.kind {
                StepKind::Launch | StepKind::Branch => {
                    let (op, lane) = (OpRef::Node { call: number, node }, what.lane);
                    let (start, end, clock, pass) = (queued, launched, Clock::Host, None);
                    let launch = Launch { op, device, lane, queued, launched, start, end, clock, pass };
                    let expected = self.plans.expected(plan, node, device);
                    self.launch(launch, what.device, call.timing(step), expected);
                }
                StepKind::BeginDownload(_) => {}
                StepKind::Copy { from, bytes, reader, asked, .. } => {
                    let planned = self.plans.copy(plan, step);
                    // A queue that can't be asked ahead has copied when it was asked.
                    let asking = asked.and_then(|n| self.plans.asking(plan, n)).map(|ask| call.times(ask));
                    let times = asking.filter(|ask| ask.copied).unwrap_or(times);
                    let name = self.plans.name(plan, reader.index());
                    self.record.copies.push(Copy {
                        from: self.devices.position(from),
                        to: device,
                        bytes: bytes as u64,
                        cause: CopyCause::Implicit,
                        call: Some(number),
                        planned,
                        name,
                        source: what.source.to_string(),
                        lane: what.lane,
                        start: self.seconds(times.begins),
                        end: self.seconds(times.ends),
                    });
                }
            }
        }
        for memory in call.memory() {
            self.memory(&memory);
        }
        for (node, wanted) in self.plans.fallbacks(plan) {
            let (op, name, device, reason, source) = self.plans.fallback(plan, node);
            self.fell_back(&op, name, wanted, device, reason, source, 1);
        }
    }

    /// Takes a launch, with the times of its device where that has told them.
    fn launch(&mut self, mut launch: Launch, on: DeviceId, timing: Option<&Timing>, predicted: f64) {
        let span = timing.and_then(|timing| self.clocks.span(on, timing));
        if let (Some(timing), Some((start, end))) = (timing, span) {
            let at_host = |at: f64| at - self.start as f64 * 1e-9;
            (launch.start, launch.end, launch.clock) = (at_host(start), at_host(end), Clock::Device);
            if timing.span().is_none()
                && let Some(pass) = timing.pass()
            {
                let (device, start, end) = (launch.device, launch.start, launch.end);
                let at = self.passes.position(pass.number, device, start, end);
                self.passes.join(at, self.record.launches.len(), predicted);
                (launch.clock, launch.pass) = (Clock::Pass, Some(at));
            }
        }
        self.record.launches.push(launch);
    }

    fn eager(&mut self, entry: &EagerEntry) {
        let device = self.devices.position(entry.device);
        let source = entry.location.to_string();
        let key = (
            entry.op,
            entry.name.to_string(),
            entry.ty.to_string(),
            device,
            entry.reason.rule(),
            source.clone(),
        );
        let next = self.record.eager.len();
        let eager = *self.eager.entry(key).or_insert(next);
        if eager == next {
            self.record.eager.push(EagerOp {
                op: entry.op.to_string(),
                name: entry.name.to_string(),
                dtype: entry.ty.dtype.to_string(),
                shape: entry.ty.shape.dims().to_vec(),
                requested: requested(&entry.requested),
                device,
                reason: Reason::from(&entry.reason),
                source: source.clone(),
                count: 0,
            });
        }
        self.record.eager[eager].count += 1;
        let (queued, launched) = (self.seconds(entry.start), self.seconds(entry.end));
        let (op, lane, start, end) = (OpRef::Eager { eager }, 0, queued, launched);
        let (clock, pass) = (Clock::Host, None);
        let launch = Launch { op, device, lane, queued, launched, start, end, clock, pass };
        self.launch(launch, entry.device, entry.timing.as_deref(), 0.0);
        if self.record.eager[eager].fell_back()
            && let Some(wanted) = entry.reason.wanted()
        {
            let (name, reason) = (entry.name.to_string(), entry.reason.to_string());
            self.fell_back(entry.op, name, wanted.to_string(), device, reason, source, 1);
        }
    }

    fn copy(&mut self, copy: &CopyEntry) {
        let cause = match copy.cause {
            Cause::Implicit => CopyCause::Implicit,
            Cause::Explicit => CopyCause::Explicit,
            Cause::Upload => CopyCause::Upload,
            Cause::Read => CopyCause::Read,
            Cause::Fallback => return,
        };
        self.record.copies.push(Copy {
            from: self.devices.position(copy.from),
            to: self.devices.position(copy.to),
            bytes: copy.bytes as u64,
            cause,
            call: None,
            planned: None,
            name: copy.op.to_string(),
            source: copy.location.to_string(),
            lane: 0,
            start: self.seconds(copy.start),
            end: self.seconds(copy.end),
        });
    }

    fn memory(&mut self, memory: &MemoryEntry) {
        let sample = MemorySample {
            time: self.seconds(memory.time),
            device: self.devices.position(memory.device),
            in_use: memory.in_use as u64,
            reserved: memory.reserved as u64,
        };
        self.record.memory.push(sample);
    }

    fn fell_back(
        &mut self,
        op: &str,
        name: String,
        wanted: String,
        device: usize,
        reason: String,
        source: String,
        count: u64,
    ) {
        let next = self.record.fallbacks.len();
        let key = (crate::record::full_name(&name, op), wanted.clone(), device, source.clone());
        let known = *self.fallbacks.entry(key).or_insert(next);
        if known == next {
            let op = op.to_string();
            self.record.fallbacks.push(Fallback { op, name, wanted, device, reason, count: 0, source });
        }
        self.record.fallbacks[known].count += count;
    }

    fn finish(self) -> Record {
        let Gathering { mut record, devices, plans, passes, .. } = self;
        record.passes = passes.share_out(&mut record.launches);
        record.devices = devices.into_list();
        record.plans = plans.into_list();
        believe_what_was_measured(&mut record);
        record.launches.sort_by(|a, b| a.start.total_cmp(&b.start));
        record.copies.sort_by(|a, b| a.start.total_cmp(&b.start));
        record.waits.sort_by(|a, b| a.start.total_cmp(&b.start));
        record.memory.sort_by(|a, b| a.time.total_cmp(&b.time));
        drop_unchanged(&mut record.memory);
        // A queue may have been at work when the program was done.
        let last = record.launches.iter().map(|l| l.end).fold(record.seconds, f64::max);
        record.seconds = last;
        record
    }
}

/// What an op takes where it ran is what it took in this record, if it was timed by itself.
fn believe_what_was_measured(record: &mut Record) {
    for plan in 0..record.plans.len() {
        for (node, seconds) in record.measured_nodes(plan) {
            let node = &mut record.plans[plan].nodes[node];
            if let Some(cost) = node.costs.iter_mut().find(|cost| cost.device == node.device) {
                cost.seconds = seconds;
            }
        }
    }
}

/// Keeps a sample where it says something new.
fn drop_unchanged(samples: &mut Vec<MemorySample>) {
    let mut last: HashMap<usize, (u64, u64)> = HashMap::new();
    samples.retain(|s| last.insert(s.device, (s.in_use, s.reserved)) != Some((s.in_use, s.reserved)));
}
