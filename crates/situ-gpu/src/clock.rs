//! How long launches take, by the device's own clock: timestamp queries.
//!
//! The dispatches of a timed launch get a compute pass of their own, which writes a timestamp where it begins
//! and one where it ends: a lap. Usually that is all; a launch that is cut in two, by a full batch or by
//! another thread, has several laps, and its time is their sum. The timestamps of a batch travel to the host
//! with it, and whoever waits for the batch fills in its times. Where the time of a pass will do, launches
//! share one as they would without a clock: the first of them has the lap, and the others join it. Their
//! timestamps stay on the device until there are many, somebody waits for all work, or a launch of the same
//! batch is timed alone. A software driver takes 60 µs and more for every place in a batch with a timestamp
//! (lavapipe empties its pipeline, and draws nothing, to have one), so that there all launches of a batch
//! share a lap, whatever its passes are; and as such a driver's clock is the host's, what the host sees
//! anyway needs no timestamp.
//!
//! Promises: a batch without timed launches is what it would be without a clock, and nothing is made before
//! the first timed launch, for which alone, on a software driver, the queue is waited for; a time is filled
//! in before the read or sync that waited for it returns, that of a shared pass before the sync; a launch
//! that fails, is lost, or whose clock ran backwards has no time. A batch never has more laps than the clock
//! has room for, as each has a dispatch in it. Leaves out: clearing memory for a kernel, which is no part of
//! a pass; and times on adapters without timestamps, or whose driver refuses the few buffers that they need.
//! A kernel's first launch includes what the driver put off until then, which for a software driver is
//! compiling it.

mod host;
mod laps;

pub(crate) use laps::Laps;

use crate::context::Context;
use crate::fault::Fault;
use crate::stream::{BATCH_DISPATCHES, IN_FLIGHT};
use host::HostClock;
use laps::{Begin, End, Lap};
use situ_device::{TimedPass, Timing};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Laps of passes that launches share are taken out together, once there are so many of them: taking out
/// costs a batch more than they do.
const TOGETHER: usize = BATCH_DISPATCHES;
/// Timestamps that are on the device: two for each lap of a batch, and of those before it that were left
/// there.
const STAMPS: u32 = 2 * (BATCH_DISPATCHES + TOGETHER) as u32;
const _: () = assert!(STAMPS <= wgpu::QUERY_SET_MAX_QUERIES);
/// Bytes of all timestamps.
const BATCH_BYTES: u64 = STAMPS as u64 * wgpu::QUERY_SIZE as u64;
/// What a clock may come to need: the query set, the buffer that it is resolved into, and one on the host for
/// each batch in flight.
pub(crate) const BYTES: u64 = (2 + IN_FLIGHT as u64) * BATCH_BYTES;

/// Counts passes that launches shared.
static PASSES: AtomicU64 = AtomicU64::new(0);

/// The time of one launch, while it is being measured. Its laps and the launch itself share it; when all of
/// them have let go of it, the sum is known, and is filled in.
pub(crate) struct Stopwatch {
    timing: Arc<Timing>,
    /// Launches that run in the pass of this one, and are timed with it.
    joined: Mutex<Vec<Arc<Timing>>>,
    /// Nanoseconds per tick.
    period: f64,
    ticks: AtomicU64,
    /// The first tick of the first lap, and the last of the last.
    first: AtomicU64,
    last: AtomicU64,
    /// Laps that have no end yet. Those of a lost batch never get one.
    open: AtomicUsize,
}

impl Stopwatch {
    /// Leaves the time empty, because the launch has failed. The pass that it shares with others has one all
    /// the same.
    pub(crate) fn spoil(&self) {
        if !self.timing.is_with_others() {
            self.begin_lap();
        }
    }

    /// Whether a launch with that watch may run in the pass that this one has.
    pub(crate) fn shares_with(&self, other: &Stopwatch) -> bool {
        std::ptr::eq(self, other) || (self.timing.is_with_others() && other.timing.is_with_others())
    }

    /// Times a launch with this one, whose pass it runs in.
    pub(crate) fn join(&self, other: &Stopwatch) {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let known = joined.last().is_some_and(|last| Arc::ptr_eq(last, &other.timing));
        if !known && !std::ptr::eq(self, other) {
            joined.push(other.timing.clone());
        }
    }

    fn begin_lap(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    fn end_lap(&self, begin: u64, end: u64) {
        self.ticks.fetch_add(end - begin, Ordering::Relaxed);
        self.first.fetch_min(begin, Ordering::Relaxed);
        self.last.fetch_max(end, Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        if *self.open.get_mut() == 0 {
            let seconds = |ticks: u64| ticks as f64 * self.period * 1e-9;
            let (first, last) = (*self.first.get_mut(), *self.last.get_mut());
            if self.timing.is_with_others() {
                if first <= last {
                    let number = PASSES.fetch_add(1, Ordering::Relaxed);
                    let pass = TimedPass { number, start: seconds(first), end: seconds(last) };
                    let joined = self.joined.get_mut().unwrap_or_else(PoisonError::into_inner);
                    joined.iter().chain([&self.timing]).for_each(|timing| timing.set_pass(pass));
                }
                return;
            }
            if first <= last {
                self.timing.set_span(seconds(first), seconds(last));
            }
            self.timing.set(seconds(*self.ticks.get_mut()));
        }
    }
}

/// The timestamps of one device.
pub(crate) struct Clock {
    context: Arc<Context>,
    period: f64,
    /// Whether launches that may be timed with others are timed by the batch, and not by the pass.
    by_batch: bool,
    queries: OnceLock<TimestampQueries>,
    /// Held while times are filled in: who waits for it finds them all.
    arrivals: Mutex<Arrivals>,
}

/// The query set that timestamps are written to, and the buffer that it is resolved into. One set does for
/// all batches: they run one after the other, and each takes its timestamps out at its end.
struct TimestampQueries {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
}

#[derive(Default)]
struct Arrivals {
    /// Host buffers that no batch uses.
    free: Vec<wgpu::Buffer>,
    /// Batches on their way, oldest first.
    due: VecDeque<Due>,
    /// The host's clock by the device's, where batches are timed.
    host: Option<HostClock>,
    /// The end of the last lap, in ticks.
    last: u64,
}

/// Where the timestamps of a batch will be, if there are any.
pub(crate) struct Taken(Option<wgpu::Buffer>);

/// A submitted batch with laps.
struct Due {
    number: u64,
    /// `None` where the host knows all of its times.
    buffer: Option<wgpu::Buffer>,
    stamps: u32,
    laps: Vec<Lap>,
}

impl Clock {
    /// What of an adapter's features it can make use of.
    pub(crate) const FEATURES: wgpu::Features =
        wgpu::Features::TIMESTAMP_QUERY.union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

    /// The clock of a device; `None` where it has none. [`BYTES`] are claimed for it by the caller.
    pub(crate) fn new(context: Arc<Context>) -> Option<Clock> {
        let period = f64::from(context.queue.get_timestamp_period());
        let features = context.device.features();
        let able = features.contains(wgpu::Features::TIMESTAMP_QUERY);
        (able && period > 0.0).then(|| Clock {
            by_batch: context.is_software()
                && features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS),
            context,
            period,
            queries: OnceLock::new(),
            arrivals: Mutex::default(),
        })
    }

    /// A stopwatch for one launch; `None` where the driver has no memory for timestamps just now.
    pub(crate) fn stopwatch(&self, timing: &Arc<Timing>) -> Option<Arc<Stopwatch>> {
        if self.queries.get().is_none() {
            let mut arrivals = self.lock();
            if self.queries.get().is_none() {
                let (queries, buffers) = self.make().ok()?;
                if self.by_batch {
                    arrivals.host = Some(self.compare(&queries, &buffers[0])?);
                }
                arrivals.free = buffers;
                let _ = self.queries.set(queries);
            }
        }
        Some(Arc::new(Stopwatch {
            timing: timing.clone(),
            joined: Mutex::default(),
            period: self.period,
            ticks: AtomicU64::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
            open: AtomicUsize::new(0),
        }))
    }

    fn compare(&self, queries: &TimestampQueries, to: &wgpu::Buffer) -> Option<HostClock> {
        HostClock::new(&self.context, self.period, to, |encoder| {
            encoder.write_timestamp(&queries.set, 0);
            encoder.resolve_query_set(&queries.set, 0..1, &queries.resolved, 0);
            encoder.copy_buffer_to_buffer(&queries.resolved, 0, to, 0, Some(bytes_of(1)));
        })
    }

    fn make(&self) -> Result<(TimestampQueries, Vec<wgpu::Buffer>), Fault> {
        use wgpu::BufferUsages;
        self.context.guarded(BYTES, |device| {
            let buffer = |usage| {
                let (label, size) = (Some("timestamps"), BATCH_BYTES);
                device.create_buffer(&wgpu::BufferDescriptor {
                    label,
                    size,
                    usage,
                    mapped_at_creation: false,
                })
            };
            let set = device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: STAMPS,
            });
            let resolved = buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC);
            let on_host = || buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            (TimestampQueries { set, resolved }, (0..IN_FLIGHT).map(|_| on_host()).collect())
        })
    }

    /// Has passes that launches share timed one by one, as on a device whose timestamps are cheap.
    #[cfg(test)]
    pub(crate) fn by_pass(mut self) -> Clock {
        self.by_batch = false;
        self
    }

    /// Whether a launch with that watch is timed with its batch, and needs no pass of its own.
    pub(crate) fn by_batch(&self, watch: &Stopwatch) -> bool {
        self.by_batch && watch.timing.is_with_others()
    }

    /// A launch is timed with its batch, in the lap that goes on there. Where one must begin in the midst of
    /// a batch, so that what was recorded before is not in it, it does so at the end of `encoder`.
    pub(crate) fn join_batch(
        &self,
        laps: &mut Laps,
        watch: &Arc<Stopwatch>,
        encoder: Option<&mut wgpu::CommandEncoder>,
    ) {
        if let Some(running) = &laps.running {
            return running.watch.join(watch);
        }
        match encoder.map(|encoder| self.stamp(laps, encoder)) {
            None => laps.run(watch, Begin::Recorded),
            Some(Some(begin)) => laps.run(watch, Begin::Stamp(begin)),
            // No timestamp is free: the lap stays open, and the time empty.
            Some(None) => watch.begin_lap(),
        }
    }

    /// Ends the lap that goes on in a batch, if there is one, where nobody waits for the batch.
    pub(crate) fn end_lap(&self, laps: &mut Laps, encoder: &mut wgpu::CommandEncoder) {
        if let Some(running) = laps.running.take()
            && let Some(end) = self.stamp(laps, encoder)
        {
            laps.end(running, End::Stamp(end));
        }
    }

    /// Ends the lap that goes on in a batch with the batch itself, which somebody will wait for at once.
    pub(crate) fn end_with_batch(&self, laps: &mut Laps) {
        if let Some(running) = laps.running.take() {
            laps.end(running, End::BatchDone);
        }
    }

    fn stamp(&self, laps: &mut Laps, encoder: &mut wgpu::CommandEncoder) -> Option<u32> {
        let queries = self.queries.get()?;
        let at = laps.stamp()?;
        encoder.write_timestamp(&queries.set, at);
        Some(at)
    }

    /// Opens the pass of a new lap.
    pub(crate) fn begin_lap(
        &self,
        laps: &mut Laps,
        watch: &Arc<Stopwatch>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> wgpu::ComputePass<'static> {
        self.end_lap(laps, encoder);
        // A watch is only had once there are queries; without, the lap would stay open and the time empty.
        let timestamp_writes = self.queries.get().and_then(|queries| {
            let (begin, end) = laps.pass(watch)?;
            Some(wgpu::ComputePassTimestampWrites {
                query_set: &queries.set,
                beginning_of_pass_write_index: Some(begin),
                end_of_pass_write_index: Some(end),
            })
        });
        watch.begin_lap();
        encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes })
            .forget_lifetime()
    }

    /// Records, at the end of a batch, the way of the timestamps to the host; gives the buffer they will be
    /// in, or `None` if there are none, or they can wait and nobody wants them `now`.
    pub(crate) fn take_out(
        &self,
        laps: &mut Laps,
        encoder: &mut wgpu::CommandEncoder,
        now: bool,
    ) -> Option<Taken> {
        if laps.is_empty() || (!now && laps.can_wait()) {
            return None;
        }
        if laps.stamps() == 0 {
            return Some(Taken(None));
        }
        let taken = self.queries.get().zip(self.lock().free.pop());
        let Some((queries, buffer)) = taken else {
            laps.take();
            return None;
        };
        let stamps = laps.stamps();
        encoder.resolve_query_set(&queries.set, 0..stamps, &queries.resolved, 0);
        encoder.copy_buffer_to_buffer(&queries.resolved, 0, &buffer, 0, Some(bytes_of(stamps)));
        Some(Taken(Some(buffer)))
    }

    /// Batch `number`, which puts its timestamps into `buffer`, was handed to the driver, which took it or
    /// not. Numbers rise.
    pub(crate) fn sent(&self, number: u64, accepted: bool, laps: &mut Laps, taken: Taken) {
        let stamps = laps.stamps();
        let laps = laps.take();
        let mut arrivals = self.lock();
        let Taken(buffer) = taken;
        if accepted {
            // Whether it worked shows when the mapped range is asked for.
            if let Some(buffer) = &buffer {
                buffer.map_async(wgpu::MapMode::Read, ..bytes_of(stamps), |_| {});
            }
            arrivals.due.push_back(Due { number, buffer, stamps, laps });
        } else {
            arrivals.free.extend(buffer);
        }
    }

    /// Batches up to `number` are done, and have been waited for until now: fills in what they tell.
    pub(crate) fn collect(&self, number: u64) {
        let mut arrivals = self.lock();
        if let Some(host) = &mut arrivals.host {
            host.note_done(number);
        }
        while let Some(due) = arrivals.due.pop_front_if(|due| due.number <= number) {
            let stamps: Vec<u64> = due.buffer.as_ref().map_or_else(Vec::new, |buffer| {
                let view = buffer.get_mapped_range(..bytes_of(due.stamps));
                view.map_or_else(|_| Vec::new(), |view| bytemuck::pod_collect_to_vec(&view))
            });
            for lap in &due.laps {
                let Arrivals { host, last, .. } = &mut *arrivals;
                if let Some((begin, end)) = lap_times(lap, &stamps, host.as_ref(), *last, self.period) {
                    lap.watch.end_lap(begin, end);
                    *last = end;
                }
            }
            if let Some(buffer) = due.buffer {
                buffer.unmap();
                arrivals.free.push(buffer);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From when to when a lap was, in ticks. The lap before it in its queue ended at `last`.
fn lap_times(
    lap: &Lap,
    stamps: &[u64],
    host: Option<&HostClock>,
    last: u64,
    period: f64,
) -> Option<(u64, u64)> {
    let at = |stamp: u32| stamps.get(stamp as usize).copied();
    let end = match lap.end {
        End::Stamp(stamp) => at(stamp)?,
        End::BatchDone => host.and_then(|host| Some(host.ticks(host.done_at(lap.number)?, period)))?,
    };
    let begin = match lap.begin {
        Begin::Stamp(stamp) => at(stamp)?,
        Begin::Submitted(when) => host?.ticks(when, period).max(last).min(end),
        Begin::Recorded => return None,
    };
    (begin <= end).then_some((begin, end))
}

fn bytes_of(stamps: u32) -> u64 {
    u64::from(stamps * wgpu::QUERY_SIZE)
}
