//! One clock for all: a device's own times, set by the host's.
//!
//! A kernel begins after the host began to launch it, and ends before a copy from its device that came behind
//! it is over. Each such pair bounds how far the device's clock is from the host's. The middle of what all of
//! them leave is taken, or, where little is known of when work was over, the launches are believed. Nothing
//! then runs before it was launched, nor after it was read.

use super::devices::Devices;
use super::plans::Plans;
use situ_core::DeviceId;
use situ_device::Timing;
use situ_runtime::Route;
use situ_runtime::function::StepKind;
use situ_runtime::recording::{Entry, Recorded};
use std::collections::HashMap;

/// What must be added to a device's times to have the host's, in seconds: at least, and at most.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    least: f64,
    most: f64,
}

/// How long after its launch the promptest kernel of a recording may have begun, where no read says more.
const SLACK: f64 = 2e-4;

#[derive(Debug, Default)]
pub(super) struct Clocks {
    offsets: HashMap<DeviceId, f64>,
}

/// What a device's queue was seen to do, in the host's nanoseconds and the device's seconds.
enum Seen {
    /// A launch began at the host, and ran from when to when.
    Launched { queued: u64, span: (f64, f64) },
    /// All that was launched before this began was over when it ended.
    Drained { began: u64, ended: u64 },
}

impl Clocks {
    pub(super) fn new(recorded: &Recorded, plans: &mut Plans, devices: &mut Devices) -> Clocks {
        let mut seen: HashMap<DeviceId, Vec<Seen>> = HashMap::new();
        let mut note = |device: DeviceId, what: Seen| seen.entry(device).or_default().push(what);
        for entry in &recorded.entries {
            match entry {
                Entry::Call(call) => {
                    let plan = plans.position(&call.blueprint, devices);
                    if let Some(at) = call.drained() {
                        call.blueprint
                            .devices()
                            .for_each(|id| note(id, Seen::Drained { began: call.end, ended: at }));
                    }
                    for (step, what) in plans.steps(plan).iter().enumerate() {
                        let times = call.times(step);
                        match what.kind {
                            // It waits for nobody.
                            StepKind::Copy { is_queued: true, .. } => {}
                            StepKind::Copy { from, asked, .. } => {
                                // What was launched after the bytes were asked for may still run when they
                                // are there.
                                let asking = asked.and_then(|n| plans.asking(plan, n));
                                let began = asking.map_or(times.begins, |ask| call.times(ask).begins);
                                note(from, Seen::Drained { began, ended: times.ends });
                            }
                            StepKind::BeginDownload(_) => {}
                            StepKind::Launch | StepKind::Branch => {
                                if let Some(span) = call.timing(step).and_then(own) {
                                    note(what.device, Seen::Launched { queued: times.begins, span });
                                }
                            }
                        }
                    }
                }
                Entry::Eager(eager) => {
                    if let Some(span) = eager.timing.as_ref().and_then(|timing| own(timing)) {
                        note(eager.device, Seen::Launched { queued: eager.start, span });
                    }
                }
                Entry::Copy(copy) if copy.route == Route::Peer => {}
                Entry::Copy(copy) => note(copy.from, Seen::Drained { began: copy.start, ended: copy.end }),
                Entry::Fallback(_) | Entry::Memory(_) | Entry::Traced(_) | Entry::Placed(_) => {}
            }
        }
        let offset = |seen: Vec<Seen>| offset(seen, recorded.end);
        Clocks {
            // Without a queue, times are the host's.
            offsets: seen
                .into_iter()
                .filter(|(device, _)| devices.is_queued(*device))
                .filter_map(|(device, seen)| Some((device, offset(seen)?)))
                .collect(),
        }
    }

    /// When a launch ran, or the pass that it was part of, in seconds of the host's clock, if its device
    /// could tell.
    pub(super) fn span(&self, device: DeviceId, timing: &Timing) -> Option<(f64, f64)> {
        let (offset, (start, end)) = (self.offsets.get(&device)?, own(timing)?);
        Some((start + offset, end + offset))
    }
}

/// When a launch or its pass ran, by the device's clock. A pass is handed to the device as a whole, so that
/// it, too, begins after each of its launches did.
fn own(timing: &Timing) -> Option<(f64, f64)> {
    timing.span().or_else(|| timing.pass().map(|pass| (pass.start, pass.end)))
}

/// What to add to the device's times; `None` where no launch was timed.
fn offset(mut seen: Vec<Seen>, end: u64) -> Option<f64> {
    let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
    seen.push(Seen::Drained { began: end, ended: end });
    seen.sort_by_key(|what| match what {
        Seen::Launched { queued, .. } => *queued,
        Seen::Drained { began, .. } => *began,
    });
    let mut bounds = Bounds { least: f64::NEG_INFINITY, most: f64::INFINITY };
    let mut last_end = f64::NEG_INFINITY;
    for what in &seen {
        match what {
            Seen::Launched { queued, span } => {
                bounds.least = bounds.least.max(seconds(*queued) - span.0);
                last_end = last_end.max(span.1);
            }
            Seen::Drained { ended, .. } => bounds.most = bounds.most.min(seconds(*ended) - last_end),
        }
    }
    let Bounds { least, most } = bounds;
    // Clocks that drift apart may leave nothing; then the launches are believed too.
    least.is_finite().then_some(least + ((most - least) / 2.0).clamp(0.0, SLACK))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_clock_is_set_between_what_was_launched_and_what_was_read() {
        // The device's clock is 5 s behind. It ran from 11 to 12 ms, was launched at 10 and read at 12.5.
        let launched = Seen::Launched { queued: 10 * MS, span: (0.011 - 5.0, 0.012 - 5.0) };
        let read = Seen::Drained { began: 10 * MS + 1, ended: 12 * MS + MS / 2 };
        let found = offset(vec![read, launched], 100 * MS).unwrap();
        assert!((5.0 - 0.001..=5.0005).contains(&found), "{found}");
    }

    #[test]
    fn a_device_that_told_no_time_has_no_clock() {
        assert_eq!(offset(vec![Seen::Drained { began: 1, ended: 2 }], 3), None);
    }
}
