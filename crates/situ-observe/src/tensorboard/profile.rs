//! A record for TensorBoard's profiler: an XSpace, with a plane for the host and one for each GPU.
//!
//! The host's plane has the calls as steps, with the launches of what ran on GPUs inside, and the ops that
//! ran on CPUs; a GPU's plane has its kernels and the copies to it. A kernel and its launch share a
//! correlation id, by which the profiler knows the step that a kernel belongs to.

use super::graph;
use super::message::Message;
use crate::record::{Launch, OpRef, Record};
use std::collections::HashMap;

const UNKNOWN: &str = "regs:0 static_shared:0 dynamic_shared:0 grid:0,0,0 block:0,0,0 occ_pct:0";

/// What an event says beside its name and its time.
enum Stat<'a> {
    Number(&'static str, u64),
    Text(&'static str, &'a str),
}

/// A plane as it is put together: names are given by number in it.
struct Plane {
    out: Message,
    events: HashMap<String, u64>,
    stats: HashMap<&'static str, u64>,
}

/// One event: its name, seconds since the record began, and what else there is to say.
struct Event<'a> {
    name: String,
    start: f64,
    end: f64,
    stats: Vec<Stat<'a>>,
}

impl Plane {
    fn new(id: u64, name: &str) -> Plane {
        let mut out = Message::default();
        out.number(1, id);
        out.text(2, name);
        Plane { out, events: HashMap::new(), stats: HashMap::new() }
    }

    /// A line of events, which must not overlap but by being inside each other.
    fn line(&mut self, id: u64, name: &str, began: f64, events: Vec<Event<'_>>) {
        if events.is_empty() {
            return;
        }
        let (mut line, pico) = (Message::default(), |seconds: f64| (seconds.max(0.0) * 1e12).round() as u64);
        line.number(1, id);
        line.text(2, name);
        line.number(3, (began * 1e9) as u64);
        for Event { name, start, end, stats } in events {
            let next = self.events.len() as u64 + 1;
            let of_name = *self.events.entry(name).or_insert(next);
            line.message(4, |event| {
                event.number(1, of_name);
                event.number(2, pico(start));
                event.number(3, pico(end - start));
                for stat in stats {
                    let key = match stat {
                        Stat::Number(key, _) | Stat::Text(key, _) => key,
                    };
                    let next = self.stats.len() as u64 + 1;
                    let of_key = *self.stats.entry(key).or_insert(next);
                    event.message(4, |out| {
                        out.number(1, of_key);
                        match stat {
                            Stat::Number(_, value) => out.number_or_zero(4, value),
                            Stat::Text(_, text) => out.text(5, text),
                        }
                    });
                }
            });
        }
        self.out.bytes(3, &line.0);
    }

    fn finish(mut self) -> Vec<u8> {
        let mut names: Vec<(String, u64)> = self.events.into_iter().collect();
        names.sort_by_key(|(_, id)| *id);
        let stats = self.stats.into_iter().map(|(name, id)| (name.to_string(), id));
        let mut stats: Vec<(String, u64)> = stats.collect();
        stats.sort_by_key(|(_, id)| *id);
        for (field, list) in [(4, names), (5, stats)] {
            for (name, id) in list {
                self.out.message(field, |entry| {
                    entry.number(1, id);
                    entry.message(2, |about| {
                        about.number(1, id);
                        about.text(2, &name);
                    });
                });
            }
        }
        self.out.0
    }
}

/// The XSpace of a record.
pub(super) fn of(record: &Record) -> Vec<u8> {
    let names: Vec<Vec<String>> = (0..record.plans.len()).map(|plan| graph::names(record, plan)).collect();
    // `scope/name:Type`, as the profiler's tables of ops want it.
    let op = |launch: &Launch| match launch.op {
        OpRef::Node { call, node } => {
            let plan = record.calls[call].plan;
            format!("{}:{}", names[plan][node], graph::operation(&record.plans[plan].nodes[node]))
        }
        OpRef::Eager { eager } => {
            let eager = &record.eager[eager];
            format!("eager/{}:{}", graph::clean(&eager.op), graph::clean(&eager.op))
        }
    };
    let on_cpu = |device: usize| record.devices[device].is_host();
    let mut host = Plane::new(1, "/host:CPU");
    let steps = record.calls.iter().enumerate().map(|(n, call)| Event {
        name: "TraceContext".to_string(),
        start: call.start,
        end: call.end,
        stats: vec![
            Stat::Number("step_num", n as u64),
            Stat::Number("_r", 1),
            Stat::Text("graph_type", &record.plans[call.plan].function),
        ],
    });
    // Launches are inside of their calls, on the same line: this is how the profiler knows the step of a
    // kernel.
    let launches = record.launches.iter().enumerate().filter(|(_, l)| !on_cpu(l.device));
    let launches = launches.map(|(n, launch)| Event {
        name: "launch".to_string(),
        start: launch.queued,
        end: launch.launched,
        stats: vec![Stat::Number("correlation_id", n as u64 + 1)],
    });
    let mut called: Vec<Event<'_>> = steps.chain(launches).collect();
    called.sort_by(|a, b| a.start.total_cmp(&b.start).then(b.end.total_cmp(&a.end)));
    host.line(1, "calls", record.began, called);
    for (device, about) in record.devices.iter().enumerate().filter(|(d, _)| on_cpu(*d)) {
        let ran = record.launches.iter().filter(|l| l.device == device);
        let ran = ran.map(|l| Event { name: op(l), start: l.start, end: l.end, stats: Vec::new() });
        host.line(10 + device as u64, &about.name, record.began, ran.collect());
    }
    let mut space = Message::default();
    space.bytes(1, &host.finish());
    for (device, about) in record.devices.iter().enumerate().filter(|(d, _)| !on_cpu(*d)) {
        let mut plane = Plane::new(2 + device as u64, &format!("/device:{}", about.name));
        let ran: Vec<(usize, &Launch, String)> = record
            .launches
            .iter()
            .enumerate()
            .filter(|(_, l)| l.device == device)
            .map(|(n, l)| (n, l, op(l)))
            .collect();
        let kernels = ran.iter().map(|(n, launch, op)| Event {
            name: record.name_of(launch.op),
            start: launch.start,
            end: launch.end,
            stats: vec![
                Stat::Text("tf_op", op),
                // Registers, blocks and the like, which nobody asked the driver for; without, there would be
                // no row.
                Stat::Text("kernel_details", UNKNOWN),
                Stat::Number("correlation_id", *n as u64 + 1),
            ],
        });
        plane.line(1, "kernels", record.began, kernels.collect());
        let copies = record.copies.iter().filter(|copy| copy.to == device).map(|copy| Event {
            name: format!("copy from {}", record.devices[copy.from].name),
            start: copy.start,
            end: copy.end,
            stats: vec![Stat::Number("bytes", copy.bytes), Stat::Text("for", &copy.name)],
        });
        plane.line(2, "copies", record.began, copies.collect());
        space.bytes(1, &plane.finish());
    }
    space.text(4, "situ");
    space.0
}
