//! The one queue of a logical GPU: work is recorded in program order and submitted in batches.
//!
//! Promises: uploads, kernels, copies and reads take effect in the order of the calls, whichever thread makes them;
//! a submit happens on read-back, on sync, or when enough is waiting; waiting sleeps, and does not hold up threads
//! that only record. Leaves to others: what a kernel computes (`kernels`), who owns which bytes (the runtime's pool).

use crate::checks::{self, Checks, Violation};
use crate::context::Context;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{PARAM_WORDS, Pipeline, Pipelines};
use crate::staging::{Direction, Staged, Staging};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of parameters and small uploads in one batch.
const INLINE_BYTES: usize = 512 << 10;
/// Uploads up to this size travel with the parameters: one driver call for all of a batch.
const INLINE_UPLOAD: usize = 64 << 10;
/// Dispatches after which a batch is submitted: about a millisecond of recording, so the GPU does not stand idle.
const BATCH_DISPATCHES: usize = 256;
/// Estimated work (elements touched, or multiply-adds) after which a batch is submitted.
const BATCH_WORK: u64 = 1 << 25;
/// What staging may hold, both directions together.
pub const STAGING_CAP: u64 = 32 << 20;

/// One kernel call.
pub struct Launch<'a> {
    /// The compiled kernel.
    pub pipeline: &'a Pipeline,
    /// The blocks it binds, in order.
    pub blocks: &'a [&'a Block],
    /// Its parameters, at most [`PARAM_WORDS`].
    pub params: &'a [u32],
    /// Workgroups per dimension.
    pub groups: [u32; 3],
    /// Estimated work: elements touched, or multiply-adds.
    pub work: u64,
}

/// The queue of one logical GPU.
pub struct Stream {
    context: Arc<Context>,
    pipelines: Pipelines,
    staging: Staging,
    batch: Mutex<Batch>,
}

struct Batch {
    // An open pass locks its encoder, so it is declared (and dropped) first.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: Option<wgpu::CommandEncoder>,
    inline: Vec<u8>,
    inline_buffer: wgpu::Buffer,
    params_group: wgpu::BindGroup,
    inline_alignment: usize,
    dispatches: usize,
    work: u64,
    /// Upload buffers that this batch reads from.
    staged: Vec<Staged>,
    last: Option<wgpu::SubmissionIndex>,
    checks: Checks,
    /// What checks found when their slots were needed again, not yet reported.
    found_early: Vec<Violation>,
    submits: u64,
}

impl Stream {
    /// A stream on `context`, whose staging holds at most `staging_cap` bytes.
    pub fn new(context: Arc<Context>, staging_cap: u64) -> Result<Stream, Fault> {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let size = INLINE_BYTES as u64;
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
            last: None,
            // A new buffer is zero, as slots must be.
            checks: Checks::new(context.allocate(Checks::bytes())?),
            found_early: Vec::new(),
            submits: 0,
        };
        let staging = Staging::new(context.clone(), staging_cap);
        Ok(Stream { context, pipelines, staging, batch: Mutex::new(batch) })
    }

    /// The device underneath.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Its kernels.
    pub fn pipelines(&self) -> &Pipelines {
        &self.pipelines
    }

    /// Bytes that the stream itself holds: staging, parameters and error slots.
    pub fn overhead_bytes(&self) -> u64 {
        self.staging.bytes() + INLINE_BYTES as u64 + Checks::bytes()
    }

    /// How often work was submitted, for tests and reports.
    pub fn submits(&self) -> u64 {
        self.lock().submits
    }

    /// Records a kernel call.
    pub fn dispatch(&self, launch: &Launch<'_>) -> Result<(), Fault> {
        let mut batch = self.lock();
        self.record(&mut batch, launch)
    }

    /// Records a kernel call that may find bad data, and the one right behind it that notes the value found. Both
    /// bind the block of slots, and find the number of their slot in the last word of their parameters.
    pub fn dispatch_checked(&self, ticket: u64, main: &Launch<'_>, settle: &Launch<'_>) -> Result<(), Fault> {
        loop {
            let mut batch = self.lock();
            if let Some(slot) = batch.checks.reserve(ticket) {
                self.record_with_slot(&mut batch, main, slot)?;
                return self.record_with_slot(&mut batch, settle, slot);
            }
            drop(batch);
            // All slots are taken: look at them now, and report at the next read or sync.
            if let Some((tickets, arriving)) = self.fetch_checks()? {
                let found = self.resolve_checks(&tickets, arriving)?;
                self.lock().found_early.extend(found);
            }
        }
    }

    /// The block of error slots, for kernels with checks.
    pub fn slots(&self) -> Arc<Block> {
        self.lock().checks.block.clone()
    }

    fn record_with_slot(&self, batch: &mut Batch, launch: &Launch<'_>, slot: u32) -> Result<(), Fault> {
        let mut params = [0; PARAM_WORDS];
        params[..launch.params.len()].copy_from_slice(launch.params);
        params[PARAM_WORDS - 1] = slot;
        self.record(batch, &Launch { params: &params, ..*launch })
    }

    fn record(&self, batch: &mut Batch, launch: &Launch<'_>) -> Result<(), Fault> {
        debug_assert_eq!(launch.blocks.len(), launch.pipeline.bindings);
        debug_assert!(launch.params.len() <= PARAM_WORDS);
        self.context.check()?;
        if launch.groups.contains(&0) {
            return Ok(());
        }
        let at = self.inline_space(batch, 4 * PARAM_WORDS)?;
        let params = &mut batch.inline[at..at + 4 * launch.params.len()];
        params.copy_from_slice(bytemuck::cast_slice(launch.params));
        let group = self.pipelines.bind(launch.blocks);
        let params_group = batch.params_group.clone();
        let pass = self.pass(batch);
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

    /// Writes `bytes` to `block` at `offset` (a multiple of 4). If the length is not a multiple of 4, the rest of the
    /// last word is overwritten too: it is padding of the same tensor.
    pub fn upload(&self, block: &Block, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
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
        let piece = self.staging.piece(Direction::Up) as usize;
        for (i, part) in bytes.chunks(piece).enumerate() {
            let padded = part.len().next_multiple_of(4) as u64;
            let staged = self.staging.take(Direction::Up, padded, || self.finish_submitted())?;
            let mut view = staged
                .buffer
                .get_mapped_range_mut(..padded)
                .map_err(|e| Fault::Internal(format!("mapping a staging buffer: {e:?}")))?;
            view.slice(..part.len()).copy_from_slice(part);
            drop(view);
            staged.buffer.unmap();
            let mut batch = self.lock();
            let source = staged.buffer.clone();
            let at = offset + (i * piece) as u64;
            self.encoder(&mut batch).copy_buffer_to_buffer(&source, 0, &block.buffer, at, Some(padded));
            batch.staged.push(staged);
            // The device copies this piece while the host fills the next.
            self.submit(&mut batch)?;
        }
        Ok(())
    }

    /// Sets `bytes` bytes at `offset` to zero; both are multiples of 4.
    pub fn clear(&self, block: &Block, offset: u64, bytes: u64) -> Result<(), Fault> {
        self.context.check()?;
        if bytes > 0 {
            let mut batch = self.lock();
            self.encoder(&mut batch).clear_buffer(&block.buffer, offset, Some(bytes));
        }
        Ok(())
    }

    /// Reads `into.len()` bytes from `offset`, after all work recorded before; gives what the checks found meanwhile.
    pub fn read(&self, block: &Block, offset: u64, into: &mut [u8]) -> Result<Vec<Violation>, Fault> {
        self.context.check()?;
        let fetched = self.fetch_checks()?;
        let first = offset / 4 * 4;
        let end = (offset + into.len() as u64).next_multiple_of(4);
        let piece = self.staging.piece(Direction::Down);
        let mut flight: VecDeque<(u64, u64, Arriving)> = VecDeque::new();
        let mut at = first;
        while at < end || !flight.is_empty() {
            while at < end && flight.len() < 2 {
                let bytes = piece.min(end - at);
                let taken = if flight.is_empty() {
                    Some(self.staging.take(Direction::Down, bytes, || Ok(()))?)
                } else {
                    self.staging.try_take(Direction::Down, bytes)?
                };
                let Some(staged) = taken else { break };
                flight.push_back((at, bytes, self.send_down(block, at, bytes, staged)?));
                at += bytes;
            }
            if let Some((start, bytes, arriving)) = flight.pop_front() {
                let staged = self.arrived(arriving)?;
                let view = staged
                    .buffer
                    .get_mapped_range(..bytes)
                    .map_err(|e| Fault::Internal(format!("mapping a staging buffer: {e:?}")))?;
                // Only the first and last piece can reach beyond what was asked for.
                let from = start.max(offset);
                let to = (start + bytes).min(offset + into.len() as u64);
                into[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&view[(from - start) as usize..(to - start) as usize]);
                drop(view);
                self.staging.give_back_down(staged);
            }
        }
        self.report_checks(fetched)
    }

    /// Waits until everything recorded so far is done; gives what the checks found.
    pub fn sync(&self) -> Result<Vec<Violation>, Fault> {
        self.context.check()?;
        let fetched = self.fetch_checks()?;
        self.flush()?;
        self.finish_submitted()?;
        self.report_checks(fetched)
    }

    /// Submits what is recorded, without waiting.
    pub fn flush(&self) -> Result<(), Fault> {
        let mut batch = self.lock();
        self.submit(&mut batch)
    }

    /// Drops a block: its memory goes back once the work that uses it is done.
    pub fn free(&self, block: Block) {
        self.pipelines.forget(block.id);
        drop(block);
    }

    /// Gives idle staging buffers back to the system.
    pub fn trim(&self) {
        self.staging.trim();
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

    fn pass<'a>(&self, batch: &'a mut Batch) -> &'a mut wgpu::ComputePass<'static> {
        let Batch { pass, encoder, .. } = batch;
        pass.get_or_insert_with(|| {
            let encoder = encoder
                .get_or_insert_with(|| self.context.device.create_command_encoder(&Default::default()));
            encoder.begin_compute_pass(&Default::default()).forget_lifetime()
        })
    }

    fn encoder<'a>(&self, batch: &'a mut Batch) -> &'a mut wgpu::CommandEncoder {
        batch.pass = None;
        batch.encoder.get_or_insert_with(|| self.context.device.create_command_encoder(&Default::default()))
    }

    fn submit(&self, batch: &mut Batch) -> Result<(), Fault> {
        batch.pass = None;
        let Some(encoder) = batch.encoder.take() else { return Ok(()) };
        if !batch.inline.is_empty() {
            // Ordered after all earlier submits and before this one.
            let padded = batch.inline.len().next_multiple_of(4);
            batch.inline.resize(padded, 0);
            self.context.queue.write_buffer(&batch.inline_buffer, 0, &batch.inline);
        }
        batch.last = Some(self.context.queue.submit([encoder.finish()]));
        batch.inline.clear();
        batch.dispatches = 0;
        batch.work = 0;
        batch.submits += 1;
        for staged in batch.staged.drain(..) {
            self.staging.give_back_up(staged);
        }
        self.context.check()
    }

    /// Waits for what has been submitted, without holding the batch.
    fn finish_submitted(&self) -> Result<(), Fault> {
        let last = self.lock().last.clone();
        match last {
            Some(submission) => self.context.wait(Some(submission)),
            None => self.context.check(),
        }
    }

    /// Records and submits a copy to the host, and asks for its arrival.
    fn send_down(&self, block: &Block, at: u64, bytes: u64, staged: Staged) -> Result<Arriving, Fault> {
        let mut batch = self.lock();
        self.encoder(&mut batch).copy_buffer_to_buffer(&block.buffer, at, &staged.buffer, 0, Some(bytes));
        self.submit(&mut batch)?;
        Ok(Arriving::new(staged, bytes, batch.last.clone()))
    }

    fn arrived(&self, arriving: Arriving) -> Result<Staged, Fault> {
        self.context.wait(arriving.submission)?;
        match *arriving.mapped.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(true) => Ok(arriving.staged),
            // The wait covers the submission, so the callback has run: only a failed mapping gets here.
            Some(false) | None => Err(Fault::Internal("a read-back could not be mapped".into())),
        }
    }

    fn fetch_checks(&self) -> Result<Option<(Vec<u64>, Arriving)>, Fault> {
        if self.lock().checks.bytes_in_use() == 0 {
            return Ok(None);
        }
        let staged = self.staging.take(Direction::Down, Checks::bytes(), || Ok(()))?;
        let mut batch = self.lock();
        let bytes = batch.checks.bytes_in_use();
        if bytes == 0 {
            // Another thread has just fetched them.
            drop(batch);
            self.staging.give_back_down(staged);
            return Ok(None);
        }
        let tickets = batch.checks.take_tickets();
        let slots = batch.checks.block.buffer.clone();
        let encoder = self.encoder(&mut batch);
        encoder.copy_buffer_to_buffer(&slots, 0, &staged.buffer, 0, Some(bytes));
        encoder.clear_buffer(&slots, 0, Some(bytes));
        self.submit(&mut batch)?;
        Ok(Some((tickets, Arriving::new(staged, bytes, batch.last.clone()))))
    }

    fn report_checks(&self, fetched: Option<(Vec<u64>, Arriving)>) -> Result<Vec<Violation>, Fault> {
        let mut found = std::mem::take(&mut self.lock().found_early);
        if let Some((tickets, arriving)) = fetched {
            found.extend(self.resolve_checks(&tickets, arriving)?);
        }
        Ok(found)
    }

    fn resolve_checks(&self, tickets: &[u64], arriving: Arriving) -> Result<Vec<Violation>, Fault> {
        let bytes = arriving.bytes;
        let staged = self.arrived(arriving)?;
        let view = staged
            .buffer
            .get_mapped_range(..bytes)
            .map_err(|e| Fault::Internal(format!("mapping a staging buffer: {e:?}")))?;
        let found = checks::resolve(tickets, &view);
        drop(view);
        self.staging.give_back_down(staged);
        Ok(found)
    }
}

/// A copy to the host that is on its way.
struct Arriving {
    staged: Staged,
    bytes: u64,
    submission: Option<wgpu::SubmissionIndex>,
    mapped: Arc<Mutex<Option<bool>>>,
}

impl Arriving {
    fn new(staged: Staged, bytes: u64, submission: Option<wgpu::SubmissionIndex>) -> Arriving {
        let mapped = Arc::new(Mutex::new(None));
        let seen = mapped.clone();
        staged.buffer.map_async(wgpu::MapMode::Read, ..bytes, move |result| {
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.is_ok());
        });
        Arriving { staged, bytes, submission, mapped }
    }
}
