//! The one queue of a logical GPU: work is recorded in program order and submitted in batches.
//!
//! Promises: uploads, kernels, copies and reads take effect in the order of the calls, whichever thread makes
//! them; a submit happens on read-back, on sync, or when enough is waiting; waiting sleeps, and does not hold
//! up threads that only record. Leaves to others: what a kernel computes (`kernels`), who owns which bytes
//! (the runtime's pool).

use crate::checks::Checks;
use crate::clock::{self, Clock, Stopwatch};
use crate::context::Context;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{MAX_PARAM_WORDS, PARAM_WORDS, Pipeline, Pipelines};
use crate::progress::Progress;
use crate::staging::{self, Staging};
use situ_core::{Budget, Reservation};
use situ_device::Timing;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod batch;
mod checked;
mod download;
mod upload;

pub(crate) use download::PendingRead;

use batch::Batch;

/// Bytes of parameters and small uploads in one batch.
const INLINE_BYTES: usize = 64 << 10;
/// Dispatches after which a batch is submitted: about a millisecond of recording, so the GPU does not stand
/// idle.
pub(crate) const BATCH_DISPATCHES: usize = 256;
/// Estimated work (elements touched, or multiply-adds) after which a batch is submitted.
const BATCH_WORK: u64 = 1 << 25;
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

impl Stream {
    /// A stream on `context` that claims its own memory on `budget`.
    pub(crate) fn new(context: Arc<Context>, budget: &Arc<Budget>) -> Result<Stream, Fault> {
        let claim =
            budget.reserve(FIXED_BYTES as usize).map_err(|_| Fault::OutOfMemory { bytes: FIXED_BYTES })?;
        let pipelines = Pipelines::new(context.clone());
        let batch = Batch::new(&context, &pipelines)?;
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

    /// The compiled kernels of the device.
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
}

fn mapped(buffer: &wgpu::Buffer, bytes: u64) -> Result<wgpu::BufferView, Fault> {
    buffer
        .get_mapped_range(..bytes)
        .map_err(|e| Fault::Internal(format!("a read-back could not be mapped: {e:?}")))
}
