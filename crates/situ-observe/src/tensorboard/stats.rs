//! Times and memory: of single calls for the graph page, of all for the curves.

use super::graph::{device, function, names, shape_to};
use super::message::Message;
use crate::record::{OpRef, Record};
use std::collections::HashMap;

/// The RunMetadata of a call: when each of its nodes ran, and what it made.
pub(super) fn of_call(record: &Record, call: usize) -> Vec<u8> {
    let plan = record.calls[call].plan;
    let names = names(record, plan);
    let mut out = Message::default();
    out.message(1, |steps| {
        for number in 0..record.devices.len() {
            let launches: Vec<_> = record
                .launches
                .iter()
                .filter(|l| l.device == number)
                .filter_map(|l| match l.op {
                    OpRef::Node { call: of, node } if of == call => Some((l, node)),
                    _ => None,
                })
                .collect();
            if launches.is_empty() {
                continue;
            }
            steps.message(1, |on| {
                on.text(1, &device(record, number));
                for (launch, node) in launches {
                    let micro = |seconds: f64| (seconds.max(0.0) * 1e6).round() as u64;
                    // Below a microsecond TensorBoard would show nothing at all.
                    let length = micro(launch.end - launch.start).max(1);
                    let made = &record.plans[plan].nodes[node];
                    on.message(2, |stats| {
                        stats.text(1, &names[node]);
                        stats.number(2, micro(record.began + launch.start));
                        stats.number(4, length);
                        stats.number(5, length);
                        stats.message(6, |memory| {
                            memory.text(1, &record.devices[number].name);
                            memory.number(2, made.output_bytes);
                            memory.number(3, made.output_bytes);
                        });
                        stats.message(7, |output| {
                            output.message(3, |tensor| {
                                tensor.message(2, |shape| shape_to(shape, &made.shape));
                                tensor.message(4, |memory| memory.number(1, made.output_bytes));
                            });
                        });
                        stats.text(8, &made.full_name());
                    });
                }
            });
        }
    });
    out.0
}

/// Points of curves: name, step, seconds since the record began, value.
pub(super) fn curves(record: &Record) -> Vec<(String, u64, f64, f64)> {
    let mut points = Vec::new();
    let mut bytes: HashMap<usize, u64> = HashMap::new();
    for copy in &record.copies {
        if let Some(call) = copy.call {
            *bytes.entry(call).or_default() += copy.bytes;
        }
    }
    for (n, call) in record.calls.iter().enumerate() {
        let name = function(record, call.plan);
        points.push((format!("call_ms/{name}"), call.number, call.end, (call.end - call.start) * 1e3));
        let moved = bytes.get(&n).copied().unwrap_or(0);
        points.push((format!("bytes_moved/{name}"), call.number, call.end, moved as f64));
    }
    let mut samples = vec![0; record.devices.len()];
    for sample in &record.memory {
        let name = format!("memory_bytes/{}", record.devices[sample.device].name.replace(':', "_"));
        points.push((name, samples[sample.device], sample.time, sample.in_use as f64));
        samples[sample.device] += 1;
    }
    points
}
