//! The one queue of a logical GPU: work is recorded in program order and submitted in batches.
//!
//! Promises: uploads, kernels, copies and reads take effect in the order of the calls, whichever thread makes
//! them; a submit happens on read-back, on sync, or when enough is waiting; waiting sleeps, and does not hold
//! up threads that only record. Leaves to others: what a kernel computes (`kernels`), who owns which bytes
//! (the runtime's pool).

use crate::checks::{self, Checks, PendingCheck};
use crate::clock::{self, Clock, Laps, Stopwatch};
use crate::context::Context;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{MAX_PARAM_WORDS, PARAM_WORDS, Pipeline, Pipelines};
use crate::progress::Progress;
use crate::staging::{self, Direction, Staged, Staging};
use situ_core::{Budget, Reservation};
use situ_device::Timing;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

mod download;

pub(crate) use download::PendingRead;

/// Bytes of parameters and small uploads in one batch.
const INLINE_BYTES: usize = 64 << 10;
/// Uploads up to this size travel with the parameters: one driver call for all of a batch.
const INLINE_UPLOAD: usize = 16 << 10;
/// Dispatches after which a batch is submitted: about a millisecond of recording, so the GPU does not stand
/// idle.
pub(crate) const BATCH_DISPATCHES: usize = 256;
/// Estimated work (elements touched, or multiply-adds) after which a batch is submitted.
const BATCH_WORK: u64 = 1 << 25;
/// A copy to the host up to this size takes less time than a timestamp before it would.
const SHORT_READ: u64 = 256 << 10;
/// Batches that may be submitted and not done: enough to keep the device busy, few enough to bound the memory
/// that their parameters hold.
pub(crate) const IN_FLIGHT: usize = 4;
/// What a stream needs whatever it does: parameters (a buffer, and a copy on its way with each batch in
/// flight), error slots on both sides, a staging buffer each way; and its clock, so that a full device can be
/// measured too.
pub(crate) const FIXED_BYTES: u64 = ((1 + IN_FLIGHT) * INLINE_BYTES + 4 * MAX_PARAM_WORDS) as u64
    + 2 * Checks::BYTES
    + 2 * staging::BASE
    + clock::BYTES;

/// One kernel call.
pub(crate) struct Launch<'a> {
    /// The compiled kernel.
    pub(crate) pipeline: &'a Pipeline,
    /// The blocks it binds, in order.
    pub(crate) blocks: &'a [&'a Block],
    /// Its parameters, at most [`MAX_PARAM_WORDS`].
    pub(crate) params: &'a [u32],
    /// Workgroups per dimension.
    pub(crate) groups: [u32; 3],
    /// Estimated work: elements touched, or multiply-adds.
    pub(crate) work: u64,
    /// What times it, if somebody wants to know.
    pub(crate) watch: Option<&'a Arc<Stopwatch>>,
}

/// The queue of one logical GPU.
pub(crate) struct Stream {
    context: Arc<Context>,
    pipelines: Pipelines,
    staging: Staging,
    batch: Mutex<Batch>,
    /// Held from fetching error slots until their checks are settled. The buffer they are fetched to.
    settling: Mutex<wgpu::Buffer>,
    progress: Arc<Progress>,
    /// `None` where the adapter can't tell the time.
    clock: Option<Clock>,
    /// Holds [`FIXED_BYTES`] of the device's budget.
    _claim: Reservation,
}

struct Batch {
    // An open pass locks its encoder, so it is declared (and dropped) first.
    pass: Option<OpenPass>,
    encoder: Option<wgpu::CommandEncoder>,
    inline: Vec<u8>,
    inline_buffer: wgpu::Buffer,
    params_group: wgpu::BindGroup,
    inline_alignment: usize,
    dispatches: usize,
    work: u64,
    /// Upload buffers that this batch reads from.
    staged: Vec<Staged>,
    /// The timed passes of this batch, and those before it that were not taken out.
    laps: Laps,
    /// Whether all of their times go to the host with this batch.
    wants_times: bool,
    /// Submitted and perhaps not done, oldest first.
    in_flight: VecDeque<Sent>,
    checks: Checks,
    submits: u64,
    #[cfg(test)]
    passes: u64,
}

/// An open pass.
struct OpenPass {
    handle: wgpu::ComputePass<'static>,
    /// The timed launch that has it for its own, or was the first of those that share it.
    watch: Option<Arc<Stopwatch>>,
}

/// A batch that was submitted.
#[derive(Clone)]
struct Sent {
    /// How many there were, with this one.
    number: u64,
    submission: wgpu::SubmissionIndex,
}

impl Stream {
    /// A stream on `context` that claims its own memory on `budget`.
    pub(crate) fn new(context: Arc<Context>, budget: &Arc<Budget>) -> Result<Stream, Fault> {
        let claim =
            budget.reserve(FIXED_BYTES as usize).map_err(|_| Fault::OutOfMemory { bytes: FIXED_BYTES })?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        // Every binding is of the largest size, also that of the last slot.
        let size = INLINE_BYTES as u64 + 4 * MAX_PARAM_WORDS as u64;
        let descriptor =
            wgpu::BufferDescriptor { label: Some("inline"), size, usage, mapped_at_creation: false };
        let inline_buffer = context.guarded(size, |device| device.create_buffer(&descriptor))?;
        let pipelines = Pipelines::new(context.clone());
        let batch = Batch {
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
        };
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let size = Checks::BYTES;
        let descriptor =
            wgpu::BufferDescriptor { label: Some("slots"), size, usage, mapped_at_creation: false };
        let settling = Mutex::new(context.guarded(size, |device| device.create_buffer(&descriptor))?);
        let staging = Staging::new(context.clone(), budget.clone());
        Ok(Stream {
            clock: Clock::new(context.clone()),
            context,
            pipelines,
            staging,
            batch: Mutex::new(batch),
            settling,
            progress: Arc::default(),
            _claim: claim,
        })
    }

    /// The device underneath.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Its kernels.
    pub(crate) fn pipelines(&self) -> &Pipelines {
        &self.pipelines
    }

    /// Bytes of the budget that the stream itself holds: parameters, error slots and staging.
    pub(crate) fn own_bytes(&self) -> u64 {
        FIXED_BYTES + self.staging.extra_bytes()
    }

    /// Seconds of work queued and not done, by the speed seen so far.
    pub(crate) fn backlog(&self) -> f64 {
        if !self.progress.is_idle() {
            // Hears of what has finished meanwhile; does not wait.
            let _ = self.context.device.poll(wgpu::PollType::Poll);
        }
        let recorded = self.lock().work;
        self.progress.backlog(recorded)
    }

    /// How often work was submitted.
    #[cfg(test)]
    pub(crate) fn submits(&self) -> u64 {
        self.lock().submits
    }

    /// One that times passes one by one, as on hardware.
    #[cfg(test)]
    pub(crate) fn timed_by_pass(mut self) -> Stream {
        self.clock = self.clock.map(Clock::by_pass);
        self
    }

    /// How many compute passes were recorded.
    #[cfg(test)]
    pub(crate) fn passes(&self) -> u64 {
        self.lock().passes
    }

    /// What measures one launch; `None` if this device can't.
    pub(crate) fn stopwatch(&self, timing: &Arc<Timing>) -> Option<Arc<Stopwatch>> {
        self.clock.as_ref()?.stopwatch(timing)
    }

    /// Records a kernel call.
    pub(crate) fn dispatch(&self, launch: &Launch<'_>) -> Result<(), Fault> {
        let mut batch = self.lock();
        self.record(&mut batch, launch)
    }

    /// Records kernel calls that may find bad data, and the one right behind them that notes the value found.
    /// All bind the block of slots, and find the number of their slot in word 63 of their parameters.
    pub(crate) fn dispatch_checked(
        &self,
        watch: &PendingCheck,
        mains: &[Launch<'_>],
        note_value: Option<&Launch<'_>>,
    ) -> Result<(), Fault> {
        loop {
            let mut batch = self.lock();
            if let Some(slot) = batch.checks.reserve(watch) {
                for main in mains {
                    self.record_with_slot(&mut batch, main, slot)?;
                }
                return match note_value {
                    Some(launch) => self.record_with_slot(&mut batch, launch, slot),
                    None => Ok(()),
                };
            }
            drop(batch);
            // All slots are taken: settle them now.
            self.sync()?;
        }
    }

    /// The block of error slots, for kernels with checks.
    pub(crate) fn slots(&self) -> Arc<Block> {
        self.lock().checks.block.clone()
    }

    fn record_with_slot(&self, batch: &mut Batch, launch: &Launch<'_>, slot: u32) -> Result<(), Fault> {
        let mut params = [0; MAX_PARAM_WORDS];
        params[..launch.params.len()].copy_from_slice(launch.params);
        params[PARAM_WORDS - 1] = slot;
        let used = launch.params.len().max(PARAM_WORDS);
        self.record(batch, &Launch { params: &params[..used], ..*launch })
    }

    fn record(&self, batch: &mut Batch, launch: &Launch<'_>) -> Result<(), Fault> {
        debug_assert_eq!(launch.blocks.len(), launch.pipeline.bindings);
        debug_assert!(launch.params.len() <= MAX_PARAM_WORDS);
        self.context.check()?;
        if launch.groups.contains(&0) {
            return Ok(());
        }
        let at = self.inline_space(batch, 4 * launch.params.len().max(PARAM_WORDS))?;
        let params = &mut batch.inline[at..at + 4 * launch.params.len()];
        params.copy_from_slice(bytemuck::cast_slice(launch.params));
        let group = self.pipelines.bind(launch.blocks);
        let params_group = batch.params_group.clone();
        let pass = self.pass(batch, launch.watch);
        pass.set_pipeline(&launch.pipeline.handle);
        pass.set_bind_group(0, &group, &[]);
        pass.set_bind_group(1, &params_group, &[at as u32]);
        let [x, y, z] = launch.groups;
        pass.dispatch_workgroups(x, y, z);
        batch.dispatches += 1;
        batch.work = batch.work.saturating_add(launch.work);
        if batch.dispatches >= BATCH_DISPATCHES || batch.work >= BATCH_WORK {
            self.submit(batch)?;
        }
        Ok(())
    }

    /// Writes `bytes` to `block` at `offset` (a multiple of 4). If the length is not a multiple of 4, the
    /// rest of the last word is overwritten too: it is padding of the same tensor.
    pub(crate) fn upload(&self, block: &Block, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        debug_assert_eq!(offset % 4, 0);
        self.context.check()?;
        if bytes.len() <= INLINE_UPLOAD {
            let mut batch = self.lock();
            let padded = bytes.len().next_multiple_of(4);
            if padded == 0 {
                return Ok(());
            }
            let at = self.inline_space(&mut batch, padded)?;
            batch.inline[at..at + bytes.len()].copy_from_slice(bytes);
            let source = batch.inline_buffer.clone();
            let encoder = self.encoder(&mut batch);
            encoder.copy_buffer_to_buffer(&source, at as u64, &block.buffer, offset, Some(padded as u64));
            return Ok(());
        }
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let want = (rest.len() as u64).min(staging::PIECE);
            let staged = self.staging.take(Direction::Up, want, || self.finish_submitted())?;
            let (part, later) = rest.split_at(rest.len().min(staged.bytes as usize));
            let padded = part.len().next_multiple_of(4) as u64;
            let mut view = staged
                .buffer
                .get_mapped_range_mut(..padded)
                .map_err(|e| Fault::Internal(format!("mapping a staging buffer: {e:?}")))?;
            view.slice(..part.len()).copy_from_slice(part);
            drop(view);
            staged.buffer.unmap();
            let mut batch = self.lock();
            let source = staged.buffer.clone();
            self.encoder(&mut batch).copy_buffer_to_buffer(&source, 0, &block.buffer, at, Some(padded));
            batch.staged.push(staged);
            // The device copies this piece while the host fills the next.
            self.submit(&mut batch)?;
            at += part.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// Copies bytes between blocks of two streams on one device; offsets are multiples of 4, and so much is
    /// copied that the length is one, too: what lies behind the end is padding of the same tensors.
    pub(crate) fn copy_from(
        &self,
        source: &Stream,
        from: (&Block, u64),
        to: (&Block, u64),
        bytes: u64,
    ) -> Result<(), Fault> {
        self.context.check()?;
        // Both submit to one queue: what makes the bytes goes first.
        source.flush()?;
        let mut batch = self.lock();
        let padded = bytes.next_multiple_of(4);
        let encoder = self.encoder(&mut batch);
        encoder.copy_buffer_to_buffer(&from.0.buffer, from.1, &to.0.buffer, to.1, Some(padded));
        // And the copy before anything that overwrites them.
        self.submit(&mut batch)
    }

    /// Sets `bytes` bytes at `offset` to zero; both are multiples of 4.
    pub(crate) fn clear(&self, block: &Block, offset: u64, bytes: u64) -> Result<(), Fault> {
        self.context.check()?;
        if bytes > 0 {
            let mut batch = self.lock();
            self.encoder(&mut batch).clear_buffer(&block.buffer, offset, Some(bytes));
        }
        Ok(())
    }

    /// Reads `into.len()` bytes from `offset`, after all work recorded before. Every check of that work is
    /// settled when this returns.
    pub(crate) fn read(&self, block: &Block, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.context.check()?;
        // Another thread may have fetched a check of ours and not settled it yet: then this waits for it.
        let settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        let open = self.fetch_checks(&settling);
        if open.is_empty() {
            drop(settling);
            return self.read_pieces(block, offset, into);
        }
        // The slots travel with the first piece: one submit and one wait for both.
        self.read_pieces(block, offset, into)?;
        self.settle_checks(&settling, &open)
    }

    /// Waits until everything recorded so far is done, and its checks are settled.
    pub(crate) fn sync(&self) -> Result<(), Fault> {
        self.context.check()?;
        self.ask_for_times();
        let settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        let open = self.fetch_checks(&settling);
        if open.is_empty() {
            drop(settling);
            self.flush()?;
            return self.finish_submitted();
        }
        self.settle_checks(&settling, &open)
    }

    /// Has the times that are still on the device sent to the host by the next submit.
    fn ask_for_times(&self) {
        let mut batch = self.lock();
        if !batch.laps.is_empty() {
            batch.wants_times = true;
            // There may be nothing else to submit.
            self.encoder(&mut batch);
        }
    }

    /// Submits what is recorded, without waiting.
    pub(crate) fn flush(&self) -> Result<(), Fault> {
        let mut batch = self.lock();
        self.submit(&mut batch)
    }

    /// Forgets a block that is about to be dropped.
    pub(crate) fn forget(&self, block: &Block) {
        self.pipelines.forget(block.id);
    }

    /// Gives staging buffers back to the system, those first waited for that are on their way.
    pub(crate) fn trim(&self) {
        if self.staging.extra_bytes() == 0 {
            return;
        }
        // A device that fails here says so at the next launch; for memory there is nothing more to be had
        // from it.
        if self.flush().and_then(|()| self.finish_submitted()).is_ok() {
            self.staging.trim();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for `bytes` in the batch's inline data; submits first if it is full.
    fn inline_space(&self, batch: &mut Batch, bytes: usize) -> Result<usize, Fault> {
        let mut at = batch.inline.len().next_multiple_of(batch.inline_alignment);
        if at + bytes > INLINE_BYTES {
            self.submit(batch)?;
            at = 0;
        }
        batch.inline.resize(at + bytes, 0);
        Ok(at)
    }

    /// The open pass, if it may take a launch timed by `watch`, or else a new one.
    fn pass<'a>(
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
    fn end_lap_before_read(&self, batch: &mut Batch, bytes: u64) {
        let Some(clock) = self.clock.as_ref().filter(|_| batch.laps.is_running()) else { return };
        if bytes <= SHORT_READ {
            return clock.end_with_batch(&mut batch.laps);
        }
        self.encoder(batch);
        let Batch { encoder, laps, .. } = batch;
        encoder.iter_mut().for_each(|encoder| clock.end_lap(laps, encoder));
    }

    fn encoder<'a>(&self, batch: &'a mut Batch) -> &'a mut wgpu::CommandEncoder {
        batch.pass = None;
        batch.encoder.get_or_insert_with(|| self.context.device.create_command_encoder(&Default::default()))
    }

    fn submit(&self, batch: &mut Batch) -> Result<(), Fault> {
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
    fn finish_submitted(&self) -> Result<(), Fault> {
        let last = self.lock().in_flight.back().cloned();
        match last {
            Some(sent) => self.wait(&sent),
            None => self.context.check(),
        }
    }

    /// Waits for a batch and those before it, and fills in their times.
    fn wait(&self, sent: &Sent) -> Result<(), Fault> {
        self.context.wait(Some(sent.submission.clone()))?;
        if let Some(clock) = &self.clock {
            clock.collect(sent.number);
        }
        Ok(())
    }

    /// Records the fetching and clearing of the error slots in use; gives their checks.
    fn fetch_checks(&self, to: &wgpu::Buffer) -> Vec<PendingCheck> {
        let mut batch = self.lock();
        let bytes = batch.checks.bytes_in_use();
        if bytes == 0 {
            return Vec::new();
        }
        let slots = batch.checks.block.buffer.clone();
        let encoder = self.encoder(&mut batch);
        encoder.copy_buffer_to_buffer(&slots, 0, to, 0, Some(bytes));
        encoder.clear_buffer(&slots, 0, Some(bytes));
        batch.checks.take()
    }

    /// Waits for fetched slots, and settles their checks.
    fn settle_checks(&self, from: &wgpu::Buffer, open: &[PendingCheck]) -> Result<(), Fault> {
        self.flush()?;
        from.map_async(wgpu::MapMode::Read, .., |_| {});
        self.finish_submitted()?;
        let bytes = open.len() as u64 * checks::SLOT_WORDS * 4;
        let settled = mapped(from, bytes).map(|view| checks::settle(open, &view));
        from.unmap();
        settled
    }
}

fn mapped(buffer: &wgpu::Buffer, bytes: u64) -> Result<wgpu::BufferView, Fault> {
    buffer
        .get_mapped_range(..bytes)
        .map_err(|e| Fault::Internal(format!("a read-back could not be mapped: {e:?}")))
}
