//! The host's clock, by the device's, on a driver that runs on the host.
//!
//! Both then go by the same oscillator, and how far one is ahead of the other is found out once: a timestamp
//! comes before whoever waits for it is told so, and of several the one that was told soonest says best. From
//! then on the host's clock will do where the host is waiting anyway: a batch is over when its waiter wakes
//! up, which whoever reads a few bytes does at once.

use super::TOGETHER;
use crate::context::Context;
use std::collections::VecDeque;
use std::time::Instant;

/// Timestamps that are compared with the host's clock.
const TRIES: usize = 4;

pub(super) struct HostClock {
    epoch: Instant,
    /// What to add to nanoseconds of the host since `epoch`.
    ahead: f64,
    /// Batches that somebody waited for, and until when; those before them were done too. Numbers rise.
    done: VecDeque<(u64, Instant)>,
}

impl HostClock {
    /// Compares the clocks. `stamp` has the device write the time to the start of a buffer of the host.
    pub(super) fn new(
        context: &Context,
        period: f64,
        to: &wgpu::Buffer,
        stamp: impl Fn(&mut wgpu::CommandEncoder),
    ) -> Option<HostClock> {
        let mut clock = HostClock { epoch: Instant::now(), ahead: f64::NEG_INFINITY, done: VecDeque::new() };
        let bytes = u64::from(wgpu::QUERY_SIZE);
        for _ in 0..TRIES {
            let mut encoder = context.device.create_command_encoder(&Default::default());
            stamp(&mut encoder);
            let submission = context.queue.submit([encoder.finish()]);
            context.wait(Some(submission)).ok()?;
            let told = clock.nanoseconds(Instant::now());
            to.map_async(wgpu::MapMode::Read, ..bytes, |_| {});
            context.wait(None).ok()?;
            let ticks =
                to.get_mapped_range(..bytes).ok().map(|view| bytemuck::pod_read_unaligned::<u64>(&view));
            to.unmap();
            clock.ahead = clock.ahead.max(ticks? as f64 * period - told);
        }
        Some(clock)
    }

    /// Somebody waited for a batch until now.
    pub(super) fn note_done(&mut self, number: u64) {
        if self.done.back().is_none_or(|(last, _)| *last < number) {
            self.done.push_back((number, Instant::now()));
        }
        // Batches without times are waited for too.
        if self.done.len() > 2 * TOGETHER {
            self.done.pop_front();
        }
    }

    /// When a batch was over, as far as anybody knows.
    pub(super) fn done_at(&self, number: u64) -> Option<Instant> {
        let at = self.done.partition_point(|(done, _)| *done < number);
        self.done.get(at).map(|(_, when)| *when)
    }

    /// A time of the host in ticks of the device.
    pub(super) fn ticks(&self, when: Instant, period: f64) -> u64 {
        ((self.nanoseconds(when) + self.ahead) / period).max(0.0) as u64
    }

    fn nanoseconds(&self, when: Instant) -> f64 {
        when.saturating_duration_since(self.epoch).as_nanos() as f64
    }
}
