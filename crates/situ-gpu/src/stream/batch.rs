//! A batch: what is recorded between two submits, how it is timed, and the way to the driver.

use super::{IN_FLIGHT, INLINE_BYTES, Stream};
use crate::checks::Checks;
use crate::clock::{Clock, Laps, Stopwatch};
use crate::context::Context;
use crate::fault::Fault;
use crate::pipelines::{MAX_PARAM_WORDS, PARAM_WORDS, Pipelines};
use crate::staging::Staged;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// A copy to the host up to this size takes less time than a timestamp before it would.
const SHORT_READ: u64 = 256 << 10;

/// Work that is recorded and not submitted, and what is known of batches before it. Lives under the stream's
/// lock.
pub(super) struct Batch {
    // An open pass locks its encoder, so it is declared (and dropped) first.
    pass: Option<OpenPass>,
    encoder: Option<wgpu::CommandEncoder>,
    pub(super) inline: Vec<u8>,
    pub(super) inline_buffer: wgpu::Buffer,
    pub(super) params_group: wgpu::BindGroup,
    pub(super) inline_alignment: usize,
    pub(super) dispatches: usize,
    pub(super) work: u64,
    /// Upload buffers that this batch reads from.
    pub(super) staged: Vec<Staged>,
    /// The timed passes of this batch, and those before it that were not taken out.
    pub(super) laps: Laps,
    /// Whether all of their times go to the host with this batch.
    pub(super) wants_times: bool,
    /// Submitted and perhaps not done, oldest first.
    pub(super) in_flight: VecDeque<Sent>,
    pub(super) checks: Checks,
    pub(super) submits: u64,
    #[cfg(test)]
    pub(super) passes: u64,
}

/// An open pass.
struct OpenPass {
    handle: wgpu::ComputePass<'static>,
    /// The timed launch that has it for its own, or was the first of those that share it.
    watch: Option<Arc<Stopwatch>>,
}

/// A batch that was submitted.
#[derive(Clone)]
pub(super) struct Sent {
    /// How many there were, with this one.
    number: u64,
    submission: wgpu::SubmissionIndex,
}

impl Batch {
    /// An empty one, with the buffers that all batches of a stream share.
    pub(super) fn new(context: &Context, pipelines: &Pipelines) -> Result<Batch, Fault> {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        // Every binding is of the largest size, also that of the last slot.
        let size = INLINE_BYTES as u64 + 4 * MAX_PARAM_WORDS as u64;
        let descriptor =
            wgpu::BufferDescriptor { label: Some("inline"), size, usage, mapped_at_creation: false };
        let inline_buffer = context.guarded(size, |device| device.create_buffer(&descriptor))?;
        Ok(Batch {
            pass: None,
            encoder: None,
            inline: Vec::with_capacity(INLINE_BYTES),
            params_group: pipelines.bind_params(&inline_buffer),
            inline_buffer,
            inline_alignment: (context.limits.min_uniform_buffer_offset_alignment as usize)
                .max(4 * PARAM_WORDS),
            dispatches: 0,
            work: 0,
            staged: Vec::new(),
            laps: Laps::default(),
            wants_times: false,
            in_flight: VecDeque::new(),
            // A new buffer is zero, as slots must be.
            checks: Checks::new(context.allocate(Checks::BYTES)?),
            submits: 0,
            #[cfg(test)]
            passes: 0,
        })
    }
}

impl Stream {
    /// Room for `bytes` in the batch's inline data; submits first if it is full.
    pub(super) fn inline_space(&self, batch: &mut Batch, bytes: usize) -> Result<usize, Fault> {
        let mut at = batch.inline.len().next_multiple_of(batch.inline_alignment);
        if at + bytes > INLINE_BYTES {
            self.submit(batch)?;
            at = 0;
        }
        batch.inline.resize(at + bytes, 0);
        Ok(at)
    }

    /// The open pass, if it may take a launch timed by `watch`, or else a new one.
    pub(super) fn pass<'a>(
        &self,
        batch: &'a mut Batch,
        watch: Option<&Arc<Stopwatch>>,
    ) -> &'a mut wgpu::ComputePass<'static> {
        let clock = self.clock.as_ref();
        let by_batch = clock.zip(watch).filter(|(clock, watch)| clock.by_batch(watch));
        if let Some((clock, watch)) = by_batch {
            self.join_batch(batch, clock, watch);
        }
        let watch = watch.filter(|_| by_batch.is_none());
        let fits = |open: &OpenPass| match (&open.watch, watch) {
            (None, None) => true,
            (Some(open), Some(watch)) => open.shares_with(watch),
            (Some(_), None) | (None, Some(_)) => false,
        };
        match batch.pass.as_ref().filter(|open| fits(open)) {
            None => batch.pass = None,
            Some(open) => {
                if let (Some(open), Some(watch)) = (&open.watch, watch) {
                    open.join(watch);
                }
            }
        }
        let Batch { pass, encoder, laps, .. } = batch;
        let pass = pass.get_or_insert_with(|| {
            #[cfg(test)]
            {
                batch.passes += 1;
            }
            let encoder = encoder
                .get_or_insert_with(|| self.context.device.create_command_encoder(&Default::default()));
            let handle = match clock.zip(watch) {
                Some((clock, watch)) => clock.begin_lap(laps, watch, encoder),
                None => encoder.begin_compute_pass(&Default::default()).forget_lifetime(),
            };
            OpenPass { handle, watch: watch.cloned() }
        });
        &mut pass.handle
    }

    /// Times a launch with its batch.
    fn join_batch(&self, batch: &mut Batch, clock: &Clock, watch: &Arc<Stopwatch>) {
        let from_here = batch.dispatches > 0 && !batch.laps.is_running();
        if from_here {
            self.encoder(batch);
        }
        let Batch { encoder, laps, .. } = batch;
        clock.join_batch(laps, watch, encoder.as_mut().filter(|_| from_here));
    }

    /// Ends what is timed by the batch before its last command, a copy of so many bytes to the host, which
    /// waits for it.
    pub(super) fn end_lap_before_read(&self, batch: &mut Batch, bytes: u64) {
        let Some(clock) = self.clock.as_ref().filter(|_| batch.laps.is_running()) else { return };
        if bytes <= SHORT_READ {
            return clock.end_with_batch(&mut batch.laps);
        }
        self.encoder(batch);
        let Batch { encoder, laps, .. } = batch;
        encoder.iter_mut().for_each(|encoder| clock.end_lap(laps, encoder));
    }

    pub(super) fn encoder<'a>(&self, batch: &'a mut Batch) -> &'a mut wgpu::CommandEncoder {
        batch.pass = None;
        batch.encoder.get_or_insert_with(|| self.context.device.create_command_encoder(&Default::default()))
    }

    pub(super) fn submit(&self, batch: &mut Batch) -> Result<(), Fault> {
        batch.pass = None;
        if batch.encoder.is_some()
            && batch.in_flight.len() >= IN_FLIGHT
            && let Some(oldest) = batch.in_flight.pop_front()
        {
            self.wait(&oldest)?;
        }
        let Some(mut encoder) = batch.encoder.take() else { return Ok(()) };
        if !batch.inline.is_empty() {
            // Ordered after all earlier submits and before this one.
            let padded = batch.inline.len().next_multiple_of(4);
            batch.inline.resize(padded, 0);
            self.context.queue.write_buffer(&batch.inline_buffer, 0, &batch.inline);
        }
        let stamps = self.clock.as_ref().and_then(|clock| {
            clock.end_lap(&mut batch.laps, &mut encoder);
            clock.take_out(&mut batch.laps, &mut encoder, batch.wants_times)
        });
        batch.wants_times = false;
        let submission = self.context.queue.submit([encoder.finish()]);
        let accepted = self.context.check();
        batch.submits += 1;
        let number = batch.submits;
        batch.in_flight.push_back(Sent { number, submission });
        batch.laps.submitted(number);
        if let Some((clock, buffer)) = self.clock.as_ref().zip(stamps) {
            clock.sent(number, accepted.is_ok(), &mut batch.laps, buffer);
        }
        if batch.work > 0 {
            let (progress, work, since) = (self.progress.clone(), batch.work, Instant::now());
            progress.submitted(work);
            self.context.queue.on_submitted_work_done(move || progress.done(work, since));
        }
        batch.inline.clear();
        batch.dispatches = 0;
        batch.work = 0;
        for staged in batch.staged.drain(..) {
            self.staging.give_back_up(staged);
        }
        accepted
    }

    /// Waits for what has been submitted, without holding the batch.
    pub(super) fn finish_submitted(&self) -> Result<(), Fault> {
        let last = self.lock().in_flight.back().cloned();
        match last {
            Some(sent) => self.wait(&sent),
            None => self.context.check(),
        }
    }

    /// Waits for a batch and those before it, and fills in their times.
    pub(super) fn wait(&self, sent: &Sent) -> Result<(), Fault> {
        self.context.wait(Some(sent.submission.clone()))?;
        if let Some(clock) = &self.clock {
            clock.collect(sent.number);
        }
        Ok(())
    }
}
